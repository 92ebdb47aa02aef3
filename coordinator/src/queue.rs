//! The order in which runs begin: one on a target at a time, unless plans say otherwise, and each when the agents that it
//! wants are free. Whoever came first goes first among those that wait for the same target or for agents.
//!
//! A run is in here from its creation to its end: it waits for its turn, then goes on. Pure but for the channels on which
//! runs are told that it is their turn, with the agents that are theirs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;
use volley_lifecycle::AgentFacts;
use volley_plan::link::{Incarnation, RunId};
use volley_plan::words::counted;
use volley_plan::{Connect, Destination, Plan};

use crate::document::QueuePlace;
use crate::fleet::Fleet;

#[cfg(test)]
mod tests;

/// The host of its own that every host has (RFC 6761 section 6.3).
const LOCAL: &str = "localhost";

/// Resolves when it is a run's turn, with the agents that it begins with: none where it waits for some itself.
pub(crate) type Turn = oneshot::Receiver<Vec<AgentFacts>>;

/// The runs that wait or go on, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    runs: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    run: RunId,
    plan: Arc<Plan>,
    /// What it loads.
    loads: Vec<Loaded>,
    /// Where to say that it is its turn; `None` once that is said.
    waits: Option<oneshot::Sender<Vec<AgentFacts>>>,
}

impl Entry {
    fn new(run: RunId, plan: Arc<Plan>, waits: Option<oneshot::Sender<Vec<AgentFacts>>>) -> Self {
        let loads = plan.loaded().iter().map(Loaded::of).collect();
        Self { run, plan, loads, waits }
    }

    /// What both load, unless either may go on beside others: two runs on one target disturb each other's measurement.
    fn collides(&self, other: &Self) -> Option<&Loaded> {
        let beside = self.plan.agents.beside || other.plan.agents.beside;
        self.loads.iter().find(|loaded| !beside && other.loads.contains(loaded))
    }

    /// What is loaded as the plan's readers know it.
    fn named(&self, loaded: &Loaded) -> String {
        let Connect { to, unix, proxy, .. } = &self.plan.http.connect;
        if to.is_empty() && unix.is_none() && proxy.is_none() {
            return self.plan.target.authority().to_owned();
        }
        let destinations = self.plan.destinations();
        let found = destinations.iter().find(|destination| Loaded::of(destination) == *loaded);
        found.map_or_else(|| self.plan.target.authority().to_owned(), Destination::to_string)
    }

    fn place(&self, place: usize, because: String) -> (RunId, QueuePlace) {
        (self.run.clone(), QueuePlace { place: place as u64, because })
    }
}

/// What a run loads, whatever it calls it: where connections go, and not what `Host` says. One for all ways to write a host
/// that lead to the same one without a look-up: the root's dot at the end of a name says nothing, and all loopback names and
/// addresses are the agents' own hosts.
#[derive(Debug, PartialEq, Eq)]
enum Loaded {
    Port(String, u16),
    Socket(PathBuf),
}

impl Loaded {
    fn of(destination: &Destination) -> Self {
        let remote = match destination {
            Destination::Remote(remote) => remote,
            Destination::Unix(path) => return Self::Socket(path.clone()),
        };
        let host = remote.host.strip_suffix('.').unwrap_or(&remote.host);
        let is_local_name = host == LOCAL || host.ends_with(".localhost");
        let is_local = remote.ip().map_or(is_local_name, |ip| {
            let ip = ip.to_canonical();
            ip.is_loopback() || ip.is_unspecified()
        });
        Self::Port((if is_local { LOCAL } else { host }).to_owned(), remote.port)
    }
}

/// What became of those that wait.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Advanced {
    /// Where each one stands that goes on waiting.
    pub(crate) places: Vec<(RunId, QueuePlace)>,
    /// Idle agents that are kept for one of them, until it has enough.
    pub(crate) spared: BTreeSet<Incarnation>,
}

impl Queue {
    /// A run that is to wait for its turn, as the last.
    pub(crate) fn enter(&mut self, run: RunId, plan: Arc<Plan>) -> Turn {
        let (tell, turn) = oneshot::channel();
        self.runs.push(Entry::new(run, plan, Some(tell)));
        turn
    }

    /// A run that goes on since before this coordinator was started.
    pub(crate) fn goes_on(&mut self, run: RunId, plan: Arc<Plan>) {
        self.runs.push(Entry::new(run, plan, None));
    }

    /// A run is over, or will never begin.
    pub(crate) fn leave(&mut self, run: &RunId) {
        self.runs.retain(|entry| entry.run != *run);
    }

    /// Lets all begin whose way is free.
    pub(crate) fn advance(&mut self, fleet: &mut Fleet, now_ns: u64) -> Advanced {
        let mut advanced = Advanced::default();
        let mut wait_for_agents = 0;
        for index in 0..self.runs.len() {
            let entry = &self.runs[index];
            if entry.waits.is_none() {
                continue;
            }
            if let Some((place, because)) = self.in_the_way_of(index) {
                advanced.places.push(entry.place(place, because));
                continue;
            }
            match find_agents(entry, fleet, &advanced.spared, now_ns) {
                Ok(agents) => self.go(index, agents, fleet),
                Err(because) => {
                    wait_for_agents += 1;
                    advanced.places.push(entry.place(wait_for_agents, because));
                    // Where there aren't enough, busy ones included, it can't say when there will be: it holds nobody up.
                    if fleet.strength(&entry.plan.agents, now_ns).in_all() >= least(&entry.plan) {
                        advanced.spared.extend(fleet.idle(&entry.plan.agents, now_ns));
                    }
                }
            }
        }
        advanced
    }

    /// The run that loads the target, or will do so before this one; and how many wait for it with this one.
    fn in_the_way_of(&self, index: usize) -> Option<(usize, String)> {
        let entry = &self.runs[index];
        let colliding = || {
            let with = |(at, other)| Some((at, other, entry.collides(other)?));
            self.runs.iter().enumerate().filter_map(with)
        };
        let ahead = colliding().filter(|(at, other, _)| other.waits.is_some() && *at < index).count();
        let going = colliding().find(|(_, other, _)| other.waits.is_none());
        let verb = if going.is_some() { "loads" } else { "comes first on" };
        let (_, first, loaded) = going.or_else(|| colliding().find(|(at, ..)| *at < index))?;
        let because = format!("run {} {verb} {}", first.run, entry.named(loaded));
        Some((ahead + 1, because))
    }

    /// It is a run's turn. Where nobody waits for that any more, its agents are free again.
    fn go(&mut self, index: usize, agents: Vec<AgentFacts>, fleet: &mut Fleet) {
        let entry = &mut self.runs[index];
        let Some(tell) = entry.waits.take() else { return };
        for facts in tell.send(agents).err().unwrap_or_default() {
            fleet.free(facts.incarnation, &entry.run);
        }
    }
}

/// The agents that a run begins with, or why it goes on waiting for them. A plan that has time to wait, and wants more than
/// there are, gathers them itself.
fn find_agents(
    entry: &Entry,
    fleet: &mut Fleet,
    spared: &BTreeSet<Incarnation>,
    now_ns: u64,
) -> Result<Vec<AgentFacts>, String> {
    let wanted = &entry.plan.agents;
    let agents = fleet.claim(&entry.run, wanted, spared, now_ns);
    let there = fleet.strength(wanted, now_ns);
    let min = least(&entry.plan);
    if !agents.is_empty() || there.in_all() < min && !wanted.wait.is_zero() {
        return Ok(agents);
    }
    let wants = format!("the plan wants {}", counted(min as u64, "agent"));
    Err(match there.in_all() {
        0 => format!("{wants}, and none that fits is connected"),
        n if n < min => {
            format!("{wants}, and only {n} of those that fit {} connected", is_or_are(n))
        }
        1 if there.busy == 1 => format!("{wants}, and the only one that fits is busy"),
        n if there.busy == n => format!("{wants}, and all {n} that fit are busy"),
        _ => format!("{wants}, and others have them or come first"),
    })
}

/// The agents that a run takes to begin.
fn least(plan: &Plan) -> usize {
    plan.agents.min.max(1) as usize
}

fn is_or_are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}
