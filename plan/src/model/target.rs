//! Where requests go: a parsed `http` or `https` URL.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use super::Remote;
use super::zone::{self, ZoneError};
use url::{Host, Url};

/// A target: scheme `http` or `https`, a host (name, IPv4 or IPv6), a port, path and query. Never user information, never
/// a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: String,
    ip: Option<IpAddr>,
    /// The zone of a link-local address, which `url` doesn't have.
    zone: Option<String>,
    port: u16,
    authority: String,
    path_and_query: String,
}

/// Why a text is not a target. What it says never repeats the text, which may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text has no `scheme://`.
    #[error("a text without http:// or https:// in front")]
    NoScheme,
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
    /// What stands behind an address is no zone of it.
    #[error(transparent)]
    Zone(#[from] ZoneError),
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
            Self::Zone(error) => Some(error.hint().to_owned()),
            _ => None,
        }
    }
}

/// The URL that a text without `http://` most likely stands for.
fn likely_url(text: &str) -> Option<String> {
    if text.starts_with('/') && !text.starts_with("//") {
        return None;
    }
    let behind = |scheme| text.strip_prefix(scheme).filter(|rest| rest.starts_with([':', '/']));
    let named = ["https", "http"].into_iter().find_map(|scheme| Some((scheme, behind(scheme)?)));
    let (scheme, bare) = named.unwrap_or((likely_scheme(text), text));
    let url = format!("{scheme}://{}", bare.trim_start_matches([':', '/']));
    let short = url.len() <= 100;
    (short && Target::parse(&url).is_ok()).then_some(url)
}

/// The scheme of what is asked for at this host and port.
fn likely_scheme(text: &str) -> &'static str {
    let authority = text.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
    if authority.ends_with(":443") { "https" } else { "http" }
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
        let (text, zone) = split_zone(text);
        let url = Url::parse(&text)?;
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if port == 0 {
            return Err(TargetError::PortZero);
        }
        let (host, ip) = match url.host().ok_or(url::ParseError::EmptyHost)? {
            Host::Domain(name) => (name.to_owned(), None),
            Host::Ipv4(ip) => (ip.to_string(), Some(ip.into())),
            Host::Ipv6(ip) => (ip.to_string(), Some(ip.into())),
        };
        zone.iter().try_for_each(|zone| zone::check(ip, zone))?;
        let (authority, path_and_query) = (authority(&url), path_and_query(&url));
        let target = Self { authority, path_and_query, host, ip, zone, port, url };
        // Encoding can make it longer, and what is written out must be a target too.
        if target.to_string().len() > Self::MAX_BYTES {
            return Err(TargetError::TooLong);
        }
        Ok(target)
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

    /// The host to resolve: a name in its ASCII form, or an address, IPv6 without brackets and zone.
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

    /// Whether TLS is spoken: the scheme is `https`.
    pub fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Where connections to it go.
    pub fn remote(&self) -> Remote {
        Remote { host: self.host.clone(), port: self.port, zone: self.zone.clone() }
    }

    /// The value of the `Host` header (RFC 9110 section 7.2): IPv6 in brackets and without its zone (RFC 9844), the port
    /// only where it isn't the scheme's.
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
        let (Some(zone), Some((before, after))) = (&self.zone, self.url.as_str().split_once(']')) else {
            return self.url.fmt(f);
        };
        // Reading takes `%25` for an encoded `%`, so a zone that begins with 25 has it encoded.
        let percent = if zone.starts_with("25") { "%25" } else { "%" };
        write!(f, "{before}{percent}{zone}]{after}")
    }
}

/// The zone of an address, and the text without it. It stands behind a `%` (RFC 9844), which older URLs have encoded
/// (RFC 6874).
fn split_zone(text: &str) -> (Cow<'_, str>, Option<String>) {
    let zone = || {
        let (scheme, rest) = text.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let literal = authority.strip_prefix('[')?;
        let (inside, _) = literal.split_once(']')?;
        let (address, zone) = inside.split_once('%')?;
        let after = &rest[1 + inside.len()..];
        let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
        Some((format!("{scheme}://[{address}{after}").into(), Some(zone.to_owned())))
    };
    zone().unwrap_or((text.into(), None))
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
        "http" | "https" => check_authority(rest.split(['/', '?', '#']).next().unwrap_or_default()),
        other if is_scheme(other) => Err(TargetError::Scheme(other.to_owned())),
        _ => Err(TargetError::NoScheme),
    }
}

/// A user; IPv6 mistakes, which the URL standard calls an invalid port or an invalid address; and the empty host, which it
/// fills with what stands behind further slashes.
fn check_authority(authority: &str) -> Result<(), TargetError> {
    if authority.contains('@') {
        return Err(TargetError::UserInformation);
    }
    if authority.is_empty() {
        return Err(url::ParseError::EmptyHost.into());
    }
    let is_bare = !authority.starts_with('[');
    if is_bare && authority.matches(':').count() > 1 { Err(TargetError::Brackets) } else { Ok(()) }
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
