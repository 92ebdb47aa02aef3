//! A request head that has been read, with all that follows from it. A connection keeps its last one: a load
//! generator sends the same bytes again and again, and then one comparison takes the place of reading them.

use crate::answer::{Answer, Body, Framing};
use crate::bad_request::BadRequest;
use crate::head::{self, BodyFraming, Head};
use crate::ledger::{Ledger, PathCount};
use crate::render::{self, AnswerHead, Persist};

/// The longest body that is kept ready with its head, in bytes; longer ones are written from a shared piece.
pub(crate) const READY_BODY_BYTES_MAX: u64 = 16 * 1024;

/// The body where nothing else is asked for.
pub(crate) const HELLO: &[u8] = b"hello";

/// The letters that bodies of a chosen size are made of.
pub(crate) static FILL: [u8; 256 * 1024] = [b'x'; 256 * 1024];

/// A request head and what follows from it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) route: Route,
}

/// What the head says of the request itself, whatever it is for.
#[derive(Debug)]
pub(crate) struct Request {
    /// The head's bytes, as they came.
    pub(crate) head: Vec<u8>,
    pub(crate) body: BodyFraming,
    pub(crate) expects_continue: bool,
    /// The method is HEAD: the answer has no body, whatever its head says.
    pub(crate) head_only: bool,
    pub(crate) persist: Persist,
}

/// What the request is for.
#[derive(Debug)]
pub(crate) enum Route {
    /// The counts, which this request isn't part of.
    Stats(StatsRequest),
    /// Everything else.
    Answer(Asked),
}

/// What to do with the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatsRequest {
    Read,
    Reset,
    /// Neither, so the method is refused.
    Refused,
}

/// An ordinary request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) answer: Answer,
    pub(crate) path: PathCount,
    /// The whole answer, where each has the same bytes.
    pub(crate) ready: Option<Ready>,
}

/// The bytes of a whole answer.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) bytes: Vec<u8>,
    pub(crate) body_at: usize,
}

impl Prepared {
    /// Reads a whole head, its empty line included.
    pub(crate) fn new(bytes: &[u8], ledger: &Ledger) -> Result<Self, BadRequest> {
        let head = head::parse(bytes)?;
        let mut request = Request {
            head: bytes.to_vec(),
            body: head.body,
            expects_continue: head.expects_continue,
            head_only: head.method == "HEAD",
            persist: persist(&head),
        };
        let route = match (head.path, head.method) {
            ("/stats", "GET" | "HEAD") => Route::Stats(StatsRequest::Read),
            ("/stats", "DELETE") => Route::Stats(StatsRequest::Reset),
            ("/stats", _) => Route::Stats(StatsRequest::Refused),
            _ => Route::Answer(Asked::new(&head, &mut request, ledger)),
        };
        Ok(Self { request, route })
    }

    /// The request counts, as do the bytes of its body.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.route, Route::Answer(_))
    }

    /// The request is to be echoed, so its body is kept.
    pub(crate) fn keeps_body(&self) -> bool {
        matches!(&self.route, Route::Answer(asked) if asked.answer.body == Body::Echo)
    }
}

impl Request {
    /// Whether an answer of this status to this request has a body.
    pub(crate) fn sends_body(&self, status: u16) -> bool {
        !self.head_only && render::has_body(status)
    }

    /// The head of an answer of this status, with a body of so many bytes.
    pub(crate) fn answer_head(&self, answer: &Answer, status: u16, body_bytes: u64) -> AnswerHead {
        let content_type = if answer.body == Body::Echo { render::JSON } else { render::TEXT };
        let Answer { framing, .. } = *answer;
        AnswerHead { status, framing, body_bytes, content_type, persist: self.persist, allow: None }
    }
}

impl Asked {
    /// What the path and the query ask for, as far as the request allows it; the connection is closed where
    /// the answer's framing needs that.
    fn new(head: &Head<'_>, request: &mut Request, ledger: &Ledger) -> Self {
        let mut answer = Answer::of(head.path, head.query);
        if answer.framing == Framing::Chunked && head.http_1_0 {
            answer.framing = Framing::Close;
        }
        if answer.close || matches!(answer.framing, Framing::Close | Framing::Bare) {
            request.persist = Persist::Close;
        }
        Self { ready: Ready::new(request, &answer), path: ledger.path(head.path), answer }
    }
}

impl Ready {
    /// The bytes of each answer, where they are the same and not too many.
    fn new(request: &Request, answer: &Answer) -> Option<Self> {
        let body = match &answer.body {
            Body::Hello => HELLO,
            Body::Problem(text) => text.as_bytes(),
            Body::Fill(bytes) if *bytes <= READY_BODY_BYTES_MAX => {
                FILL.get(..usize::try_from(*bytes).ok()?)?
            }
            Body::Fill(_) | Body::Counter | Body::Echo => return None,
        };
        if !answer.is_constant() {
            return None;
        }
        let mut bytes = Vec::new();
        render::head(&mut bytes, request.answer_head(answer, answer.status, body.len() as u64));
        let body_at = bytes.len();
        if request.sends_body(answer.status) {
            bytes.extend_from_slice(body);
        }
        Some(Self { bytes, body_at })
    }
}

fn persist(head: &Head<'_>) -> Persist {
    match (head.keep_alive, head.http_1_0) {
        (true, false) => Persist::Keep,
        (true, true) => Persist::KeepAndSay,
        (false, _) => Persist::Close,
    }
}
