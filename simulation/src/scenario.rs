//! What is going to happen in one simulated run: the plan, the hosts, and what goes wrong when. All of it is drawn from a
//! seed, and can be written down, so that a failure can be kept, looked at and made smaller.

mod draw;
mod plans;

use serde::{Deserialize, Serialize};

/// One run of a fleet, from beginning to end. Times are in milliseconds since the run was asked for, except where said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Of all that is random while it goes on: times on the way, answers of the target.
    pub seed: u64,
    /// The plan's text.
    pub plan: String,
    /// The machines with agents.
    pub hosts: Vec<Host>,
    /// What happens when, in this order.
    pub events: Vec<Timed>,
}

/// A machine with one agent at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Worker threads of its agents.
    pub workers: u32,
    /// The weight that its agents are given.
    pub weight: Option<u32>,
    /// What its agents were measured to be capable of.
    pub capacity: Option<u32>,
    /// By how many billionths its clock runs fast.
    pub drift_ppb: i64,
    /// Least and most time of a message on its way to or from it.
    pub way_ms: (u64, u64),
    /// When its first agent is started.
    pub joins_ms: u64,
    /// Its agents can't do any share.
    pub refuses: bool,
    /// Where its agents keep what is not delivered.
    pub disk: Disk,
}

/// Where agents keep what is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disk {
    /// In memory only.
    None,
    /// On a disk.
    Works,
    /// On a disk that takes nothing.
    Full,
}

/// Something that happens at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// When.
    pub at_ms: u64,
    /// What.
    pub what: Happens,
}

/// What happens from outside. A host is a number in the list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happens {
    /// The agent's connection breaks, in both directions; what is on its way is lost or still comes.
    Break {
        /// Whose.
        host: usize,
        /// What is on its way is lost.
        loses: bool,
    },
    /// Nothing gets through to or from a host for a while; it comes late, if the connection lasts so long.
    Cut {
        /// Which.
        host: usize,
        /// For how long.
        for_ms: u64,
    },
    /// Messages take so much longer for a while.
    Slow {
        /// Whose.
        host: usize,
        /// For how long.
        for_ms: u64,
        /// How much longer.
        by_ms: u64,
    },
    /// The agent stands still, as by SIGSTOP; its clock goes on.
    Hang {
        /// Whose.
        host: usize,
        /// For how long.
        for_ms: u64,
    },
    /// The agent dies, as by SIGKILL.
    Die {
        /// Whose.
        host: usize,
        /// After so long the host starts another agent.
        back_ms: Option<u64>,
    },
    /// The agent is told to end, as by SIGTERM.
    Leave {
        /// Whose.
        host: usize,
    },
    /// The coordinator is told to relieve an agent of its work.
    Drain {
        /// Which.
        host: usize,
    },
    /// The coordinator dies, and is started again later.
    Kill {
        /// It dies only when it has taken so many further steps: saved, sent, kept or acknowledged something.
        steps: u32,
        /// How long it is away.
        for_ms: u64,
    },
    /// The load is to be another: arrivals a second, or users.
    Adjust {
        /// How many.
        to: u32,
    },
    /// Somebody asks for the run's end.
    Stop,
    /// Nothing can be stored any more.
    BreakStore,
}

impl Happens {
    /// Its name in summaries.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Break { .. } => "connections broken",
            Self::Cut { .. } => "links cut",
            Self::Slow { .. } => "links slowed",
            Self::Hang { .. } => "agents stopped for a while",
            Self::Die { .. } => "agents killed",
            Self::Leave { .. } => "agents told to end",
            Self::Drain { .. } => "agents drained",
            Self::Kill { .. } => "coordinators killed",
            Self::Adjust { .. } => "loads adjusted",
            Self::Stop => "stops asked for",
            Self::BreakStore => "stores broken",
        }
    }

    /// Which host it is about.
    pub(crate) fn host(&self) -> Option<usize> {
        match *self {
            Self::Break { host, .. }
            | Self::Cut { host, .. }
            | Self::Slow { host, .. }
            | Self::Hang { host, .. }
            | Self::Die { host, .. }
            | Self::Leave { host }
            | Self::Drain { host } => Some(host),
            Self::Kill { .. } | Self::Adjust { .. } | Self::Stop | Self::BreakStore => None,
        }
    }
}

impl Scenario {
    /// The scenario of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        draw::scenario(seed)
    }

    /// The same with less in it, for finding what of it matters: each has one thing less.
    pub(crate) fn smaller(&self) -> impl Iterator<Item = Self> + '_ {
        let fewer_events = (0..self.events.len()).rev().map(|index| {
            let mut smaller = self.clone();
            smaller.events.remove(index);
            smaller
        });
        let fewer_hosts = (0..self.hosts.len()).rev().filter(|_| self.hosts.len() > 1).map(|gone| {
            let mut smaller = self.clone();
            smaller.hosts.remove(gone);
            smaller.events.retain(|event| event.what.host() != Some(gone));
            for event in &mut smaller.events {
                event.what.renumber(gone);
            }
            smaller
        });
        fewer_events.chain(fewer_hosts)
    }
}

impl Happens {
    /// A host was taken out of the list.
    fn renumber(&mut self, gone: usize) {
        match self {
            Self::Break { host, .. }
            | Self::Cut { host, .. }
            | Self::Slow { host, .. }
            | Self::Hang { host, .. }
            | Self::Die { host, .. }
            | Self::Leave { host }
            | Self::Drain { host } => *host -= usize::from(*host > gone),
            Self::Kill { .. } | Self::Adjust { .. } | Self::Stop | Self::BreakStore => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_the_same_again() {
        for seed in 0..50 {
            let scenario = Scenario::of_seed(seed);
            let written = serde_json::to_string(&scenario).expect("can be written");
            assert_eq!(serde_json::from_str::<Scenario>(&written).expect("reads back"), scenario);
            volley_plan::parse(&scenario.plan).unwrap_or_else(|faults| panic!("{faults}\n{}", scenario.plan));
        }
    }

    #[test]
    fn a_smaller_one_has_one_thing_less_and_names_the_same_hosts() {
        let scenario = (0..).map(Scenario::of_seed).find(|it| it.hosts.len() == 3 && it.events.len() > 2);
        let scenario = scenario.expect("there is one");
        for smaller in scenario.smaller() {
            assert!(smaller.events.len() < scenario.events.len() || smaller.hosts.len() == 2);
            assert!(smaller.events.iter().filter_map(|it| it.what.host()).all(|it| it < smaller.hosts.len()));
        }
    }
}
