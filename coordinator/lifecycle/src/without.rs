//! Agents that drop out while everybody gets ready: where a plan says how many are enough, the run begins without them.

use volley_plan::link::{Incarnation, Order};
use volley_plan::words::counted;

use crate::agent::{AgentShare, AgentState};
use crate::deal::{Taker, deal_anew, weight};
use crate::event::{Action, Level};
use crate::run::Run;
use crate::state::{State, StopReason};

impl Run {
    /// These agents take no part, each for a reason, which is told in a sentence too. The run begins without them where the
    /// plan names a least number of agents above one, and so many are left; it is over otherwise.
    pub(crate) fn go_without(
        &mut self,
        now_ns: u64,
        dropped: &[(Incarnation, String, String)],
        out: &mut Vec<Action>,
    ) {
        for (agent, reason, why) in dropped {
            if let Some(share) = self.agents.get_mut(agent) {
                share.state = AgentState::Refused { reason: reason.clone() };
            }
            self.note(now_ns, Level::Warn, why.clone(), out);
        }
        if !self.are_enough_left() {
            let why: Vec<_> = dropped.iter().map(|(_, _, why)| why.as_str()).collect();
            return self.finish(now_ns, StopReason::CouldNotRun(why.join("; ")), out);
        }
        for (agent, ..) in dropped {
            self.send(now_ns, *agent, Order::Release, out);
            out.push(Action::Free { agent: *agent });
        }
        self.deal_to_those_left(now_ns, out);
        let left = self.agents_that(AgentState::waits).len() as u64;
        let text =
            format!("the run begins on {}: the plan wants {}", counted(left, "agent"), self.plan.agents.min);
        self.note(now_ns, Level::Info, text, out);
        self.start_if_ready(now_ns, out);
    }

    /// A plan that names no least number, or one, is for all agents that it was given.
    fn are_enough_left(&self) -> bool {
        let stays = |agent: &&AgentShare| agent.state.waits() && !agent.wants_to_leave;
        let left = self.agents.values().filter(stays).count();
        self.plan.agents.min > 1 && left >= self.plan.agents.min as usize
    }

    /// Nothing has begun, so all of the load is dealt anew, and each begins with what it gets by that.
    fn deal_to_those_left(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let taker = |share: &AgentShare| Taker {
            agent: share.facts.incarnation,
            weight: weight(&self.plan, &share.facts).unwrap_or(1),
            holds: share.prepared.stripes.clone(),
        };
        let left = self.agents.values().filter(|agent| agent.state.waits());
        let takers: Vec<_> = left.map(taker).collect();
        let shares = deal_anew(&self.plan, &self.load, &takers, false);
        for (taker, share) in takers.iter().zip(shares) {
            let Some(agent) = self.agents.get_mut(&taker.agent).filter(|agent| agent.prepared != share)
            else {
                continue;
            };
            agent.prepared = share.clone();
            self.send(now_ns, taker.agent, Order::Change { at_ns: 0, share, to: None, over_ns: 0 }, out);
        }
    }

    pub(crate) fn time_preparing(&mut self, now_ns: u64, until_ns: u64, out: &mut Vec<Action>) {
        let dropped: Vec<_> =
            self.agents.values().filter_map(|agent| self.fault_of(agent, now_ns, until_ns)).collect();
        if !dropped.is_empty() && matches!(self.state, State::Preparing { .. }) {
            self.go_without(now_ns, &dropped, out);
        }
    }

    /// Why an agent is not waited for any longer while it gets ready.
    fn fault_of(
        &self,
        agent: &AgentShare,
        now_ns: u64,
        until_ns: u64,
    ) -> Option<(Incarnation, String, String)> {
        let is_silent = agent.state.is_live() && now_ns >= agent.lost_ns(self.lease_ns);
        let is_slow = agent.state == AgentState::Preparing && now_ns >= until_ns;
        let reason = match (is_silent, is_slow) {
            (true, _) => "went silent while it prepared",
            (false, true) => "was not ready in time",
            (false, false) => return None,
        };
        Some((
            agent.facts.incarnation,
            format!("it {reason}"),
            format!("agent {} {reason}", agent.facts.name),
        ))
    }
}
