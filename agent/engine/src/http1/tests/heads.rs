//! Heads by table: status lines, fields, lengths, interim answers, and what becomes of the connection.

use super::Expected::{Fails, NotReusable, Reusable};
use super::{GET, GET_CLOSE, HEAD, OK, check_all, truncated, wrong};
use crate::http1::{EofError, ProtocolError};

#[test]
fn status_lines() {
    use ProtocolError::{StatusCode, StatusLine, Upgrade, Version};
    check_all(&[
        ("plain", GET, OK, "hello", Reusable(200, "hello")),
        ("no reason", GET, "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "", Reusable(200, "")),
        ("no space either", GET, "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", "", Reusable(404, "")),
        (
            "bytes in the reason",
            GET,
            "HTTP/1.1 999 \u{e9}: x\r\nContent-Length: 0\r\n\r\n",
            "",
            Reusable(999, ""),
        ),
        ("empty lines before", GET, "\r\n\n\r\nHTTP/1.1 204 No\r\n\r\n", "", Reusable(204, "")),
        ("bare LF", GET, "HTTP/1.1 200 OK\nContent-Length: 1\n\n", "x", Reusable(200, "x")),
        ("HTTP/2", GET, "HTTP/2.0 200 OK\r\n\r\n", "", wrong(Version)),
        ("HTTP/2 without minor", GET, "HTTP/2 200 OK\r\n\r\n", "", wrong(Version)),
        ("HTTP/0.9", GET, "HTTP/0.9 200 OK\r\n\r\n", "", wrong(Version)),
        ("HTTP/1.10", GET, "HTTP/1.10 200 OK\r\n\r\n", "", wrong(Version)),
        ("HTTP/1.x", GET, "HTTP/1.x 200 OK\r\n\r\n", "", wrong(Version)),
        ("lower case", GET, "http/1.1 200 OK\r\n\r\n", "", wrong(StatusLine)),
        ("another protocol", GET, "SSH-2.0-OpenSSH_9.2\r\n", "", wrong(StatusLine)),
        ("a TLS alert", GET, "\u{15}\u{3}\u{3}", "", wrong(StatusLine)),
        ("a body at once", GET, "<html>", "", wrong(StatusLine)),
        ("a line too short", GET, "HTTP\r\n", "", wrong(StatusLine)),
        ("a line that stops before the version", GET, "HTTP/\r\n", "", wrong(Version)),
        ("a line that stops", GET, "HTTP/1.\r\n", "", wrong(Version)),
        ("CR and more", GET, "\rHTTP/1.1 200 OK\r\n\r\n", "", wrong(StatusLine)),
        ("space before", GET, " HTTP/1.1 200 OK\r\n\r\n", "", wrong(StatusLine)),
        ("two digits", GET, "HTTP/1.1 99 Low\r\n\r\n", "", wrong(StatusCode)),
        ("leading zero", GET, "HTTP/1.1 099 Low\r\n\r\n", "", wrong(StatusCode)),
        ("four digits", GET, "HTTP/1.1 2000 OK\r\n\r\n", "", wrong(StatusCode)),
        ("no digits", GET, "HTTP/1.1 OK\r\n\r\n", "", wrong(StatusCode)),
        ("a sign", GET, "HTTP/1.1 +20 OK\r\n\r\n", "", wrong(StatusCode)),
        ("switching protocols", GET, "HTTP/1.1 101 Up\r\nUpgrade: x\r\n\r\n", "", wrong(Upgrade)),
    ]);
}

#[test]
fn field_lines() {
    use ProtocolError::FieldName;
    check_all(&[
        (
            "names in any case",
            GET,
            "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh:5\r\n\r\n",
            "hello",
            Reusable(200, "hello"),
        ),
        (
            "tabs and spaces",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: \t 5 \t\r\n\r\n",
            "hello",
            Reusable(200, "hello"),
        ),
        ("empty value", GET, "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 1\r\n\r\n", "x", Reusable(200, "x")),
        ("all of tchar", GET, "HTTP/1.1 204 No\r\nAz09!#$%&'*+-.^_`|~: x\r\n\r\n", "", Reusable(204, "")),
        (
            "names that are nearly it",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Lengths: 9\r\nContent_Length: 9\r\nXontent-Length: 9\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "a fold",
            GET,
            "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\t\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "a folded length",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\n\t\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "a folded colon",
            GET,
            "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 5\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "a body that begins with space",
            GET,
            "HTTP/1.1 200 OK\nContent-Length: 2\n\n",
            " \t",
            Reusable(200, " \t"),
        ),
        ("space before the first name", GET, "HTTP/1.1 200 OK\r\n X: a\r\n\r\n", "", wrong(FieldName)),
        ("no colon", GET, "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n", "", wrong(FieldName)),
        ("CR for LF", GET, "HTTP/1.1 200 OK\r\n\rX: a\r\n\r\n", "", wrong(FieldName)),
    ]);
}

#[test]
fn content_lengths() {
    use ProtocolError::ContentLength;
    check_all(&[
        (
            "repeated lines",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 05\r\n\r\n",
            "hello",
            Reusable(200, "hello"),
        ),
        (
            "repeated in one",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5 ,5\r\n\r\n",
            "hello",
            Reusable(200, "hello"),
        ),
        ("0", GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", Reusable(200, "")),
        (
            "lines differ",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "hello",
            wrong(ContentLength),
        ),
        (
            "elements differ",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
            "hello",
            wrong(ContentLength),
        ),
        (
            "wrong, then right",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\nContent-Length: 5\r\n\r\n",
            "hello",
            wrong(ContentLength),
        ),
        ("empty", GET, "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "", wrong(ContentLength)),
        (
            "empty element",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n",
            "hello",
            wrong(ContentLength),
        ),
        ("negative", GET, "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "hello", wrong(ContentLength)),
        ("plus", GET, "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "hello", wrong(ContentLength)),
        ("hexadecimal", GET, "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n", "hello", wrong(ContentLength)),
        (
            "space inside",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n\r\n",
            "hello",
            wrong(ContentLength),
        ),
        ("CR inside", GET, "HTTP/1.1 200 OK\r\nContent-Length: 1\r2\r\n\r\n", "hello", wrong(ContentLength)),
        (
            "2 to the 64",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            "",
            wrong(ContentLength),
        ),
        (
            "2 to the 64 less 1",
            GET,
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            "x",
            truncated(1, Some(u64::MAX)),
        ),
        (
            "wrong where it counts for nothing",
            HEAD,
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "",
            Reusable(200, ""),
        ),
        ("more than promised", GET, OK, "hello!", NotReusable(200, "hello")),
    ]);
}

#[test]
fn answers_without_body() {
    check_all(&[
        ("HEAD", HEAD, OK, "", Reusable(200, "")),
        (
            "HEAD, chunked",
            HEAD,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "",
            Reusable(200, ""),
        ),
        ("HEAD, no framing", HEAD, "HTTP/1.1 200 OK\r\n\r\n", "", Reusable(200, "")),
        ("HEAD with a body", HEAD, OK, "hello", NotReusable(200, "")),
        ("204", GET, "HTTP/1.1 204 No Content\r\n\r\n", "", Reusable(204, "")),
        (
            "204 with a length",
            GET,
            "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
            "",
            Reusable(204, ""),
        ),
        (
            "304 with a length",
            GET,
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            "",
            Reusable(304, ""),
        ),
        ("205 has one", GET, "HTTP/1.1 205 Reset\r\nContent-Length: 1\r\n\r\n", "x", Reusable(205, "x")),
    ]);
}

#[test]
fn case_23_interim_answers() {
    const HINTS: &str =
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    const TWO: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    const ONLY: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    check_all(&[
        ("103", GET, HINTS, "x", Reusable(200, "x")),
        ("103 to HEAD", HEAD, HINTS, "", Reusable(200, "")),
        ("two, with fields that are their own", GET, TWO, "x", Reusable(200, "x")),
        ("nothing after", GET, ONLY, "", Fails(EofError::InHead)),
        (
            "a wrong length counts for nothing",
            GET,
            "HTTP/1.1 102 Wait\r\nContent-Length: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
            "",
            Reusable(204, ""),
        ),
    ]);
}

#[test]
fn keep_alive() {
    const OLD: &str = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n";
    check_all(&[
        ("1.1", GET, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", "x", Reusable(200, "x")),
        (
            "1.1 close",
            GET,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n",
            "x",
            NotReusable(200, "x"),
        ),
        (
            "1.1 close in a list",
            GET,
            "HTTP/1.1 200 OK\r\nConnection: x , CLOSE\r\nContent-Length: 1\r\n\r\n",
            "x",
            NotReusable(200, "x"),
        ),
        (
            "1.1 close in a second line",
            GET,
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 1\r\n\r\n",
            "x",
            NotReusable(200, "x"),
        ),
        (
            "1.1 nearly close",
            GET,
            "HTTP/1.1 200 OK\r\nConnection: closed, x-close\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        ("1.0", GET, OLD, "x", NotReusable(200, "x")),
        (
            "1.0 keep-alive",
            GET,
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "1.0 keep-alive, as nginx has it",
            GET,
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n",
            "x",
            Reusable(200, "x"),
        ),
        (
            "1.0 both",
            GET,
            "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\n",
            "x",
            NotReusable(200, "x"),
        ),
        (
            "1.0 chunked",
            GET,
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
            "1\r\nx\r\n0\r\n\r\n",
            NotReusable(200, "x"),
        ),
        ("we said close", GET_CLOSE, OK, "hello", NotReusable(200, "hello")),
    ]);
}
