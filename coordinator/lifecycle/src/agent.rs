//! One agent in a run: its share, its orders, its lease, and what it has reported.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use volley_plan::link::{Order, Share, WindowFacts};
use volley_stats::{Iterations, SECOND_NS};

use crate::legs::{Leg, Legs};
use crate::orders::Orders;
use crate::state::AgentFacts;

/// Where an agent stands in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentState {
    /// Has been told to prepare.
    Preparing,
    /// Stands by.
    Ready,
    /// Takes no part: it cannot or will not do its share, or came too late for one.
    Refused {
        /// Why.
        reason: String,
    },
    /// Has been told to start.
    Running,
    /// Is on its way out: nothing that is due at `at_run_ns` or later is its own, what it has begun it finishes.
    Leaving {
        /// The run time.
        at_run_ns: u64,
        /// Until when it may take over that, coordinator's clock.
        until_ns: u64,
    },
    /// Has reported everything, and did all it had to do.
    Done,
    /// Has reported everything, and left before its work was done.
    Left {
        /// The run time from which on nothing was its own.
        at_run_ns: u64,
    },
    /// Its last lease has run out.
    Lost {
        /// When it was given up, coordinator's clock.
        at_ns: u64,
        /// It came back and has reported everything that it had done.
        delivered: bool,
    },
    /// Nothing could be kept any more, so the run ended before it had delivered all that it had done.
    Undelivered,
}

impl AgentState {
    /// The name used in JSON and on pages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Ready => "ready",
            Self::Refused { .. } => "refused",
            Self::Running => "running",
            Self::Leaving { .. } => "leaving",
            Self::Done => "done",
            Self::Left { .. } => "left",
            Self::Lost { .. } => "lost",
            Self::Undelivered => "undelivered",
        }
    }

    /// It has not told all that it did, and was given up: the rest is unknown.
    #[must_use]
    pub fn owes(&self) -> bool {
        matches!(self, Self::Lost { delivered: false, .. } | Self::Undelivered)
    }

    /// Something is still to come of it.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Preparing | Self::Ready) || self.works()
    }

    /// Has been told to start, and may be given leases.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self, Self::Running | Self::Leaving { .. })
    }

    /// Gets ready, or stands by.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Self::Preparing | Self::Ready)
    }
}

/// One agent's part in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentShare {
    /// Who it is.
    pub facts: AgentFacts,
    /// Where it stands.
    pub state: AgentState,
    /// When it last pinged, coordinator's clock.
    pub heard_ns: u64,
    /// Iterations that it has leave for, in all; 0 where no number of them bounds the closed model, and in the open
    /// model, where the lease is the leave.
    pub granted: u64,
    /// What it has reported so far: sums, with the highest sequence, watermark and completion.
    pub reported: WindowFacts,
    /// Run time 0, coordinator's clock; 0 before it was told to start.
    pub(crate) start_ns: u64,
    /// What it was told to prepare for.
    pub(crate) prepared: Share,
    /// What it has had since, and is to have.
    pub(crate) legs: Legs,
    /// The end of its last grant.
    pub(crate) granted_to: u64,
    /// It knows that no further grant will come.
    pub(crate) told_last: bool,
    /// The end of the last lease that it was given here, coordinator's clock.
    pub(crate) lease_until_ns: u64,
    /// No lease that an earlier process gave it reaches further, coordinator's clock.
    pub(crate) earlier_until_ns: u64,
    /// By when it must be ready if it joins a run that goes on, coordinator's clock.
    pub(crate) ready_by_ns: u64,
    /// Whatever else says that it is lost, it is waited for until then, coordinator's clock: after a restart.
    pub(crate) absent_until_ns: u64,
    /// It is to be relieved as soon as that can be done.
    pub(crate) wants_to_leave: bool,
    /// The first arrival of the run that its last lease did not permit; known once it was lost or the load has stopped.
    pub(crate) permitted_to: u64,
    /// What of the iterations that it reported as missed counts; see [`Self::count_missed`].
    pub(crate) missed: u64,
    /// What of them counted when it was lost.
    pub(crate) missed_when_lost: u64,
    /// Users times milliseconds that were lost with it, or by users that began anew on it.
    pub(crate) lost_user_ms: u64,
    pub(crate) orders: Orders,
}

impl AgentShare {
    pub(crate) fn new(facts: AgentFacts, prepared: Share, now_ns: u64, lease_ns: u64) -> Self {
        Self {
            facts,
            state: AgentState::Preparing,
            heard_ns: now_ns,
            granted: 0,
            reported: WindowFacts::default(),
            start_ns: 0,
            prepared,
            legs: Legs::default(),
            granted_to: 0,
            told_last: false,
            lease_until_ns: now_ns.saturating_add(lease_ns),
            earlier_until_ns: 0,
            ready_by_ns: u64::MAX,
            absent_until_ns: 0,
            wants_to_leave: false,
            permitted_to: 0,
            missed: 0,
            missed_when_lost: 0,
            lost_user_ms: 0,
            orders: Orders::default(),
        }
    }

    /// Its share: the latest one that was settled, which may still lie ahead, or what it prepares for.
    #[must_use]
    pub fn share(&self) -> &Share {
        self.legs.latest().map_or(&self.prepared, |leg| &leg.share)
    }

    /// What it has had from the start on and is to have; nothing for one that has not been told to start.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        self.legs.all()
    }

    /// What it has at a run time.
    #[must_use]
    pub fn share_at(&self, run_ns: u64) -> Option<&Share> {
        self.legs.at(run_ns)
    }

    /// Every second before this one is complete as far as this agent is concerned: what it reported, and those before it
    /// had a share.
    #[must_use]
    pub fn watermark_s(&self) -> u32 {
        let begin_s = u32::try_from(self.legs.begin_ns() / SECOND_NS).unwrap_or(u32::MAX);
        self.reported.watermark_s.max(begin_s)
    }

    /// Iterations that it was granted and has not reported as started.
    #[must_use]
    pub fn unreported(&self) -> u64 {
        self.granted.saturating_sub(self.reported.iterations.started)
    }

    /// True if this is the window to come next: none is missing before it, and something was still to come.
    pub(crate) fn is_next(&self, facts: &WindowFacts) -> bool {
        facts.sequence.checked_sub(1) == Some(self.reported.sequence) && !self.reported.last
    }

    /// What it has reported with one window more. What comes `late` is in no sum.
    pub(crate) fn reported_with(&self, facts: &WindowFacts, late: bool) -> WindowFacts {
        let mut reported = self.reported;
        if late {
            (reported.sequence, reported.last) = (facts.sequence, facts.last);
        } else {
            reported.merge(facts);
        }
        reported
    }

    /// Iterations that it has reported, one way or the other, as far as they count.
    pub(crate) fn accounted(&self) -> u64 {
        self.reported.iterations.started.saturating_add(self.missed)
    }

    /// Counts what it has reported as missed, as far as there is room for it among the `due` ones that were its own. One
    /// that has not heard of a stop, or of a change, still reports what it turns away later.
    pub(crate) fn count_missed(&mut self, due: u64) {
        let Iterations { started, missed, .. } = self.reported.iterations;
        self.missed = self.missed.max(missed.min(due.saturating_sub(started)));
    }

    /// Requests that it reported as started and not as ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        let WindowFacts { started, ok, failed, cancelled, .. } = self.reported;
        started.saturating_sub(ok.saturating_add(failed).saturating_add(cancelled))
    }

    /// True if it was lost, whether or not it came back.
    #[must_use]
    pub fn was_lost(&self) -> bool {
        matches!(self.state, AgentState::Lost { .. })
    }

    /// True if it went before its work was done.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.state, AgentState::Lost { .. } | AgentState::Left { .. })
    }

    /// May still send while its lease lasts: it has been told to start, and has not said its last word.
    pub(crate) fn may_send(&self) -> bool {
        (self.state.works() || self.state.owes()) && !self.reported.last
    }

    /// May take more of the load.
    pub(crate) fn can_take(&self) -> bool {
        self.state == AgentState::Running
    }

    pub(crate) fn take_grant(&mut self, grant: &Range<u64>) {
        self.granted += grant.end - grant.start;
        self.granted_to = grant.end;
    }

    /// No lease that it has reaches further, coordinator's clock.
    pub(crate) fn lease_end_ns(&self) -> u64 {
        self.lease_until_ns.max(self.earlier_until_ns)
    }

    /// When it is lost if nothing more is heard of it: never before its last lease has run out.
    pub(crate) fn lost_ns(&self, lease_ns: u64) -> u64 {
        self.lease_end_ns().max(self.heard_ns.saturating_add(lease_ns)).max(self.absent_until_ns)
    }

    /// Until when it is waited for, if nothing more is heard of it.
    pub(crate) fn patience_ns(&self, lease_ns: u64) -> u64 {
        let by_ns = match self.state {
            AgentState::Leaving { until_ns, .. } => until_ns,
            AgentState::Preparing => self.ready_by_ns,
            _ => u64::MAX,
        };
        by_ns.min(self.lost_ns(lease_ns))
    }

    /// The number of the last order to it; 0 before the first. What an order does to the share is in the
    /// [record](Self::record) from then on.
    #[must_use]
    pub fn last_order(&self) -> u64 {
        self.orders.last()
    }

    pub(crate) fn number(&mut self, order: Order, now_ns: u64) -> u64 {
        self.orders.number(order, now_ns)
    }
}
