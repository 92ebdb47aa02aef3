//! From the zone of an address to the number of the interface that it names (RFC 4007 section 11).

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use thiserror::Error;

/// Why a zone is of no use here.
#[derive(Debug, Error)]
pub(crate) enum ZoneError {
    #[error("this machine has no network interface {zone}")]
    NoInterface { zone: String },
    #[error("this machine's network interfaces can't be told")]
    Interfaces(#[source] Errno),
}

/// The interface's number, from its name or its number.
pub(crate) fn scope_id(zone: &str) -> Result<u32, ZoneError> {
    let any = socket(AddressFamily::UNIX, SocketType::DGRAM, None).map_err(ZoneError::Interfaces)?;
    if let Ok(index) = netdevice::name_to_index(&any, zone) {
        return Ok(index);
    }
    let number = zone.parse().ok().filter(|&index| netdevice::index_to_name(&any, index).is_ok());
    number.ok_or_else(|| ZoneError::NoInterface { zone: zone.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_found_by_name_and_by_number() {
        let loopback = scope_id("lo").unwrap();
        assert_eq!(scope_id(&loopback.to_string()).unwrap(), loopback);
        for missing in ["no-such-one", "4294967295", "-1", "", "0"] {
            let error = scope_id(missing).unwrap_err();
            assert_eq!(error.to_string(), format!("this machine has no network interface {missing}"));
        }
    }
}
