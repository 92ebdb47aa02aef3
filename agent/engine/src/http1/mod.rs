//! The HTTP/1.1 client codec: requests serialized once, answers read piece by piece.
//!
//! It does no input or output and reads no clock: a request loop hands it what a socket gave, cut
//! wherever the network cut it, and learns when an answer is whole and whether the connection may carry
//! the next request. The grammar and the framing are those of RFC 9112. The path of one small answer
//! that comes in one read allocates nothing.

mod body;
mod codings;
mod cursor;
mod error;
mod head;
mod head_reader;
mod known;
mod lines;
pub mod request;
pub mod response;
mod syntax;

#[cfg(test)]
mod tests;

pub use codings::{Codings, ContentCoding};
pub use error::{EofError, ProtocolError};
pub use request::{Content, NUMBER_PLACEHOLDER, Parts, Prepared, RequestError, RequestKind};
pub use response::{Event, Outcome, Parser, Progress};
