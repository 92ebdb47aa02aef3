//! What an engine does before it says that it is ready: it serializes the requests, and makes sure that descriptors and local
//! ports are enough for its share. What addresses and TLS take is found by `dial`.

mod ports;
mod requests;

use std::io;
use std::net::SocketAddr;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use volley_plan::allow::Denied;
use volley_plan::words::{count, counted};

use crate::dial::{LookupError, Site, SourceError, Sources, TlsError};
use crate::files::FileError;
use crate::health::open_descriptors;
use crate::http1::RequestError;
use crate::sentence;

pub(crate) use requests::requests;

/// Descriptors of one worker besides its connections: event loop, wake-ups, timer; and one to spare.
const WORKER_DESCRIPTORS: u64 = 4;
/// Descriptors that the rest of the process may come to need during a run.
const SPARE_DESCRIPTORS: u64 = 16;
/// How a plan is made to need fewer connections of an agent.
const FEWER: &str = "fewer `users`, or in the open model `connections: N` or a lower `max_in_flight`";

/// Why a share can't be done here.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("the plan has no request")]
    NoRequest,
    #[error("the request {name:?} cannot be sent")]
    Request { name: String, source: RequestError },
    #[error(
        "{} {} file descriptors (one each, and {} for the rest of the process), but its limit is {}: raise it with \
         `ulimit -n`, use more agents, or let the plan need fewer connections ({FEWER})",
        connections_need(*connections),
        count(besides.saturating_add(u64::from(*connections))),
        count(*besides),
        count(*limit)
    )]
    Descriptors { connections: u32, besides: u64, limit: u64 },
    #[error(
        "{} {} to {}, but net.ipv4.ip_local_port_range gives {} (ip_local_reserved_ports don't count): widen the \
         range, use more agents on machines of their own, or let the plan need fewer connections ({FEWER})",
        connections_need(*connections),
        counted(u64::from(*connections), "local port"),
        addresses_in_words(addresses),
        ports_in_words(*by_address, *pairs, addresses.len())
    )]
    LocalPorts { connections: u32, by_address: u32, pairs: u32, addresses: Vec<SocketAddr> },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Lookup(#[from] LookupError),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("a thread could not be started")]
    Thread(#[source] io::Error),
    #[error("a worker's event loop could not be made")]
    EventLoop(#[source] io::Error),
    #[error("the engine was ended while it got ready")]
    Ended,
}

impl Refusal {
    /// The whole reason in one sentence.
    pub(crate) fn sentence(&self) -> String {
        sentence(self)
    }
}

fn connections_need(connections: u32) -> String {
    let verb = if connections == 1 { "needs" } else { "need" };
    format!("{} {verb}", counted(u64::from(connections), "connection"))
}

fn ports_in_words(by_address: u32, pairs: u32, addresses: usize) -> String {
    let (each, all) = (count(u64::from(by_address)), count(u64::from(by_address) * u64::from(pairs)));
    match pairs {
        0 | 1 => each,
        _ if pairs as usize == addresses => format!("{each} for each, {all} in all"),
        _ => format!("{each} for each from each source address, {all} in all"),
    }
}

fn addresses_in_words(addresses: &[SocketAddr]) -> String {
    match addresses {
        [] => "the target".to_owned(),
        [only] => only.to_string(),
        [first, others @ ..] => {
            let plural = if others.len() == 1 { "" } else { "es" };
            format!("{first} and {} more address{plural} of the target", count(others.len() as u64))
        }
    }
}

/// Raises the soft limit of descriptors to the hard one, and makes sure that it is enough for so many connections.
pub(crate) fn descriptors(connections: u32, workers: usize) -> Result<(), Refusal> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where this fails the old limit holds, which is then what counts.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    enough_descriptors(connections, workers, open_descriptors(), limit)
}

fn enough_descriptors(connections: u32, workers: usize, open: u64, limit: u64) -> Result<(), Refusal> {
    let besides = open + workers as u64 * WORKER_DESCRIPTORS + SPARE_DESCRIPTORS;
    if besides.saturating_add(u64::from(connections)) <= limit {
        Ok(())
    } else {
        Err(Refusal::Descriptors { connections, besides, limit })
    }
}

/// How many local ports connections to these addresses can use, made sure to be enough for so many connections. Where
/// the kernel doesn't say it is 0, and nothing is refused; Unix sockets need none.
pub(crate) fn local_ports(connections: u32, sites: &[Site], sources: &Sources) -> Result<u32, Refusal> {
    let addresses: Vec<SocketAddr> = sites.iter().filter_map(Site::tcp).collect();
    let pairs: usize = addresses.iter().map(|address| sources.count(address.ip())).sum();
    match ports::by_address() {
        Some(by_address) if !addresses.is_empty() => {
            enough_ports(connections, addresses, u32::try_from(pairs).unwrap_or(u32::MAX), by_address)
        }
        _ => Ok(0),
    }
}

/// A local port serves one connection to each address, from each source address.
fn enough_ports(
    connections: u32,
    addresses: Vec<SocketAddr>,
    pairs: u32,
    by_address: u32,
) -> Result<u32, Refusal> {
    let ports = by_address.saturating_mul(pairs);
    if connections <= ports {
        Ok(ports)
    } else {
        Err(Refusal::LocalPorts { connections, by_address, pairs, addresses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_must_fit_the_descriptors() {
        let check = |connections, limit, expected: Option<&str>| {
            let refusal =
                enough_descriptors(connections, 2, 10, limit).err().map(|refusal| refusal.sentence());
            assert_eq!(refusal.as_deref(), expected, "{connections} of {limit}");
        };
        check(1000, 1034, None);
        check(
            1000,
            1033,
            Some(
                "1,000 connections need 1,034 file descriptors (one each, and 34 for the rest of the process), but its \
                 limit is 1,033: raise it with `ulimit -n`, use more agents, or let the plan need fewer connections \
                 (fewer `users`, or in the open model `connections: N` or a lower `max_in_flight`)",
            ),
        );
        check(u32::MAX, u64::MAX, None);
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        descriptors(1, 1).unwrap();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }

    #[test]
    fn case_14_connections_must_fit_the_local_ports() {
        let check_from = |connections, to: &[&str], sources: u32, by_address, expected: Result<u32, &str>| {
            let addresses: Vec<SocketAddr> = to.iter().map(|address| address.parse().unwrap()).collect();
            let pairs = sources * u32::try_from(to.len()).unwrap();
            let found =
                enough_ports(connections, addresses, pairs, by_address).map_err(|refusal| refusal.sentence());
            match (&found, expected) {
                (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
                _ => assert_eq!(found, expected.map_err(str::to_owned), "{connections} to {to:?}"),
            }
        };
        let check = |connections, to: &[&str], by_address, expected| {
            check_from(connections, to, 1, by_address, expected);
        };
        check(100, &["10.0.0.1:80"], 100, Ok(100));
        check(
            150,
            &["10.0.0.1:80"],
            100,
            Err(
                "150 connections need 150 local ports to 10.0.0.1:80, but net.ipv4.ip_local_port_range gives 100 \
                 (ip_local_reserved_ports don't count): widen the range, use more agents on machines of their own, or \
                 let the plan need fewer connections (fewer `users`, or in the open model `connections: N` or a lower \
                 `max_in_flight`)",
            ),
        );
        check(150, &["10.0.0.1:80", "[::1]:80"], 100, Ok(200));
        check(
            1201,
            &["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"],
            400,
            Err(
                "1,201 connections need 1,201 local ports to 10.0.0.1:80 and 2 more addresses of the target, but \
                 net.ipv4.ip_local_port_range gives 400 for each, 1,200 in all (ip_",
            ),
        );
        check(u32::MAX, &["10.0.0.1:80", "10.0.0.2:80"], u32::MAX, Ok(u32::MAX));
        check(
            1,
            &["10.0.0.1:80"],
            0,
            Err("1 connection needs 1 local port to 10.0.0.1:80, but net.ipv4.ip_local_port_range gives 0 ("),
        );
        check_from(250, &["10.0.0.1:80"], 3, 100, Ok(300));
        check_from(
            301,
            &["10.0.0.1:80"],
            3,
            100,
            Err("range gives 100 for each from each source address, 300 in all (ip_local"),
        );
    }

    #[test]
    fn this_machine_has_a_port_for_one_connection() {
        let site = |address: &str| Site::Tcp { host: "h".into(), address: address.parse().unwrap() };
        let by_address = ports::by_address().unwrap();
        let check = |sites: &[Site], from: &[&str], expected| {
            let from: Vec<_> = from.iter().map(|ip| ip.parse().unwrap()).collect();
            assert_eq!(local_ports(1, sites, &Sources::here(&from).unwrap()).unwrap(), expected);
        };
        check(&[site("127.0.0.1:80")], &[], by_address);
        check(&[site("127.0.0.1:80"), site("[::1]:80")], &["127.0.0.5", "127.0.0.6"], 3 * by_address);
        check(&[Site::Unix(std::path::Path::new("/run/app.sock").into())], &[], 0);
    }
}
