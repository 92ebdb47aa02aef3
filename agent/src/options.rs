//! How an agent is to be, and what it says of itself.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use volley_engine::{Clock, Listening, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::{Hello, Incarnation, PROTOCOL};
use volley_proto::limits::{MAX_CAPACITY, MAX_WEIGHT};

use crate::runs::Means;

/// Most bytes of an agent's name.
const MAX_NAME_BYTES: usize = 200;

/// How an agent is to be.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The name for people: one line, at most 200 bytes. The host's name and four hex digits where there is none.
    pub name: Option<String>,
    /// Worker threads; one a core where nothing is said.
    pub workers: Option<usize>,
    /// Whether workers that have nothing to do spin before they sleep.
    pub spin: Spin,
    /// What it is called by plans that want only some agents: at most 16, keys and values of 1 to 63 bytes.
    pub labels: BTreeMap<String, String>,
    /// How much of a load it should get beside others, 1 to a million; as much as it has workers where nothing is said.
    pub weight: Option<u32>,
    /// Requests a second that it was measured to be capable of, 1 to a thousand million.
    pub capacity: Option<u32>,
    /// What it may send to, whatever a coordinator says.
    pub allow: Arc<AllowList>,
    /// The folder for files that plans name; without one such plans are refused.
    pub files: Option<PathBuf>,
    /// The directory in which results that are not delivered outlive the process; without one they are in memory only.
    pub state: Option<PathBuf>,
    /// Who in this process is told of each request, if somebody is.
    pub listener: Option<Listening>,
}

impl Default for AgentOptions {
    /// An agent of a coordinator in the same process: it may send to anything, and keeps nothing on disk.
    fn default() -> Self {
        Self {
            name: None,
            workers: None,
            spin: Spin::default(),
            labels: BTreeMap::new(),
            weight: None,
            capacity: None,
            allow: Arc::new(AllowList::anything()),
            files: None,
            state: None,
            listener: None,
        }
    }
}

impl AgentOptions {
    /// What an agent with these options says of itself.
    pub(crate) fn hello(&self, incarnation: Incarnation) -> Hello {
        Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            incarnation,
            name: name(self.name.as_deref(), incarnation),
            workers: u32::try_from(self.workers()).unwrap_or(u32::MAX),
            labels: self.labels.clone(),
            weight: self.weight.map(|weight| weight.clamp(1, MAX_WEIGHT)),
            capacity: self.capacity.map(|capacity| capacity.clamp(1, MAX_CAPACITY)),
        }
    }

    /// What its engines are made with.
    pub(crate) fn means(&self, clock: Clock) -> Means {
        let (allow, files) = (Arc::clone(&self.allow), self.files.clone());
        let listener = self.listener.clone();
        Means { clock, workers: self.workers(), spin: self.spin, allow, files, listener }
    }

    fn workers(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, NonZero::get);
        self.workers.unwrap_or_else(cores).max(1)
    }
}

/// The given name made fit for lists and log lines, or one made of the host's.
fn name(given: Option<&str>, incarnation: Incarnation) -> String {
    let given = given.map(one_line).filter(|name| !name.is_empty());
    given.unwrap_or_else(|| {
        let host = one_line(&rustix::system::uname().nodename().to_string_lossy());
        let host = if host.is_empty() { "agent" } else { &host };
        format!("{host}-{:04x}", incarnation.0 & 0xffff)
    })
}

fn one_line(text: &str) -> String {
    let mut line: String = text.chars().filter(|c| !c.is_control()).collect();
    line.truncate(line.floor_char_boundary(MAX_NAME_BYTES));
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_name(given: Option<&str>, expected: &str) {
        let name = name(given, Incarnation(0xabcd_0012));
        assert!(
            name == expected || name.ends_with(expected) && given.is_none_or(|g| g.trim().is_empty()),
            "{name}"
        );
    }

    #[test]
    fn names_are_one_line_and_never_empty() {
        check_name(Some("rack 7"), "rack 7");
        check_name(Some("a\nb\u{7f}"), "ab");
        check_name(Some(&"ä".repeat(300)), &"ä".repeat(100));
        check_name(Some(" \n"), "-0012");
        check_name(None, "-0012");
    }

    #[test]
    fn an_agent_says_who_it_is() {
        let plain = AgentOptions::default().hello(Incarnation(7));
        let cores =
            u32::try_from(thread::available_parallelism().map_or(1, NonZero::get)).expect("few cores");
        assert_eq!((plain.protocol, plain.incarnation, plain.workers), (PROTOCOL, Incarnation(7), cores));
        assert_eq!(
            (plain.version.as_str(), plain.weight, plain.capacity),
            (env!("CARGO_PKG_VERSION"), None, None)
        );
        let labels = BTreeMap::from([("zone".to_owned(), "eu".to_owned())]);
        let told = AgentOptions {
            workers: Some(0),
            labels: labels.clone(),
            weight: Some(0),
            capacity: Some(u32::MAX),
            ..AgentOptions::default()
        };
        let told = told.hello(Incarnation(7));
        assert_eq!((told.workers, told.weight, told.capacity), (1, Some(1), Some(MAX_CAPACITY)));
        assert_eq!(told.labels, labels);
    }
}
