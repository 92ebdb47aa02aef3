//! What an engine does before it says that it is ready: it serializes the requests, turns the target's name into
//! addresses, and makes sure that descriptors and local ports are enough for its share.

mod ports;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use volley_plan::allow::{AllowList, Denied};
use volley_plan::words::{count, counted};
use volley_plan::{Plan, Request, Target};

use crate::health::open_descriptors;
use crate::http1::{NUMBER_PLACEHOLDER, Prepared, RequestError};
use crate::sentence;

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
        ports_in_words(*by_address, addresses.len() as u64)
    )]
    LocalPorts { connections: u32, by_address: u32, addresses: Vec<SocketAddr> },
    #[error("the target's name {host} could not be resolved")]
    Resolve { host: String, source: io::Error },
    #[error("the target's name {host} has no address")]
    NoAddress { host: String },
    #[error(transparent)]
    Denied(Denied),
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

fn ports_in_words(by_address: u32, addresses: u64) -> String {
    match addresses {
        0 | 1 => count(u64::from(by_address)),
        _ => format!(
            "{} for each, {} in all",
            count(u64::from(by_address)),
            count(u64::from(by_address) * addresses)
        ),
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

/// The plan's requests; the place of each is its [`StepId`](volley_stats::StepId).
pub(crate) fn requests(plan: &Plan) -> Result<Vec<Prepared>, Refusal> {
    let prepare = |request: &Request| {
        let authority = plan.target.authority();
        let method = request.method.as_str();
        let number = plan.http.number_header.as_deref();
        let line = number.map(|name| (name.to_owned(), NUMBER_PLACEHOLDER.to_owned()));
        let headers: Vec<_> = request.headers.iter().cloned().chain(line).collect();
        let keep_alive = plan.http.keep_alive;
        let prepared = Prepared::new(method, authority, &request.path, &headers, &request.body, keep_alive)
            .map_err(|source| Refusal::Request { name: request.name.clone(), source })?;
        Ok(match number {
            Some(name) => prepared.numbered_by(name),
            None => prepared,
        })
    };
    let requests: Vec<Prepared> = plan.requests().map(prepare).collect::<Result<_, _>>()?;
    if requests.is_empty() { Err(Refusal::NoRequest) } else { Ok(requests) }
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
/// the kernel doesn't say it is 0, and nothing is refused.
pub(crate) fn local_ports(connections: u32, addresses: &[SocketAddr]) -> Result<u32, Refusal> {
    match ports::by_address() {
        Some(by_address) => enough_ports(connections, addresses, by_address),
        None => Ok(0),
    }
}

/// A local port serves one connection to each address.
fn enough_ports(connections: u32, addresses: &[SocketAddr], by_address: u32) -> Result<u32, Refusal> {
    let addresses_count = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let ports = by_address.saturating_mul(addresses_count);
    if connections <= ports {
        Ok(ports)
    } else {
        Err(Refusal::LocalPorts { connections, by_address, addresses: addresses.to_vec() })
    }
}

/// The target's addresses that may be connected to, each once, in the order in which the resolver gives them. This may
/// take many seconds.
pub(crate) fn addresses(target: &Target, allow: &AllowList) -> Result<Vec<SocketAddr>, Refusal> {
    permitted(target.host(), &resolved(target)?, allow)
}

fn resolved(target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
    if let Some(ip) = target.ip() {
        return Ok(vec![SocketAddr::new(ip, target.port())]);
    }
    let host = target.host();
    let found = (host, target.port())
        .to_socket_addrs()
        .map_err(|source| Refusal::Resolve { host: host.to_owned(), source })?;
    let mut addresses = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(Refusal::NoAddress { host: host.to_owned() }) } else { Ok(addresses) }
}

/// Those of a name's addresses that the list permits. Where it permits none, what it says of the first is the reason.
fn permitted(host: &str, addresses: &[SocketAddr], allow: &AllowList) -> Result<Vec<SocketAddr>, Refusal> {
    let (mut permitted, mut denied) = (Vec::new(), None);
    for address in addresses {
        match allow.permits_address(host, address.ip(), address.port()) {
            Ok(()) => permitted.push(*address),
            Err(error) => {
                tracing::warn!(host, %address, %error, "an address of the target is not connected to");
                denied.get_or_insert(error);
            }
        }
    }
    match denied {
        Some(denied) if permitted.is_empty() => Err(Refusal::Denied(denied)),
        _ => Ok(permitted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_in_the_order_of_their_steps() {
        let plan = volley_plan::parse(
            "version: 1\n\
             target: http://127.0.0.1:8080/\n\
             users: 1\n\
             duration: 1s\n\
             scenarios:\n\
             \x20 browse: { weight: 2, steps: [ get: /list, think: 1s, get: /item ] }\n\
             \x20 buy: { steps: [ post: /cart, delete: /cart ] }\n",
        )
        .unwrap();
        let requests = requests(&plan).unwrap();
        let line =
            |request: &Prepared| String::from_utf8_lossy(request.bytes()).lines().next().unwrap().to_owned();
        let lines: Vec<String> = requests.iter().map(line).collect();
        let expected =
            ["GET /list HTTP/1.1", "GET /item HTTP/1.1", "POST /cart HTTP/1.1", "DELETE /cart HTTP/1.1"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn only_addresses_that_the_list_permits_are_connected_to() {
        let check = |rules: &[&str], expected: Result<&[&str], &str>| {
            let addresses =
                ["10.0.0.1:80", "127.0.0.1:80", "169.254.169.254:80"].map(|text| text.parse().unwrap());
            let allow = AllowList::parse(rules.iter().copied()).unwrap();
            match (permitted("shop.test", &addresses, &allow), expected) {
                (Ok(found), expected) => {
                    let found: Vec<String> = found.iter().map(SocketAddr::to_string).collect();
                    assert_eq!(expected.map(<[_]>::to_vec), Ok(found.iter().map(String::as_str).collect()));
                }
                (Err(refusal), Err(part)) => {
                    assert!(refusal.sentence().contains(part), "{}", refusal.sentence());
                }
                (Err(refusal), Ok(_)) => panic!("{}", refusal.sentence()),
            }
        };
        check(&["any"], Ok(&["10.0.0.1:80", "127.0.0.1:80"]));
        check(&["127.0.0.0/8"], Ok(&["127.0.0.1:80"]));
        check(
            &["10.0.0.0/8:8080", "192.168.0.0/16"],
            Err("shop.test:80 leads to 10.0.0.1:80, which is not on the"),
        );
    }

    #[test]
    fn a_literal_address_is_held_against_the_list_too() {
        let plan = volley_plan::parse("target: http://127.0.0.1:8080/\nusers: 1\nduration: 1s").unwrap();
        let found = |rule: &str| addresses(&plan.target, &AllowList::parse([rule]).unwrap());
        assert_eq!(found("127.0.0.1").unwrap(), ["127.0.0.1:8080".parse().unwrap()]);
        assert!(found("10.0.0.0/8").unwrap_err().sentence().contains("not on the allow-list"));
    }

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
        let check = |connections, addresses: &[&str], by_address, expected: Result<u32, &str>| {
            let addresses: Vec<SocketAddr> =
                addresses.iter().map(|address| address.parse().unwrap()).collect();
            let found =
                enough_ports(connections, &addresses, by_address).map_err(|refusal| refusal.sentence());
            match (&found, expected) {
                (Err(found), Err(beginning)) => assert!(found.starts_with(beginning), "{found}"),
                _ => assert_eq!(found, expected.map_err(str::to_owned), "{connections} to {addresses:?}"),
            }
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
    }

    #[test]
    fn this_machine_has_a_port_for_one_connection() {
        let address = ["127.0.0.1:80".parse().unwrap()];
        assert_eq!(local_ports(1, &address).unwrap(), ports::by_address().unwrap());
    }
}
