//! Why a message from the other end is refused.

use thiserror::Error;

/// Why a message from the other end is refused. Fields are named as in fleet.proto: `Row.from_s`.
#[derive(Debug, Error, PartialEq)]
pub enum WireError {
    /// A part without which the message says nothing; also one that only a newer version knows.
    #[error("{field} is missing or unknown")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A number outside of what makes sense.
    #[error("{field} is {value}, allowed is {least} to {most}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// A list that is too long.
    #[error("{field} has more than {most} entries")]
    TooMany {
        /// The field.
        field: &'static str,
        /// The bound.
        most: usize,
    },
    /// A text, or a message among others, that is too long.
    #[error("{field} has {bytes} bytes, allowed are {most}")]
    TooLong {
        /// The field.
        field: &'static str,
        /// Its length.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// A text that is not of the form it must have.
    #[error("{field} is not {what}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// What it should be.
        what: &'static str,
    },
    /// An entry that comes twice, or not in its order.
    #[error("{field} is repeated or out of order")]
    Repeated {
        /// The field.
        field: &'static str,
    },
    /// A part that belongs in rows of another kind: rows of a step count, those of all steps together time.
    #[error("{field} doesn't belong in a row of this step")]
    Misplaced {
        /// The field.
        field: &'static str,
    },
    /// A span that ends before it begins.
    #[error("{field}: it goes from {from} to {to}")]
    Span {
        /// The message that holds the span.
        field: &'static str,
        /// Its beginning.
        from: u64,
        /// Its end.
        to: u64,
    },
    /// Nested bytes that are not the messages they should be.
    #[error("{field} can't be decoded")]
    Decode {
        /// The field.
        field: &'static str,
        /// Why.
        source: prost::DecodeError,
    },
}
