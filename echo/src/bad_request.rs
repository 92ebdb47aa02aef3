//! Why bytes that came are no request, and the status that says so.

use crate::head::HEAD_BYTES_MAX;

/// Why the bytes that came are no request that this target can read. The connection is closed after the
/// answer, since where the next request begins is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("a line of the head ends in a line feed without a carriage return")]
    BareLineFeed,
    #[error("the request line isn't `method target HTTP/1.1`")]
    RequestLine,
    #[error("the target is neither a path, nor an http URL, nor `*`")]
    Target,
    #[error("the request line is longer than {HEAD_BYTES_MAX} bytes")]
    TargetTooLong,
    #[error("the version is neither HTTP/1.1 nor HTTP/1.0")]
    Version,
    #[error("a header field isn't `name: value`")]
    Field,
    #[error("the head is longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLarge,
    #[error("the Host field is missing, or there are several")]
    Host,
    #[error("the Content-Length isn't one number")]
    ContentLength,
    #[error("the Transfer-Encoding isn't `chunked` alone")]
    TransferEncoding,
    #[error("both Content-Length and Transfer-Encoding are there")]
    TwoLengths,
    #[error("the chunked body is malformed")]
    Chunk,
}

impl BadRequest {
    /// The status to answer with (RFC 9110 section 15.5 and 15.6, RFC 6585 section 5).
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::HeadTooLarge => 431,
            Self::TransferEncoding => 501,
            Self::Version => 505,
            Self::BareLineFeed
            | Self::RequestLine
            | Self::Target
            | Self::Field
            | Self::Host
            | Self::ContentLength
            | Self::TwoLengths
            | Self::Chunk => 400,
        }
    }
}
