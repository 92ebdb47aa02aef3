//! Undoes the content codings of a whole body, for checks that look at it. Bounded, whatever the body says of itself.
//!
//! It goes by what curl does, but for bodies that are cut short, which curl takes: what follows a whole stream is wrong
//! (so are further members of a gzip body), zlib passes for gzip, raw deflate for deflate, and an empty body is empty
//! whatever its codings.
//!
//! All decoders are Rust, since what they read comes from whatever target a plan names.

use std::borrow::Cow;
use std::io::{self, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use thiserror::Error;

use crate::http1::ContentCoding;

/// Most bytes that a body may come to, in each step of undoing its codings.
pub(crate) const MAX_DECODED_BYTES: usize = 64 << 20;
/// The largest window of a zstd frame (RFC 9659 section 3).
const MAX_ZSTD_WINDOW_BYTES: u64 = 8 << 20;
/// Bytes that may follow a raw deflate stream: curl passes over the checksum that some servers write behind one.
const MAX_RAW_TRAILER_BYTES: usize = 4;
/// By so much room grows at a time.
const ROOM_BYTES: usize = 32 * 1024;

/// Why a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum DecodeError {
    /// It is not what its coding says, or not all of it, or something follows it.
    #[error("the body is not what its content coding says")]
    Broken,
    /// It comes to more than [`MAX_DECODED_BYTES`].
    #[error("the decoded body is too large")]
    TooLarge,
}

impl From<io::Error> for DecodeError {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// The content without its codings, which were applied in this order.
pub(crate) fn undo<'a>(applied: &[ContentCoding], body: &'a [u8]) -> Result<Cow<'a, [u8]>, DecodeError> {
    let mut content = Cow::Borrowed(body);
    for coding in applied.iter().rev() {
        if !content.is_empty() {
            content = Cow::Owned(decode(*coding, &content)?);
        }
    }
    Ok(content)
}

fn decode(coding: ContentCoding, body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    match coding {
        ContentCoding::Gzip if body.starts_with(&[0x1f, 0x8b]) => gzip(body),
        ContentCoding::Gzip => inflate(body, true, 0),
        ContentCoding::Deflate => match inflate(body, true, 0) {
            Err(DecodeError::Broken) => inflate(body, false, MAX_RAW_TRAILER_BYTES),
            decoded => decoded,
        },
        ContentCoding::Brotli => brotli(body),
        ContentCoding::Zstd => zstd(body),
    }
}

fn gzip(body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut decoded = Vec::new();
    let mut decoder = GzDecoder::new(body);
    read_to_end(&mut decoder, &mut decoded)?;
    if decoder.get_ref().is_empty() { Ok(decoded) } else { Err(DecodeError::Broken) }
}

/// A deflate stream, within that of zlib or raw. At most `trailer_bytes` may follow it.
fn inflate(body: &[u8], is_zlib: bool, trailer_bytes: usize) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = Decompress::new(is_zlib);
    let mut decoded = Vec::new();
    let mut rest = body;
    loop {
        decoded.reserve(ROOM_BYTES);
        let before = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress_vec(rest, &mut decoded, FlushDecompress::None);
        let status = status.map_err(|_| DecodeError::Broken)?;
        // It takes no more than it was given.
        rest = &rest[(decoder.total_in() - before.0) as usize..];
        if decoded.len() > MAX_DECODED_BYTES {
            return Err(DecodeError::TooLarge);
        }
        if status == Status::StreamEnd {
            return if rest.len() <= trailer_bytes { Ok(decoded) } else { Err(DecodeError::Broken) };
        }
        if before == (decoder.total_in(), decoder.total_out()) {
            return Err(DecodeError::Broken);
        }
    }
}

fn brotli(mut body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut decoded = Vec::new();
    let mut decoder = Decompressor::new(&mut body, ROOM_BYTES);
    // Windows beyond 16 MiB are no part of RFC 7932.
    decoder.set_parameter(BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    read_to_end(&mut decoder, &mut decoded)?;
    // Asked once more it says whether it read something that it didn't take.
    read_to_end(&mut decoder, &mut decoded)?;
    drop(decoder);
    if body.is_empty() { Ok(decoded) } else { Err(DecodeError::Broken) }
}

/// Any number of frames (RFC 8878 section 3), those that are to be skipped among them.
fn zstd(mut body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut decoded = Vec::new();
    while !body.is_empty() {
        match StreamingDecoder::new_with_max_window_size(&mut body, MAX_ZSTD_WINDOW_BYTES) {
            Ok(mut frame) => {
                let before = decoded.len();
                read_to_end(&mut frame, &mut decoded)?;
                let frame = frame.into_frame_decoder();
                // 0 where the frame doesn't say.
                let bytes = frame.content_size();
                if bytes > 0 && bytes != (decoded.len() - before) as u64 {
                    return Err(DecodeError::Broken);
                }
                let checksum = frame.get_checksum_from_data();
                if checksum.is_some() && checksum != frame.get_calculated_checksum() {
                    return Err(DecodeError::Broken);
                }
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => body = body.get(length as usize..).ok_or(DecodeError::Broken)?,
            Err(_) => return Err(DecodeError::Broken),
        }
    }
    Ok(decoded)
}

/// Reads what there is, as far as all of it stays within the bound.
fn read_to_end(reader: &mut impl Read, decoded: &mut Vec<u8>) -> Result<(), DecodeError> {
    let room = (MAX_DECODED_BYTES + 1).saturating_sub(decoded.len());
    reader.take(room as u64).read_to_end(decoded)?;
    if decoded.len() > MAX_DECODED_BYTES { Err(DecodeError::TooLarge) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
