//! Decodes a chunked request body (RFC 9112 section 7.1), in pieces of any size.

use crate::bad_request::BadRequest;

/// The most bytes of one chunk's size line, and of all trailer fields together.
const OVERHEAD_BYTES_MAX: usize = 64 * 1024;

/// The state of decoding: what the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A digit of the chunk's size; whether one has come yet.
    Size(u64, bool),
    /// A chunk extension, which is skipped.
    Extension(u64),
    /// The line feed after the size.
    SizeEnd(u64),
    /// That many bytes of data are still to come, more than 0.
    Data(u64),
    DataReturn,
    DataEnd,
    /// The start of a trailer line, or the empty line that ends the body.
    TrailerStart,
    Trailer,
    TrailerEnd,
    BodyEnd,
    Done,
}

/// A decoder that has read some prefix of a chunked body.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    overhead_bytes: usize,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { state: State::Size(0, false), overhead_bytes: 0 }
    }

    /// The whole body has been read.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Reads on; gives each piece of data to `data`, and says how many bytes of `input` it took: all of them
    /// unless the body ends before.
    pub(crate) fn feed(&mut self, input: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, BadRequest> {
        let mut at = 0;
        while at < input.len() && !self.is_done() {
            if let State::Data(left) = self.state {
                let take = usize::try_from(left).unwrap_or(usize::MAX).min(input.len() - at);
                data(&input[at..at + take]);
                at += take;
                self.state = match left - take as u64 {
                    0 => State::DataReturn,
                    left => State::Data(left),
                };
            } else {
                self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Reads one byte that is not data.
    fn step(&mut self, byte: u8) -> Result<(), BadRequest> {
        self.overhead_bytes += 1;
        if self.overhead_bytes > OVERHEAD_BYTES_MAX {
            return Err(BadRequest::Chunk);
        }
        self.state = next(self.state, byte).ok_or(BadRequest::Chunk)?;
        if let State::Data(_) = self.state {
            self.overhead_bytes = 0;
        }
        Ok(())
    }
}

/// The state after one byte that is not data; `None` where that byte may not stand there.
fn next(state: State, byte: u8) -> Option<State> {
    Some(match (state, byte) {
        (State::Size(size, _), byte) if byte.is_ascii_hexdigit() => {
            let digit = char::from(byte).to_digit(16)?;
            State::Size(size.checked_mul(16)?.checked_add(digit.into())?, true)
        }
        (State::Size(size, true) | State::Extension(size), b'\r') => State::SizeEnd(size),
        (State::Size(size, true), b';' | b' ' | b'\t') => State::Extension(size),
        (State::Extension(size), byte) if is_text(byte) => State::Extension(size),
        (State::SizeEnd(0), b'\n') => State::TrailerStart,
        (State::SizeEnd(size), b'\n') => State::Data(size),
        (State::DataReturn, b'\r') => State::DataEnd,
        (State::DataEnd, b'\n') => State::Size(0, false),
        (State::TrailerStart, b'\r') => State::BodyEnd,
        (State::Trailer, b'\r') => State::TrailerEnd,
        (State::TrailerStart | State::Trailer, byte) if is_text(byte) => State::Trailer,
        (State::TrailerEnd, b'\n') => State::TrailerStart,
        (State::BodyEnd, b'\n') => State::Done,
        _ => return None,
    })
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

#[cfg(test)]
mod tests;
