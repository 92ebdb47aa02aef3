//! Bodies by table: those that end by a close, chunks, what a close cuts off, and content never read.

use super::Expected::{Fails, NotReusable, Reusable};
use super::{GET, OK, check_all, truncated, wrong};
use crate::http1::{EofError, Parser, ProtocolError};

#[test]
fn bodies_that_end_by_close() {
    check_all(&[
        ("1.1 close", GET, "HTTP/1.1 200\r\nConnection: close\r\n\r\n", "hello", NotReusable(200, "hello")),
        ("1.1", GET, "HTTP/1.1 200 OK\r\n\r\n", "hello", NotReusable(200, "hello")),
        ("1.0", GET, "HTTP/1.0 200 OK\r\n\r\n", "hello", NotReusable(200, "hello")),
        (
            "1.0 keep-alive",
            GET,
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
            "hello",
            NotReusable(200, "hello"),
        ),
        ("empty", GET, "HTTP/1.1 200 OK\r\n\r\n", "", NotReusable(200, "")),
        (
            "another coding",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n",
            "hello",
            NotReusable(200, "hello"),
        ),
        (
            "chunked not last",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            "hello",
            NotReusable(200, "hello"),
        ),
        (
            "an empty coding",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n",
            "hello",
            NotReusable(200, "hello"),
        ),
        (
            "nearly chunked",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n",
            "hello",
            NotReusable(200, "hello"),
        ),
    ]);
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn chunked_bodies() {
    use ProtocolError::{FieldName, Nul, TransferEncoding};
    check_all(&[
        ("one chunk", GET, CHUNKED, "5\r\nhello\r\n0\r\n\r\n", Reusable(200, "hello")),
        ("none", GET, CHUNKED, "0\r\n\r\n", Reusable(200, "")),
        ("many zeros", GET, CHUNKED, "1\r\nx\r\n0000000000000000\r\n\r\n", Reusable(200, "x")),
        (
            "both cases",
            GET,
            CHUNKED,
            "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
            Reusable(200, "01234567890123456789"),
        ),
        ("line ends as data", GET, CHUNKED, "4\r\n\r\n\r\n\r\n0\r\n\r\n", Reusable(200, "\r\n\r\n")),
        (
            "extensions",
            GET,
            CHUNKED,
            "1;a\r\nx\r\n1 ; a=\"b;c\" ;d\r\ny\r\n0;z=1\r\n\r\n",
            Reusable(200, "xy"),
        ),
        ("space behind the size", GET, CHUNKED, "1  \r\nx\r\n0\t\r\n\r\n", Reusable(200, "x")),
        ("bare LF", GET, CHUNKED, "1\nx\n0\n\n", Reusable(200, "x")),
        (
            "trailers",
            GET,
            CHUNKED,
            "1\r\nx\r\n0\r\nA: b\r\n c\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
            Reusable(200, "x"),
        ),
        (
            "a length too",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: Chunked\r\nContent-Length: x\r\n\r\n",
            "1\r\nx\r\n0\r\n\r\n",
            Reusable(200, "x"),
        ),
        (
            "behind another coding",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, , chunked\r\n\r\n",
            "1\r\nx\r\n0\r\n\r\n",
            Reusable(200, "x"),
        ),
        (
            "in a second line",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
            "1\r\nx\r\n0\r\n\r\n",
            Reusable(200, "x"),
        ),
        ("more behind it", GET, CHUNKED, "1\r\nx\r\n0\r\n\r\nHTTP/1.1", NotReusable(200, "x")),
        (
            "chunked with parameters",
            GET,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;x=y\r\n\r\n",
            "0\r\n\r\n",
            wrong(TransferEncoding),
        ),
        ("a trailer without name", GET, CHUNKED, "0\r\nx y\r\n\r\n", wrong(FieldName)),
        ("a trailer with NUL", GET, CHUNKED, "0\r\nx: \0\r\n\r\n", wrong(Nul)),
    ]);
}

#[test]
fn malformed_chunks() {
    use ProtocolError::{ChunkEnd, ChunkExtension, ChunkSize};
    check_all(&[
        ("no size", GET, CHUNKED, "\r\n", wrong(ChunkSize)),
        ("only an extension", GET, CHUNKED, ";a\r\n", wrong(ChunkSize)),
        ("no digit", GET, CHUNKED, "g\r\n", wrong(ChunkSize)),
        ("negative", GET, CHUNKED, "-1\r\n", wrong(ChunkSize)),
        ("a prefix", GET, CHUNKED, "0x1\r\nx\r\n", wrong(ChunkSize)),
        ("space before", GET, CHUNKED, " 1\r\nx\r\n", wrong(ChunkSize)),
        ("two sizes", GET, CHUNKED, "1 1\r\nx\r\n", wrong(ChunkSize)),
        ("17 digits", GET, CHUNKED, "00000000000000001\r\nx\r\n", wrong(ChunkSize)),
        ("16 digits", GET, CHUNKED, "ffffffffffffffff\r\nx", truncated(1, None)),
        ("CR alone behind the size", GET, CHUNKED, "1\rx", wrong(ChunkSize)),
        ("CR alone in an extension", GET, CHUNKED, "1;a\rb\nx", wrong(ChunkExtension)),
        ("data too long", GET, CHUNKED, "1\r\nxy\r\n", wrong(ChunkEnd)),
        ("data and CR alone", GET, CHUNKED, "1\r\nx\ry", wrong(ChunkEnd)),
    ]);
}

#[test]
fn what_a_close_cuts_off() {
    check_all(&[
        ("everything", GET, "", "", Fails(EofError::BeforeFirstByte)),
        ("an empty line is nothing", GET, "\r\n\n\r", "", Fails(EofError::BeforeFirstByte)),
        ("behind the first byte", GET, "H", "", Fails(EofError::InHead)),
        ("behind the status line", GET, "HTTP/1.1 200 OK\r\n", "", Fails(EofError::InHead)),
        ("before the empty line", GET, "HTTP/1.1 200 OK\r\nX: y\r\n", "", Fails(EofError::InHead)),
        ("inside the empty line", GET, "HTTP/1.1 200 OK\r\nX: y\r\n\r", "", Fails(EofError::InHead)),
        ("the body", GET, OK, "", truncated(0, Some(5))),
        ("some of the body", GET, OK, "hell", truncated(4, Some(5))),
        ("chunks", GET, CHUNKED, "", truncated(0, None)),
        ("a size", GET, CHUNKED, "5\r\nhello\r\n1", truncated(5, None)),
        ("data", GET, CHUNKED, "5\r\nhell", truncated(4, None)),
        ("the last chunk", GET, CHUNKED, "5\r\nhello\r\n", truncated(5, None)),
        ("the trailers", GET, CHUNKED, "5\r\nhello\r\n0\r\n", truncated(5, None)),
        ("the last line end", GET, CHUNKED, "5\r\nhello\r\n0\r\nA: b\r\n\r", truncated(5, None)),
    ]);
}

#[test]
fn a_close_behind_a_whole_answer_spoils_only_the_connection() {
    let mut parser = Parser::new(GET);
    let whole = parser.receive([OK, "hello"].concat().as_bytes()).unwrap().unwrap();
    assert!(whole.reusable);
    let closed = parser.on_eof().unwrap();
    assert_eq!((closed.status, closed.body_bytes, closed.reusable), (200, 5, false));
}

#[test]
fn an_error_stays_until_reset() {
    let mut parser = Parser::new(GET);
    assert_eq!(parser.receive(b"ICAP/1.0 200 OK\r\n"), Err(ProtocolError::StatusLine));
    assert_eq!(parser.receive([OK, "hello"].concat().as_bytes()), Err(ProtocolError::StatusLine));
    assert_eq!(parser.on_eof(), Err(EofError::Protocol(ProtocolError::StatusLine)));
    assert_eq!(parser.status(), None);
    parser.reset(GET);
    assert!(parser.receive([OK, "hello"].concat().as_bytes()).unwrap().is_some());
}

#[test]
fn content_may_be_discarded_unseen() {
    let mut parser = Parser::new(GET);
    assert_eq!(parser.body_remaining_hint(), 0);
    assert_eq!(parser.discard(1), None);
    assert_eq!(parser.receive(OK.as_bytes()), Ok(None));
    assert_eq!(parser.status(), Some(200));
    assert_eq!(parser.body_remaining_hint(), 5);
    assert_eq!(parser.discard(2), None);
    assert_eq!(parser.receive(b"l"), Ok(None));
    assert_eq!(parser.body_remaining_hint(), 2);
    assert!(parser.is_all_body());
    let outcome = parser.discard(2).expect("the rest");
    assert_eq!((outcome.body_bytes, outcome.reusable), (5, true));

    parser.reset(GET);
    assert!(!parser.is_all_body());
    assert_eq!(parser.receive(OK.as_bytes()), Ok(None));
    let outcome = parser.discard(9).expect("more than there should be");
    assert_eq!((outcome.body_bytes, outcome.reusable), (5, false));
}

#[test]
fn content_of_chunks_and_up_to_a_close_may_be_discarded_too() {
    let mut parser = Parser::new(GET);
    assert_eq!(parser.receive([CHUNKED, "5\r\nh"].concat().as_bytes()), Ok(None));
    assert_eq!((parser.body_remaining_hint(), parser.is_all_body()), (4, false));
    assert_eq!(parser.discard(4), None);
    assert_eq!(parser.body_remaining_hint(), 0);
    assert_eq!(parser.discard(4), None);
    let outcome = parser.receive(b"\r\n1\r\nx\r\n0\r\n\r\n").unwrap().expect("whole");
    assert_eq!((outcome.body_bytes, outcome.reusable), (6, true));

    parser.reset(GET);
    assert_eq!(parser.receive(b"HTTP/1.1 200 OK\r\n\r\n"), Ok(None));
    assert_eq!(parser.body_remaining_hint(), u64::MAX);
    assert_eq!(parser.discard(1 << 40), None);
    assert_eq!(parser.on_eof().map(|outcome| outcome.body_bytes), Ok(1 << 40));
}
