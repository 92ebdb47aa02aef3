//! Zones of addresses: the interface of the machine that connects behind which an address is meant (RFC 4007).

use std::net::{IpAddr, Ipv6Addr};

/// Most bytes of an interface's name on Linux.
const MAX_BYTES: usize = 15;

/// Why what stands behind an address is no zone of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// It is neither a name nor a number that an interface may have.
    #[error("a zone that is neither a name nor a number of an interface")]
    Name,
    /// The address is the same behind every interface.
    #[error("a zone behind an address that has none")]
    Global,
}

impl ZoneError {
    /// What to write instead.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::Name => "write it like [fe80::1%eth0]",
            Self::Global => "only link-local addresses (fe80::/10) have a zone, and ::1",
        }
    }
}

/// Whether `address` has a zone that is written so. What is left out of names here (a slash, a colon, a bracket) has a
/// meaning of its own where zones are written.
pub(super) fn check(address: Option<IpAddr>, zone: &str) -> Result<(), ZoneError> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    if zone.is_empty() || zone.len() > MAX_BYTES || !zone.chars().all(is_letter) {
        return Err(ZoneError::Name);
    }
    match address {
        Some(IpAddr::V6(ip)) if ip.is_unicast_link_local() || ip == Ipv6Addr::LOCALHOST => Ok(()),
        _ => Err(ZoneError::Global),
    }
}
