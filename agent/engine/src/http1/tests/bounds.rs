//! Where the bounds lie: the last that is accepted, the first that is refused, and the memory kept.

use super::{GET, read, read_every_way};
use crate::http1::response::{MAX_FIELDS, MAX_HEAD_BYTES, MAX_INTERIM, MAX_TRAILER_BYTES};
use crate::http1::{EofError, Parser, ProtocolError};

const LINE: &str = "HTTP/1.1 200 OK\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Checks that `fits` is read as a whole answer and `exceeds` gives the error.
fn check(name: &str, fits: &str, exceeds: &str, error: ProtocolError) {
    let whole = read_every_way(name, GET, fits.as_bytes());
    assert!(whole.is_ok(), "{name}: {whole:?}");
    assert_eq!(read_every_way(name, GET, exceeds.as_bytes()), Err(EofError::Protocol(error)), "{name}");
}

/// A field section of this many bytes, its empty line included.
fn section(bytes: usize) -> String {
    format!("X: {}\r\n\r\n", "a".repeat(bytes - "X: \r\n\r\n".len()))
}

#[test]
fn head_bytes() {
    let head = |bytes: usize| format!("{LINE}{}", section(bytes - LINE.len()));
    check("one long line", &head(MAX_HEAD_BYTES), &head(MAX_HEAD_BYTES + 1), ProtocolError::HeadTooLong);
    let folded = |folds: usize| format!("{LINE}X: a{}\r\n\r\n", "\r\n b".repeat(folds));
    check("folds", &folded(16_000), &folded(17_000), ProtocolError::HeadTooLong);
    let empty = |lines: usize| format!("{}HTTP/1.1 204 No\r\n\r\n", "\r\n".repeat(lines));
    check("empty lines before", &empty(32_000), &empty(33_000), ProtocolError::HeadTooLong);
    let reason = |bytes: usize| format!("HTTP/1.1 204 {}\r\n\r\n", "a".repeat(bytes));
    check("reason", &reason(65_000), &reason(66_000), ProtocolError::HeadTooLong);
}

#[test]
fn garbage_is_refused_by_its_first_bytes_however_long() {
    let garbage = "x".repeat(MAX_HEAD_BYTES + 1);
    let refused = Err(EofError::Protocol(ProtocolError::StatusLine));
    assert_eq!(read_every_way("garbage", GET, garbage.as_bytes()), refused);
}

#[test]
fn field_lines() {
    let head = |fields: u32| format!("{LINE}{}Content-Length: 0\r\n\r\n", "X: y\r\n".repeat(fields as usize));
    check("fields", &head(MAX_FIELDS - 1), &head(MAX_FIELDS), ProtocolError::TooManyFields);
}

#[test]
fn interim_heads() {
    let answer = |interim: u32| {
        format!("{}HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 103 Early\r\nX: y\r\n\r\n".repeat(interim as usize))
    };
    check("interim", &answer(MAX_INTERIM), &answer(MAX_INTERIM + 1), ProtocolError::TooManyInterim);
}

#[test]
fn chunk_extensions() {
    let answer = |bytes: usize| format!("{CHUNKED}0;{}\r\n\r\n", "a".repeat(bytes - 1));
    check("extension", &answer(4096), &answer(4097), ProtocolError::ChunkExtension);
    let spaces = |bytes: usize| format!("{CHUNKED}0{}\r\n\r\n", " ".repeat(bytes));
    check("spaces", &spaces(4096), &spaces(4097), ProtocolError::ChunkExtension);
    let each = format!("{CHUNKED}{}0\r\n\r\n", format!("1;{}\r\nx\r\n", "a".repeat(4000)).repeat(3));
    check("for each chunk", &each, &answer(5000), ProtocolError::ChunkExtension);
}

#[test]
fn trailers() {
    let answer = |bytes: usize| format!("{CHUNKED}0\r\n{}", section(bytes));
    check(
        "bytes",
        &answer(MAX_TRAILER_BYTES),
        &answer(MAX_TRAILER_BYTES + 1),
        ProtocolError::TrailersTooLong,
    );
    let lines = |lines: u32| format!("{CHUNKED}0\r\n{}\r\n", "X: y\r\n".repeat(lines as usize));
    check("lines", &lines(MAX_FIELDS), &lines(MAX_FIELDS + 1), ProtocolError::TooManyFields);
}

#[test]
fn answers_in_one_piece_keep_only_the_known_head() {
    let mut parser = Parser::new(GET);
    let small = format!("{LINE}Content-Length: 11\r\n\r\nhello world");
    let other = format!("{LINE}Content-Length: 9\r\nX: y\r\n\r\nsomething");
    for answer in [&other, &small, &other, &small, &small] {
        assert!(read(&mut parser, GET, [answer.as_bytes()]).is_ok());
        let kept = parser.capacity_bytes();
        assert!(kept < 2 * other.len(), "{kept} bytes kept for heads of at most {} bytes", other.len());
    }
}

#[test]
fn a_long_line_does_not_hold_its_memory() {
    let mut parser = Parser::new(GET);
    let long = format!("{LINE}{}", section(60_000));
    assert_eq!(parser.receive(&long.as_bytes()[..50_000]), Ok(None));
    assert!(parser.capacity_bytes() >= 50_000 - LINE.len());
    parser.reset(GET);
    assert!(parser.capacity_bytes() <= 4096);
}
