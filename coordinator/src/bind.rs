//! Where a service may listen.

use std::net::SocketAddr;

use thiserror::Error;

/// An address that a service must not listen on without a token.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "refusing to listen on {address} without a token, since whoever reaches it could start load. Make one with `(umask 077 \
     && volley token > volley.token)` and give it here and to every agent with --token-file volley.token; or listen on \
     {loopback} and reach it through an SSH tunnel",
    loopback = if .address.is_ipv4() { "127.0.0.1" } else { "[::1]" }
)]
pub struct BindRefused {
    /// The address.
    pub address: SocketAddr,
}

/// Lets loopback addresses through (127.0.0.0/8, ::1, and the former written as IPv6), and others only where each request
/// has to show a token.
///
/// # Errors
/// [`BindRefused`] for every other address.
pub fn check_bind(address: SocketAddr, has_token: bool) -> Result<(), BindRefused> {
    if has_token || is_loopback(address) { Ok(()) } else { Err(BindRefused { address }) }
}

/// Whether only processes of this host can reach an address.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_18_without_a_token_only_loopback_is_listened_on() {
        for (address, is_fine) in [
            ("127.0.0.1:7070", true),
            ("127.8.9.1:1", true),
            ("[::1]:7070", true),
            ("[::ffff:127.0.0.1]:7070", true),
            ("0.0.0.0:7070", false),
            ("[::]:7070", false),
            ("192.168.1.5:7070", false),
            ("[::ffff:10.0.0.1]:7070", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(check_bind(address, false).is_ok(), is_fine, "{address}");
            assert_eq!(check_bind(address, true), Ok(()), "{address}");
        }
        let refused = check_bind("0.0.0.0:7070".parse().unwrap(), false).unwrap_err().to_string();
        for part in ["0.0.0.0:7070", "volley token", "--token-file", "127.0.0.1"] {
            assert!(refused.contains(part), "{refused}");
        }
    }
}
