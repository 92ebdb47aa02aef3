//! One agent in a run: its share, its orders, its lease, and what it has reported.

use std::collections::VecDeque;
use std::ops::Range;

use volley_plan::link::{Order, Share, WindowFacts};
use volley_stats::Iterations;

use crate::state::AgentFacts;

/// Orders that were sent this long ago and are not acknowledged go out again with the agent's next ping.
const RESEND_NS: u64 = 1_000_000_000;

/// Where an agent stands in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Has been told to prepare.
    Preparing,
    /// Stands by.
    Ready,
    /// Cannot or will not do its share.
    Refused {
        /// Why.
        reason: String,
    },
    /// Has been told to start.
    Running,
    /// Has reported everything.
    Done,
    /// Its last lease has run out.
    Lost {
        /// When it was given up, coordinator's clock.
        at_ns: u64,
        /// It came back and has reported everything that it had done.
        delivered: bool,
    },
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
            Self::Done => "done",
            Self::Lost { .. } => "lost",
        }
    }

    /// May be given leases and grants.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Preparing | Self::Ready | Self::Running)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct SentOrder {
    number: u64,
    order: Order,
    sent_ns: u64,
}

/// One agent's part in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentShare {
    /// Who it is.
    pub facts: AgentFacts,
    /// Its part.
    pub share: Share,
    /// Where it stands.
    pub state: AgentState,
    /// When it last pinged, coordinator's clock.
    pub heard_ns: u64,
    /// Iterations that it has leave for, in all; 0 where no number of them bounds the closed model, and in the open
    /// model, where the lease is the leave.
    pub granted: u64,
    /// What it has reported so far: sums, with the highest sequence, watermark and completion.
    pub reported: WindowFacts,
    /// The end of its last grant.
    pub(crate) granted_to: u64,
    /// It knows that no further grant will come.
    pub(crate) told_last: bool,
    /// The end of its last lease, coordinator's clock.
    pub(crate) lease_until_ns: u64,
    /// The first arrival of the run that its last lease did not permit; known once it was lost or the load has stopped.
    pub(crate) permitted_to: u64,
    /// What of the iterations that it reported as missed counts; see [`Self::count_missed`].
    pub(crate) missed: u64,
    /// What of them counted when it was lost.
    pub(crate) missed_when_lost: u64,
    /// Users times milliseconds that were lost with it.
    pub(crate) lost_user_ms: u64,
    /// It was ordered to cut off at once what is in flight.
    pub(crate) is_cut_off: bool,
    numbered: u64,
    unacknowledged: VecDeque<SentOrder>,
}

impl AgentShare {
    pub(crate) fn new(facts: AgentFacts, share: Share, now_ns: u64, lease_ns: u64) -> Self {
        Self {
            facts,
            share,
            state: AgentState::Preparing,
            heard_ns: now_ns,
            granted: 0,
            reported: WindowFacts::default(),
            granted_to: 0,
            told_last: false,
            lease_until_ns: now_ns.saturating_add(lease_ns),
            permitted_to: 0,
            missed: 0,
            missed_when_lost: 0,
            lost_user_ms: 0,
            is_cut_off: false,
            numbered: 0,
            unacknowledged: VecDeque::new(),
        }
    }

    /// Iterations that it was granted and has not reported as started.
    #[must_use]
    pub fn unreported(&self) -> u64 {
        self.granted.saturating_sub(self.reported.iterations.started)
    }

    /// Iterations that it has reported, one way or the other, as far as they count.
    pub(crate) fn accounted(&self) -> u64 {
        self.reported.iterations.started.saturating_add(self.missed)
    }

    /// Counts what it has reported as missed. Once the load has stopped, with `due` of its arrivals before that, an agent
    /// that has not heard of it still reports what it turns away later; there must be room for what it missed.
    pub(crate) fn count_missed(&mut self, due: Option<u64>) {
        let Iterations { started, missed, .. } = self.reported.iterations;
        let room = due.map_or(u64::MAX, |due| due.saturating_sub(started));
        self.missed = self.missed.max(missed.min(room));
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

    /// Gives an order its number and keeps it until it is acknowledged.
    pub(crate) fn number(&mut self, order: Order, now_ns: u64) -> u64 {
        self.numbered += 1;
        self.is_cut_off |= matches!(order, Order::Stop { drain_ns: 0, .. });
        self.unacknowledged.push_back(SentOrder { number: self.numbered, order, sent_ns: now_ns });
        self.numbered
    }

    /// Notes what the agent has taken, and gives back the orders that must have been lost on the way.
    pub(crate) fn acknowledge(&mut self, number: u64, now_ns: u64) -> Vec<(u64, Order)> {
        self.unacknowledged.retain(|sent| sent.number > number);
        let due =
            self.unacknowledged.iter_mut().filter(|sent| now_ns >= sent.sent_ns.saturating_add(RESEND_NS));
        due.map(|sent| {
            sent.sent_ns = now_ns;
            (sent.number, sent.order.clone())
        })
        .collect()
    }

    /// The run time of a stop that it has not acknowledged; its lease must not reach past it.
    pub(crate) fn pending_stop_ns(&self) -> Option<u64> {
        self.unacknowledged.iter().find_map(|sent| match sent.order {
            Order::Stop { at_ns, .. } => Some(at_ns),
            _ => None,
        })
    }

    pub(crate) fn take_grant(&mut self, grant: &Range<u64>) {
        self.granted += grant.end - grant.start;
        self.granted_to = grant.end;
    }

    /// When it is lost if nothing more is heard of it: never before its last lease has run out.
    pub(crate) fn lost_ns(&self, lease_ns: u64) -> u64 {
        self.lease_until_ns.max(self.heard_ns.saturating_add(lease_ns))
    }
}
