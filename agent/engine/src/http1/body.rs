//! Where a body ends: a counter for `Content-Length`, a small machine for the chunked transfer coding.

use super::cursor::Cursor;
use super::error::ProtocolError;

/// Most digits of a chunk size: what fits 64 bits.
const MAX_SIZE_DIGITS: u8 = 16;
/// Most bytes of one chunk's extensions; they are skipped, never kept.
const MAX_EXTENSION_BYTES: u16 = 4096;

/// What the front of the input was found to be, and what was used up of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyStep {
    /// All of it was framing, and more must come.
    NeedMore,
    /// After any framing, content of this length, which is never 0.
    Content(usize),
    /// Framing up to and with the last chunk, which is the trailer section's beginning.
    Trailers,
    /// The body had ended before the first byte.
    Done,
}

/// What is still to come of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Length { remaining: u64 },
    UntilClose,
    Chunked(Chunked),
}

/// ```text
///            digits          SP, HT        ;
///    Size ───────────> Size ───────> Space ───> Extension
///     │ ;                │ CR          │ CR         │ CR
///     └─> Extension      └──────> SizeLf <──────────┘
///                                  │ LF          (a bare LF does the work of CR LF)
///          size 0 <────────────────┴───> Data ──> DataCr ─CR─> DataLf ─LF─> Size
///       the trailers
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    Size,
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
}

/// The chunked transfer coding (RFC 9112 section 7.1), up to the last chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunked {
    state: ChunkState,
    /// The size read so far, then what is left of the chunk's data.
    remaining: u64,
    digits: u8,
    extension_bytes: u16,
}

impl Body {
    pub(super) const CHUNKED: Self = Self::Chunked(Chunked::START);

    /// Looks at the front of the input and moves past it.
    #[inline]
    pub(super) fn advance(&mut self, input: &mut Cursor<'_>) -> Result<BodyStep, ProtocolError> {
        let available = input.rest().len();
        match self {
            Self::Length { remaining: 0 } => Ok(BodyStep::Done),
            _ if available == 0 => Ok(BodyStep::NeedMore),
            Self::Length { remaining } => Ok(content(input, take(remaining, available))),
            Self::UntilClose => Ok(content(input, available)),
            Self::Chunked(chunked) => chunked.advance(input),
        }
    }

    /// How many bytes of content are sure to come next, with no framing between them.
    pub(super) fn remaining_hint(&self) -> u64 {
        match *self {
            Self::Length { remaining } => remaining,
            Self::Chunked(Chunked { state: ChunkState::Data, remaining, .. }) => remaining,
            Self::Chunked(_) => 0,
            Self::UntilClose => u64::MAX,
        }
    }

    /// Moves past content that was never read, at most [`Self::remaining_hint`] bytes of it.
    pub(super) fn discard(&mut self, count: u64) {
        match self {
            Self::Length { remaining } => *remaining -= count,
            Self::Chunked(chunked) => {
                chunked.remaining -= count;
                chunked.end_data();
            }
            Self::UntilClose => {}
        }
    }
}

fn content(input: &mut Cursor<'_>, len: usize) -> BodyStep {
    input.take(len);
    BodyStep::Content(len)
}

/// Takes up to `available` off `remaining` and says how much that was.
fn take(remaining: &mut u64, available: usize) -> usize {
    // Where `remaining` doesn't fit a usize, it is more than any slice holds.
    let len = usize::try_from(*remaining).map_or(available, |remaining| remaining.min(available));
    *remaining -= len as u64;
    len
}

impl Chunked {
    const START: Self = Self { state: ChunkState::Size, remaining: 0, digits: 0, extension_bytes: 0 };

    fn advance(&mut self, input: &mut Cursor<'_>) -> Result<BodyStep, ProtocolError> {
        for (framing_bytes, &byte) in input.rest().iter().enumerate() {
            if self.state == ChunkState::Data {
                input.take(framing_bytes);
                let len = take(&mut self.remaining, input.rest().len());
                self.end_data();
                return Ok(content(input, len));
            }
            self.state = self.framing_byte(byte)?;
            if self.state == ChunkState::Data && self.remaining == 0 {
                input.take(framing_bytes + 1);
                return Ok(BodyStep::Trailers);
            }
        }
        input.take_rest();
        Ok(BodyStep::NeedMore)
    }

    fn end_data(&mut self) {
        if self.state == ChunkState::Data && self.remaining == 0 {
            self.state = ChunkState::DataCr;
        }
    }

    fn framing_byte(&mut self, byte: u8) -> Result<ChunkState, ProtocolError> {
        match (self.state, byte) {
            (ChunkState::Size, _) => self.size_byte(byte),
            (ChunkState::Space, b' ' | b'\t') => self.extension_byte(ChunkState::Space),
            (ChunkState::Space | ChunkState::Extension, b'\r') => Ok(ChunkState::SizeLf),
            (ChunkState::Space | ChunkState::Extension | ChunkState::SizeLf, b'\n') => Ok(ChunkState::Data),
            (ChunkState::Space, b';') => self.extension_byte(ChunkState::Extension),
            (ChunkState::Space, _) => Err(ProtocolError::ChunkSize),
            (ChunkState::Extension, _) => self.extension_byte(ChunkState::Extension),
            (ChunkState::SizeLf, _) if self.extension_bytes == 0 => Err(ProtocolError::ChunkSize),
            (ChunkState::SizeLf, _) => Err(ProtocolError::ChunkExtension),
            (ChunkState::DataCr, b'\r') => Ok(ChunkState::DataLf),
            (ChunkState::DataCr | ChunkState::DataLf, b'\n') => {
                *self = Self::START;
                Ok(ChunkState::Size)
            }
            (ChunkState::DataCr | ChunkState::DataLf | ChunkState::Data, _) => Err(ProtocolError::ChunkEnd),
        }
    }

    fn size_byte(&mut self, byte: u8) -> Result<ChunkState, ProtocolError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ if self.digits == 0 => return Err(ProtocolError::ChunkSize),
            b'\r' => return Ok(ChunkState::SizeLf),
            b'\n' => return Ok(ChunkState::Data),
            b' ' | b'\t' => return self.extension_byte(ChunkState::Space),
            b';' => return self.extension_byte(ChunkState::Extension),
            _ => return Err(ProtocolError::ChunkSize),
        };
        if self.digits == MAX_SIZE_DIGITS {
            return Err(ProtocolError::ChunkSize);
        }
        self.digits += 1;
        self.remaining = self.remaining << 4 | u64::from(digit);
        Ok(ChunkState::Size)
    }

    /// Counts one byte of white space or extension. The extension's own grammar is not checked, since a
    /// recipient ignores what it doesn't know (RFC 9112 section 7.1.1).
    fn extension_byte(&mut self, next: ChunkState) -> Result<ChunkState, ProtocolError> {
        if self.extension_bytes == MAX_EXTENSION_BYTES {
            return Err(ProtocolError::ChunkExtension);
        }
        self.extension_bytes += 1;
        Ok(next)
    }
}
