//! What a prepared request looks like on the wire, and what can't be prepared.

use crate::http1::{Content, NUMBER_PLACEHOLDER, Parts, Prepared, RequestError, RequestKind};

const AGENT: &str = concat!("User-Agent: volley/", env!("CARGO_PKG_VERSION"), "\r\n");

struct Request<'a> {
    method: &'a str,
    host: &'a str,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a str,
    asks_first: bool,
    keep_alive: bool,
}

const GET: Request<'_> = Request {
    method: "GET",
    host: "a.test:8080",
    path: "/",
    headers: &[],
    body: "",
    asks_first: false,
    keep_alive: true,
};

fn parts<'a>(request: &Request<'a>, headers: &'a [(String, String)], body: Content<'a>) -> Parts<'a> {
    let Request { method, host, path, asks_first, keep_alive, .. } = *request;
    Parts { method, host, request_target: path, headers, body, asks_first, keep_alive, http_1_0: false }
}

fn prepare(request: &Request<'_>) -> Result<Prepared, RequestError> {
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Prepared::new(&parts(request, &headers, Content::Inline(request.body.as_bytes())))
}

/// Checks the bytes; `AGENT` in them stands for the default User-Agent line.
fn check(request: &Request<'_>, expected: &str) -> Prepared {
    let prepared = prepare(request).expect("can be sent");
    let text = std::str::from_utf8(prepared.bytes()).expect("these are texts");
    assert_eq!(text, expected.replace("AGENT", AGENT));
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let parsed = httparse::Request::new(&mut fields).parse(prepared.bytes());
    assert_eq!(
        parsed,
        Ok(httparse::Status::Complete(expected.replace("AGENT", AGENT).len() - request.body.len()))
    );
    prepared
}

fn check_refused(request: &Request<'_>, error: &RequestError) {
    assert_eq!(prepare(request).as_ref(), Err(error));
}

#[test]
fn defaults() {
    let prepared = check(
        &Request { path: "/a?b=c", ..GET },
        "GET /a?b=c HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\n\r\n",
    );
    assert_eq!(prepared.kind(), RequestKind { is_head: false, keep_alive: true, http_1_0: false });
}

#[test]
fn defaults_give_way() {
    let headers = &[("x", "1"), ("HOST", "b.test"), ("user-agent", "me"), ("accept", ""), ("x", "2")];
    check(
        &Request { headers, ..GET },
        "GET / HTTP/1.1\r\nHost: b.test\r\nx: 1\r\nuser-agent: me\r\naccept: \r\nx: 2\r\n\r\n",
    );
}

#[test]
fn bodies_have_a_length() {
    for (method, body, length) in [
        ("POST", "hello", "Content-Length: 5\r\n"),
        ("GET", "hello", "Content-Length: 5\r\n"),
        ("POST", "", "Content-Length: 0\r\n"),
        ("PUT", "", "Content-Length: 0\r\n"),
        ("PATCH", "", "Content-Length: 0\r\n"),
        ("DELETE", "", ""),
    ] {
        let head = format!("{method} / HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\n{length}\r\n");
        check(&Request { method, body, ..GET }, &format!("{head}{body}"));
    }
    check(
        &Request { method: "POST", body: "hello", headers: &[("content-length", "5")], ..GET },
        "POST / HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\ncontent-length: 5\r\n\r\nhello",
    );
}

#[test]
fn a_streamed_body_has_its_length_in_the_head_and_nothing_behind_it() {
    let request = Request { method: "PUT", asks_first: true, ..GET };
    let prepared = Prepared::new(&parts(&request, &[], Content::Streamed(1 << 40))).unwrap();
    let head = "PUT / HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\nContent-Length: 1099511627776\r\n\
                Expect: 100-continue\r\n\r\n"
        .replace("AGENT", AGENT);
    assert_eq!(std::str::from_utf8(prepared.bytes()), Ok(head.as_str()));
    let lengths = (prepared.head_bytes(), prepared.bytes_in_all());
    assert_eq!(lengths, (head.len() as u64, head.len() as u64 + (1 << 40)));
    assert!(prepared.is_streamed() && prepared.asks_first());
}

#[test]
fn the_target_is_asked_first_only_where_there_is_a_body() {
    const HEAD: &str = "POST / HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\n";
    let request = Request { method: "POST", asks_first: true, ..GET };
    let asking = check(
        &Request { body: "hello", ..request },
        &format!("{HEAD}Content-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"),
    );
    assert!(asking.asks_first() && !asking.is_streamed());
    assert_eq!(asking.bytes_in_all() - asking.head_bytes(), 5);
    let bare = check(&request, &format!("{HEAD}Content-Length: 0\r\n\r\n"));
    assert!(!bare.asks_first());
}

#[test]
fn connections_that_end() {
    const HEAD: &str = "GET / HTTP/1.1\r\nHost: a.test:8080\r\nAGENTAccept: */*\r\n";
    for (headers, keep_alive, lines, kept) in [
        (&[][..], false, "Connection: close\r\n", false),
        (&[("connection", "x, Close")], true, "connection: x, Close\r\n", false),
        (&[("connection", "close")], false, "connection: close\r\n", false),
        (&[("connection", "keep-alive")], true, "connection: keep-alive\r\n", true),
        (&[("connection", "keep-alive")], false, "connection: keep-alive\r\nConnection: close\r\n", false),
    ] {
        let prepared = check(&Request { headers, keep_alive, ..GET }, &format!("{HEAD}{lines}\r\n"));
        assert_eq!(prepared.kind().keep_alive, kept);
    }
}

#[test]
fn methods() {
    for (method, is_head, is_idempotent) in [
        ("GET", false, true),
        ("HEAD", true, true),
        ("OPTIONS", false, true),
        ("TRACE", false, true),
        ("PUT", false, true),
        ("DELETE", false, true),
        ("POST", false, false),
        ("PATCH", false, false),
        ("PURGE", false, false),
        ("get", false, false),
    ] {
        let prepared = prepare(&Request { method, ..GET }).unwrap();
        assert_eq!((prepared.is_head(), prepared.is_idempotent()), (is_head, is_idempotent), "{method}");
    }
}

#[test]
fn what_cannot_be_sent() {
    for method in ["", "GET /", "G\r\nET", "CONNECT", "G\u{c9}T"] {
        check_refused(&Request { method, ..GET }, &RequestError::Method(method.to_owned()));
    }
    for host in ["", "a b", "a\r\nx: y", "\u{e4}.test"] {
        check_refused(&Request { host, ..GET }, &RequestError::Host(host.to_owned()));
    }
    for path in ["", "/a b", "/\r\n", "/\u{e4}", "/\u{7f}"] {
        check_refused(&Request { path, ..GET }, &RequestError::Target(path.to_owned()));
    }
    for name in ["", "a b", "a:", "a\r\nb", "\u{e4}"] {
        check_refused(
            &Request { headers: &[(name, "x")], ..GET },
            &RequestError::HeaderName(name.to_owned()),
        );
    }
    for value in ["a\r\nb: c", "a\nb", "a\rb", "\0", "\u{7f}"] {
        check_refused(
            &Request { headers: &[("n", value)], ..GET },
            &RequestError::HeaderValue("n".to_owned()),
        );
    }
    let length = RequestError::ContentLength { body_bytes: 1 };
    for headers in [&[("Content-Length", "2")][..], &[("content-length", "1"), ("content-length", "1")]] {
        check_refused(&Request { headers, body: "x", ..GET }, &length);
    }
    check_refused(&Request { headers: &[("host", "a"), ("Host", "a")], ..GET }, &RequestError::HostRepeated);
    let coding = &[("transfer-encoding", "chunked")];
    check_refused(&Request { headers: coding, ..GET }, &RequestError::TransferEncoding);
    check_refused(
        &Request { headers: &[("expect", "100-continue")], body: "x", ..GET },
        &RequestError::Expect,
    );
}

#[test]
fn values_beyond_ascii_and_tabs_are_sent_as_they_are() {
    let prepared = prepare(&Request { headers: &[("n", "\u{e4}\tb")], ..GET }).unwrap();
    let text = std::str::from_utf8(prepared.bytes()).unwrap();
    assert!(text.contains("\r\nn: \u{e4}\tb\r\n"));
}

#[test]
fn a_request_tells_the_number_of_its_iteration() {
    let headers = &[("x-n", NUMBER_PLACEHOLDER)];
    let prepared = prepare(&Request { headers, ..GET }).unwrap().numbered_by("x-n");
    let mut scratch = Vec::new();
    for n in [0, 7, 12_345_678_901, u64::MAX] {
        let text = std::str::from_utf8(prepared.bytes_of(n, &mut scratch)).unwrap().to_owned();
        assert!(text.contains(&format!("\r\nx-n: {n:020}\r\n")), "{text}");
        assert_eq!(text.len(), prepared.bytes().len());
    }
    let silent = prepare(&GET).unwrap();
    assert_eq!(silent.bytes_of(7, &mut scratch), silent.bytes());
}
