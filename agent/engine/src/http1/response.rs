//! The answer to one request, as a state machine over whatever pieces the network delivers.

use std::ops::Range;

use super::body::{Body, BodyStep};
use super::codings::Codings;
use super::cursor::Cursor;
use super::error::{EofError, ProtocolError};
use super::head::Framing;
use super::head_reader::HeadReader;
use super::request::RequestKind;

/// Most bytes of one head, an interim one or the final one.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Most bytes of a trailer section.
pub const MAX_TRAILER_BYTES: usize = 64 * 1024;
/// Most field lines of one head or of a trailer section; a folded line counts once.
pub const MAX_FIELDS: u32 = 200;
/// Most interim (1xx) answers before the final one.
pub const MAX_INTERIM: u32 = 100;

/// What is known of an answer that came whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The final status code, 200 to 999.
    pub status: u16,
    /// Bytes of content, without chunk framing.
    pub body_bytes: u64,
    /// Bytes up to the end of the final head: its own and those of interim answers before it.
    pub head_bytes: u64,
    /// Whether the connection may carry another request (RFC 9112 section 9.3).
    pub reusable: bool,
}

/// What [`Parser::feed`] found next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// All of the input is used up and the answer goes on.
    NeedMore,
    /// The final head is whole: [`Parser::status`] is known. A body may follow.
    Head,
    /// These bytes of this input are content.
    Body(Range<usize>),
    /// The answer is whole.
    Complete(Outcome),
}

/// One step of [`Parser::feed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How much of the input is used up, from its beginning.
    pub consumed: usize,
    /// What it was.
    pub event: Event,
}

/// ```text
///                 no body
///   reset ─> Head ───────────────────────> Complete
///             └─> Body ──────────────────> │   by length, or by the server's close
///                   └────> Trailers ─────> ┘   chunked
/// ```
/// Any of them becomes `Failed` when the server breaks the protocol.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Head,
    Body(Body),
    Trailers,
    Complete,
    Failed(ProtocolError),
}

/// What one step of the machine found.
enum Step {
    NeedMore,
    /// The phase changed, nothing to tell.
    Next,
    Head,
    /// Content of this length, which ends where the input is used up to.
    Content(usize),
    Complete,
}

/// Reads the answer to one request; [`Parser::reset`] makes it ready for the next one.
///
/// Its result doesn't depend on where the input is cut. It keeps at most one unfinished line, so its
/// memory is bounded by [`MAX_HEAD_BYTES`] (twice that while the line grows), whatever a server sends.
/// Keep it for the next connection too: it knows the last head again and reads it faster then.
#[derive(Debug)]
pub struct Parser {
    request: RequestKind,
    phase: Phase,
    head: HeadReader,
    body_bytes: u64,
    /// The `Content-Length` that framed the body, where one did.
    expected_bytes: Option<u64>,
    reusable: bool,
}

impl Parser {
    /// A parser for the answer to a request of this kind.
    pub fn new(request: RequestKind) -> Self {
        Self {
            request,
            phase: Phase::Head,
            head: HeadReader::new(),
            body_bytes: 0,
            expected_bytes: None,
            reusable: false,
        }
    }

    /// Forgets the last answer and waits for one to a request of this kind.
    #[inline]
    pub fn reset(&mut self, request: RequestKind) {
        self.request = request;
        self.phase = Phase::Head;
        self.head.reset();
        self.body_bytes = 0;
        self.expected_bytes = None;
        self.reusable = false;
    }

    /// Takes one piece of the answer whole and gives the outcome once the answer is whole.
    ///
    /// What follows a whole answer was asked for by nobody. It is dropped, and the connection is not
    /// reusable: a later answer on it could not be told from those bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Self::feed`].
    #[inline]
    pub fn receive(&mut self, mut input: &[u8]) -> Result<Option<Outcome>, ProtocolError> {
        loop {
            let progress = self.feed(input)?;
            match progress.event {
                Event::NeedMore => return Ok(None),
                Event::Head | Event::Body(_) => input = &input[progress.consumed..],
                Event::Complete(outcome) => return Ok(Some(outcome)),
            }
        }
    }

    /// Finds the next event at the front of the input. Call it again with the rest, even an empty one,
    /// until it gives [`Event::NeedMore`] or [`Event::Complete`].
    ///
    /// # Errors
    ///
    /// Where the server breaks the protocol or a bound. The parser then gives the same error until it is
    /// reset, and the connection is of no further use.
    #[inline]
    pub fn feed(&mut self, input: &[u8]) -> Result<Progress, ProtocolError> {
        let mut input = Cursor::new(input);
        let event = loop {
            match self.step(&mut input) {
                Ok(Step::Next) => {}
                Ok(Step::NeedMore) => break Event::NeedMore,
                Ok(Step::Head) => break Event::Head,
                Ok(Step::Content(len)) => break Event::Body(input.at() - len..input.at()),
                Ok(Step::Complete) => break Event::Complete(self.complete(input.rest().is_empty())),
                Err(error) => {
                    self.phase = Phase::Failed(error);
                    return Err(error);
                }
            }
        };
        Ok(Progress { consumed: input.at(), event })
    }

    /// Takes note that the connection was closed for reading.
    ///
    /// # Errors
    ///
    /// Says what the close cut off. It cuts off nothing where the answer was whole or where its body is
    /// one that ends by the close (RFC 9112 section 6.3, rule 8).
    pub fn on_eof(&mut self) -> Result<Outcome, EofError> {
        self.reusable = false;
        match self.phase {
            Phase::Head if self.head.is_untouched() => Err(EofError::BeforeFirstByte),
            Phase::Head => Err(EofError::InHead),
            Phase::Complete | Phase::Body(Body::UntilClose | Body::Length { remaining: 0 }) => {
                Ok(self.complete(true))
            }
            Phase::Body(_) | Phase::Trailers => {
                Err(EofError::Truncated { received: self.body_bytes, expected: self.expected_bytes })
            }
            Phase::Failed(error) => Err(error.into()),
        }
    }

    /// The final status code, once the final head is whole.
    pub fn status(&self) -> Option<u16> {
        match self.phase {
            Phase::Body(_) | Phase::Trailers | Phase::Complete => Some(self.head.head().status()),
            Phase::Head | Phase::Failed(_) => None,
        }
    }

    /// The codings that the content went through, once the final head is whole; none before that. HEAD, 204
    /// and 304 tell those that the content would have.
    pub fn codings(&self) -> Codings {
        match self.status() {
            Some(_) => self.head.head().content_codings(),
            None => Codings::NONE,
        }
    }

    /// How many interim (1xx) answers to this request have come whole. The first one, where the request said
    /// `Expect: 100-continue`, is the server's leave to send the body, or shows that it is at work (RFC 9110
    /// section 10.1.1).
    pub fn interim(&self) -> u32 {
        self.head.interim()
    }

    /// Bytes of content that are sure to come next with no framing between them: the rest of the body or
    /// of the chunk, `u64::MAX` where the body ends by the server's close, and 0 where that isn't known
    /// or there is no body.
    ///
    /// So many may be read without looking at them; [`Self::discard`] tells the parser.
    pub fn body_remaining_hint(&self) -> u64 {
        match &self.phase {
            Phase::Body(body) => body.remaining_hint(),
            Phase::Head | Phase::Trailers | Phase::Complete | Phase::Failed(_) => 0,
        }
    }

    /// Bytes of content that have come so far, without framing.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether nothing but content follows until the answer ends, so that more than the hint may be read without looking
    /// at it: what comes behind the answer was asked for by nobody.
    pub fn is_all_body(&self) -> bool {
        matches!(self.phase, Phase::Body(Body::Length { .. } | Body::UntilClose))
    }

    /// Counts bytes of content that were taken from the socket unseen, at most
    /// [`Self::body_remaining_hint`], and gives the outcome if the answer is whole by that. More of them only where
    /// [`Self::is_all_body`]: as with [`Self::receive`], the connection is not reusable then.
    pub fn discard(&mut self, count: u64) -> Option<Outcome> {
        let content = count.min(self.body_remaining_hint());
        let Phase::Body(body) = &mut self.phase else {
            return None;
        };
        body.discard(content);
        self.body_bytes = self.body_bytes.saturating_add(content);
        let is_whole = *body == Body::Length { remaining: 0 };
        is_whole.then(|| self.complete(content == count))
    }

    #[inline]
    fn step(&mut self, input: &mut Cursor<'_>) -> Result<Step, ProtocolError> {
        match &mut self.phase {
            Phase::Head => match self.head.advance(input)? {
                true => self.end_of_head(),
                false => Ok(Step::NeedMore),
            },
            Phase::Body(body) => {
                let step = body.advance(input)?;
                Ok(self.body_step(step))
            }
            Phase::Trailers => {
                let is_whole = self.head.trailers(input)?;
                Ok(if is_whole { Step::Complete } else { Step::NeedMore })
            }
            Phase::Complete => Ok(Step::Complete),
            Phase::Failed(error) => Err(*error),
        }
    }

    fn end_of_head(&mut self) -> Result<Step, ProtocolError> {
        let head = self.head.head();
        let framing = head.framing(self.request)?;
        let persists = self.head.persists() && (!self.request.http_1_0 || head.says_keep_alive());
        self.reusable = self.request.keep_alive && persists && framing != Framing::UntilClose;
        self.phase = match framing {
            Framing::None => Phase::Complete,
            Framing::Length(remaining) => {
                self.expected_bytes = Some(remaining);
                Phase::Body(Body::Length { remaining })
            }
            Framing::Chunked => Phase::Body(Body::CHUNKED),
            Framing::UntilClose => Phase::Body(Body::UntilClose),
        };
        Ok(Step::Head)
    }

    #[inline]
    fn body_step(&mut self, step: BodyStep) -> Step {
        match step {
            BodyStep::NeedMore => Step::NeedMore,
            BodyStep::Content(len) => {
                self.body_bytes += len as u64;
                Step::Content(len)
            }
            BodyStep::Trailers => {
                self.head.begin_trailers();
                self.phase = Phase::Trailers;
                Step::Next
            }
            BodyStep::Done => Step::Complete,
        }
    }

    /// Marks the answer as whole; says whether nothing came behind it.
    fn complete(&mut self, nothing_left: bool) -> Outcome {
        self.phase = Phase::Complete;
        self.reusable &= nothing_left;
        Outcome {
            status: self.head.head().status(),
            body_bytes: self.body_bytes,
            head_bytes: self.head.bytes(),
            reusable: self.reusable,
        }
    }

    #[cfg(test)]
    pub(super) fn capacity_bytes(&self) -> usize {
        self.head.capacity_bytes()
    }
}
