//! What of a run is saved, so that a coordinator that is started again goes on with it.
//!
//! Times are run time here: the clock of the process that writes them means nothing to the one that reads them. The plan
//! is kept elsewhere, and with each agent's windows the sum of what they say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use volley_plan::link::{Incarnation, Share};
use volley_plan::{Adjust, Ledger};

use crate::agent::{AgentShare, AgentState};
use crate::legs::Legs;
use crate::orders::Orders;
use crate::planned::Planned;
use crate::run::Run;
use crate::state::{AgentFacts, Outcome, State, Stopped};

/// The form that records have. Another one can't be read.
const VERSION: u32 = 1;

/// The form of a record, written as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Version;

impl From<Version> for u32 {
    fn from(_: Version) -> Self {
        VERSION
    }
}

impl TryFrom<u32> for Version {
    type Error = String;

    fn try_from(version: u32) -> Result<Self, String> {
        if version == VERSION {
            Ok(Self)
        } else {
            Err(format!("a record of version {version}, not {VERSION}"))
        }
    }
}

/// All of a run but its plan and its agents. It can be written by any serde format and read again; one of another version
/// can't.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    version: Version,
    pub(crate) seed: u64,
    pub(crate) phase: Phase,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) adjusted: Vec<Adjust>,
    pub(crate) changed_ns: u64,
    pub(crate) passed_ns: u64,
    /// When those that have nothing any more were relieved: an agent's own record is not always saved then.
    pub(crate) relieved: BTreeMap<Incarnation, u64>,
}

/// Where a run stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Gathering,
    Preparing,
    Running,
    Draining(Stopped),
    Finished { has_started: bool, stop_run_ns: u64, outcome: Outcome },
}

/// One agent of a run, but for what it has reported. Written and read like a [`RunRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    version: Version,
    pub(crate) facts: AgentFacts,
    /// Its times are run time.
    pub(crate) state: AgentState,
    pub(crate) granted: u64,
    pub(crate) granted_to: u64,
    pub(crate) told_last: bool,
    pub(crate) wants_to_leave: bool,
    pub(crate) permitted_to: u64,
    pub(crate) missed: u64,
    pub(crate) missed_when_lost: u64,
    pub(crate) prepared: Share,
    pub(crate) legs: Legs,
    pub(crate) orders: Orders,
}

impl AgentRecord {
    /// The process that it is of.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.facts.incarnation
    }

    /// The number of the last order to it that this tells of.
    #[must_use]
    pub fn last_order(&self) -> u64 {
        self.orders.last()
    }
}

impl Run {
    /// The run as it is to be saved with every order, see [`Action::Send`](crate::Action::Send).
    #[must_use]
    pub fn record(&self) -> RunRecord {
        let relieved =
            |(&id, agent): (&Incarnation, &AgentShare)| agent.legs.end_ns().map(|end_ns| (id, end_ns));
        RunRecord {
            version: Version,
            seed: self.seed,
            phase: self.phase(),
            ledger: self.ledger.clone(),
            adjusted: self.adjusted.clone(),
            changed_ns: self.changed_ns,
            passed_ns: match &self.planned {
                Planned::Arrivals(arrivals) => arrivals.passed_ns(),
                Planned::Iterations(_) | Planned::UserTime { .. } => 0,
            },
            relieved: self.agents.iter().filter_map(relieved).collect(),
        }
    }

    fn phase(&self) -> Phase {
        match &self.state {
            State::Gathering { .. } => Phase::Gathering,
            State::Preparing { .. } => Phase::Preparing,
            State::Running { .. } | State::Resuming { stopped: None, .. } => Phase::Running,
            State::Resuming { stopped: Some(stopped), .. } => Phase::Draining(stopped.clone()),
            State::Draining { stop_run_ns, reason, .. } => {
                Phase::Draining(Stopped { run_ns: *stop_run_ns, reason: reason.clone() })
            }
            State::Finished { start_ns, stop_run_ns, outcome } => Phase::Finished {
                has_started: start_ns.is_some(),
                stop_run_ns: *stop_run_ns,
                outcome: outcome.clone(),
            },
        }
    }
}

impl AgentShare {
    /// The agent as it is to be saved with every order to it.
    #[must_use]
    pub fn record(&self) -> AgentRecord {
        let run_ns = |clock_ns: u64| clock_ns.saturating_sub(self.start_ns);
        AgentRecord {
            version: Version,
            facts: self.facts.clone(),
            state: at_other_times(&self.state, run_ns),
            granted: self.granted,
            granted_to: self.granted_to,
            told_last: self.told_last,
            wants_to_leave: self.wants_to_leave,
            permitted_to: self.permitted_to,
            missed: self.missed,
            missed_when_lost: self.missed_when_lost,
            prepared: self.prepared.clone(),
            legs: self.legs.clone(),
            orders: self.orders.without_plan(),
        }
    }
}

/// A state with its times turned into those of another clock.
pub(crate) fn at_other_times(state: &AgentState, turn: impl Fn(u64) -> u64) -> AgentState {
    match state {
        AgentState::Lost { at_ns, delivered } => {
            AgentState::Lost { at_ns: turn(*at_ns), delivered: *delivered }
        }
        AgentState::Leaving { at_run_ns, until_ns } => {
            AgentState::Leaving { at_run_ns: *at_run_ns, until_ns: turn(*until_ns) }
        }
        other => other.clone(),
    }
}
