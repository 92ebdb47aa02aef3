//! What can be wrong with an answer.
//!
//! The reasons are fixed texts. Nothing that a server sent becomes part of one, so they are safe as keys
//! of counters and there is a bounded number of them.

use thiserror::Error;

/// The server answered something that is not HTTP/1.x as this client may accept it.
///
/// The connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("{}", self.reason())]
pub enum ProtocolError {
    /// The first line is no status line (RFC 9112 section 4).
    StatusLine,
    /// An HTTP version other than 1.0 and 1.1 (RFC 9112 section 2.3).
    Version,
    /// The status code is not three digits from 100 to 999 (RFC 9110 section 15).
    StatusCode,
    /// 101, an upgrade that nobody asked for (RFC 9110 section 7.8).
    Upgrade,
    /// More than [`MAX_INTERIM`](super::response::MAX_INTERIM) 1xx answers before the final one.
    TooManyInterim,
    /// A head of more than [`MAX_HEAD_BYTES`](super::response::MAX_HEAD_BYTES).
    HeadTooLong,
    /// More than [`MAX_FIELDS`](super::response::MAX_FIELDS) field lines in a head or in the trailers.
    TooManyFields,
    /// A field line without a colon, or with a name that can't be passed over (RFC 9112 section 5.1).
    FieldName,
    /// A head or a trailer section has a NUL in it (RFC 9110 section 5.5).
    Nul,
    /// `Content-Length` is not one number (RFC 9112 section 6.3, rule 5).
    ContentLength,
    /// `Transfer-Encoding` names chunked with parameters (RFC 9112 section 7).
    TransferEncoding,
    /// A chunk size that is not 1 to 16 hexadecimal digits (RFC 9112 section 7.1).
    ChunkSize,
    /// A chunk extension that is too long or has a bare CR in it (RFC 9112 section 7.1.1).
    ChunkExtension,
    /// A chunk's data is not followed by the end of a line (RFC 9112 section 7.1).
    ChunkEnd,
    /// A trailer section of more than [`MAX_TRAILER_BYTES`](super::response::MAX_TRAILER_BYTES).
    TrailersTooLong,
}

impl ProtocolError {
    /// The reason as a fixed text.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::StatusLine => "the answer does not begin with an HTTP status line",
            Self::Version => "the answer's HTTP version is not 1.0 or 1.1",
            Self::StatusCode => "the status code is not three digits from 100 to 999",
            Self::Upgrade => "the server switched protocols, which nobody asked for",
            Self::TooManyInterim => "too many interim (1xx) answers",
            Self::HeadTooLong => "the head of the answer is too long",
            Self::TooManyFields => "too many header lines",
            Self::FieldName => "a header line has no valid field name",
            Self::Nul => "the head or the trailers of the answer have a NUL byte in them",
            Self::ContentLength => "Content-Length is not one number",
            Self::TransferEncoding => "Transfer-Encoding is malformed",
            Self::ChunkSize => "a chunk size is malformed",
            Self::ChunkExtension => "a chunk extension is malformed or too long",
            Self::ChunkEnd => "a chunk does not end where its size says",
            Self::TrailersTooLong => "the trailers of the answer are too long",
        }
    }
}

/// The server closed the connection before the answer was whole (RFC 9112 section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EofError {
    /// Nothing of an answer had come. On a reused connection this may be the server's idle close, after
    /// which an idempotent request may be sent again (RFC 9112 section 9.3.1).
    #[error("the connection was closed before the first byte of an answer")]
    BeforeFirstByte,
    /// Something of an answer had come, if only a 1xx, but not the whole final head.
    #[error("the connection was closed inside the head of the answer")]
    InHead,
    /// The body was cut short.
    #[error("the connection was closed inside the body of the answer")]
    Truncated {
        /// Bytes of content that had come.
        received: u64,
        /// Bytes of content that `Content-Length` promised; nothing where the body was chunked.
        expected: Option<u64>,
    },
    /// The answer had been found wrong already.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}
