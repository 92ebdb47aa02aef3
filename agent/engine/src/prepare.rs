//! What an engine does before it says that it is ready: it serializes the requests, makes sure of descriptors, and
//! turns the target's name into addresses.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;
use volley_plan::{Plan, Target};

use crate::http1::{Prepared, RequestError};

/// Descriptors of one worker besides its connections: event loop, wake-ups, timer; and one to spare.
const WORKER_DESCRIPTORS: u64 = 4;
/// Descriptors that the rest of the process may come to need during a run.
const SPARE_DESCRIPTORS: u64 = 16;

/// Why a share can't be done here.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("the plan has no step")]
    NoStep,
    #[error("the request of step {step:?} cannot be sent")]
    Request { step: String, source: RequestError },
    #[error(
        "{users} users need {needed} file descriptors (one each, and what the process needs besides), \
         but its limit is {limit}: raise it with `ulimit -n` or have fewer users for each agent"
    )]
    Descriptors { users: u32, needed: u64, limit: u64 },
    #[error("the target's name {host} could not be resolved")]
    Resolve { host: String, source: io::Error },
    #[error("the target's name {host} has no address")]
    NoAddress { host: String },
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
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }
}

/// The plan's requests, by step.
pub(crate) fn requests(plan: &Plan) -> Result<Vec<Prepared>, Refusal> {
    let steps = plan.scenarios.first().map(|scenario| scenario.steps.as_slice()).unwrap_or_default();
    if steps.is_empty() {
        return Err(Refusal::NoStep);
    }
    let prepare = |step: &volley_plan::Step| {
        let authority = plan.target.authority();
        let method = step.method.as_str();
        Prepared::new(method, authority, &step.path, &step.headers, &step.body, plan.http.keep_alive)
            .map_err(|source| Refusal::Request { step: step.name.clone(), source })
    };
    steps.iter().map(prepare).collect()
}

/// Raises the soft limit of descriptors to the hard one, and makes sure that it is enough.
pub(crate) fn descriptors(users: u32, workers: usize) -> Result<(), Refusal> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where this fails the old limit holds, which is then what counts.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    enough(users, workers, open, limit)
}

fn enough(users: u32, workers: usize, open: u64, limit: u64) -> Result<(), Refusal> {
    let needed = open + u64::from(users) + workers as u64 * WORKER_DESCRIPTORS + SPARE_DESCRIPTORS;
    if needed <= limit { Ok(()) } else { Err(Refusal::Descriptors { users, needed, limit }) }
}

/// The target's addresses, each once, in the order in which the resolver gives them. This may take many seconds.
pub(crate) fn addresses(target: &Target) -> Result<Vec<SocketAddr>, Refusal> {
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
    if addresses.is_empty() {
        return Err(Refusal::NoAddress { host: host.to_owned() });
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_must_fit_the_descriptors() {
        assert!(enough(1000, 2, 10, 1034).is_ok());
        let refusal = enough(1000, 2, 10, 1033).unwrap_err().sentence();
        assert!(refusal.starts_with("1000 users need 1034 file descriptors"), "{refusal}");
        assert!(refusal.contains("its limit is 1033"), "{refusal}");
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        descriptors(1, 1).unwrap();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }
}
