//! The URL in ab's form: the scheme may be missing, the path may not.

use super::refusal::Refusal;

/// What is asked for, in the words that the report repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) is_tls: bool,
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Path and query, from the first slash on.
    pub(super) path: String,
    authority: String,
}

impl Address {
    /// Reads one.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let invalid = || Refusal::usage("invalid URL");
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(invalid()),
        };
        let (authority, path) = rest.split_at(rest.find('/').ok_or_else(invalid)?);
        if authority.contains('@') {
            return Err(Refusal::usage("invalid URL: a user and a password are given by -A"));
        }
        let (host, port) = split_port(authority);
        let default = if is_tls { 443 } else { 80 };
        let port = match port.map(str::parse) {
            None => default,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return Err(invalid()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(invalid());
        }
        Ok(Self { is_tls, host, port, path: path.to_owned(), authority: authority.to_owned() })
    }

    /// The whole URL.
    pub(super) fn url(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// Whether the host is an address and no name.
    pub(super) fn is_literal(&self) -> bool {
        self.host.parse::<std::net::IpAddr>().is_ok()
    }
}

/// The host, and the port where one is named; the colons of an IPv6 address name none.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_may_be_missing_and_the_path_may_not() {
        let check = |text: &str, expected: Option<(&str, u16, &str, &str)>| {
            let found = Address::parse(text).ok();
            let parts = found.as_ref().map(|found| (found.host.as_str(), found.port, found.path.as_str()));
            assert_eq!(parts, expected.map(|(host, port, path, _)| (host, port, path)), "{text}");
            assert_eq!(found.map(|found| found.url()).as_deref(), expected.map(|expected| expected.3));
        };
        check("http://h/", Some(("h", 80, "/", "http://h/")));
        check("h:8080/a?b=/c", Some(("h", 8080, "/a?b=/c", "http://h:8080/a?b=/c")));
        check("https://h/a", Some(("h", 443, "/a", "https://h/a")));
        check("HTTPS://h:1/", Some(("h", 1, "/", "https://h:1/")));
        check("http://[::1]:81/", Some(("::1", 81, "/", "http://[::1]:81/")));
        check("http://[::1]/", Some(("::1", 80, "/", "http://[::1]/")));
        check("http://u:p@h/", None);
        check("http://h", None);
        check("h:80", None);
        check("ftp://h/", None);
        check("http:///a", None);
        check("http://h:99999/", None);
        check("http://h:0/", None);
    }
}
