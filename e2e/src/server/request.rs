//! One request as the scripted target saw it.

use std::net::SocketAddr;

use super::peer;

/// A complete request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query, as in the request line.
    pub path: String,
    /// The version, as in the request line.
    pub version: String,
    /// The header lines, without the request line.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
    /// Where it comes from, and the target's own address.
    pub between: (SocketAddr, SocketAddr),
    /// The number of its connection, from 1.
    pub connection: u64,
    /// Its place on that connection, from 1.
    pub on_connection: u64,
}

impl Request {
    /// Reads a request off the beginning of `bytes`, and says how long it is; `None` while it is not complete. Bodies
    /// have a Content-Length here: no test sends others.
    pub(super) fn parse(bytes: &[u8], between: (SocketAddr, SocketAddr)) -> Option<(Self, usize)> {
        let (mut request, head_end) = Self::parse_head(bytes, between)?;
        let length = request.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
        let end = head_end.checked_add(length)?;
        request.body = bytes.get(head_end..end)?.to_vec();
        Some((request, end))
    }

    /// The same without its body.
    pub(crate) fn parse_head(bytes: &[u8], between: (SocketAddr, SocketAddr)) -> Option<(Self, usize)> {
        let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
        let (line, head) = text.split_once("\r\n")?;
        let mut words = line.split(' ');
        let request = Self {
            method: words.next()?.to_owned(),
            path: words.next()?.to_owned(),
            version: words.next()?.to_owned(),
            head: head.to_owned(),
            body: Vec::new(),
            between,
            connection: 0,
            on_connection: 0,
        };
        Some((request, head_end))
    }

    /// Whether the process with this id sent it.
    #[must_use]
    pub fn is_from_process(&self, id: u32) -> bool {
        peer::is_of_process(self.between.0, self.between.1, id)
    }

    /// The value of a header line, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut named = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_complete_with_its_body() {
        let somewhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let parse = |bytes| Request::parse(bytes, (somewhere, somewhere));
        let text = b"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET";
        assert_eq!(parse(&text[..20]), None);
        assert_eq!(parse(&text[..text.len() - 4]), None);
        let (request, used) = parse(text).expect("a complete request");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a?b"));
        assert_eq!((request.header("HOST"), request.body.as_slice()), (Some("x"), &b"abc"[..]));
        assert_eq!(&text[used..], b"GET");
    }
}
