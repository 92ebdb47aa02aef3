//! The states of a run, why it stops, and how it ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use volley_plan::Verdict;
use volley_plan::link::Incarnation;

/// Where a run stands. Times are on the coordinator's clock, in nanoseconds, except where `run` is in their name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Too few agents yet.
    Gathering {
        /// When patience ends.
        until_ns: u64,
    },
    /// Agents get ready.
    Preparing {
        /// When patience ends.
        until_ns: u64,
    },
    /// The coordinator was started again in mid-run, and waits for an agent that tells it when run time 0 was. Agents go on
    /// meanwhile as far as their leases reach.
    Resuming {
        /// When patience ends.
        until_ns: u64,
        /// Run time 0, as nearly as the wall clock tells it.
        start_ns: u64,
        /// The load had stopped before.
        stopped: Option<Stopped>,
        /// What was asked for meanwhile, or went wrong: the load is to stop.
        pending: Option<StopReason>,
    },
    /// Run time goes on from 0 at `start_ns`, which may still lie ahead.
    Running {
        /// Run time 0.
        start_ns: u64,
    },
    /// No new iterations; requests in flight finish, reports that are owed may come.
    Draining {
        /// Run time 0.
        start_ns: u64,
        /// The run time at which the load stopped, see [`Run::end_run_ns`](crate::Run::end_run_ns).
        stop_run_ns: u64,
        /// When patience ends.
        until_ns: u64,
        /// Why.
        reason: StopReason,
    },
    /// Final: totals and verdict stay, whatever arrives later.
    Finished {
        /// Run time 0; `None` if the run never started.
        start_ns: Option<u64>,
        /// The run time at which the load stopped, see [`Run::end_run_ns`](crate::Run::end_run_ns); 0 if it never
        /// started.
        stop_run_ns: u64,
        /// How it ended.
        outcome: Outcome,
    },
}

impl State {
    /// The name used in JSON and on pages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gathering { .. } => "gathering",
            Self::Preparing { .. } => "preparing",
            Self::Resuming { .. } => "resuming",
            Self::Running { .. } => "running",
            Self::Draining { .. } => "draining",
            Self::Finished { .. } => "finished",
        }
    }
}

/// A load that has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The run time at which it did.
    pub run_ns: u64,
    /// Why.
    pub reason: StopReason,
}

/// Why a run stopped, weakest first: a weaker reason never replaces a stronger one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StopReason {
    /// All iterations were done.
    CountReached,
    /// The planned time was over.
    DurationOver,
    /// A threshold that is to stop the run did not hold any more.
    ThresholdBroken,
    /// Somebody asked for it.
    Asked,
    /// No agent was left: all of them were lost, or left before their work was done.
    AgentsLost,
    /// The run never started; why.
    CouldNotRun(String),
    /// Results could no longer be kept; why.
    StoreFailed(String),
}

impl StopReason {
    /// True if the load was ended before its time, so that no more than was due until then is planned.
    #[must_use]
    pub fn is_early(&self) -> bool {
        matches!(self, Self::ThresholdBroken | Self::Asked)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why it stopped.
    pub reason: StopReason,
    /// What the numbers say.
    pub verdict: Verdict,
    /// An agent was lost on the way.
    pub incomplete: bool,
    /// What made it invalid or incomplete, one reason after the other; empty when all is well.
    pub sentence: String,
}

/// What is known of an agent before it takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// The process.
    pub incarnation: Incarnation,
    /// The name for people.
    pub name: String,
    /// The program's version.
    pub version: String,
    /// Worker threads.
    pub workers: u32,
    /// What plans that want only some agents call it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How much of a load it should get beside others, where it was told.
    #[serde(default)]
    pub weight: Option<u32>,
    /// Requests a second that it was measured to be capable of, where it was.
    #[serde(default)]
    pub capacity: Option<u32>,
}
