//! From a plan's destinations to the addresses that they lead to, on this machine and now.

use std::io;
use std::net::{SocketAddr, SocketAddrV6, ToSocketAddrs};

use thiserror::Error;
use volley_plan::allow::Denied;
use volley_plan::{Destination, Family, Plan, Remote};

use super::tunnel::Tunnel;
use super::zone::{ZoneError, scope_id};
use super::{Site, SourceError, Sources};

/// Why a destination leads nowhere.
#[derive(Debug, Error)]
pub(crate) enum LookupError {
    #[error("the target's name {host} could not be resolved")]
    Resolve { host: String, source: io::Error },
    #[error("the target's name {host} has no address")]
    NoAddress { host: String },
    #[error("{host} has no {} address, and the plan uses no other", family_name(*family))]
    Family { host: String, family: Family },
    #[error("{host} has no address of the family of this machine's source addresses (`from`)")]
    Source { host: String },
    #[error("an address of the target is behind an interface that isn't there")]
    Zone(#[from] ZoneError),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("resolving was given up")]
    GivenUp(#[source] io::Error),
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Any => "usable",
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

/// A plan's destinations, and which of their addresses are used.
#[derive(Debug)]
pub(crate) struct Lookup {
    destinations: Vec<Destination>,
    family: Family,
    sources: Sources,
    /// What the proxy is asked for, where there is one and the target is `https`.
    tunnel: Option<Tunnel>,
}

impl Lookup {
    /// Those of a plan.
    ///
    /// # Errors
    /// None of the plan's source addresses is this machine's.
    pub(crate) fn new(plan: &Plan) -> Result<Self, SourceError> {
        let connect = &plan.http.connect;
        let destinations = plan.destinations();
        let (family, sources) = (connect.family, Sources::here(&connect.from)?);
        Ok(Self { destinations, family, sources, tunnel: Tunnel::of(plan) })
    }

    /// Whether anything has to be resolved.
    pub(crate) fn has_names(&self) -> bool {
        self.destinations.iter().any(|destination| match destination {
            Destination::Remote(remote) => remote.ip().is_none(),
            Destination::Unix(_) => false,
        })
    }

    /// What each connection begins with, where it goes through a proxy.
    pub(crate) fn tunnel(&self) -> Option<&Tunnel> {
        self.tunnel.as_ref()
    }

    /// Where connections come from.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// All addresses of all destinations that are used, each once, in the order of the plan and of the resolver. With names
    /// this may take many seconds.
    ///
    /// # Errors
    /// A destination that has none.
    pub(crate) fn sites(&self) -> Result<Vec<Site>, LookupError> {
        let mut sites = Vec::new();
        for destination in &self.destinations {
            let found = match destination {
                Destination::Remote(remote) => self.sites_of(remote)?,
                Destination::Unix(path) => vec![Site::Unix(path.as_path().into())],
            };
            for site in found {
                if !sites.contains(&site) {
                    sites.push(site);
                }
            }
        }
        Ok(sites)
    }

    fn sites_of(&self, remote: &Remote) -> Result<Vec<Site>, LookupError> {
        let host = || remote.host.clone();
        let mut addresses = resolved(remote)?;
        if addresses.is_empty() {
            return Err(LookupError::NoAddress { host: host() });
        }
        addresses.retain(|address| self.family.holds(address.ip()));
        if addresses.is_empty() {
            return Err(LookupError::Family { host: host(), family: self.family });
        }
        addresses.retain(|address| self.sources.reach(address.ip()));
        if addresses.is_empty() {
            return Err(LookupError::Source { host: host() });
        }
        let site = |address| Site::Tcp { host: remote.host.as_str().into(), address };
        Ok(addresses.into_iter().map(site).collect())
    }
}

/// An address as it is, a name by the system's resolver, so that its hosts file and its switches count.
fn resolved(remote: &Remote) -> Result<Vec<SocketAddr>, LookupError> {
    let zone = remote.zone.as_deref().map(scope_id).transpose()?;
    let addresses = match remote.ip() {
        Some(ip) => vec![SocketAddr::new(ip, remote.port)],
        None => (remote.host.as_str(), remote.port)
            .to_socket_addrs()
            .map_err(|source| LookupError::Resolve { host: remote.host.clone(), source })?
            .collect(),
    };
    let within = |address| match (address, zone) {
        (SocketAddr::V6(v6), Some(zone)) => {
            SocketAddr::V6(SocketAddrV6::new(*v6.ip(), v6.port(), v6.flowinfo(), zone))
        }
        _ => address,
    };
    Ok(addresses.into_iter().map(within).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these destinations lead to, with some of their connecting changed.
    fn check(
        to: &[(&str, u16, Option<&str>)],
        family: Family,
        from: &[&str],
        expected: Result<&[&str], &str>,
    ) {
        let mut plan = volley_plan::parse("target: http://127.0.0.1:80/\nusers: 1\nduration: 1s").unwrap();
        let connect = &mut plan.http.connect;
        let remote = |&(host, port, zone): &(&str, u16, Option<&str>)| Remote {
            host: host.to_owned(),
            port,
            zone: zone.map(str::to_owned),
        };
        connect.to = to.iter().map(remote).collect();
        connect.family = family;
        connect.from = from.iter().map(|ip| ip.parse().unwrap()).collect();
        let found = Lookup::new(&plan).unwrap().sites();
        match (found, expected) {
            (Ok(sites), expected) => {
                let sites: Vec<String> = sites.iter().map(Site::to_string).collect();
                assert_eq!(Ok(sites.iter().map(String::as_str).collect()), expected.map(<[_]>::to_vec));
            }
            (Err(error), Err(part)) => {
                let sentence = crate::sentence(&error);
                assert!(sentence.contains(part), "{sentence}");
            }
            (Err(error), Ok(_)) => panic!("{}", crate::sentence(&error)),
        }
    }

    #[test]
    fn case_24_all_addresses_of_all_destinations_are_found_in_their_order() {
        let any = Family::Any;
        check(&[], any, &[], Ok(&["127.0.0.1:80"]));
        check(
            &[("127.0.0.2", 81, None), ("::1", 82, None), ("127.0.0.2", 81, None)],
            any,
            &[],
            Ok(&["127.0.0.2:81", "[::1]:82"]),
        );
        check(&[("localhost", 81, None)], Family::V4, &[], Ok(&["127.0.0.1:81"]));
    }

    #[test]
    fn a_destination_without_a_usable_address_is_refused_and_says_why() {
        check(
            &[("127.0.0.2", 81, None)],
            Family::V6,
            &[],
            Err("127.0.0.2 has no IPv6 address, and the plan uses no other"),
        );
        check(
            &[("::1", 81, None)],
            Family::V4,
            &[],
            Err("::1 has no IPv4 address, and the plan uses no other"),
        );
        check(&[("::1", 81, None)], Family::Any, &["127.0.0.5"], Err("::1 has no address of the family of"));
        check(&[("no.such.name.invalid", 81, None)], Family::Any, &[], Err("could not be resolved: "));
    }

    #[test]
    fn a_zone_becomes_a_number() {
        check(&[("::1", 81, Some("lo"))], Family::Any, &[], Ok(&["[::1%1]:81"]));
        check(
            &[("fe80::1", 81, Some("no-such-one"))],
            Family::Any,
            &[],
            Err("behind an interface that isn't there: this machine has no network interface no-such-one"),
        );
    }
}
