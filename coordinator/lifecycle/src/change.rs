//! Who has what from a run time on: the load is dealt anew, and everybody told.
//!
//! What makes it safe: what is due before the change belongs to those who had it, the rest to those who get it. Whoever
//! gives something away can't hold a lease beyond the change before it has acknowledged the order, since the change comes
//! no earlier than the last lease it was given, and none is renewed beyond an order that is on its way.

use volley_plan::link::{Incarnation, Order, Share, TAKE_OVER_NS};
use volley_plan::shape::StripeSet;
use volley_plan::{Amount, Level, Model};

use crate::agent::AgentShare;
use crate::deal::{Taker, deal_anew, weight};
use crate::event::Action;
use crate::legs::Leg;
use crate::planned::Planned;
use crate::run::Run;
use crate::state::State;

/// Names that are told in a note; the rest are counted.
const NAMED: usize = 3;

/// A change of who has what.
pub(crate) struct Change {
    /// The run time at which it takes effect.
    pub(crate) at_ns: u64,
    /// The load changes as well.
    pub(crate) to: Option<Level>,
    /// What is free is dealt out, and nobody loses anything.
    pub(crate) nobody_gives: bool,
    /// One that has got ready for a part of what goes on already.
    pub(crate) joiner: Option<Incarnation>,
}

impl Run {
    /// The earliest run time at which something can change that only adds to what agents have.
    pub(crate) fn soonest_ns(&self, now_ns: u64) -> u64 {
        let lead_ns = now_ns.saturating_add(self.settings.lead_ns);
        self.run_ns(lead_ns).unwrap_or(0).max(self.changed_ns)
    }

    /// The earliest run time at which anything can change: no agent that may still send has a lease beyond it.
    pub(crate) fn safe_ns(&self, now_ns: u64) -> u64 {
        let working = self.agents.values().filter(|agent| agent.state.works());
        let leases_ns = working.map(AgentShare::lease_end_ns).max().unwrap_or(0);
        self.soonest_ns(now_ns).max(self.run_ns(leases_ns).unwrap_or(0))
    }

    /// True if what an agent leaves behind can be done by others from `at_ns` on: there are some, and something is left to
    /// do that was not granted to it for good.
    pub(crate) fn can_hand_over(&self, at_ns: u64) -> bool {
        let goes_on = matches!(self.state, State::Running { .. });
        goes_on && self.can_anybody_take() && !self.is_per_user() && self.is_any_left(at_ns)
    }

    pub(crate) fn can_anybody_take(&self) -> bool {
        self.agents.values().any(AgentShare::can_take)
    }

    /// True if there is something to do at `at_ns` or later that nobody has leave for yet.
    pub(crate) fn is_any_left(&self, at_ns: u64) -> bool {
        let has_time = self.load.total_ns().is_none_or(|total_ns| at_ns < total_ns);
        has_time && self.ledger.as_ref().is_none_or(|ledger| ledger.remaining() > 0)
    }

    /// Each user has its own number of iterations, so nobody else can do them.
    pub(crate) fn is_per_user(&self) -> bool {
        matches!(&self.load.model, Model::Closed(closed) if matches!(closed.iterations, Some(Amount::PerUser(_))))
    }

    /// Deals the load anew among those that run, of whom there are some, and tells them. Whoever had something and is not
    /// among them is relieved. Gives back who has got more.
    pub(crate) fn change(&mut self, now_ns: u64, change: &Change, out: &mut Vec<Action>) -> Vec<Incarnation> {
        let takers = self.takers(change.joiner);
        let shares = deal_anew(&self.plan, &self.load, &takers, change.nobody_gives);
        let from_n = self.planned.number_at(change.at_ns);
        self.changed_ns = change.at_ns;
        for (&id, agent) in &mut self.agents {
            if !takers.iter().any(|taker| taker.agent == id) {
                agent.legs.end(change.at_ns, from_n);
            }
        }
        let mut gaining = Vec::new();
        for (taker, share) in takers.iter().zip(shares) {
            if !share.stripes.without(&taker.holds).is_empty() {
                gaining.push(taker.agent);
            }
            self.assign(now_ns, taker.agent, change, from_n, share, out);
        }
        for agent in self.agents.keys().copied().collect::<Vec<_>>() {
            self.count_user_time(agent);
        }
        gaining
    }

    pub(crate) fn takers(&self, joiner: Option<Incarnation>) -> Vec<Taker> {
        let takes = |id, agent: &AgentShare| agent.can_take() || joiner == Some(id);
        let agents = self.agents.iter().filter(|&(&id, agent)| takes(id, agent));
        let taker = |(&agent, share): (&Incarnation, &AgentShare)| Taker {
            agent,
            weight: weight(&self.plan, &share.facts).unwrap_or(1),
            holds: share
                .legs
                .latest()
                .map_or_else(|| nothing_of(&share.prepared), |leg| leg.share.stripes.clone()),
        };
        agents.map(taker).collect()
    }

    /// Gives an agent its share, and tells it where that, or the load, is not what it knows.
    fn assign(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        change: &Change,
        from_n: u64,
        share: Share,
        out: &mut Vec<Action>,
    ) {
        let over_ns = self.take_over_ns(change);
        let at_ns = change.at_ns;
        let Some(known) = self.agents.get_mut(&agent) else { return };
        let is_new = *known.share() != share;
        if is_new || known.legs.latest().is_none() {
            known.legs.begin(Leg { from_ns: at_ns, share: share.clone(), from_n, over_ns });
        }
        if is_new || change.to.is_some() {
            self.send(now_ns, agent, Order::Change { at_ns, share, to: change.to, over_ns }, out);
        }
    }

    /// Over how long users begin anew: at once where somebody asked for them.
    fn take_over_ns(&self, change: &Change) -> u64 {
        let is_closed = matches!(self.load.model, Model::Closed(_));
        if is_closed && change.to.is_none() { TAKE_OVER_NS } else { 0 }
    }

    /// The names of agents, for a note.
    pub(crate) fn names(&self, agents: &[Incarnation]) -> String {
        let named: Vec<_> = agents.iter().filter_map(|id| self.agents.get(id)).collect();
        let names: Vec<_> = named.iter().take(NAMED).map(|agent| agent.facts.name.as_str()).collect();
        match (names.as_slice(), named.len() - names.len()) {
            ([], _) => "nobody".to_owned(),
            ([name], 0) => (*name).to_owned(),
            ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
            (names, more) => format!("{} and {more} more", names.join(", ")),
        }
    }
}

fn nothing_of(share: &Share) -> StripeSet {
    share.stripes.without(&share.stripes)
}

/// A run time for people: `13.2 s`.
pub(crate) fn seconds(run_ns: u64) -> String {
    let tenths = run_ns.div_ceil(100_000_000);
    format!("{}.{} s", tenths / 10, tenths % 10)
}

impl Planned {
    /// The first arrival that is not due before `run_ns`; 0 in the closed model.
    pub(crate) fn number_at(&mut self, run_ns: u64) -> u64 {
        match self {
            Self::Arrivals(arrivals) => arrivals.number_at(run_ns),
            Self::Iterations(_) | Self::UserTime { .. } => 0,
        }
    }
}
