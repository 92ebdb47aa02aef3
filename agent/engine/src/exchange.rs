//! The exchange of one request and its answer over a connection, and when it was where.

use std::task::{Context, Poll, ready};

use volley_stats::ErrorKind;

use crate::connection::Connection;
use crate::http1::{EofError, Outcome, Parser, Prepared, RequestKind};
use crate::{Clock, failure};

/// From so many bytes of body on, they are thrown away by the kernel. For fewer the extra call costs more than the copy.
const DISCARDED_BYTES: u64 = 64 * 1024;
/// So much is read first where the answer before had such a body: the head, and no more of the body than comes with it.
const HEAD_BYTES: usize = 4 * 1024;

/// When an attempt at a request was where, on the agent's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The connection is there, nothing is written.
    pub(crate) sending_ns: u64,
    /// The last byte is written.
    pub(crate) sent_ns: Option<u64>,
    /// The first byte of the answer is read; 0 before.
    pub(crate) first_byte_ns: u64,
}

impl Marks {
    /// How long the answer's first byte took, once it is there.
    pub(crate) fn answer_ns(&self) -> u64 {
        self.first_byte_ns.saturating_sub(self.sent_ns.unwrap_or(self.first_byte_ns))
    }
}

/// How far one attempt at a request is. It serves one slot's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Exchange {
    parser: Parser,
    bytes_sent: usize,
    bytes_received: u64,
    /// Pieces in which the answer came.
    pieces: u32,
    /// Writing failed; an answer may be there all the same.
    write_failure: Option<ErrorKind>,
    marks: Marks,
    outcome: Outcome,
}

impl Exchange {
    pub(crate) fn new() -> Self {
        let parser = Parser::new(RequestKind { is_head: false, keep_alive: false });
        Self {
            parser,
            bytes_sent: 0,
            bytes_received: 0,
            pieces: 0,
            write_failure: None,
            marks: Marks::default(),
            outcome: Outcome::default(),
        }
    }

    /// Gets ready for an attempt at this request.
    #[inline]
    pub(crate) fn begin(&mut self, request: &Prepared, now_ns: u64) {
        self.parser.reset(request.kind());
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.pieces = 0;
        self.write_failure = None;
        self.marks = Marks { sending_ns: now_ns, ..Marks::default() };
    }

    /// Bytes of the request that were written.
    pub(crate) fn bytes_sent(&self) -> u64 {
        self.bytes_sent as u64
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

    /// Whether the answer's first byte and its last came together, so that the time of one is the other's.
    #[inline]
    pub(crate) fn came_in_one_piece(&self) -> bool {
        self.pieces == 1
    }

    /// Whether a failed attempt on a re-used connection may be made again on a fresh one: the target may have closed
    /// the connection before it saw the request (RFC 9112 section 9.3.1), and seeing it twice would do no harm.
    pub(crate) fn may_be_repeated(&self, kind: ErrorKind, request: &Prepared) -> bool {
        let by_close = matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset | ErrorKind::Write);
        by_close && self.bytes_received == 0 && (request.is_idempotent() || self.bytes_sent == 0)
    }

    /// Writes and reads until the answer is whole. Both go on side by side, since a target may answer before it has
    /// read a large request, and may stop reading until its answer is taken.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        request: &[u8],
        buffer: &mut [u8],
        clock: Clock,
    ) -> Poll<Result<(), ErrorKind>> {
        if self.bytes_sent < request.len() && self.write_failure.is_none() {
            self.poll_send(cx, connection, request, clock);
        }
        loop {
            let is_whole = match self.parser.body_remaining_hint() {
                0..DISCARDED_BYTES => ready!(self.poll_receive(cx, connection, buffer, clock))?,
                many => ready!(self.poll_discard(cx, connection, buffer, many))?,
            };
            if is_whole {
                self.outcome.reusable &= self.bytes_sent == request.len();
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Writes what the connection takes. A failure is only noted: the answer that explains it may be waiting.
    #[inline]
    fn poll_send(&mut self, cx: &mut Context<'_>, connection: &mut Connection, request: &[u8], clock: Clock) {
        while self.bytes_sent < request.len() {
            match connection.poll_send(cx, &request[self.bytes_sent..]) {
                Poll::Ready(Ok(bytes)) => self.bytes_sent += bytes,
                Poll::Ready(Err(error)) => {
                    self.write_failure = Some(failure::of_writing(&error));
                    return;
                }
                Poll::Pending => return,
            }
        }
        self.marks.sent_ns = Some(clock.now_ns());
    }

    /// Reads a piece of the answer; says whether that was the last.
    #[inline]
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        buffer: &mut [u8],
        clock: Clock,
    ) -> Poll<Result<bool, ErrorKind>> {
        // Answers to the same requests are alike.
        let most = if self.pieces == 0 && self.outcome.body_bytes >= DISCARDED_BYTES {
            HEAD_BYTES.min(buffer.len())
        } else {
            buffer.len()
        };
        let bytes = match ready!(connection.poll_receive(cx, &mut buffer[..most])) {
            Ok(0) => return Poll::Ready(self.at_eof()),
            Ok(bytes) => bytes,
            Err(_) => return Poll::Ready(Err(self.write_failure.unwrap_or(ErrorKind::Reset))),
        };
        if self.pieces == 0 {
            self.marks.first_byte_ns = clock.now_ns();
        }
        self.pieces += 1;
        self.bytes_received += bytes as u64;
        let outcome = self.parser.receive(&buffer[..bytes]).map_err(|_| ErrorKind::Protocol)?;
        Poll::Ready(Ok(self.is_whole(outcome)))
    }

    /// Throws a piece of the body away, which has `many` bytes at least to go; says whether that was the last. Where nothing
    /// follows the body more is asked for than there is: by that it shows at once that there is nothing.
    fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        buffer: &mut [u8],
        many: u64,
    ) -> Poll<Result<bool, ErrorKind>> {
        let room = buffer.len();
        let most = match usize::try_from(many) {
            Ok(many) if !self.parser.is_all_body() => many.min(room),
            _ => room,
        };
        let bytes = match ready!(connection.poll_discard(cx, &mut buffer[..most])) {
            Ok(0) => return Poll::Ready(self.at_eof()),
            Ok(bytes) => bytes as u64,
            Err(_) => return Poll::Ready(Err(self.write_failure.unwrap_or(ErrorKind::Reset))),
        };
        self.pieces += 1;
        self.bytes_received += bytes;
        let outcome = self.parser.discard(bytes);
        Poll::Ready(Ok(self.is_whole(outcome)))
    }

    #[inline]
    fn is_whole(&mut self, outcome: Option<Outcome>) -> bool {
        if let Some(outcome) = outcome {
            self.outcome = outcome;
        }
        outcome.is_some()
    }

    #[cold]
    fn at_eof(&mut self) -> Result<bool, ErrorKind> {
        match self.parser.on_eof() {
            Ok(outcome) => Ok(self.is_whole(Some(outcome))),
            Err(EofError::BeforeFirstByte) => Err(self.write_failure.unwrap_or(ErrorKind::ClosedEarly)),
            Err(EofError::InHead | EofError::Truncated { .. }) => Err(ErrorKind::Truncated),
            Err(EofError::Protocol(_)) => Err(ErrorKind::Protocol),
        }
    }
}
