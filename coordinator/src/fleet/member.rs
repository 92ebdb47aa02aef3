//! One agent as the fleet knows it, and how it is shown.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use volley_lifecycle::AgentFacts;
use volley_plan::link::{LEASE_NS, RunId, ToAgent};
use volley_plan::{AgentsWanted, ShareBy};

use crate::offset::ClockOffset;

/// An agent that was not heard for this long gets no run; it may be hung, and a run would wait for it.
pub(super) const RESPONSIVE_NS: u64 = LEASE_NS;

/// The state of an agent that has no connection.
const GONE: &str = "gone";

/// What an agent is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Free for a run.
    Idle,
    /// Takes part in this run, connected or not.
    Busy(RunId),
}

/// The way to an agent. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: u64,
    pub(super) to: mpsc::Sender<ToAgent>,
    /// Never sent on: the connection's task ends when it is dropped.
    pub(super) _open: oneshot::Sender<()>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) facts: AgentFacts,
    pub(super) link: Option<Link>,
    pub(super) duty: Duty,
    /// Somebody here wants it to get no further run.
    pub(super) draining: bool,
    /// It says itself that it is about to end.
    pub(super) leaving: bool,
    pub(super) offset: ClockOffset,
    pub(super) heard_ns: u64,
}

impl Member {
    pub(super) fn new(facts: AgentFacts, duty: Duty, now_ns: u64) -> Self {
        Self {
            facts,
            link: None,
            duty,
            draining: false,
            leaving: false,
            offset: ClockOffset::default(),
            heard_ns: now_ns,
        }
    }

    pub(super) fn is_responsive(&self, now_ns: u64) -> bool {
        self.link.is_some() && now_ns.saturating_sub(self.heard_ns) <= RESPONSIVE_NS
    }

    /// It gets no further run.
    pub(super) fn is_retiring(&self) -> bool {
        self.draining || self.leaving
    }

    /// Free for whatever run wants one like it.
    pub(super) fn is_available(&self, now_ns: u64) -> bool {
        self.duty == Duty::Idle && !self.is_retiring() && self.is_responsive(now_ns)
    }

    /// At work, connected, and likely to be there for another run afterwards.
    pub(super) fn is_busy(&self) -> bool {
        self.duty != Duty::Idle && !self.is_retiring() && self.link.is_some()
    }

    /// True if it is one that a plan wants.
    pub(super) fn fits(&self, wanted: &AgentsWanted) -> bool {
        let is_measured = wanted.share_by != ShareBy::Capacity || self.facts.capacity.is_some();
        is_measured && wanted.labels.iter().all(|(key, value)| self.facts.labels.get(key) == Some(value))
    }

    fn state(&self, now_ns: u64) -> &'static str {
        match (&self.link, &self.duty) {
            (None, _) => GONE,
            (Some(_), _) if !self.is_responsive(now_ns) => "silent",
            (Some(_), _) if self.is_retiring() => "draining",
            (Some(_), Duty::Busy(_)) => "busy",
            (Some(_), Duty::Idle) => "idle",
        }
    }

    pub(super) fn view(&self, now_ns: u64) -> AgentView {
        let run = match &self.duty {
            Duty::Busy(run) => Some(run.clone()),
            Duty::Idle => None,
        };
        AgentView {
            facts: self.facts.clone(),
            state: self.state(now_ns),
            run,
            draining: self.draining,
            leaving: self.leaving,
            offset_ns: self.offset.offset_ns(),
            drift_ns: self.offset.drift_ns(),
            way_ns: self.offset.way_ns(),
            heard_ago_ns: now_ns.saturating_sub(self.heard_ns),
        }
    }
}

/// One agent as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AgentView {
    /// Who it is.
    pub(crate) facts: AgentFacts,
    /// `idle`, `busy`, `draining` (gets no further run), `silent` (connected, but not heard of lately) or `gone`.
    pub(crate) state: &'static str,
    /// The run that it takes part in.
    pub(crate) run: Option<RunId>,
    /// Somebody here wants it to get no further run.
    pub(crate) draining: bool,
    /// It says itself that it is about to end.
    pub(crate) leaving: bool,
    /// The coordinator's clock minus the agent's. Both count from moments of their own, so only its changes say something.
    pub(crate) offset_ns: Option<i128>,
    /// By how much its clock has run fast since it joined.
    pub(crate) drift_ns: Option<i128>,
    /// Best round trip of the latest.
    pub(crate) way_ns: Option<u64>,
    /// How long ago it was heard.
    pub(crate) heard_ago_ns: u64,
}

impl AgentView {
    /// It has no connection.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == GONE
    }

    /// The best of its latest round trips, in milliseconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "for people; a round trip need not be exact to the nanosecond"
    )]
    pub(crate) fn round_trip_ms(&self) -> Option<f64> {
        self.way_ns.map(|ns| ns as f64 / 1e6)
    }

    /// By how much its clock has run fast since it joined, in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "for people; a drift need not be exact to the nanosecond")]
    pub(crate) fn drift_ms(&self) -> Option<f64> {
        self.drift_ns.map(|ns| ns as f64 / 1e6)
    }

    /// How long ago it was heard, in seconds.
    pub(crate) fn heard_ago_s(&self) -> f64 {
        Duration::from_nanos(self.heard_ago_ns).as_secs_f64()
    }
}
