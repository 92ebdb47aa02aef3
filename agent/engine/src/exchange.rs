//! The exchange of one request and its answer over a connection, and when it was where.

use std::task::{Context, Poll, ready};

use volley_stats::ErrorKind;

use crate::answer::{self, Gathered};
use crate::connection::Connection;
use crate::control::NEVER;
use crate::http1::{EofError, Event, Outcome, Parser, ProtocolError, RequestKind};
use crate::prepared_step::{PreparedStep, Waits};
use crate::{Clock, failure};

/// From so many bytes of body on, they are thrown away by the kernel. For fewer the extra call costs more than the copy.
const DISCARDED_BYTES: u64 = 64 * 1024;
/// So much is read first where the answer before had such a body: the head, and no more of the body than comes with it.
const HEAD_BYTES: usize = 4 * 1024;
/// A final answer from this status on turns away a body that is still being sent, as curl has it. One below may well be
/// written while the target reads.
const TURNED_AWAY: u16 = 300;

/// When an attempt at a request was where, on the agent's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The connection is there, nothing is written.
    pub(crate) sending_ns: u64,
    /// The last byte is written.
    pub(crate) sent_ns: Option<u64>,
    /// The first byte of the answer is read; 0 before. Leave to send the body is no answer.
    pub(crate) first_byte_ns: u64,
}

impl Marks {
    /// How long the answer's first byte took, once it is there.
    pub(crate) fn answer_ns(&self) -> u64 {
        self.first_byte_ns.saturating_sub(self.sent_ns.unwrap_or(self.first_byte_ns))
    }
}

/// What an exchange goes over, and what it sends.
pub(crate) struct Line<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) step: &'a PreparedStep,
    /// The prepared bytes of the request.
    pub(crate) bytes: &'a [u8],
    /// For what is read, and for what is sent and not prepared. Nothing stays in it.
    pub(crate) buffer: &'a mut [u8],
    pub(crate) clock: Clock,
}

/// How far a request may be sent.
///
/// ```text
///   Head ──> Whole ──> Over
///     └────────────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// Up to the end of the head, which asks for leave; since when it is waited for, once that is written.
    Head { asked_ns: Option<u64> },
    /// To its end.
    Whole,
    /// No further: it is written, it was turned away, or writing failed.
    Over,
}

/// What a time that has come means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The body is sent without leave.
    Body,
    Failure(ErrorKind),
}

/// How far one attempt at a request is. It serves one slot's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Exchange {
    parser: Parser,
    sending: Sending,
    bytes_sent: u64,
    bytes_received: u64,
    /// Pieces in which the answer came.
    pieces: u32,
    /// When the latest came; only where a step says how long is waited for one.
    piece_ns: u64,
    /// Writing failed; an answer may be there all the same.
    write_failure: Option<ErrorKind>,
    /// What was to be written is not there any more, which is no fault of the target's.
    is_stuck: bool,
    marks: Marks,
    gathered: Gathered,
    /// The beginning of the answer as it came, where somebody listens.
    heard: Vec<u8>,
    /// How much of it is kept; 0 where nobody listens.
    heard_bytes_max: usize,
    outcome: Outcome,
}

impl Exchange {
    pub(crate) fn new() -> Self {
        let parser = Parser::new(RequestKind { is_head: false, keep_alive: false, http_1_0: false });
        Self {
            parser,
            sending: Sending::Over,
            bytes_sent: 0,
            bytes_received: 0,
            pieces: 0,
            piece_ns: 0,
            write_failure: None,
            is_stuck: false,
            marks: Marks::default(),
            gathered: Gathered::default(),
            heard: Vec::new(),
            heard_bytes_max: 0,
            outcome: Outcome::default(),
        }
    }

    /// Gets ready for an attempt at this request.
    #[inline]
    pub(crate) fn begin(&mut self, step: &PreparedStep, now_ns: u64) {
        self.parser.reset(step.request.kind());
        let asks_first = step.request.asks_first();
        self.sending = if asks_first { Sending::Head { asked_ns: None } } else { Sending::Whole };
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.pieces = 0;
        self.write_failure = None;
        self.is_stuck = false;
        self.marks = Marks { sending_ns: now_ns, ..Marks::default() };
        self.gathered.clear();
    }

    /// Keeps so many bytes of the answer as it comes, in the attempt at hand.
    #[cold]
    pub(crate) fn listen(&mut self, bytes_max: usize) {
        self.heard.clear();
        self.heard_bytes_max = bytes_max;
    }

    /// What was kept of the answer. From here on nothing is.
    pub(crate) fn take_heard(&mut self) -> Vec<u8> {
        self.heard_bytes_max = 0;
        std::mem::take(&mut self.heard)
    }

    /// Whether the answer is being kept.
    pub(crate) fn listens(&self) -> bool {
        self.heard_bytes_max > 0
    }

    #[cold]
    fn keep(&mut self, piece: &[u8]) {
        let room = self.heard_bytes_max - self.heard.len().min(self.heard_bytes_max);
        self.heard.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Bytes of content that were read so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.parser.body_bytes()
    }

    /// Bytes of the request that were written.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// Bytes that were read.
    pub(crate) fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// When it was where.
    #[inline]
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// The answer, once it is whole.
    #[inline]
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What is wrong with the answer, once it is whole.
    #[inline]
    pub(crate) fn fault(&mut self, step: &PreparedStep) -> Option<ErrorKind> {
        if step.check.body.is_none() && step.check.status.allow(self.outcome.status) {
            return None;
        }
        let fault = answer::fault(&step.check, &self.outcome, self.parser.codings(), &self.gathered);
        self.gathered.let_go();
        fault
    }

    /// Whether the answer's first byte and its last came together, so that the time of one is the other's.
    #[inline]
    pub(crate) fn came_in_one_piece(&self) -> bool {
        self.pieces == 1
    }

    /// Whether the target closed the connection under the attempt that failed so, or had closed it before, without a
    /// byte of an answer.
    pub(crate) fn was_closed(&self, kind: ErrorKind) -> bool {
        let by_close = matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset | ErrorKind::Write);
        by_close && self.bytes_received == 0 && !self.is_stuck
    }

    /// Whether an attempt under which a re-used connection was closed may be made again on a fresh one: the target may
    /// have closed it before it saw the request (RFC 9112 section 9.3.1), and seeing it twice would do no harm.
    pub(crate) fn may_be_repeated(&self, step: &PreparedStep) -> bool {
        step.request.is_idempotent() || self.bytes_sent == 0
    }

    /// When something is due besides the time-out of the whole request; only where the step has such waits.
    pub(crate) fn due_ns(&self, waits: &Waits) -> u64 {
        self.due(waits).0
    }

    fn due(&self, waits: &Waits) -> (u64, Due) {
        let idle = Due::Failure(ErrorKind::IdleTimeout);
        match (self.sending, self.marks.sent_ns) {
            (Sending::Head { asked_ns: Some(asked_ns) }, _) => {
                (asked_ns.saturating_add(waits.leave_ns), Due::Body)
            }
            // While it is being written only the whole request is bounded: the target may wait for the rest.
            (Sending::Head { asked_ns: None } | Sending::Whole, _) => (NEVER, idle),
            (Sending::Over, sent_ns) if self.pieces > 0 => {
                (self.piece_ns.max(sent_ns.unwrap_or(0)).saturating_add(waits.idle_ns), idle)
            }
            (Sending::Over, Some(sent_ns)) => {
                (sent_ns.saturating_add(waits.first_byte_ns), Due::Failure(ErrorKind::FirstByteTimeout))
            }
            (Sending::Over, None) => (NEVER, idle),
        }
    }

    /// Takes note of the time: the body may go without leave now, or the attempt has failed.
    pub(crate) fn expire(&mut self, waits: &Waits, now_ns: u64) -> Option<ErrorKind> {
        loop {
            match self.due(waits) {
                (at_ns, _) if at_ns > now_ns => return None,
                (_, Due::Failure(kind)) => return Some(kind),
                (_, Due::Body) => self.sending = Sending::Whole,
            }
        }
    }

    /// Writes and reads until the answer is whole. Both go on side by side, since a target may answer before it has
    /// read a large request, and may stop reading until its answer is taken.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, line: &mut Line<'_>) -> Poll<Result<(), ErrorKind>> {
        if self.sending != Sending::Over {
            self.send(cx, line)?;
        }
        loop {
            let is_whole = match self.parser.body_remaining_hint() {
                0..DISCARDED_BYTES => ready!(self.poll_receive(cx, line))?,
                _ if self.looks_at_body(line.step) || self.hears_more() => {
                    ready!(self.poll_receive(cx, line))?
                }
                many => ready!(self.poll_discard(cx, line, many))?,
            };
            if is_whole {
                self.outcome.reusable &= self.marks.sent_ns.is_some();
                return Poll::Ready(Ok(()));
            }
            if self.sending != Sending::Over {
                self.hear_early(cx, line)?;
            }
        }
    }

    /// Writes what the connection takes. A failure of the connection's is only noted: the answer that explains it may be
    /// waiting.
    #[inline]
    fn send(&mut self, cx: &mut Context<'_>, line: &mut Line<'_>) -> Result<(), ErrorKind> {
        let until = match self.sending {
            Sending::Whole => line.step.request.bytes_in_all(),
            Sending::Head { asked_ns: None } => line.step.request.head_bytes(),
            Sending::Head { asked_ns: Some(_) } | Sending::Over => return Ok(()),
        };
        while self.bytes_sent < until {
            let Ok(piece) = line.step.piece(line.bytes, self.bytes_sent, until, line.buffer) else {
                self.is_stuck = true;
                return Err(ErrorKind::Write);
            };
            match line.connection.poll_send(cx, piece) {
                Poll::Ready(Ok(bytes)) => self.bytes_sent += bytes as u64,
                Poll::Ready(Err(error)) => {
                    self.cannot_write(failure::of_writing(&error));
                    return Ok(());
                }
                Poll::Pending => return Ok(()),
            }
        }
        match line.connection.poll_flush(cx) {
            Poll::Ready(Ok(())) => self.sent(line.clock.now_ns()),
            Poll::Ready(Err(error)) => self.cannot_write(failure::of_writing(&error)),
            Poll::Pending => {}
        }
        Ok(())
    }

    /// Everything that may be sent is written.
    #[inline]
    fn sent(&mut self, now_ns: u64) {
        if self.sending == Sending::Whole {
            self.marks.sent_ns = Some(now_ns);
            self.sending = Sending::Over;
        } else {
            self.sending = Sending::Head { asked_ns: Some(now_ns) };
        }
    }

    #[cold]
    fn cannot_write(&mut self, kind: ErrorKind) {
        self.write_failure = Some(kind);
        self.sending = Sending::Over;
    }

    /// The target said something before it had the whole request.
    #[cold]
    fn hear_early(&mut self, cx: &mut Context<'_>, line: &mut Line<'_>) -> Result<(), ErrorKind> {
        let asks = matches!(self.sending, Sending::Head { .. });
        match self.parser.status() {
            Some(status) if asks || status >= TURNED_AWAY => self.sending = Sending::Over,
            None if asks && self.parser.interim() > 0 => {
                self.sending = Sending::Whole;
                self.pieces = 0;
                self.marks.first_byte_ns = 0;
                self.send(cx, line)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn hears_more(&self) -> bool {
        self.heard.len() < self.heard_bytes_max
    }

    fn looks_at_body(&self, step: &PreparedStep) -> bool {
        answer::looks_at_body(&step.check, self.parser.codings())
    }

    /// Reads a piece of the answer; says whether that was the last.
    #[inline]
    fn poll_receive(&mut self, cx: &mut Context<'_>, line: &mut Line<'_>) -> Poll<Result<bool, ErrorKind>> {
        // Answers to the same requests are alike.
        let most = if self.pieces == 0 && self.outcome.body_bytes >= DISCARDED_BYTES {
            HEAD_BYTES.min(line.buffer.len())
        } else {
            line.buffer.len()
        };
        let bytes = match ready!(line.connection.poll_receive(cx, &mut line.buffer[..most])) {
            Ok(0) => return Poll::Ready(self.at_eof(line.connection)),
            Ok(bytes) => bytes,
            Err(error) => return Poll::Ready(Err(self.cannot_read(&error))),
        };
        if self.pieces == 0 {
            self.marks.first_byte_ns = line.clock.now_ns();
        }
        self.note_piece(bytes, line)?;
        let input = &line.buffer[..bytes];
        if self.heard_bytes_max > 0 {
            self.keep(input);
        }
        let outcome = if line.step.check.body.is_none() {
            self.parser.receive(input)
        } else {
            self.gather(input, line.step)
        };
        Poll::Ready(Ok(self.is_whole(outcome.map_err(|_| ErrorKind::Protocol)?)))
    }

    /// Throws a piece of the body away, which has `many` bytes at least to go; says whether that was the last. Where nothing
    /// follows the body more is asked for than there is: by that it shows at once that there is nothing.
    fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        line: &mut Line<'_>,
        many: u64,
    ) -> Poll<Result<bool, ErrorKind>> {
        let room = line.buffer.len();
        let most = match usize::try_from(many) {
            Ok(many) if !self.parser.is_all_body() => many.min(room),
            _ => room,
        };
        let bytes = match ready!(line.connection.poll_discard(cx, &mut line.buffer[..most])) {
            Ok(0) => return Poll::Ready(self.at_eof(line.connection)),
            Ok(bytes) => bytes,
            Err(error) => return Poll::Ready(Err(self.cannot_read(&error))),
        };
        self.note_piece(bytes, line)?;
        let outcome = self.parser.discard(bytes as u64);
        Poll::Ready(Ok(self.is_whole(outcome)))
    }

    /// Counts a piece that has come; not one that came too late. The watch over the waits is coarse, and this isn't.
    #[inline]
    fn note_piece(&mut self, bytes: usize, line: &Line<'_>) -> Result<(), ErrorKind> {
        if line.step.waits.are_set() {
            self.note_time(line)?;
        }
        self.pieces += 1;
        self.bytes_received += bytes as u64;
        Ok(())
    }

    #[cold]
    fn note_time(&mut self, line: &Line<'_>) -> Result<(), ErrorKind> {
        let now_ns = if self.pieces == 0 { self.marks.first_byte_ns } else { line.clock.now_ns() };
        if let (at_ns, Due::Failure(kind)) = self.due(&line.step.waits)
            && at_ns < now_ns
        {
            return Err(kind);
        }
        self.piece_ns = now_ns;
        Ok(())
    }

    /// Reads a piece and keeps what is content of it, where the check has to see that.
    #[cold]
    fn gather(&mut self, input: &[u8], step: &PreparedStep) -> Result<Option<Outcome>, ProtocolError> {
        let mut rest = input;
        loop {
            let progress = self.parser.feed(rest)?;
            match progress.event {
                Event::NeedMore => return Ok(None),
                Event::Complete(outcome) => return Ok(Some(outcome)),
                Event::Body(content) if self.looks_at_body(step) => self.gathered.add(&rest[content]),
                Event::Body(_) | Event::Head => {}
            }
            rest = &rest[progress.consumed..];
        }
    }

    #[inline]
    fn is_whole(&mut self, outcome: Option<Outcome>) -> bool {
        if let Some(outcome) = outcome {
            self.outcome = outcome;
        }
        outcome.is_some()
    }

    #[cold]
    fn cannot_read(&self, error: &std::io::Error) -> ErrorKind {
        match failure::of_receiving(error) {
            ErrorKind::Reset => self.write_failure.unwrap_or(ErrorKind::Reset),
            kind => kind,
        }
    }

    #[cold]
    fn at_eof(&mut self, connection: &Connection) -> Result<bool, ErrorKind> {
        // A write that found the connection reset has taken that error, and left an end for reading.
        let was_reset = self.write_failure == Some(ErrorKind::Reset);
        match self.parser.on_eof() {
            Ok(_) if was_reset => Err(ErrorKind::Reset),
            // With TLS only a closure alert says that it was the target who ended the body (RFC 9112 section 9.8).
            Ok(_) if !connection.ended_cleanly() => Err(ErrorKind::Truncated),
            Ok(outcome) => Ok(self.is_whole(Some(outcome))),
            Err(EofError::BeforeFirstByte) => Err(self.write_failure.unwrap_or(ErrorKind::ClosedEarly)),
            Err(EofError::InHead | EofError::Truncated { .. }) if was_reset => Err(ErrorKind::Reset),
            Err(EofError::InHead | EofError::Truncated { .. }) => Err(ErrorKind::Truncated),
            Err(EofError::Protocol(_)) => Err(ErrorKind::Protocol),
        }
    }
}
