//! A request, checked and serialized once, sent any number of times from any connection.

use std::sync::Arc;

use thiserror::Error;

use super::syntax::{decimal, elements, is_token, trim};

const USER_AGENT: &str = concat!("volley/", env!("CARGO_PKG_VERSION"));

/// A part of a request that can't be put on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// Not a token (RFC 9110 section 9.1), or CONNECT, which would make the connection a tunnel.
    #[error("method {0:?} is not one that can be sent")]
    Method(String),
    /// The host is empty or has bytes that a Host field can't have (RFC 9112 section 3.2).
    #[error("host {0:?} has characters that cannot be sent")]
    Host(String),
    /// Host is given more than once, which every server refuses (RFC 9112 section 3.2).
    #[error("header Host is given more than once")]
    HostRepeated,
    /// The target is empty or has bytes outside visible ASCII (RFC 9112 section 3.2).
    #[error("path {0:?} has characters that cannot be sent")]
    Target(String),
    /// A header's name is no token (RFC 9110 section 5.1).
    #[error("header name {0:?} is not a token")]
    HeaderName(String),
    /// A header's value has control characters in it (RFC 9110 section 5.5). The value may be a secret
    /// and is not repeated.
    #[error("the value of header {0:?} has control characters")]
    HeaderValue(String),
    /// A `Content-Length` that isn't the body's (RFC 9112 section 6.2).
    #[error("header Content-Length is not the body's length of {body_bytes} bytes")]
    ContentLength {
        /// What it would have to be.
        body_bytes: u64,
    },
    /// `Expect`: whether the server is asked first is told apart from the headers, since it decides when the body is
    /// sent (RFC 9110 section 10.1.1).
    #[error("header Expect cannot be set: whether the target is asked first is said elsewhere")]
    Expect,
    /// `Transfer-Encoding`: a body is framed by its length (RFC 9112 section 6.1).
    #[error("header Transfer-Encoding cannot be set: the body is sent with its length")]
    TransferEncoding,
}

/// What the reader of an answer must know of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKind {
    /// Whether it is HEAD, whose answer has no body (RFC 9112 section 6.3, rule 1).
    pub is_head: bool,
    /// Whether the connection may be used again; a client that sent `close` sends nothing more on it
    /// (RFC 9112 section 9.6).
    pub keep_alive: bool,
    /// Whether it is HTTP/1.0. Then the connection may be used again only where the answer says `keep-alive`: what the
    /// server would do of itself is the version's that it was asked in.
    pub http_1_0: bool,
}

/// What stands for a number until it is known: as many digits as the largest has.
pub const NUMBER_PLACEHOLDER: &str = "00000000000000000000";

/// What a request is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The method.
    pub method: &'a str,
    /// The target's authority as Host has it: `example.org:8080`, `[::1]:80`. A header `Host` goes before it.
    pub host: &'a str,
    /// What stands in the request line: it begins with a slash, or is `*`, or for a proxy the whole URL.
    pub request_target: &'a str,
    /// Header lines, in order.
    pub headers: &'a [(String, String)],
    /// What follows the head.
    pub body: Content<'a>,
    /// Whether the server is asked before the body is sent (RFC 9110 section 10.1.1); nothing without a body, which a
    /// client must not ask about.
    pub asks_first: bool,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Whether it is sent as HTTP/1.0.
    pub http_1_0: bool,
}

/// What follows a head.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// These bytes, kept behind the head; none for no body.
    Inline(&'a [u8]),
    /// So many bytes, which whoever sends the request has from elsewhere.
    Streamed(u64),
}

impl Content<'_> {
    fn len(self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Streamed(bytes) => bytes,
        }
    }
}

/// A request as bytes: its head, and its body where that isn't streamed. A clone shares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    bytes: Arc<[u8]>,
    head_bytes: usize,
    /// Bytes of the body that follow and are not among `bytes`.
    streamed_bytes: u64,
    asks_first: bool,
    kind: RequestKind,
    is_idempotent: bool,
    /// Where the number of its iteration goes, if it tells that.
    number_at: Option<usize>,
}

impl Prepared {
    /// Serializes a request (RFC 9112 section 3).
    ///
    /// Host, User-Agent and Accept are added unless the headers have them; Content-Length where there is a body or the
    /// method is one whose meaning expects it (RFC 9110 section 8.6); `Connection: close` unless `keep_alive`; with HTTP/1.0, where
    /// closing goes without saying, `Connection: Keep-Alive` if `keep_alive`. A header that says `Connection: close` has the same effect as `keep_alive` being false.
    ///
    /// # Errors
    ///
    /// Where a part would make the request another one than it seems to be, such as a line end in a
    /// header's value.
    pub fn new(parts: &Parts<'_>) -> Result<Self, RequestError> {
        let Parts { method, host, request_target, headers, body, keep_alive, http_1_0, .. } = *parts;
        check_line(method, host, request_target)?;
        check_headers(headers, body.len())?;
        let says_close = has_option(headers, "close");
        let asks_first = parts.asks_first && body.len() > 0;
        let version = if http_1_0 { "1.0" } else { "1.1" };
        let mut text = format!("{method} {request_target} HTTP/{version}\r\n");
        // RFC 9110 section 7.2 wants Host first.
        push(&mut text, "Host", find(headers, "Host").unwrap_or(host));
        push_default(&mut text, headers, "User-Agent", USER_AGENT);
        push_default(&mut text, headers, "Accept", "*/*");
        for (name, value) in headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("Host")) {
            push(&mut text, name, value);
        }
        if body.len() > 0 || matches!(method, "POST" | "PUT" | "PATCH") {
            push_default(&mut text, headers, "Content-Length", &body.len().to_string());
        }
        if asks_first {
            push(&mut text, "Expect", "100-continue");
        }
        match (keep_alive, http_1_0) {
            (false, false) if !says_close => push(&mut text, "Connection", "close"),
            (true, true) if find(headers, "Connection").is_none() => {
                push(&mut text, "Connection", "Keep-Alive");
            }
            _ => {}
        }
        text.push_str("\r\n");
        let (inline, streamed_bytes) = match body {
            Content::Inline(bytes) => (bytes, 0),
            Content::Streamed(bytes) => (&[][..], bytes),
        };
        Ok(Self {
            head_bytes: text.len(),
            bytes: [text.as_bytes(), inline].concat().into(),
            streamed_bytes,
            asks_first,
            kind: RequestKind { is_head: method == "HEAD", keep_alive: keep_alive && !says_close, http_1_0 },
            is_idempotent: is_idempotent(method),
            number_at: None,
        })
    }

    /// The same, telling the number of its iteration in the header line `name`, whose value was [`NUMBER_PLACEHOLDER`]
    /// when the request was made.
    #[must_use]
    pub fn numbered_by(self, name: &str) -> Self {
        let line = format!("\r\n{name}: ");
        let whole = format!("{line}{NUMBER_PLACEHOLDER}\r\n");
        let place = self.bytes.windows(whole.len()).position(|bytes| bytes == whole.as_bytes());
        Self { number_at: place.map(|place| place + line.len()), ..self }
    }

    /// What goes on the wire for iteration `n`, but for a streamed body; it is made in `scratch` where the request tells
    /// its number.
    #[inline]
    pub fn bytes_of<'a>(&'a self, n: u64, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        match self.number_at {
            None => &self.bytes,
            Some(at) => self.with_number(at, n, scratch),
        }
    }

    fn with_number<'a>(&self, at: usize, n: u64, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        scratch.clear();
        scratch.extend_from_slice(&self.bytes);
        let mut rest = n;
        for digit in scratch[at..at + NUMBER_PLACEHOLDER.len()].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        scratch
    }

    /// What goes on the wire, but for a streamed body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes of that are the head.
    pub fn head_bytes(&self) -> u64 {
        self.head_bytes as u64
    }

    /// How many bytes go on the wire in all.
    #[inline]
    pub fn bytes_in_all(&self) -> u64 {
        (self.bytes.len() as u64).saturating_add(self.streamed_bytes)
    }

    /// Whether the body comes from elsewhere.
    #[inline]
    pub fn is_streamed(&self) -> bool {
        self.streamed_bytes > 0
    }

    /// Whether the head asks for leave to send the body.
    #[inline]
    pub fn asks_first(&self) -> bool {
        self.asks_first
    }

    /// What the reader of the answer must know.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// Whether the method is HEAD.
    pub fn is_head(&self) -> bool {
        self.kind.is_head
    }

    /// Whether the method is idempotent, so that the request may be sent again after a connection was
    /// closed without an answer (RFC 9110 section 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }
}

fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

fn check_line(method: &str, host: &str, target: &str) -> Result<(), RequestError> {
    let is_visible = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token(method.as_bytes()) || method == "CONNECT" {
        return Err(RequestError::Method(method.to_owned()));
    }
    if !is_visible(host) {
        return Err(RequestError::Host(host.to_owned()));
    }
    if !is_visible(target) {
        return Err(RequestError::Target(target.to_owned()));
    }
    Ok(())
}

fn check_headers(headers: &[(String, String)], body_bytes: u64) -> Result<(), RequestError> {
    for (name, value) in headers {
        if !is_token(name.as_bytes()) {
            return Err(RequestError::HeaderName(name.clone()));
        }
        if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return Err(RequestError::HeaderValue(name.clone()));
        }
        if name.eq_ignore_ascii_case("Transfer-Encoding") {
            return Err(RequestError::TransferEncoding);
        }
        if name.eq_ignore_ascii_case("Expect") {
            return Err(RequestError::Expect);
        }
    }
    let named = |wanted: &'static str| {
        headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    if named("Host").count() > 1 {
        return Err(RequestError::HostRepeated);
    }
    let mut lengths = named("Content-Length");
    let is_right = match (lengths.next(), lengths.next()) {
        (None, _) => true,
        (Some(value), None) => decimal(trim(value.as_bytes())) == Some(body_bytes),
        (Some(_), Some(_)) => false,
    };
    if is_right { Ok(()) } else { Err(RequestError::ContentLength { body_bytes }) }
}

fn has_option(headers: &[(String, String)], option: &str) -> bool {
    headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Connection"))
        .flat_map(|(_, value)| elements(value.as_bytes()))
        .any(|element| element.eq_ignore_ascii_case(option.as_bytes()))
}

fn find<'a>(headers: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
}

fn push(text: &mut String, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        text.push_str(part);
    }
}

fn push_default(text: &mut String, headers: &[(String, String)], name: &str, value: &str) {
    if find(headers, name).is_none() {
        push(text, name, value);
    }
}
