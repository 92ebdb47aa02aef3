//! Reads one request head (request line and header fields) from bytes, strictly: what RFC 9112 forbids a
//! client to send is refused, so that a client held against this target is held against the RFC.

use crate::bad_request::BadRequest;

/// The largest head that is read, in bytes; a larger one is answered 431 (or 414) and the connection closed.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How the request's body ends (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// No body, or one of length 0.
    None,
    /// That many bytes, more than 0.
    Length(u64),
    /// Chunked transfer coding.
    Chunked,
}

/// One request head, borrowed from the bytes it was read from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    /// The path without the query, as it was sent (not decoded); `*` for the asterisk form.
    pub(crate) path: &'a str,
    /// What follows the `?`, as it was sent; empty where there is none.
    pub(crate) query: &'a str,
    /// The client speaks HTTP/1.0, so it understands no chunked coding.
    pub(crate) http_1_0: bool,
    /// The client wants the connection kept (RFC 9112 section 9.3).
    pub(crate) keep_alive: bool,
    pub(crate) body: BodyFraming,
    /// The client waits for a `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    pub(crate) expects_continue: bool,
}

/// Where the head ends, just past its empty line, or `None` where that line has not come yet.
///
/// `scanned` bytes are known to hold no end, so that a head that comes byte by byte costs one look at each
/// byte.
pub(crate) fn find_end(bytes: &[u8], scanned: usize) -> Result<Option<usize>, BadRequest> {
    for (at, byte) in bytes.iter().enumerate().skip(scanned) {
        if *byte != b'\n' {
            continue;
        }
        if at == 0 || bytes[at - 1] != b'\r' {
            return Err(BadRequest::BareLineFeed);
        }
        if bytes[..at].ends_with(b"\r\n\r") {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}

/// Why a head that has reached [`HEAD_BYTES_MAX`] without its end is refused.
pub(crate) fn too_large(bytes: &[u8]) -> BadRequest {
    if bytes.contains(&b'\n') { BadRequest::HeadTooLarge } else { BadRequest::TargetTooLong }
}

/// Reads a whole head, its empty line included.
pub(crate) fn parse(bytes: &[u8]) -> Result<Head<'_>, BadRequest> {
    let (line, _) = split_line(bytes).ok_or(BadRequest::RequestLine)?;
    let (method, target, http_1_0) = request_line(line)?;
    let (path, query) = split_target(target)?;
    let mut found = Found::default();
    for field in fields(bytes) {
        let (name, value) = field?;
        found.note(name, value)?;
    }
    if found.hosts > 1 || (found.hosts == 0 && !http_1_0) {
        return Err(BadRequest::Host);
    }
    Ok(Head {
        method,
        path,
        query,
        http_1_0,
        keep_alive: !found.close && (!http_1_0 || found.keep_alive),
        body: found.body(http_1_0)?,
        expects_continue: found.expects_continue && !http_1_0,
    })
}

/// The header fields of a whole head: name as sent, value without the space around it.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = Result<(&str, &[u8]), BadRequest>> {
    let mut rest = split_line(head).map_or(&[][..], |(_, rest)| rest);
    std::iter::from_fn(move || {
        let (line, after) = split_line(rest)?;
        rest = after;
        if line.is_empty() { None } else { Some(field(line)) }
    })
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

fn request_line(line: &[u8]) -> Result<(&str, &str, bool), BadRequest> {
    let line = std::str::from_utf8(line).map_err(|_| BadRequest::RequestLine)?;
    let mut parts = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(BadRequest::RequestLine);
    };
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err(BadRequest::RequestLine);
    }
    match version {
        "HTTP/1.1" => Ok((method, target, false)),
        "HTTP/1.0" => Ok((method, target, true)),
        other if other.starts_with("HTTP/") => Err(BadRequest::Version),
        _ => Err(BadRequest::RequestLine),
    }
}

/// Path and query of a target in origin form, absolute form or asterisk form (RFC 9112 section 3.2). The
/// authority form belongs to CONNECT, which this target doesn't do.
fn split_target(target: &str) -> Result<(&str, &str), BadRequest> {
    if !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Err(BadRequest::Target);
    }
    let origin = match target.split_once("://") {
        Some((scheme, rest)) if is_http(scheme) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            &rest[end..]
        }
        _ if target.starts_with('/') || target == "*" => target,
        _ => return Err(BadRequest::Target),
    };
    let (path, query) = origin.split_once('?').unwrap_or((origin, ""));
    Ok((if path.is_empty() { "/" } else { path }, query))
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

fn field(line: &[u8]) -> Result<(&str, &[u8]), BadRequest> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(BadRequest::Field)?;
    let name = std::str::from_utf8(&line[..colon]).map_err(|_| BadRequest::Field)?;
    // A name with a space before the colon and a folded line both fail here, as RFC 9112 section 5 demands.
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(BadRequest::Field);
    }
    let value = line[colon + 1..].trim_ascii();
    if value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(BadRequest::Field);
    }
    Ok((name, value))
}

/// A character that may stand in a token (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// What the header fields said about the connection and the body.
#[derive(Default)]
struct Found {
    hosts: u32,
    close: bool,
    keep_alive: bool,
    length: Option<u64>,
    chunked: bool,
    expects_continue: bool,
}

impl Found {
    fn note(&mut self, name: &str, value: &[u8]) -> Result<(), BadRequest> {
        if name.eq_ignore_ascii_case("host") {
            self.hosts += 1;
        } else if name.eq_ignore_ascii_case("connection") {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if name.eq_ignore_ascii_case("content-length") {
            self.note_length(value)?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(BadRequest::TransferEncoding);
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case("expect") {
            self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
        }
        Ok(())
    }

    fn note_length(&mut self, value: &[u8]) -> Result<(), BadRequest> {
        let digits = std::str::from_utf8(value).map_err(|_| BadRequest::ContentLength)?;
        // `parse` alone would take a leading plus sign.
        if self.length.is_some() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadRequest::ContentLength);
        }
        self.length = Some(digits.parse().map_err(|_| BadRequest::ContentLength)?);
        Ok(())
    }

    fn body(&self, http_1_0: bool) -> Result<BodyFraming, BadRequest> {
        match (self.chunked, self.length) {
            // RFC 9112 section 6.1: either is a sign of request smuggling.
            (true, Some(_)) => Err(BadRequest::TwoLengths),
            (true, None) if http_1_0 => Err(BadRequest::TransferEncoding),
            (true, None) => Ok(BodyFraming::Chunked),
            (false, None | Some(0)) => Ok(BodyFraming::None),
            (false, Some(length)) => Ok(BodyFraming::Length(length)),
        }
    }
}

#[cfg(test)]
mod tests;
