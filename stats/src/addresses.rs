//! What went to each of a target's addresses.

use std::collections::BTreeMap;

/// Most addresses that are told apart; what went to further ones is counted together as [`OTHER_ADDRESSES`].
pub const MAX_ADDRESSES: usize = 64;
/// Stands for all addresses beyond [`MAX_ADDRESSES`].
pub const OTHER_ADDRESSES: &str = "other";

/// Counts of one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressCounts {
    /// Connections that were opened to it.
    pub connections: u64,
    /// Attempts to connect to it that failed, TLS handshakes among them; another address may have served the request.
    pub failures: u64,
    /// Requests of which a byte at least was written on a connection to it; one that was sent again counts again.
    pub requests: u64,
}

impl AddressCounts {
    /// Adds other counts. Sums of absurd claims stay at the highest number.
    pub fn merge(&mut self, other: &Self) {
        self.connections = self.connections.saturating_add(other.connections);
        self.failures = self.failures.saturating_add(other.failures);
        self.requests = self.requests.saturating_add(other.requests);
    }
}

/// Counts by address: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`. Bounded, whatever is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(BTreeMap<String, AddressCounts>);

impl Addresses {
    /// Adds what was counted of one address.
    pub fn add(&mut self, address: &str, counts: &AddressCounts) {
        if let Some(known) = self.0.get_mut(address) {
            return known.merge(counts);
        }
        let others = usize::from(self.0.contains_key(OTHER_ADDRESSES));
        let is_full = self.0.len() - others >= MAX_ADDRESSES;
        let name = if is_full { OTHER_ADDRESSES } else { address };
        self.0.entry(name.to_owned()).or_default().merge(counts);
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (address, counts) in other.iter() {
            self.add(address, counts);
        }
    }

    /// Each address with its counts, in the order of their texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AddressCounts)> {
        self.0.iter().map(|(address, counts)| (address.as_str(), counts))
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever order they come in, as they do where they are read back.
    #[test]
    fn those_beyond_the_bound_are_none_of_those_that_are_told_apart() {
        let one = AddressCounts { connections: 1, failures: 0, requests: 2 };
        let mut addresses = Addresses::default();
        addresses.add(OTHER_ADDRESSES, &one);
        for last in 0..MAX_ADDRESSES {
            addresses.add(&format!("unix:/{last}"), &one);
        }
        assert_eq!(addresses.iter().count(), MAX_ADDRESSES + 1);
        assert!(addresses.iter().all(|(_, counts)| *counts == one));
    }

    #[test]
    fn addresses_beyond_the_bound_are_counted_together() {
        let mut addresses = Addresses::default();
        let one = AddressCounts { connections: 1, failures: 0, requests: 2 };
        for last in 0..100 {
            addresses.add(&format!("10.0.0.{last}:80"), &one);
        }
        addresses.add("10.0.0.1:80", &one);
        let mut twice = addresses.clone();
        twice.merge(&addresses);
        let requests =
            |addresses: &Addresses| addresses.iter().map(|(_, counts)| counts.requests).sum::<u64>();
        assert_eq!((requests(&addresses), requests(&twice)), (202, 404));
        assert_eq!((addresses.iter().count(), twice.iter().count()), (MAX_ADDRESSES + 1, MAX_ADDRESSES + 1));
        let of = |name: &str| {
            addresses.iter().find(|(address, _)| *address == name).map(|(_, counts)| counts.requests)
        };
        assert_eq!((of("10.0.0.1:80"), of(OTHER_ADDRESSES)), (Some(4), Some(72)));
    }
}
