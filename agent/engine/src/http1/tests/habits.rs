//! Where RFCs, curl and this codec are not of one mind.
//!
//! curl 7.88.1 was run against a raw socket that sent each of these. Everything else of RFC 9112 that the
//! other tables hold, curl does as well. Where the RFC and curl differ this codec does as curl does, unless
//! a wrong count could come of that: then the answer is a failure that has a name.
//!
//! | answer | RFC 9110, 9112 | curl 7.88.1 | here | why not as curl |
//! |---|---|---|---|---|
//! | several spaces before the code | allowed (9112 §4) | takes it | takes it | |
//! | `200OK` | malformed | takes it | takes it | |
//! | `HTTP/1.2` to `1.9` | read as 1.1 (9110 §2.5) | refuses | refuses | |
//! | `HTTP/2 200` in text | another version | takes it | refuses | what it means by that is anybody's guess |
//! | `http/1.1` | case matters (9112 §2.3) | takes it, closes | refuses | it is no HTTP, and httparse refuses it too |
//! | HTTP/0.9, no status line | not HTTP/1 | refuses | refuses | |
//! | status 000, 099, 99, 1000 | malformed | refuses | refuses | |
//! | status 600 to 999 | as 5xx (9110 §15) | takes it | takes it | |
//! | empty lines before the status line | nothing said | refuses | skips them | a line end too many behind an answer would be harmless or a failure by when it comes |
//! | line without colon | malformed | refuses | refuses | |
//! | name that is no token, or empty, or has a space before the colon | malformed (9112 §5.1) | passes it over | passes it over | |
//! | the same where the name would mean something: `Content-Length : 5` | malformed (9112 §5.1) | passes it over, reads until close | refuses | readers differ on how long the body is |
//! | white space before the first name | refuse, or skip the line (9112 §2.2) | refuses | refuses | |
//! | a folded value | read as a space (9112 §5.2) | does so, but not for `Content-Length` | does so | the RFC's MUST |
//! | NUL in a head or in trailers | refuse, or read as a space (9110 §5.5) | refuses | refuses | |
//! | bare CR in a value | refuse, or read as a space (9112 §2.2) | passes it over | passes it over | |
//! | control characters in a name | malformed (9112 §5.1) | passes it over | refuses | bytes gone astray |
//! | CR CR LF for the empty line | a bare CR | takes it | refuses | |
//! | `Content-Length: +5`, `5x`, `0x5`, `5, 6`, `5,` | an error (9112 §6.3) | takes the number in front | refuses | the body's length is a guess |
//! | two `Content-Length` that differ | an error (9112 §6.3) | the last counts | refuses | same |
//! | `Content-Length` of 2^64 | an error | reads until close | refuses | an answer cut short would pass for whole |
//! | `Content-Length: x` on HEAD, or beside chunked | doesn't count (9112 §6.3) | refuses | doesn't count | where the answer ends isn't in doubt |
//! | `Transfer-Encoding: gzip, chunked` | chunked (9112 §6.3) | chunked, then undoes gzip | chunked, content as it came | nobody asked for gzip by TE |
//! | `Transfer-Encoding: chunked, gzip` | until close (9112 §6.3) | chunked | until close | the RFC's rule, and hyper's |
//! | `Transfer-Encoding: xyz` | until close (9112 §6.3) | fails | until close | where it ends isn't in doubt |
//! | `Transfer-Encoding: identity` | no such coding | until close | until close | |
//! | `Transfer-Encoding: chunked, identity` | no such coding | chunked | chunked | |
//! | chunked named twice | MUST NOT be sent (9112 §6.1) | chunked once | chunked once | |
//! | `chunked;q=1` | no parameters (9112 §7) | fails | refuses | |
//! | chunk size `5x`, `5 5` | malformed (9112 §7.1) | takes 5 | refuses | the size is a guess |
//! | chunk size of more than 16 digits | up to the reader (9112 §7.1) | refuses | refuses | |
//! | bare CR in a chunk's first line | malformed (9112 §2.2) | passes it over | refuses | other readers end the line there |
//! | CR LF inside a quoted extension | malformed (9112 §7.1.1) | ends the line | ends the line | |
//! | extensions without end | up to the reader (9112 §7.1.1) | passes over | up to 4,096 bytes a chunk | everything has a bound |
//! | close inside the head | incomplete (9112 §8) | **whole**, exit 0 | fails | an answer cut short is no answer |
//! | close inside chunks or trailers | incomplete (9112 §8) | fails | fails | |
//! | HTTP/1.0, keep-alive, chunked | close behind it (9112 §6.1) | connection kept | closed | costs one connection at most |
//! | HTTP/1.0 `keep-alive, close` | close | connection kept | closed | close wins (9112 §9.3) |
//! | `Connection: closed` | an option nobody knows | closes | connection kept | only `close` closes (9112 §9.6) |
//! | bytes behind HEAD, 204, 304 or chunks | a faulty server (9112 §6.3) | dropped, connection kept | dropped, closed | what comes next on it can't be told from them |
//! | 205 without framing | until close (9110 §15.3.6) | until close | until close | |
//! | any number of 1xx | allowed (9110 §15.2) | takes them | up to 100 | everything has a bound |
//! | `Connection: close` in a 1xx | nothing said | connection closed | connection closed | |
//! | 101 that nobody asked for | MUST NOT be sent (9110 §7.8) | final, until close | fails | what follows is not HTTP |
//! | `Content-Encoding: none` | not registered | as identity | as identity | |
//! | head beyond 64 KiB or 200 lines | up to the reader (9110 §5.4) | lines up to 100 KiB | fails | everything has a bound |

use super::Expected::{NotReusable, Reusable};
use super::{GET, HEAD, check_all, truncated, wrong};
use crate::http1::EofError::InHead;
use crate::http1::ProtocolError::{
    ChunkExtension, ChunkSize, ContentLength, FieldName, Nul, StatusCode, StatusLine, TransferEncoding,
    Upgrade, Version,
};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn status_lines() {
    const END: &str = "\r\nContent-Length: 0\r\n\r\n";
    for (line, expected) in [
        ("HTTP/1.1   200 OK", Ok(200)),
        ("HTTP/1.1 200OK", Ok(200)),
        ("HTTP/1.1 200\tOK", Ok(200)),
        ("HTTP/1.1 600 x", Ok(600)),
        ("HTTP/1.1 999 x", Ok(999)),
        ("HTTP/1.1 200 x\ry", Ok(200)),
        ("HTTP/1.1\t200 OK", Err(Version)),
        ("HTTP/1.2 200 OK", Err(Version)),
        ("HTTP/1.9 200 OK", Err(Version)),
        ("HTTP/2 200 OK", Err(Version)),
        ("http/1.1 200 OK", Err(StatusLine)),
        ("HTTP/1.1 000 x", Err(StatusCode)),
        ("HTTP/1.1 099 x", Err(StatusCode)),
        ("HTTP/1.1  99 x", Err(StatusCode)),
        ("HTTP/1.1 1000 x", Err(StatusCode)),
        ("HTTP/1.1 20", Err(StatusCode)),
        ("HTTP/1.1 2 0 x", Err(StatusCode)),
        ("HTTP/1.1 ", Err(StatusCode)),
        ("HTTP/1.1 200 O\0K", Err(Nul)),
        ("HTTP/1.1 20\0 OK", Err(StatusCode)),
    ] {
        let expected = expected.map_or_else(wrong, |status| Reusable(status, ""));
        super::check(line, GET, &[line, END].concat(), "", expected);
    }
}

/// Field lines that are passed over before `Content-Length: 1`, and those that are not.
#[test]
fn field_lines() {
    for (line, expected) in [
        ("X : a", Ok(())),
        ("X\t: a", Ok(())),
        ("X Y: a", Ok(())),
        ("X Content-Length : 5", Ok(())),
        (": a", Ok(())),
        (":", Ok(())),
        ("A(x): a", Ok(())),
        ("Content-L\u{e9}ngth: 5", Ok(())),
        ("X: a\rb", Ok(())),
        ("X: \u{2}\u{8}\u{7f}", Ok(())),
        ("X-Folded-Length: a\r\n Content-Length: 5", Ok(())),
        ("Content-Length : 1", Err(FieldName)),
        ("transfer-encoding\t: chunked", Err(FieldName)),
        ("Connection : close", Err(FieldName)),
        ("Content-Encoding : gzip", Err(FieldName)),
        (" X: a", Err(FieldName)),
        ("X", Err(FieldName)),
        ("X\r\n : a", Err(FieldName)),
        ("X\u{1}: a", Err(FieldName)),
        ("X\r: a", Err(FieldName)),
        ("\r", Err(FieldName)),
        ("X: a\0b", Err(Nul)),
        ("X\0: a", Err(Nul)),
        ("X: a\r\n \0", Err(Nul)),
    ] {
        let head = ["HTTP/1.1 200 OK\r\n", line, "\r\nContent-Length: 1\r\n\r\n"].concat();
        super::check(line, GET, &head, "x", expected.map_or_else(wrong, |()| Reusable(200, "x")));
    }
}

#[test]
fn a_nul_is_found_wherever_it_stands() {
    for at in 0..70 {
        let mut value = "a".repeat(70);
        value.replace_range(at..=at, "\0");
        let head = format!("HTTP/1.1 200 OK\r\nX: {value}\r\nY: \u{2}\r\nContent-Length: 1\r\n\r\n");
        super::check(&format!("at {at}"), GET, &head, "x", wrong(Nul));
    }
}

#[test]
fn lengths() {
    const END: &str = "\r\n\r\n";
    for value in ["+5", "-5", "5x", "0x5", "5.0", "5, 6", "5,", ",5", "5 5", "", "18446744073709551616"] {
        let head = ["HTTP/1.1 200 OK\r\nContent-Length: ", value, END].concat();
        super::check(value, GET, &head, "hello", wrong(ContentLength));
        super::check(value, HEAD, &head, "", Reusable(200, ""));
        let beside =
            ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: ", value, END].concat();
        super::check(value, GET, &beside, "0\r\n\r\n", Reusable(200, ""));
    }
}

#[test]
fn transfer_codings() {
    const BODY: &str = "1\r\nx\r\n0\r\n\r\n";
    for (fields, expected) in [
        ("Transfer-Encoding: chunked, chunked", Reusable(200, "x")),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Reusable(200, "x")),
        ("Transfer-Encoding: gzip, chunked", Reusable(200, "x")),
        ("Transfer-Encoding: identity, chunked", Reusable(200, "x")),
        ("Transfer-Encoding: chunked, identity", Reusable(200, "x")),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: Identity", Reusable(200, "x")),
        ("Transfer-Encoding: identity", NotReusable(200, BODY)),
        ("Transfer-Encoding: identity\r\nContent-Length: 1", NotReusable(200, BODY)),
        ("Transfer-Encoding: chunked, gzip", NotReusable(200, BODY)),
        ("Transfer-Encoding: xyz", NotReusable(200, BODY)),
        ("Transfer-Encoding: chunked;q=1", wrong(TransferEncoding)),
        ("Transfer-Encoding: chunked chunked", wrong(TransferEncoding)),
        ("Transfer-Encoding: chunked;q=1, chunked", wrong(TransferEncoding)),
    ] {
        super::check(fields, GET, &["HTTP/1.1 200 OK\r\n", fields, "\r\n\r\n"].concat(), BODY, expected);
    }
}

#[test]
fn chunks() {
    check_all(&[
        ("rubbish behind the size", GET, CHUNKED, "5x\r\nhello\r\n0\r\n\r\n", wrong(ChunkSize)),
        ("two sizes", GET, CHUNKED, "5 5\r\nhello\r\n0\r\n\r\n", wrong(ChunkSize)),
        ("bare CR", GET, CHUNKED, "5;a\rb\r\nhello\r\n0\r\n\r\n", wrong(ChunkExtension)),
        ("line end in quotes", GET, CHUNKED, "5;a=\"b\r\nhello\r\n0\r\n\r\n", Reusable(200, "hello")),
        ("NUL in an extension", GET, CHUNKED, "1;\0\r\nx\r\n0\r\n\r\n", Reusable(200, "x")),
        ("an oddly named trailer", GET, CHUNKED, "0\r\nX Y : z\r\n\r\n", Reusable(200, "")),
        ("7fff ffff ffff ffff", GET, CHUNKED, "7fffffffffffffff\r\nx", truncated(1, None)),
        ("more behind", GET, CHUNKED, "0\r\n\r\nx", NotReusable(200, "")),
    ]);
}

#[test]
fn connections() {
    const CLOSING: &str = "HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\nHTTP/1.1 204 No\r\n\r\n";
    const BOTH: &str = "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\n";
    const OLD_CHUNKS: &str =
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_all(&[
        ("an interim answer closes", GET, CLOSING, "", NotReusable(204, "")),
        ("nearly close", GET, "HTTP/1.1 204 No\r\nConnection: closed\r\n\r\n", "", Reusable(204, "")),
        ("1.0 says both", GET, BOTH, "x", NotReusable(200, "x")),
        ("1.0 and chunks", GET, OLD_CHUNKS, "0\r\n\r\n", NotReusable(200, "")),
        ("204 and more", GET, "HTTP/1.1 204 No\r\n\r\n", "x", NotReusable(204, "")),
        ("205", GET, "HTTP/1.1 205 Reset\r\n\r\n", "x", NotReusable(205, "x")),
        ("304 and more", GET, "HTTP/1.1 304 Not\r\nContent-Length: 1\r\n\r\n", "x", NotReusable(304, "")),
        ("101", GET, "HTTP/1.1 101 Up\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "", wrong(Upgrade)),
        ("cut in the head", GET, "HTTP/1.1 204 No\r\nX: y\r\n", "", super::Expected::Fails(InHead)),
    ]);
}
