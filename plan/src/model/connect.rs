//! Where connections go, and where they come from.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::Target;
use super::zone::{self, ZoneError};
use url::Host;

/// Most hosts that connections go to in place of the target.
pub const MAX_DESTINATIONS: usize = 256;
/// Most addresses that connections come from.
pub const MAX_SOURCES: usize = 256;
/// Most bytes of a Unix socket's path (`sun_path` less its NUL).
pub const MAX_UNIX_BYTES: usize = 107;

/// Where connections go, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connect {
    /// Where they go in place of the target's host and port, in turn; empty for the target itself. `Host`, SNI and the
    /// certificate's name stay the target's.
    pub to: Vec<Remote>,
    /// A Unix socket that they go to in place of all that; `to` is empty then.
    pub unix: Option<PathBuf>,
    /// The proxy that they go to in place of all that; `to` is empty then, and `unix` isn't there.
    pub proxy: Option<Proxy>,
    /// The addresses that are used.
    pub family: Family,
    /// How often names are resolved.
    pub resolve: Resolve,
    /// The addresses that they come from, in turn; an agent uses those that are its machine's own. Empty for what the
    /// system chooses.
    pub from: Vec<IpAddr>,
}

/// A proxy for HTTP. It is asked for `http` targets by their whole URL (RFC 9112 section 3.2.2), and for a tunnel to
/// `https` targets (`CONNECT`, RFC 9110 section 9.3.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Where it listens.
    pub at: Remote,
    /// What `Proxy-Authorization` tells it.
    pub authorization: Option<String>,
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Remote {
    /// A name, or an address without brackets and zone.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
    /// The zone of a link-local address (RFC 4007): an interface's name or number on the machine that connects. It never
    /// stands in `Host` (RFC 9844).
    pub zone: Option<String>,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// A host, all of whose addresses are used in turn.
    Remote(Remote),
    /// A Unix socket on the machine that connects.
    Unix(PathBuf),
}

/// Which addresses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// All.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// How often names are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolve {
    /// Once, before the run begins.
    #[default]
    Once,
    /// For each connection; the time it takes is part of the request's latency.
    EachConnection,
    /// Before a connection that is opened so long after the last time.
    Every(Duration),
}

impl Connect {
    /// Where connections for this target go, at least one.
    pub fn destinations(&self, target: &Target) -> Vec<Destination> {
        if let Some(path) = &self.unix {
            return vec![Destination::Unix(path.clone())];
        }
        if let Some(proxy) = &self.proxy {
            return vec![Destination::Remote(proxy.at.clone())];
        }
        match self.to.as_slice() {
            [] => vec![Destination::Remote(target.remote())],
            to => to.iter().cloned().map(Destination::Remote).collect(),
        }
    }
}

/// Why a text is no host and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// It has a scheme or a path.
    #[error("a URL")]
    Url,
    /// An IPv6 address without its brackets.
    #[error("an IPv6 address without brackets")]
    Brackets,
    /// There is no port behind the host.
    #[error("a host without a port")]
    NoPort,
    /// What stands behind the host is no port.
    #[error("a port that is not a number from 1 to 65535")]
    Port,
    /// What stands before the port is neither a name nor an address.
    #[error("neither a name nor an address before the port")]
    Host,
    /// What stands behind an address is no zone of it.
    #[error(transparent)]
    Zone(#[from] ZoneError),
}

impl RemoteError {
    /// What to write instead.
    #[must_use]
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Self::Url => Some("write host and port, such as shop.test:8080"),
            Self::Brackets => Some("write it like [::1]:8080"),
            Self::NoPort => Some("write it behind a colon: shop.test:8080"),
            Self::Zone(error) => Some(error.hint()),
            Self::Port | Self::Host => None,
        }
    }
}

impl Remote {
    /// Most bytes of a host and port: the longest name there is, and the longest port.
    const MAX_BYTES: usize = 254 + 6;

    /// Reads `name:port`, `address:port`, `[address]:port` or `[address%zone]:port`.
    ///
    /// # Errors
    /// [`RemoteError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, RemoteError> {
        if text.contains('/') {
            return Err(RemoteError::Url);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(RemoteError::Host);
        }
        if let Some(literal) = text.strip_prefix('[') {
            let (inside, behind) = literal.split_once(']').ok_or(RemoteError::Host)?;
            let (address, zone) =
                inside.split_once('%').map_or((inside, None), |(ip, zone)| (ip, Some(zone)));
            let ip: Ipv6Addr = address.parse().map_err(|_| RemoteError::Host)?;
            zone.map_or(Ok(()), |zone| zone::check(Some(ip.into()), zone))?;
            let port = behind.strip_prefix(':').ok_or(RemoteError::NoPort)?;
            return Ok(Self { host: ip.to_string(), port: read_port(port)?, zone: zone.map(str::to_owned) });
        }
        let (name, port) = text.rsplit_once(':').ok_or(RemoteError::NoPort)?;
        if name.contains(':') {
            return Err(RemoteError::Brackets);
        }
        // What is encoded in a URL is not so here.
        let host = (!name.contains('%')).then(|| Host::parse(name).ok()).flatten();
        let host = host.ok_or(RemoteError::Host)?.to_string();
        Ok(Self { host, port: read_port(port)?, zone: None })
    }

    /// The address, where the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl Family {
    /// Whether an address is of this family.
    pub fn holds(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, zone } = self;
        match (self.ip(), zone) {
            (Some(IpAddr::V6(ip)), Some(zone)) => write!(f, "[{ip}%{zone}]:{port}"),
            (Some(ip), _) => SocketAddr::new(ip, *port).fmt(f),
            (None, _) => write!(f, "{host}:{port}"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(remote) => remote.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

fn read_port(text: &str) -> Result<u16, RemoteError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0).ok_or(RemoteError::Port)
}

#[cfg(test)]
mod tests;
