//! Leave for a number of iterations in all, given out piece by piece.

use std::ops::Range;

use volley_plan::link::{Incarnation, Order};
use volley_plan::{Amount, Model};

use crate::agent::{AgentShare, AgentState};
use crate::event::Action;
use crate::run::Run;
use crate::state::State;

impl Run {
    /// A number of iterations in all is granted piece by piece. A number for each user is known from the plan, and an
    /// arrival has its time, so these need no grants.
    pub(crate) fn first_grants(&mut self, now_ns: u64, ids: &[Incarnation], out: &mut Vec<Action>) {
        let plan = self.plan.clone();
        let Model::Closed(closed) = &plan.load.model else { return };
        for &agent in ids {
            let Some(share) = self.agents.get_mut(&agent) else { continue };
            let users = share.prepared.users(closed);
            if let Some(Amount::PerUser(iterations)) = closed.iterations {
                share.granted = iterations.saturating_mul(users.into());
            }
            if let Some(ledger) = &mut self.ledger {
                let grant = ledger.first(users, closed.users.most());
                self.grant(now_ns, agent, grant, out);
            }
        }
        self.tell_last(now_ns, out);
    }

    pub(crate) fn grant_wanted(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        taken: u64,
        iterations: u64,
        out: &mut Vec<Action>,
    ) {
        let live = self.agents_that(AgentState::works).len();
        let Some(share) = self.agents.get(&agent) else { return };
        // A wish that does not know the last grant has been answered already.
        let answered = share.told_last || taken != share.granted_to;
        let goes_on = matches!(self.state, State::Running { .. } | State::Resuming { stopped: None, .. });
        if answered || !share.state.works() || !goes_on {
            return;
        }
        let run_ns = self.run_ns(now_ns).unwrap_or(0);
        if is_relieved(share, run_ns) || self.waits_for_returns() {
            return;
        }
        let Some(ledger) = &mut self.ledger else { return };
        let grant = ledger.more(iterations, u32::try_from(live).unwrap_or(u32::MAX));
        self.grant(now_ns, agent, grant, out);
        self.tell_last(now_ns, out);
    }

    /// A joiner has something to do from its first moment on.
    pub(crate) fn grant_to_joiner(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        users: u32,
        out: &mut Vec<Action>,
    ) {
        let hands = self.agents_that(AgentState::works).len() + 1;
        let Some(ledger) = &mut self.ledger else { return };
        let grant = ledger.more(u64::from(users) * 2, u32::try_from(hands).unwrap_or(u32::MAX));
        self.grant(now_ns, agent, grant, out);
        self.tell_last(now_ns, out);
    }

    fn grant(&mut self, now_ns: u64, agent: Incarnation, grant: Range<u64>, out: &mut Vec<Action>) {
        let last = self.is_all_granted();
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.take_grant(&grant);
        share.told_last = last;
        self.send(now_ns, agent, Order::Grant { from: grant.start, to: grant.end, last }, out);
    }

    /// True once nothing is left to grant, and nothing can come back.
    fn is_all_granted(&self) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.remaining() == 0) && !self.returns_may_come()
    }

    /// An agent that leaves in order may give back what it has not begun.
    fn returns_may_come(&self) -> bool {
        let leaves = |agent: &AgentShare| matches!(agent.state, AgentState::Leaving { .. });
        self.ledger.is_some() && self.agents.values().any(|agent| leaves(agent) && agent.unreported() > 0)
    }

    /// Nothing is left to grant until an agent that leaves has said what it didn't begin.
    fn waits_for_returns(&self) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.remaining() == 0) && self.returns_may_come()
    }

    /// Once nothing is left to grant, everybody else learns that nothing more will come.
    pub(crate) fn tell_last(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if !self.is_all_granted() {
            return;
        }
        let waits = |agent: &AgentShare| {
            !agent.told_last && (agent.state.works() || agent.state == AgentState::Ready)
        };
        let waiting: Vec<(Incarnation, u64)> = self
            .agents
            .iter()
            .filter(|(_, agent)| waits(agent))
            .map(|(&id, agent)| (id, agent.granted_to))
            .collect();
        for (agent, at) in waiting {
            self.grant(now_ns, agent, at..at, out);
        }
    }

    /// Takes back what an agent that left in order has not begun: it has said its last word, so nothing of that is
    /// unknown. Those that have had their last grant can't be given any of it; then it stays with the one that left, and
    /// is missed.
    pub(crate) fn take_back(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let waiting: Vec<Incarnation> = self
            .agents
            .iter()
            .filter(|(_, agent)| agent.can_take() && !agent.told_last)
            .map(|(&id, _)| id)
            .collect();
        let (Some(ledger), Some(share)) = (&mut self.ledger, self.agents.get_mut(&agent)) else { return };
        let unreported = share.unreported();
        if unreported > 0 && !waiting.is_empty() {
            share.granted -= unreported;
            let was_used_up = ledger.remaining() == 0;
            ledger.give_back(unreported);
            if was_used_up {
                self.grant_to_waiting(now_ns, &waiting, unreported, out);
            }
        }
        self.tell_last(now_ns, out);
    }

    /// Wishes that came while nothing was left were not answered, so nobody waits to be asked.
    fn grant_to_waiting(
        &mut self,
        now_ns: u64,
        waiting: &[Incarnation],
        iterations: u64,
        out: &mut Vec<Action>,
    ) {
        let hands = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
        for &agent in waiting {
            let Some(ledger) = &mut self.ledger else { return };
            let grant = ledger.more(iterations, hands);
            self.grant(now_ns, agent, grant, out);
        }
    }
}

/// True once an agent that leaves has nothing to begin any more.
fn is_relieved(share: &AgentShare, run_ns: u64) -> bool {
    matches!(share.state, AgentState::Leaving { at_run_ns, .. } if at_run_ns <= run_ns)
}
