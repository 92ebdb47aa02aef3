//! The checks that fields of several messages share.

use prost::Message;
use volley_plan::link::RunId;

use crate::WireError;
use crate::limits::MAX_ENTRY_BYTES;

/// The part that must be there.
pub(crate) fn required<T>(value: Option<T>, field: &'static str) -> Result<T, WireError> {
    value.ok_or(WireError::Missing { field })
}

/// A number that has bounds.
pub(crate) fn within(value: u64, least: u64, most: u64, field: &'static str) -> Result<u64, WireError> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(WireError::OutOfRange { field, value, least, most })
    }
}

/// The same for numbers of 32 bits.
pub(crate) fn within_u32(value: u32, least: u32, most: u32, field: &'static str) -> Result<u32, WireError> {
    within(value.into(), least.into(), most.into(), field).map(|_| value)
}

/// A text that has a bound.
pub(crate) fn text(text: String, most: usize, field: &'static str) -> Result<String, WireError> {
    if text.len() <= most { Ok(text) } else { Err(WireError::TooLong { field, bytes: text.len(), most }) }
}

/// A short text for people that stands in lists and log lines.
pub(crate) fn name(name: String, most: usize, field: &'static str) -> Result<String, WireError> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(WireError::Malformed { field, what: "a text of one line" });
    }
    text(name, most, field)
}

/// A run's name.
pub(crate) fn run(name: &str, field: &'static str) -> Result<RunId, WireError> {
    RunId::new(name)
        .ok_or(WireError::Malformed { field, what: "a run's name of 1 to 64 letters, digits and hyphens" })
}

/// The beginning of a text that fits into `most` bytes.
pub(crate) fn clipped(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Messages one after the other, each preceded by its length.
pub(crate) fn delimit<M: Message>(messages: impl Iterator<Item = M>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        message.encode_length_delimited(&mut bytes).expect("a vector grows as far as it must");
    }
    bytes
}

/// Reads such messages, one at a time and at most `most`, each of a size that it may have.
pub(crate) fn undelimit<M: Message + Default>(
    mut bytes: &[u8],
    most: usize,
    field: &'static str,
) -> impl Iterator<Item = Result<M, WireError>> {
    let mut read = 0;
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        read += 1;
        if read > most {
            bytes = &[];
            return Some(Err(WireError::TooMany { field, most }));
        }
        let message = next(&mut bytes, field);
        if message.is_err() {
            bytes = &[];
        }
        Some(message)
    })
}

fn next<M: Message + Default>(rest: &mut &[u8], field: &'static str) -> Result<M, WireError> {
    let broken = |source| WireError::Decode { field, source };
    let bytes = prost::decode_length_delimiter(*rest).map_err(broken)?;
    if bytes > MAX_ENTRY_BYTES {
        return Err(WireError::TooLong { field, bytes, most: MAX_ENTRY_BYTES });
    }
    M::decode_length_delimited(rest).map_err(broken)
}
