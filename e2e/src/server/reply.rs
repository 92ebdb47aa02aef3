//! What the scripted target does with a request.

use std::time::Duration;

/// Bytes to send after a delay, and what becomes of the connection.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) delay: Duration,
    pub(super) bytes: Vec<u8>,
    pub(super) then: Then,
}

/// What becomes of the connection after the bytes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It waits for the next request.
    Keep,
    /// It is closed in the orderly way.
    Close,
    /// It is closed with RST.
    Reset,
    /// It stays open without a word until the client closes it.
    Hang,
}

impl Reply {
    /// Exactly these bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { delay: Duration::ZERO, bytes: bytes.into(), then: Then::Keep }
    }

    /// 200 with this body, of a declared length.
    #[must_use]
    pub fn ok(body: &str) -> Self {
        Self::status(200, body)
    }

    /// This status with this body, of a declared length.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Self {
        Self::raw(format!("HTTP/1.1 {status} -\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    }

    /// Nothing at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self::raw(Vec::new())
    }

    /// The same, that much later.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The same, and then this.
    #[must_use]
    pub fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}
