//! Where requests go: a parsed `http` URL.

use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// A target: scheme `http`, a host (name, IPv4 or IPv6), a port, path and query. Never user information, never a
/// fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: String,
    ip: Option<IpAddr>,
    port: u16,
    authority: String,
    path_and_query: String,
}

/// Why a text is not a target. What it says never repeats the text, which may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text has no `scheme://`.
    #[error("a text without http:// in front")]
    NoScheme,
    /// TLS isn't there yet.
    #[error("https, which comes in a later version")]
    Https,
    /// A scheme that isn't HTTP.
    #[error("the scheme `{0}`")]
    Scheme(String),
    /// White space, a control character or a backslash: URL readers drop or change them, so they can't be meant.
    #[error("a space, control character or backslash")]
    Character,
    /// The text is longer than [`Target::MAX_BYTES`].
    #[error("a URL longer than {} bytes", Target::MAX_BYTES)]
    TooLong,
    /// The URL carries a user name or a password.
    #[error("a user name or password in the URL")]
    UserInformation,
    /// The URL has a fragment, which is never sent (RFC 9110 section 4.2.5).
    #[error("a fragment (#), which is never sent")]
    Fragment,
    /// Port 0 can't be connected to.
    #[error("port 0")]
    PortZero,
    /// An IPv6 address without its brackets (RFC 3986 section 3.2.2).
    #[error("an IPv6 address without brackets")]
    Brackets,
    /// A zone id, which belongs to one host and must never reach the `Host` header (RFC 9844).
    #[error("an IPv6 zone id")]
    Zone,
    /// What else the URL standard rejects.
    #[error("not a URL: {0}")]
    Url(#[from] url::ParseError),
}

impl TargetError {
    /// What to write instead of `text`, where that can be told.
    pub fn hint(&self, text: &str) -> Option<String> {
        match self {
            Self::NoScheme if !text.contains('@') => {
                likely_url(text).map(|url| format!("did you mean {url}?"))
            }
            Self::Character => Some("write %20 for a space, %5C for a backslash".to_owned()),
            Self::UserInformation => Some("send an `authorization` header instead".to_owned()),
            Self::Fragment => Some("leave it out, or write %23 for a literal #".to_owned()),
            Self::Brackets => Some("write it like http://[::1]:8080/".to_owned()),
            Self::Zone => Some("leave the zone out; link-local addresses are not supported".to_owned()),
            _ => None,
        }
    }
}

/// The URL that a text without `http://` most likely stands for.
fn likely_url(text: &str) -> Option<String> {
    let is_path = text.starts_with('/') && !text.starts_with("//");
    let is_https = text.strip_prefix("https").is_some_and(|rest| rest.starts_with([':', '/']));
    if is_path || is_https {
        return None;
    }
    let bare = text.strip_prefix("http").filter(|rest| rest.starts_with([':', '/'])).unwrap_or(text);
    let url = format!("http://{}", bare.trim_start_matches([':', '/']));
    let short = url.len() <= 100;
    (short && Target::parse(&url).is_ok()).then_some(url)
}

impl Target {
    /// Most bytes of a target.
    pub const MAX_BYTES: usize = 1 << 16;

    /// Reads a target, by the rules of the WHATWG URL standard, but without its leniency.
    ///
    /// # Errors
    /// [`TargetError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        check_text(text)?;
        let url = Url::parse(text)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::UserInformation);
        }
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        let port = url.port().unwrap_or(80);
        if port == 0 {
            return Err(TargetError::PortZero);
        }
        let (host, ip) = match url.host().ok_or(url::ParseError::EmptyHost)? {
            Host::Domain(name) => (name.to_owned(), None),
            Host::Ipv4(ip) => (ip.to_string(), Some(ip.into())),
            Host::Ipv6(ip) => (ip.to_string(), Some(ip.into())),
        };
        // Encoding can make it longer, and what is written out must be a target too.
        if url.as_str().len() > Self::MAX_BYTES {
            return Err(TargetError::TooLong);
        }
        Ok(Self { authority: authority(&url), path_and_query: path_and_query(&url), host, ip, port, url })
    }

    /// The path and query of a step as they stand in the request line. `text` begins with `/`; what a target's path has
    /// encoded is encoded here alike.
    pub(crate) fn parse_path(text: &str) -> Result<String, TargetError> {
        Self::parse(&format!("http://h{text}")).map(|target| target.path_and_query)
    }

    /// The same host and port, with `/` for a path and no query.
    #[must_use]
    pub(crate) fn without_path(mut self) -> Self {
        self.url.set_path("/");
        self.url.set_query(None);
        Self { path_and_query: "/".to_owned(), ..self }
    }

    /// The host to resolve: a name in its ASCII form, or an address, IPv6 without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address, where the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of the `Host` header (RFC 9110 section 7.2): IPv6 in brackets, the port only where it isn't 80.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The request target in origin form (RFC 9112 section 3.2.1).
    pub fn path_and_query(&self) -> &str {
        &self.path_and_query
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

/// What must hold of the text before the URL standard gets to repair it.
fn check_text(text: &str) -> Result<(), TargetError> {
    if text.len() > Target::MAX_BYTES {
        return Err(TargetError::TooLong);
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(TargetError::Character);
    }
    let (scheme, rest) = text.split_once("://").ok_or(TargetError::NoScheme)?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" => check_authority(rest.split(['/', '?', '#']).next().unwrap_or_default()),
        "https" => Err(TargetError::Https),
        other if is_scheme(other) => Err(TargetError::Scheme(other.to_owned())),
        _ => Err(TargetError::NoScheme),
    }
}

/// IPv6 mistakes, which the URL standard calls an invalid port or an invalid address; and the empty host, which it
/// fills with what stands behind further slashes.
fn check_authority(authority: &str) -> Result<(), TargetError> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.is_empty() {
        return Err(url::ParseError::EmptyHost.into());
    }
    if host.starts_with('[') {
        return if host.contains('%') { Err(TargetError::Zone) } else { Ok(()) };
    }
    let colons = host.matches(':').count();
    if colons > 1 { Err(TargetError::Brackets) } else { Ok(()) }
}

/// Whether `text` is a scheme (RFC 3986 section 3.1) of sensible length.
fn is_scheme(text: &str) -> bool {
    text.len() <= 20
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn path_and_query(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

#[cfg(test)]
mod tests;
