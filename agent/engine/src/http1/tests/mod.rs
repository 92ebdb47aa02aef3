//! The codec's tests: tables of answers, generated answers, agreement with other readers, and the requests.
//!
//! Every answer is read whole, byte by byte and under two-way cuts, and must mean the same each time.

mod agreement;
mod answers;
mod bodies;
mod bounds;
mod codings;
mod generated;
mod habits;
mod heads;
mod requests;
mod words;

use super::{EofError, Event, Outcome, Parser, ProtocolError, RequestKind};

const GET: RequestKind = RequestKind { is_head: false, keep_alive: true, http_1_0: false };
const HEAD: RequestKind = RequestKind { is_head: true, keep_alive: true, http_1_0: false };
const GET_CLOSE: RequestKind = RequestKind { is_head: false, keep_alive: false, http_1_0: false };

/// A head to put content behind.
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

/// What an answer that is followed by the server's close comes to, with its content.
type Reading = Result<(Outcome, Vec<u8>), EofError>;

/// Reads pieces, then the server's close if that is what the answer still waits for.
fn read<'a>(parser: &mut Parser, kind: RequestKind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    parser.reset(kind);
    let mut content = Vec::new();
    let mut outcome = None;
    for piece in pieces {
        outcome = read_piece(parser, piece, &mut content)?.or(outcome);
    }
    match outcome {
        Some(outcome) => Ok((outcome, content)),
        None => parser.on_eof().map(|outcome| (outcome, content)),
    }
}

fn read_piece(parser: &mut Parser, piece: &[u8], content: &mut Vec<u8>) -> Result<Option<Outcome>, EofError> {
    let mut rest = piece;
    loop {
        let progress = parser.feed(rest)?;
        match progress.event {
            Event::NeedMore => {
                assert_eq!(progress.consumed, rest.len(), "all of a piece is taken when more is wanted");
                return Ok(None);
            }
            Event::Head => assert!(parser.status().is_some_and(|status| status >= 200)),
            Event::Body(range) => {
                assert_eq!(range.end, progress.consumed);
                assert!(!range.is_empty());
                content.extend_from_slice(&rest[range]);
            }
            Event::Complete(outcome) => return Ok(Some(outcome)),
        }
        rest = &rest[progress.consumed..];
    }
}

/// Cuts the input at these places, which must rise.
fn pieces_of<'a>(input: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(input.len()));
    starts.zip(ends).map(|(start, end)| &input[start..end]).collect()
}

/// Reads the input whole, and asserts that every way to cut it that is tried comes to the same: on a
/// parser that is new and on one that knows the head already.
fn read_every_way(name: &str, kind: RequestKind, input: &[u8]) -> Reading {
    let mut parser = Parser::new(kind);
    let whole = read(&mut parser, kind, [input]);
    assert_eq!(read(&mut parser, kind, [input]), whole, "{name}: a second time");
    assert_eq!(read(&mut Parser::new(kind), kind, input.chunks(1)), whole, "{name}: byte by byte");
    assert_eq!(read(&mut parser, kind, input.chunks(1)), whole, "{name}: byte by byte, head known");
    // All cuts of what is short, some of what is long.
    let stride = input.len() / 500 + 1;
    for cut in (0..=input.len()).step_by(stride).chain([input.len().saturating_sub(1)]) {
        assert_eq!(read(&mut parser, kind, pieces_of(input, &[cut])), whole, "{name}: cut at {cut}");
    }
    parser.reset(kind);
    let received = parser.receive(input);
    match &whole {
        Ok((outcome, _)) if received != Ok(None) => assert_eq!(received, Ok(Some(*outcome)), "{name}"),
        Ok(_) | Err(EofError::BeforeFirstByte | EofError::InHead | EofError::Truncated { .. }) => {
            assert_eq!(received, Ok(None), "{name}");
        }
        Err(EofError::Protocol(error)) => assert_eq!(received, Err(*error), "{name}"),
    }
    whole
}

/// What a table expects of an answer.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// Whole, with this status and content, on a connection that may be used again.
    Reusable(u16, &'static str),
    /// The same, on one that may not.
    NotReusable(u16, &'static str),
    Fails(EofError),
}

/// Checks an answer, given as its head (interim heads included) and what follows it.
fn check(name: &str, kind: RequestKind, head: &str, rest: &str, expected: Expected) {
    let reading = read_every_way(name, kind, [head, rest].concat().as_bytes());
    let expected = match expected {
        Expected::Reusable(status, content) => Ok((status, content, true)),
        Expected::NotReusable(status, content) => Ok((status, content, false)),
        Expected::Fails(error) => Err(error),
    };
    let expected = expected.map(|(status, content, reusable)| {
        let (head_bytes, body_bytes) = (head.len() as u64, content.len() as u64);
        (Outcome { status, body_bytes, head_bytes, reusable }, content.as_bytes().to_vec())
    });
    assert_eq!(reading, expected, "{name}");
}

/// Name, kind of request, heads, what follows them, and what that comes to.
type Case = (&'static str, RequestKind, &'static str, &'static str, Expected);

fn check_all(cases: &[Case]) {
    for &(name, kind, head, rest, expected) in cases {
        check(name, kind, head, rest, expected);
    }
}

const fn wrong(error: ProtocolError) -> Expected {
    Expected::Fails(EofError::Protocol(error))
}

const fn truncated(received: u64, expected: Option<u64>) -> Expected {
    Expected::Fails(EofError::Truncated { received, expected })
}
