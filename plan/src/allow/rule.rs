//! One rule of an allow-list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::Host;

use crate::shape::{Rate, RateError};

/// Most characters of a rule that are repeated to its writer.
const MAX_SHOWN_CHARS: usize = 60;

/// How a rule for Unix sockets begins.
const UNIX: &str = "unix:";

/// Whom it is about, on which ports, and how hard they may be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    whom: Whom,
    ports: RangeInclusive<u16>,
    most: Option<Rate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Whom {
    Any,
    /// A name in its ASCII form, without the dot of the root.
    Name(String),
    /// All names that end so; it begins with a dot.
    Below(String),
    Network(IpNet),
    /// All Unix sockets, which have no ports.
    AnySocket,
    /// The Unix socket of this path.
    Socket(PathBuf),
}

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {line}, `{rule}`: {error}")]
pub struct RuleFault {
    /// Which line, or which of the flags, counted from 1.
    pub line: usize,
    /// How it begins.
    pub rule: String,
    /// What is wrong with it.
    pub error: RuleError,
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is a URL, and rules know no paths.
    #[error("a URL; write its host and port, such as shop.test:8080")]
    Url,
    /// There is more in it than a rule has.
    #[error("expected WHOM[:PORT[-PORT]] [max RATE], such as `10.0.0.0/8:8080 max 500/s`")]
    Form,
    /// It is neither the whole path of a Unix socket nor all of them.
    #[error("a socket without its whole path; write unix:/run/app.sock, or unix:* for all sockets")]
    Unix,
    /// The star stands elsewhere than before the dot of a name.
    #[error("a `*` elsewhere than before a name; write `*.example.org`, or `any` for everything")]
    Star,
    /// What stands before the port is neither a name nor an address.
    #[error("neither a name, nor an address, nor `any`")]
    Host,
    /// It has a slash, and is not a network.
    #[error("not a network; write it like 10.0.0.0/8 or fd00::/8")]
    Network,
    /// The port is not a number from 1 to 65535, or the first of two is the larger one.
    #[error("a port is a number from 1 to 65535, or two of them, the lower one first: 8000-8100")]
    Port,
    /// What stands behind `max` is not a rate.
    #[error("found {0} behind `max`, expected a rate such as 500/s")]
    Rate(RateError),
}

impl RuleFault {
    pub(super) fn new(line: usize, text: &str, error: RuleError) -> Self {
        let plain = text.trim().chars().filter(|c| !c.is_control());
        Self { line, rule: plain.take(MAX_SHOWN_CHARS).collect(), error }
    }
}

impl Rule {
    fn all_ports_of(whom: Whom) -> Self {
        Self { whom, ports: 1..=u16::MAX, most: None }
    }

    pub(super) fn any() -> Self {
        Self::all_ports_of(Whom::Any)
    }

    pub(super) fn any_socket() -> Self {
        Self::all_ports_of(Whom::AnySocket)
    }

    pub(super) fn loopback() -> [Self; 2] {
        let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
        let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
        [IpNet::from(v4), IpNet::from(v6)].map(|network| Self::all_ports_of(Whom::Network(network)))
    }

    /// The rule that a line says; `None` where it says nothing.
    pub(super) fn read(line: &str) -> Result<Option<Self>, RuleError> {
        let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
        let (target, most) = match words.as_slice() {
            [] => return Ok(None),
            [target] => (*target, None),
            [target, "max", rate] => (*target, Some(rate.parse().map_err(RuleError::Rate)?)),
            _ => return Err(RuleError::Form),
        };
        if target.contains("://") {
            return Err(RuleError::Url);
        }
        if let Some(socket) = socket(target) {
            return Ok(Some(Self { most, ..Self::all_ports_of(socket?) }));
        }
        let (whom, ports) = split_ports(target)?;
        let ports = ports.map_or(Ok(1..=u16::MAX), read_ports)?;
        Ok(Some(Self { whom: Whom::read(whom)?, ports, most }))
    }

    pub(super) fn has_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// The highest rate that it permits; `None` where it bounds none.
    pub(super) fn most(&self) -> Option<Rate> {
        self.most
    }

    /// Whether it is about a host of this name, whatever its address.
    pub(super) fn names(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        match &self.whom {
            Whom::Any => true,
            Whom::Name(name) => name.eq_ignore_ascii_case(host),
            Whom::Below(end) => {
                host.len() > end.len()
                    && host.get(host.len() - end.len()..).is_some_and(|last| last.eq_ignore_ascii_case(end))
            }
            Whom::Network(_) | Whom::AnySocket | Whom::Socket(_) => false,
        }
    }

    /// Whether it is about this Unix socket.
    pub(super) fn holds_socket(&self, path: &Path) -> bool {
        match &self.whom {
            Whom::AnySocket => true,
            Whom::Socket(socket) => socket == path,
            Whom::Any | Whom::Name(_) | Whom::Below(_) | Whom::Network(_) => false,
        }
    }

    /// Whether it is about addresses.
    pub(super) fn is_network(&self) -> bool {
        matches!(self.whom, Whom::Network(_))
    }

    /// Whether it is about addresses, this one among them.
    pub(super) fn holds(&self, address: IpAddr) -> bool {
        matches!(&self.whom, Whom::Network(network) if network.contains(&address))
    }

    /// Whether it is about this address and no other.
    pub(super) fn is_only(&self, address: IpAddr) -> bool {
        matches!(&self.whom, Whom::Network(network) if *network == IpNet::from(address))
    }
}

impl Whom {
    fn read(text: &str) -> Result<Self, RuleError> {
        if text == "any" {
            return Ok(Self::Any);
        }
        if let Some(parent) = text.strip_prefix("*.") {
            return match host(parent)? {
                Host::Domain(name) => Ok(Self::Below(format!(".{name}"))),
                Host::Ipv4(_) | Host::Ipv6(_) => Err(RuleError::Host),
            };
        }
        if text.contains('/') {
            let network: IpNet = text.parse().map_err(|_| RuleError::Network)?;
            return Ok(Self::Network(network.trunc()));
        }
        Ok(match host(text)? {
            Host::Domain(name) => Self::Name(name),
            Host::Ipv4(address) => Self::Network(IpAddr::from(address).into()),
            Host::Ipv6(address) => Self::Network(IpAddr::from(address).to_canonical().into()),
        })
    }
}

/// The sockets that a rule is about; `None` where it is about a host, which may be called `unix` and have a port.
fn socket(text: &str) -> Option<Result<Whom, RuleError>> {
    let path = text.strip_prefix(UNIX)?;
    if path == "*" {
        return Some(Ok(Whom::AnySocket));
    }
    let is_port = !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_plain = |part: &str| !matches!(part, "" | "." | ".." | "*");
    match path.strip_prefix('/') {
        Some(rest) if rest.split('/').all(is_plain) => Some(Ok(Whom::Socket(path.into()))),
        None if is_port => None,
        _ => Some(Err(RuleError::Unix)),
    }
}

/// A host as targets have them: names in their ASCII form, and addresses told from names by the same rules.
fn host(text: &str) -> Result<Host, RuleError> {
    if text.contains('*') {
        return Err(RuleError::Star);
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok(Host::Ipv6(address));
    }
    match Host::parse(text).map_err(|_| RuleError::Host)? {
        Host::Domain(name) => Ok(Host::Domain(name.strip_suffix('.').unwrap_or(&name).to_owned())),
        address => Ok(address),
    }
}

/// Splits the ports off. An address of IPv6 stands in brackets where ports follow.
fn split_ports(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (whom, behind) = rest.split_once(']').ok_or(RuleError::Host)?;
        return match behind.strip_prefix(':') {
            Some(ports) => Ok((whom, Some(ports))),
            None if behind.is_empty() => Ok((whom, None)),
            None => Err(RuleError::Form),
        };
    }
    match text.split_once(':') {
        Some((whom, ports)) if !ports.contains(':') => Ok((whom, Some(ports))),
        _ => Ok((text, None)),
    }
}

fn read_ports(text: &str) -> Result<RangeInclusive<u16>, RuleError> {
    let port = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|port| is_number && *port > 0).ok_or(RuleError::Port)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports = port(first)?..=port(last)?;
    if ports.is_empty() { Err(RuleError::Port) } else { Ok(ports) }
}
