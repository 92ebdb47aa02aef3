//! The addresses that connections come from.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::sys::socket::{setsockopt, sockopt};
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};

/// Why connections can't come from where the plan wants them to.
#[derive(Debug, Error)]
pub(crate) enum SourceError {
    #[error(
        "none of the source addresses is this machine's ({}): name those of each agent's machine in `from`, or leave it out",
        list(from)
    )]
    NotHere { from: Vec<IpAddr> },
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

/// The source addresses that are this machine's, by family. Without any the system chooses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    v4: Vec<IpAddr>,
    v6: Vec<IpAddr>,
}

impl Sources {
    /// Those of a plan's that are this machine's.
    ///
    /// # Errors
    /// None of them is.
    pub(crate) fn here(from: &[IpAddr]) -> Result<Self, SourceError> {
        let here = from.iter().copied().filter(|&address| UdpSocket::bind((address, 0)).is_ok());
        let (v4, v6): (Vec<_>, Vec<_>) = here.partition(IpAddr::is_ipv4);
        let sources = Self { v4, v6 };
        if from.is_empty() || sources.are_chosen() {
            Ok(sources)
        } else {
            Err(SourceError::NotHere { from: from.to_vec() })
        }
    }

    fn are_chosen(&self) -> bool {
        !self.v4.is_empty() || !self.v6.is_empty()
    }

    fn of_family(&self, address: IpAddr) -> &[IpAddr] {
        if address.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    /// Whether an address can be connected to from them.
    pub(crate) fn reach(&self, address: IpAddr) -> bool {
        !self.are_chosen() || !self.of_family(address).is_empty()
    }

    /// How many sources there are for connections to an address, the one that the system chooses among them.
    pub(crate) fn count(&self, address: IpAddr) -> usize {
        self.of_family(address).len().max(1)
    }

    /// The one whose turn it is in this round; none where the system chooses.
    pub(crate) fn of(&self, address: SocketAddr, round: usize) -> Option<IpAddr> {
        let sources = self.of_family(address.ip());
        let turn = round.checked_rem(sources.len())?;
        Some(sources[turn])
    }
}

/// Connects from a source address. Which port it is, is settled when the connection is made, so that one port serves
/// connections to several addresses (ip(7), `IP_BIND_ADDRESS_NO_PORT`).
pub(crate) async fn connect(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // An old kernel chooses the port at once, which is no harm as long as there are enough.
    let _ = setsockopt(&socket, sockopt::IpBindAddressNoPort, &true);
    socket.bind(SocketAddr::new(source, 0))?;
    socket.connect(address).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_are_here_take_turns() {
        let from = ["127.0.0.5", "203.0.113.1", "127.0.0.6", "::1"].map(|text| text.parse().unwrap());
        let sources = Sources::here(&from).unwrap();
        let of = |address: &str, round| sources.of(address.parse().unwrap(), round).map(|ip| ip.to_string());
        let turns: Vec<_> = (0..3).filter_map(|round| of("127.0.0.1:80", round)).collect();
        assert_eq!(turns, ["127.0.0.5", "127.0.0.6", "127.0.0.5"]);
        assert_eq!(of("[::1]:80", 7).as_deref(), Some("::1"));
        assert_eq!(sources.count(from[0]), 2);
    }

    #[test]
    fn without_a_source_the_system_chooses() {
        let sources = Sources::here(&[]).unwrap();
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        assert_eq!((sources.of(address, 3), sources.count(address.ip())), (None, 1));
        assert!(sources.reach(address.ip()));
    }

    #[test]
    fn a_family_without_a_source_is_out_of_reach() {
        let sources = Sources::here(&["127.0.0.5".parse().unwrap()]).unwrap();
        assert!(sources.reach("127.0.0.1".parse().unwrap()));
        assert!(!sources.reach("::1".parse().unwrap()));
    }

    #[test]
    fn sources_of_other_machines_are_refused() {
        let error =
            Sources::here(&["203.0.113.1".parse().unwrap(), "203.0.113.2".parse().unwrap()]).unwrap_err();
        assert!(error.to_string().contains("is this machine's (203.0.113.1, 203.0.113.2): name"), "{error}");
    }
}
