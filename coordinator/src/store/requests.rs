//! Requests that started a run and may be sent again: whoever did not hear the answer asks once more with the same key, and
//! is not to start another run (the Idempotency-Key header field, draft-ietf-httpapi-idempotency-key-header).

use std::time::Duration;

use volley_plan::link::RunId;

/// How long a key is remembered.
pub const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);

/// A request that is to start one run however often it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// What the client calls it.
    pub key: String,
    /// What it asks for, as a hash: the same key with something else is a mistake.
    pub asks: String,
}

/// What is remembered of such a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// What it asked for.
    pub asks: String,
    /// The run that it started. Where the process ended in between, there is none of this name.
    pub run: RunId,
}
