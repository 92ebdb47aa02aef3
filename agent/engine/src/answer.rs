//! What is wrong with an answer that came whole: its status, its codings, or its body.

use volley_plan::{BodyCheck, Check};
use volley_stats::ErrorKind;

use crate::decode::{DecodeError, undo};
use crate::http1::{Codings, Outcome};

/// Most bytes of a body, as it comes over the wire, that are kept for a check. A larger one fails it.
const MAX_GATHERED_BYTES: usize = 16 << 20;
/// So much room is kept from one request to the next.
const KEPT_BYTES: usize = 64 * 1024;

/// The body of an answer, as it came over the wire, where a check looks at it.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    is_too_large: bool,
}

impl Gathered {
    /// Gets ready for another answer.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.is_too_large = false;
    }

    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        if self.is_too_large || self.bytes.len() + piece.len() > MAX_GATHERED_BYTES {
            self.is_too_large = true;
        } else {
            self.bytes.extend_from_slice(piece);
        }
    }

    /// Gives back the room of a large body.
    pub(crate) fn let_go(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}

/// Whether a check has to see the body of an answer with these codings: the length of one without codings is counted
/// anyway.
pub(crate) fn looks_at_body(check: &Check, codings: Codings) -> bool {
    match &check.body {
        None => false,
        Some(BodyCheck::Bytes(_)) => !codings.is_none(),
        Some(BodyCheck::Is(_) | BodyCheck::Contains(_)) => true,
    }
}

/// What is wrong with an answer; the status goes before the codings, and these before the body.
#[inline]
pub(crate) fn fault(
    check: &Check,
    outcome: &Outcome,
    codings: Codings,
    gathered: &Gathered,
) -> Option<ErrorKind> {
    if !check.status.allow(outcome.status) {
        return Some(ErrorKind::Status);
    }
    check.body.as_ref().and_then(|body| body_fault(body, outcome, codings, gathered))
}

#[cold]
fn body_fault(
    check: &BodyCheck,
    outcome: &Outcome,
    codings: Codings,
    gathered: &Gathered,
) -> Option<ErrorKind> {
    if let (BodyCheck::Bytes(bytes), true) = (check, codings.is_none()) {
        return unless(*bytes == outcome.body_bytes);
    }
    // HEAD, 204 and 304 name the codings of a body that they don't have.
    if outcome.body_bytes == 0 {
        return unless(holds(check, &[]));
    }
    if gathered.is_too_large {
        return Some(ErrorKind::Check);
    }
    match codings.applied().map(|applied| undo(applied, &gathered.bytes)) {
        Some(Ok(body)) => unless(holds(check, &body)),
        Some(Err(DecodeError::TooLarge)) => Some(ErrorKind::Check),
        Some(Err(DecodeError::Broken)) | None => Some(ErrorKind::Decode),
    }
}

fn unless(holds: bool) -> Option<ErrorKind> {
    (!holds).then_some(ErrorKind::Check)
}

fn holds(check: &BodyCheck, body: &[u8]) -> bool {
    match check {
        BodyCheck::Is(wanted) => body == wanted,
        BodyCheck::Bytes(bytes) => body.len() as u64 == *bytes,
        BodyCheck::Contains(wanted) => contains(body, wanted),
    }
}

/// Whether `wanted`, which is not empty, is somewhere in the text.
fn contains(text: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(text, wanted).is_some()
}
