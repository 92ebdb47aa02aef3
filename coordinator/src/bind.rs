//! Where a coordinator may listen.

use std::net::SocketAddr;

use thiserror::Error;

/// An address that a coordinator must not listen on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "refusing to listen on {address}: whoever reaches it could start load, and this version has no tokens to tell who \
     may; listen on 127.0.0.1 or [::1] and reach it through an SSH tunnel"
)]
pub struct BindRefused {
    /// The address.
    pub address: SocketAddr,
}

/// Lets only loopback addresses through (127.0.0.0/8, ::1, and the former written as IPv6).
///
/// # Errors
/// [`BindRefused`] for every other address.
pub fn check_bind(address: SocketAddr) -> Result<(), BindRefused> {
    if address.ip().to_canonical().is_loopback() { Ok(()) } else { Err(BindRefused { address }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_18_only_loopback_is_listened_on() {
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
            assert_eq!(check_bind(address.parse().unwrap()).is_ok(), is_fine, "{address}");
        }
        let refused = check_bind("0.0.0.0:7070".parse().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("0.0.0.0:7070") && refused.to_string().contains("token"));
    }
}
