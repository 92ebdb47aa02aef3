//! The bytes of an answer's head, and the bodies that are made from the request.

use serde::Serialize;

use crate::answer::Framing;
use crate::bad_request::BadRequest;
use crate::head;

/// What the answer says about the connection (RFC 9112 section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persist {
    /// Kept, as HTTP/1.1 does unasked.
    Keep,
    /// Kept, and said so, as HTTP/1.0 needs it.
    KeepAndSay,
    /// Closed, and said so.
    Close,
}

/// What an answer's head says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// The body's length in bytes, also where it is not sent (HEAD).
    pub(crate) body_bytes: u64,
    pub(crate) content_type: &'static str,
    pub(crate) persist: Persist,
    /// The methods allowed, where this one is not (RFC 9110 section 10.2.1).
    pub(crate) allow: Option<&'static str>,
}

/// Appends the head, its empty line included.
pub(crate) fn head(out: &mut Vec<u8>, head: AnswerHead) {
    let AnswerHead { status, framing, body_bytes, content_type, persist, allow } = head;
    let version = if framing == Framing::Bare { "HTTP/1.0" } else { "HTTP/1.1" };
    push(out, &[version, " ", &status.to_string(), " ", reason(status), "\r\n"]);
    if framing != Framing::Bare {
        if has_body(status) {
            push(out, &["Content-Type: ", content_type, "\r\n"]);
            match framing {
                Framing::Length => push(out, &["Content-Length: ", &body_bytes.to_string(), "\r\n"]),
                Framing::Chunked => push(out, &["Transfer-Encoding: chunked\r\n"]),
                Framing::Close | Framing::Bare => {}
            }
        }
        if let Some(methods) = allow {
            push(out, &["Allow: ", methods, "\r\n"]);
        }
        match persist {
            Persist::Keep => {}
            Persist::KeepAndSay => push(out, &["Connection: keep-alive\r\n"]),
            Persist::Close => push(out, &["Connection: close\r\n"]),
        }
    }
    push(out, &["\r\n"]);
}

/// Whether an answer of this status can have a body (RFC 9110 section 6.4.1).
pub(crate) fn has_body(status: u16) -> bool {
    status != 204 && status != 304
}

/// A whole answer to what is no request, and where its body begins.
pub(crate) fn refusal(bad: BadRequest) -> (Vec<u8>, usize) {
    let body = format!("{bad}\n");
    let mut out = Vec::new();
    head(
        &mut out,
        AnswerHead {
            status: bad.status(),
            framing: Framing::Length,
            body_bytes: body.len() as u64,
            content_type: TEXT,
            persist: Persist::Close,
            allow: None,
        },
    );
    let body_at = out.len();
    out.extend_from_slice(body.as_bytes());
    (out, body_at)
}

/// The media type of plain bodies.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// The media type of `/echo` and `/stats`.
pub(crate) const JSON: &str = "application/json";

/// A request, as `/echo` gives it back.
#[derive(Serialize)]
struct Echo<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    /// Name and value as sent, in order; a field that came twice is there twice.
    headers: Vec<(&'a str, String)>,
    /// What is no UTF-8 in it is replaced by U+FFFD.
    body: String,
    body_bytes: usize,
}

/// The JSON of `/echo`, from a head that has been read before and its body.
pub(crate) fn echo(request_head: &[u8], body: &[u8]) -> Vec<u8> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let fields = head::fields(request_head).filter_map(Result::ok);
    let parsed = head::parse(request_head).ok();
    json(&Echo {
        method: parsed.as_ref().map_or("", |head| head.method),
        path: parsed.as_ref().map_or("", |head| head.path),
        query: parsed.as_ref().map_or("", |head| head.query),
        headers: fields.map(|(name, value)| (name, text(value))).collect(),
        body: text(body),
        body_bytes: body.len(),
    })
}

/// The JSON of a value, with a line feed at its end.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    // Strings, numbers and maps with string or number keys can always be written as JSON.
    let mut out = serde_json::to_vec(value).expect("the value holds nothing that JSON lacks");
    out.push(b'\n');
    out
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// The reason phrase; one word for all that are seldom seen, since it carries no meaning (RFC 9112 section
/// 4).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}
