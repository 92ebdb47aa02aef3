//! From the first agent to the start: gathering, dealing out, getting ready.

use volley_plan::link::{Incarnation, Order};
use volley_plan::words::counted;

use crate::agent::{AgentShare, AgentState};
use crate::deal::{deal, weight};
use crate::event::{Action, Level};
use crate::legs::Leg;
use crate::run::Run;
use crate::state::{AgentFacts, State};

impl Run {
    pub(crate) fn joined(&mut self, now_ns: u64, facts: AgentFacts, out: &mut Vec<Action>) {
        match self.state {
            State::Gathering { .. } => {
                self.candidates.retain(|known| known.incarnation != facts.incarnation);
                self.candidates.push(facts);
                self.gather(now_ns, out);
            }
            State::Running { .. } if self.can_join(&facts) => self.prepare_joiner(now_ns, facts, out),
            _ if self.has_use_for(&facts) => {}
            _ => out.push(Action::Free { agent: facts.incarnation }),
        }
    }

    /// True if an agent takes part, and has not been let go.
    fn has_use_for(&self, facts: &AgentFacts) -> bool {
        self.agents.get(&facts.incarnation).is_some_and(|agent| !agent.orders.is_released())
    }

    /// Goes on to preparing as soon as there are agents enough.
    pub(crate) fn gather(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let able = self.candidates.iter().filter(|facts| weight(&self.plan, facts).is_some()).count();
        if able < self.plan.agents.min.max(1) as usize {
            return;
        }
        self.state = State::Preparing { until_ns: now_ns.saturating_add(self.settings.prepare_ns) };
        let (plan, hash) = (self.plan.canonical_json(), self.plan.hash().to_string());
        let dealt = deal(&self.plan, std::mem::take(&mut self.candidates));
        for (facts, share) in dealt.taken {
            let agent = facts.incarnation;
            self.agents.insert(agent, AgentShare::new(facts, share.clone(), now_ns, self.lease_ns));
            let (plan, hash) = (plan.clone(), hash.clone());
            let order = Order::Prepare { plan, hash, share, seed: self.seed, adjusted: Vec::new() };
            self.send(now_ns, agent, order, out);
        }
        for facts in dealt.spare {
            out.push(Action::Free { agent: facts.incarnation });
        }
    }

    pub(crate) fn ready(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get_mut(&agent).filter(|share| share.state == AgentState::Preparing)
        else {
            return;
        };
        match self.state {
            State::Preparing { .. } => {
                share.state = AgentState::Ready;
                self.start_if_ready(now_ns, out);
            }
            State::Running { .. } => self.take_in(now_ns, agent, out),
            // It is taken in as soon as it is known how far the run is.
            State::Resuming { .. } => share.state = AgentState::Ready,
            State::Gathering { .. } | State::Draining { .. } | State::Finished { .. } => {}
        }
    }

    pub(crate) fn start_if_ready(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if !self.agents.values().any(|agent| agent.state == AgentState::Preparing) {
            self.start(now_ns, out);
        }
    }

    /// Gives out the first grants, then the order to start, so that no worker waits for a grant.
    fn start(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let start_ns = now_ns.saturating_add(self.settings.lead_ns);
        self.state = State::Running { start_ns };
        let ids = self.agents_that(|state| *state == AgentState::Ready);
        self.first_grants(now_ns, &ids, out);
        for &agent in &ids {
            self.begin(now_ns, agent, start_ns, 0, out);
        }
        let agents = counted(ids.len() as u64, "agent");
        self.note(now_ns, Level::Info, format!("started on {agents}: {}", self.plan.load_in_words()), out);
        self.relieve_those_who_want(now_ns, out);
    }

    /// Tells an agent to start, with the share that it has prepared for, from `from_ns` of run time on.
    pub(crate) fn begin(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        start_ns: u64,
        from_ns: u64,
        out: &mut Vec<Action>,
    ) {
        let lease_until_ns = now_ns.max(start_ns) - start_ns + self.lease_ns;
        let from_n = self.planned.number_at(from_ns);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.state = AgentState::Running;
        share.start_ns = start_ns;
        share.lease_until_ns = start_ns.saturating_add(lease_until_ns);
        if share.legs.latest().is_none() {
            let leg = Leg { from_ns, share: share.prepared.clone(), from_n, over_ns: 0 };
            share.legs.begin(leg);
        }
        self.send(now_ns, agent, Order::Start { at_ns: start_ns, from_ns, lease_until_ns }, out);
    }

    pub(crate) fn refused(&mut self, now_ns: u64, agent: Incarnation, reason: String, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get(&agent) else { return };
        let why = format!("agent {} refused: {reason}", share.facts.name);
        match self.state {
            State::Preparing { .. } if share.state.waits() => {
                self.go_without(now_ns, &[(agent, reason, why)], out);
            }
            State::Running { .. } if share.state == AgentState::Preparing => {
                self.let_go(now_ns, agent, reason, why, out);
            }
            State::Finished { .. } => {}
            // It ends its part by itself; its last word says from when on.
            _ if share.state.works() || share.state.owes() => {
                let text = format!("agent {} ends its part: {reason}", share.facts.name);
                self.note(now_ns, Level::Warn, text, out);
            }
            _ => {}
        }
    }

    pub(crate) fn send(&mut self, now_ns: u64, agent: Incarnation, order: Order, out: &mut Vec<Action>) {
        if let Some(share) = self.agents.get_mut(&agent) {
            let number = share.number(order.clone(), now_ns);
            out.push(Action::Send { agent, number, order });
        }
    }
}
