//! Fuzzing of the HTTP/1.1 parser: whatever a server sends, it must not upset the reader.
//!
//! In a plain test run bolero replays the corpus in `__fuzz__/answers/corpus`, one small answer a file, and
//! draws some thousand random inputs. `cargo bolero test -p volley-engine answers` goes on from there by
//! coverage; what it finds belongs to the corpus.

use std::alloc::System;
use std::hash::{DefaultHasher, Hash, Hasher};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use volley_engine::http1::response::MAX_HEAD_BYTES;
use volley_engine::http1::{Codings, EofError, Event, Outcome, Parser, RequestKind};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/__fuzz__/answers/corpus");
/// Fewer files mean that the corpus was lost.
const CORPUS_FILES_MIN: usize = 150;
/// With the fragments that they stand for, inputs come to some 500 bytes.
const INPUT_BYTES_MAX: usize = 64;
const RANDOM_INPUTS: usize = 10_000;
/// More than any bound of the parser.
const FLOOD_BYTES: usize = 150_000;
/// An unfinished line, whose buffer doubles, and the head that is remembered.
const MEMORY_BYTES_MAX: isize = 2 * MAX_HEAD_BYTES as isize + 1024;

const KINDS: [RequestKind; 3] = [
    RequestKind { is_head: false, keep_alive: true, http_1_0: false },
    RequestKind { is_head: true, keep_alive: true, http_1_0: false },
    RequestKind { is_head: false, keep_alive: false, http_1_0: false },
];

/// What an input is put behind, so that random bytes get beyond the status line.
const OPENINGS: [&str; 4] = [
    "",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
];

/// What bytes from 0x80 on stand for; those below are themselves, so that an answer in ASCII is an input.
const FRAGMENTS: [&[u8]; 43] = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
    b"HTTP/1.1 101 Up\r\n\r\n",
    b"HTTP/1.1 204 No\r\n",
    b"HTTP/1.1 304 Not\r\n",
    b"HTTP/1.",
    b"\r\n",
    b"\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b"\r\n ",
    b"\n\t",
    b":",
    b": ",
    b",",
    b";",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 5, 5\r\n",
    b"Content-Length: 18446744073709551615\r\n",
    b"Content-Length",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Content-Encoding: gzip, br\r\n",
    b"X: y\r\n",
    b"X Y : z\r\n",
    b"5\r\nhello\r\n",
    b"1;a=\"b\"\r\nx\r\n",
    b"0\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"hello",
    b"\xe4\xff",
];

fn decode(input: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    for byte in input {
        match byte.checked_sub(0x80) {
            None => wire.push(*byte),
            Some(index) => wire.extend_from_slice(FRAGMENTS[usize::from(index) % FRAGMENTS.len()]),
        }
    }
    wire
}

/// All that an answer comes to, with the server's close behind it where that is what it waits for.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    result: Result<Outcome, EofError>,
    content: Vec<u8>,
    codings: Codings,
    interim: u32,
}

/// Reads pieces and asserts what must hold at every step.
fn read<'a>(kind: RequestKind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut parser = Parser::new(kind);
    let mut content = Vec::new();
    let mut outcome = None;
    for piece in pieces {
        match read_piece(&mut parser, piece, &mut content) {
            Ok(found) => outcome = found.or(outcome),
            Err(_) => break,
        }
    }
    let result = outcome.map_or_else(|| parser.on_eof(), Ok);
    let content_bytes = content.len() as u64;
    assert!(result.is_err() || result.is_ok_and(|outcome| outcome.body_bytes == content_bytes));
    Reading { result, content, codings: parser.codings(), interim: parser.interim() }
}

fn read_piece(parser: &mut Parser, piece: &[u8], content: &mut Vec<u8>) -> Result<Option<Outcome>, EofError> {
    let mut rest = piece;
    loop {
        let progress = match parser.feed(rest) {
            Ok(progress) => progress,
            Err(error) => {
                assert_eq!(parser.feed(rest), Err(error), "an error stays");
                assert_eq!(parser.receive(b"HTTP/1.1 204 No\r\n\r\n"), Err(error), "an error stays");
                assert_eq!(parser.on_eof(), Err(EofError::Protocol(error)), "an error stays");
                return Err(error.into());
            }
        };
        assert!(progress.consumed <= rest.len());
        match progress.event {
            Event::NeedMore => {
                assert_eq!(progress.consumed, rest.len());
                return Ok(None);
            }
            Event::Head => assert!(parser.status().is_some_and(|status| (200..1000).contains(&status))),
            Event::Body(range) => {
                assert!(!range.is_empty() && range.end == progress.consumed);
                content.extend_from_slice(&rest[range]);
            }
            Event::Complete(outcome) => return Ok(Some(outcome)),
        }
        rest = &rest[progress.consumed..];
    }
}

/// Reads byte by byte, and content by [`Parser::discard`] wherever that may be.
fn read_discarding(kind: RequestKind, wire: &[u8]) -> Result<Outcome, EofError> {
    let mut parser = Parser::new(kind);
    let mut outcome = None;
    let mut rest = wire;
    while !rest.is_empty() && outcome.is_none() {
        let hint = usize::try_from(parser.body_remaining_hint()).unwrap_or(usize::MAX);
        let count = match hint {
            0 => 1,
            _ if parser.is_all_body() => rest.len(),
            _ => rest.len().min(hint),
        };
        let (piece, behind) = rest.split_at(count);
        rest = behind;
        outcome = match hint {
            0 => read_piece(&mut parser, piece, &mut Vec::new())?,
            _ => parser.discard(count as u64),
        };
    }
    match outcome {
        Some(_) if !rest.is_empty() => Ok(parser.receive(rest)?.expect("what is whole stays whole")),
        Some(outcome) => Ok(outcome),
        None => parser.on_eof(),
    }
}

/// Pieces whose sizes are the same for the same input.
fn pieces(wire: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() {
        let mut hasher = DefaultHasher::new();
        rest.hash(&mut hasher);
        let (piece, behind) = rest.split_at(1 + hasher.finish() as usize % rest.len());
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Whatever is sent without end, what the parser keeps of it has a bound.
fn check_memory(wire: &[u8]) {
    let flood = wire.repeat(FLOOD_BYTES / wire.len().max(1) + 1);
    let memory = Region::new(ALLOCATOR);
    let mut parser = Parser::new(KINDS[0]);
    for piece in flood.chunks(1500) {
        let _ = parser.receive(piece);
        let change = memory.change();
        let kept = change.bytes_allocated as isize - change.bytes_deallocated as isize;
        assert!(kept <= MEMORY_BYTES_MAX, "{kept} bytes kept");
    }
}

fn check(input: &[u8]) {
    let input = decode(input);
    for opening in OPENINGS {
        let wire = [opening.as_bytes(), &input].concat();
        for kind in KINDS {
            let whole = read(kind, [&wire[..]]);
            assert_eq!(read(kind, wire.chunks(1)), whole, "byte by byte");
            assert_eq!(read(kind, pieces(&wire)), whole, "in pieces");
            assert_eq!(read_discarding(kind, &wire), whole.result, "discarding");
        }
        check_memory(&wire);
    }
}

#[test]
fn answers() {
    let files = std::fs::read_dir(CORPUS).expect("the corpus can be read").count();
    assert!(files >= CORPUS_FILES_MIN, "{files} files in the corpus");
    bolero::check!(name = "answers")
        .with_max_len(INPUT_BYTES_MAX)
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| check(input));
}
