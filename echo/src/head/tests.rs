//! Heads that are read, heads that are refused, and heads that come in pieces.

use proptest::prelude::*;

use super::*;

/// A head that RFC 9112 allows, with what is read from it: method, path, query, HTTP/1.0, keep-alive, body.
fn check(lines: &str, expected: (&str, &str, &str, bool, bool, BodyFraming)) {
    let bytes = wire(lines);
    let (method, path, query, http_1_0, keep_alive, body) = expected;
    let head = Head { method, path, query, http_1_0, keep_alive, body, expects_continue: false };
    assert_eq!(parse(&bytes), Ok(head), "{lines:?}");
    assert_eq!(find_end(&bytes, 0), Ok(Some(bytes.len())), "{lines:?}");
}

fn check_refused(lines: &str, expected: BadRequest) {
    assert_eq!(parse(&wire(lines)), Err(expected), "{lines:?}");
}

/// Lines, written apart by `|`, as they are sent.
fn wire(lines: &str) -> Vec<u8> {
    format!("{}\r\n\r\n", lines.replace('|', "\r\n")).into_bytes()
}

#[test]
fn reads_targets() {
    let get = |path, query| ("GET", path, query, false, true, BodyFraming::None);
    check("GET / HTTP/1.1|Host: a", get("/", ""));
    check("GET /a/b?c=d&e HTTP/1.1|Host: a", get("/a/b", "c=d&e"));
    check("GET /a?b?c HTTP/1.1|Host: a", get("/a", "b?c"));
    check("GET http://a:80/b?c HTTP/1.1|Host: a", get("/b", "c"));
    check("GET HTTP://a HTTP/1.1|Host: a", get("/", ""));
    check("GET http://a?b HTTP/1.1|Host: a", get("/", "b"));
    check("OPTIONS * HTTP/1.1|Host: a", ("OPTIONS", "*", "", false, true, BodyFraming::None));
}

#[test]
fn reads_what_becomes_of_the_connection() {
    let get = |http_1_0, keep_alive| ("GET", "/", "", http_1_0, keep_alive, BodyFraming::None);
    check("GET / HTTP/1.1|Host: a|Connection: close", get(false, false));
    check("GET / HTTP/1.1|host:a|connection:x , CLOSE", get(false, false));
    check("GET / HTTP/1.1|Host: a|Connection: keep-alive, close", get(false, false));
    check("GET / HTTP/1.1|Host: a|Connection: closed", get(false, true));
    check("GET / HTTP/1.0", get(true, false));
    check("GET / HTTP/1.0|Connection: Keep-Alive", get(true, true));
}

#[test]
fn reads_how_the_body_ends() {
    let post = |body| ("POST", "/", "", false, true, body);
    check("POST / HTTP/1.1|Host: a|Content-Length: 12", post(BodyFraming::Length(12)));
    check("POST / HTTP/1.1|Host: a|Content-Length:  0 ", post(BodyFraming::None));
    check("POST / HTTP/1.1|Host: a|Transfer-Encoding: Chunked", post(BodyFraming::Chunked));
}

#[test]
fn reads_an_expectation() {
    let expects = |lines| parse(&wire(lines)).unwrap().expects_continue;
    assert!(expects("POST / HTTP/1.1|Host: a|Expect: 100-Continue"));
    assert!(!expects("POST / HTTP/1.0|Expect: 100-continue"), "HTTP/1.0 has no 1xx");
}

#[test]
fn refuses_request_lines() {
    for line in [
        "",
        "GET",
        "GET /",
        "GET / HTTP/1.1 x",
        "GET  / HTTP/1.1",
        " GET / HTTP/1.1",
        "G@T / HTTP/1.1",
        "GET / http/1.1",
    ] {
        check_refused(line, BadRequest::RequestLine);
    }
    for line in ["GET / HTTP/2.0", "GET / HTTP/1.2", "PRI * HTTP/2.0", "GET / HTTP/"] {
        check_refused(line, BadRequest::Version);
    }
    for line in [
        "GET a HTTP/1.1",
        "CONNECT a:80 HTTP/1.1",
        "GET ftp://a/ HTTP/1.1",
        "GET /ä HTTP/1.1",
        "GET /#a HTTP/1.1",
    ] {
        check_refused(&format!("{line}|Host: a"), BadRequest::Target);
    }
}

#[test]
fn refuses_fields() {
    for field in ["no colon", ": a", "a : b", " folded: a", "a: b\u{1}", "a: b\rc", "ä: b"] {
        check_refused(&format!("GET / HTTP/1.1|Host: a|{field}"), BadRequest::Field);
    }
    check_refused("GET / HTTP/1.1", BadRequest::Host);
    check_refused("GET / HTTP/1.1|Host: a|Host: a", BadRequest::Host);
    check_refused("GET / HTTP/1.0|Host: a|Host: a", BadRequest::Host);
}

#[test]
fn refuses_lengths() {
    for length in ["", "-1", "+1", "1, 1", "0x10", "1 2", "99999999999999999999"] {
        let lines = format!("POST / HTTP/1.1|Host: a|Content-Length: {length}");
        check_refused(&lines, BadRequest::ContentLength);
    }
    let twice = "POST / HTTP/1.1|Host: a|Content-Length: 1|Content-Length: 1";
    check_refused(twice, BadRequest::ContentLength);
    let both = "POST / HTTP/1.1|Host: a|Content-Length: 1|Transfer-Encoding: chunked";
    check_refused(both, BadRequest::TwoLengths);
    for coding in ["gzip", "gzip, chunked", "chunked, chunked", ""] {
        let lines = format!("POST / HTTP/1.1|Host: a|Transfer-Encoding: {coding}");
        check_refused(&lines, BadRequest::TransferEncoding);
    }
    check_refused("POST / HTTP/1.0|Transfer-Encoding: chunked", BadRequest::TransferEncoding);
}

#[test]
fn finds_the_end_only_of_whole_heads() {
    let whole = wire("GET / HTTP/1.1|Host: a");
    for cut in 0..whole.len() {
        assert_eq!(find_end(&whole[..cut], 0), Ok(None));
        assert_eq!(find_end(&whole, cut), Ok(Some(whole.len())), "looked at {cut} bytes before");
    }
    assert_eq!(find_end(b"GET / HTTP/1.1\n", 0), Err(BadRequest::BareLineFeed));
    assert_eq!(find_end(b"\n", 0), Err(BadRequest::BareLineFeed));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Neither may panic, and what is read must be part of what came.
        if let Ok(Some(end)) = find_end(&bytes, 0) {
            prop_assert!(bytes[..end].ends_with(b"\r\n\r\n"));
        }
        if let Ok(head) = parse(&bytes) {
            prop_assert!(bytes.starts_with(head.method.as_bytes()));
        }
    }

    #[test]
    fn damaged_heads_are_read_or_refused(at in 0_usize..60, byte in any::<u8>()) {
        let mut bytes = wire("POST /a?b=c HTTP/1.1|Host: a|Content-Length: 5|Connection: close");
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(Some(end)) = find_end(&bytes, 0) {
            prop_assert!(end <= bytes.len());
        }
        if let Ok(head) = parse(&bytes) {
            prop_assert!(head.path.starts_with('/') || head.path == "*");
        }
    }
}
