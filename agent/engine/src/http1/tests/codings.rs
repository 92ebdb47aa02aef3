//! `Content-Encoding` by table, and how many interim answers have come.

use super::{GET, OK, read};
use crate::http1::ContentCoding::{Brotli, Deflate, Gzip, Zstd};
use crate::http1::{Codings, ContentCoding, Parser};

#[test]
fn content_codings() {
    let cases: [(&str, Option<&[ContentCoding]>); 18] = [
        ("", Some(&[])),
        ("Content-Encoding:", Some(&[])),
        ("Content-Encoding: identity", Some(&[])),
        ("Content-Encoding: none, ,Identity,", Some(&[])),
        ("Content-Encoding: gzip", Some(&[Gzip])),
        ("content-encoding:X-GZIP", Some(&[Gzip])),
        ("Content-Encoding: deflate", Some(&[Deflate])),
        ("Content-Encoding: br", Some(&[Brotli])),
        ("Content-Encoding: zstd", Some(&[Zstd])),
        ("Content-Encoding: gzip ,identity, br", Some(&[Gzip, Brotli])),
        ("Content-Encoding: deflate\r\nContent-Encoding: gzip, zstd", Some(&[Deflate, Gzip, Zstd])),
        ("Content-Encoding: gzip, gzip, gzip, gzip", Some(&[Gzip; 4])),
        ("Content-Encoding: gzip, gzip, gzip, gzip, gzip", None),
        ("Content-Encoding: compress", None),
        ("Content-Encoding: gzip;q=1", None),
        ("Content-Encoding: gzip br", None),
        ("Content-Encoding: xyz, gzip", None),
        ("Content-Encodings: gzip", Some(&[])),
    ];
    for (fields, expected) in cases {
        let end = if fields.is_empty() { "" } else { "\r\n" };
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}{end}Content-Length: 1\r\n\r\nx");
        let mut parser = Parser::new(GET);
        for time in ["first", "second, as a known head"] {
            assert!(read(&mut parser, GET, [wire.as_bytes()]).is_ok());
            assert_eq!(parser.codings().applied(), expected, "{fields}, {time} time");
            assert_eq!(parser.codings().is_none(), expected == Some(&[]), "{fields}, {time} time");
        }
        assert!(read(&mut parser, GET, wire.as_bytes().chunks(1)).is_ok());
        assert_eq!(parser.codings().applied(), expected, "{fields}, byte by byte");
    }
}

#[test]
fn codings_are_those_of_the_final_head() {
    let mut parser = Parser::new(GET);
    assert_eq!(parser.receive(b"HTTP/1.1 103 Early\r\nContent-Encoding: br\r\n\r\n"), Ok(None));
    assert_eq!(parser.codings(), Codings::NONE);
    assert_eq!(
        parser.receive(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n"),
        Ok(None)
    );
    assert_eq!(parser.codings(), Codings::NONE);
    assert_eq!(parser.receive(b"\r\n"), Ok(None));
    assert_eq!(parser.codings().applied(), Some(&[Gzip][..]));
    assert!(parser.receive(b"x").unwrap().is_some());
    assert_eq!(parser.codings().applied(), Some(&[Gzip][..]));
    parser.reset(GET);
    assert_eq!(parser.codings(), Codings::NONE);
    assert_eq!(parser.receive(OK.as_bytes()), Ok(None));
    assert_eq!(parser.codings(), Codings::NONE);
}

#[test]
fn case_23_interim_answers_are_counted() {
    let mut parser = Parser::new(GET);
    assert_eq!(parser.interim(), 0);
    assert_eq!(parser.receive(b"HTTP/1.1 100 Continue\r\n"), Ok(None));
    assert_eq!(parser.interim(), 0);
    assert_eq!(parser.receive(b"\r\n"), Ok(None));
    assert_eq!((parser.interim(), parser.status()), (1, None));
    assert_eq!(parser.receive(b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n"), Ok(None));
    assert_eq!((parser.interim(), parser.status()), (3, None));
    assert!(parser.receive([OK, "hello"].concat().as_bytes()).unwrap().is_some());
    assert_eq!((parser.interim(), parser.status()), (3, Some(200)));
    parser.reset(GET);
    assert_eq!(parser.interim(), 0);
}
