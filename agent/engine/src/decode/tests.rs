//! Bodies by the compressors of others, and bodies that are wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;
use crate::http1::ContentCoding::{Brotli, Deflate, Gzip, Zstd};

const CODINGS: [ContentCoding; 4] = [Gzip, Deflate, Brotli, Zstd];

/// Everything that was written to an encoder over a vector.
macro_rules! written {
    ($encoder:expr, $content:expr) => {{
        let mut encoder = $encoder;
        encoder.write_all($content).unwrap();
        encoder.finish().unwrap()
    }};
}

fn zlib(content: &[u8]) -> Vec<u8> {
    written!(ZlibEncoder::new(Vec::new(), Compression::default()), content)
}

fn raw(content: &[u8]) -> Vec<u8> {
    written!(DeflateEncoder::new(Vec::new(), Compression::default()), content)
}

/// The content with this coding.
fn encoded(coding: ContentCoding, content: &[u8]) -> Vec<u8> {
    match coding {
        Gzip => written!(GzEncoder::new(Vec::new(), Compression::default()), content),
        Deflate => zlib(content),
        Brotli => {
            let mut encoded = Vec::new();
            brotli::CompressorWriter::new(&mut encoded, 4096, 5, 22).write_all(content).unwrap();
            encoded
        }
        Zstd => written!(zstd::Encoder::new(Vec::new(), 3).unwrap(), content),
    }
}

/// What a body with one coding comes to.
fn check(coding: ContentCoding, body: &[u8], expected: Result<&[u8], DecodeError>) {
    let found = undo(&[coding], body);
    let (found, expected) = (found.as_deref(), expected.as_ref().map(|content| &content[..]));
    assert!(
        found == expected,
        "{coding:?}: {:?}, not {:?}",
        found.map(<[u8]>::len),
        expected.map(<[u8]>::len)
    );
}

/// That it is the other parts in a row which make this body.
fn check_parts(coding: ContentCoding, parts: &[&[u8]], expected: Result<&[u8], DecodeError>) {
    check(coding, &parts.concat(), expected);
}

const HELLO: &[u8] = b"hello world";
const BROKEN: Result<&[u8], DecodeError> = Err(DecodeError::Broken);

#[test]
fn case_45_each_coding_is_undone() {
    for coding in CODINGS {
        check(coding, &encoded(coding, HELLO), Ok(HELLO));
        check(coding, &encoded(coding, b""), Ok(b""));
        check(coding, b"", Ok(b""));
        check(coding, HELLO, BROKEN);
    }
}

#[test]
fn codings_are_undone_last_first() {
    let body = encoded(Brotli, &encoded(Gzip, HELLO));
    assert_eq!(undo(&[Gzip, Brotli], &body).as_deref(), Ok(HELLO));
    assert_eq!(undo(&[Brotli, Gzip], &body).as_deref(), Err(&DecodeError::Broken));
    assert_eq!(undo(&[], HELLO).as_deref(), Ok(HELLO));
}

#[test]
fn a_body_cut_anywhere_is_broken() {
    let content: Vec<u8> = (0..3000_u32).map(|n| (n * n % 251) as u8).collect();
    for coding in CODINGS {
        let body = encoded(coding, &content);
        for end in 1..body.len() {
            check(coding, &body[..end], BROKEN);
        }
    }
    let body = raw(&content);
    for end in 1..body.len() {
        check(Deflate, &body[..end], BROKEN);
    }
}

#[test]
fn what_follows_a_whole_stream_is_wrong_as_with_curl() {
    for coding in [Gzip, Deflate, Brotli] {
        let body = encoded(coding, HELLO);
        check_parts(coding, &[&body, b"x"], BROKEN);
        check_parts(coding, &[&body, &[0; 20]], BROKEN);
        check_parts(coding, &[&body, &body], BROKEN);
        check_parts(coding, &[&body, &vec![7; 100_000]], BROKEN);
    }
    check_parts(Zstd, &[&encoded(Zstd, HELLO), b"garbage"], BROKEN);
}

#[test]
fn a_zstd_body_has_any_number_of_frames() {
    let body = encoded(Zstd, HELLO);
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    check_parts(Zstd, &[&body, &body], Ok(b"hello worldhello world"));
    check_parts(Zstd, &[skipped, &body, skipped], Ok(HELLO));
    check_parts(Zstd, &[&body, &skipped[..10]], BROKEN);
}

#[test]
fn what_servers_send_for_deflate_and_gzip_is_told_apart_as_curl_does() {
    check(Deflate, &raw(HELLO), Ok(HELLO));
    check_parts(Deflate, &[&raw(HELLO), b"1234"], Ok(HELLO));
    check_parts(Deflate, &[&raw(HELLO), b"12345"], BROKEN);
    check(Deflate, &encoded(Gzip, HELLO), BROKEN);
    check(Gzip, &zlib(HELLO), Ok(HELLO));
    check(Gzip, &raw(HELLO), BROKEN);
}

#[test]
fn checksums_are_held_against_the_content() {
    let mut gzip = encoded(Gzip, HELLO);
    let crc_at = gzip.len() - 8;
    gzip[crc_at] ^= 1;
    check(Gzip, &gzip, BROKEN);
    let mut zlib = zlib(HELLO);
    *zlib.last_mut().unwrap() ^= 1;
    check(Deflate, &zlib, BROKEN);
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    let mut frame = written!(encoder, HELLO);
    check(Zstd, &frame, Ok(HELLO));
    *frame.last_mut().unwrap() ^= 1;
    check(Zstd, &frame, BROKEN);
}

#[test]
fn a_bomb_is_bounded() {
    let most = vec![0; MAX_DECODED_BYTES];
    let beyond = vec![0; MAX_DECODED_BYTES + 1];
    for coding in CODINGS {
        check(coding, &encoded(coding, &most), Ok(&most));
        check(coding, &encoded(coding, &beyond), Err(DecodeError::TooLarge));
    }
    check(Deflate, &raw(&beyond), Err(DecodeError::TooLarge));
}

#[test]
fn windows_beyond_what_the_coding_permits_are_refused() {
    // A frame of one empty raw block, with a window of 8 MiB and one beyond.
    let frame = |window: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, window, 1, 0, 0];
    check(Zstd, &frame(13 << 3), Ok(b""));
    check(Zstd, &frame(13 << 3 | 1), BROKEN);
    // The window of large-window brotli.
    check(Brotli, b"\x11\x1e\x03", BROKEN);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_was_coded_is_undone(
        pieces in proptest::collection::vec((any::<u8>(), 1_usize..5000), 0..20),
        order in proptest::sample::subsequence(CODINGS.to_vec(), 0..=4).prop_shuffle(),
    ) {
        let mut content = Vec::new();
        for (byte, count) in pieces {
            content.extend((0..count).map(|n| byte.wrapping_mul(n as u8 | 1) ^ byte));
        }
        let body = order.iter().fold(content.clone(), |body, coding| encoded(*coding, &body));
        prop_assert!(undo(&order, &body).as_deref() == Ok(&content[..]));
    }

    /// Nothing panics and nothing goes on for ever, whatever is damaged.
    #[test]
    fn a_damaged_body_is_broken_or_another(
        coding in proptest::sample::select(CODINGS.to_vec()),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let content: Vec<u8> = (0..5000_u32).map(|n| (n * n % 251) as u8).collect();
        let mut body = encoded(coding, &content);
        for (index, byte) in damage {
            let at = index.index(body.len());
            body[at] = byte;
        }
        let _ = undo(&[coding], &body);
    }

    #[test]
    fn noise_is_never_a_panic(
        coding in proptest::sample::select(CODINGS.to_vec()),
        body in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = undo(&[coding], &body);
        let _ = undo(&[coding], &[b"\x28\xb5\x2f\xfd", &body[..]].concat());
    }
}
