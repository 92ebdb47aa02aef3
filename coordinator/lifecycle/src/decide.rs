//! What each event does to a run.

use volley_plan::link::{Incarnation, Order, Share, WindowFacts};
use volley_plan::words::counted;

use crate::agent::{AgentShare, AgentState};
use crate::run::{Action, Level, Run, nanoseconds};
use crate::state::{AgentFacts, State, StopReason};

impl Run {
    pub(crate) fn joined(&mut self, now_ns: u64, facts: AgentFacts, out: &mut Vec<Action>) {
        if !matches!(self.state, State::Gathering { .. }) {
            return;
        }
        self.candidates.retain(|known| known.incarnation != facts.incarnation);
        self.candidates.push(facts);
        self.gather(now_ns, out);
    }

    /// Goes on to preparing as soon as there are agents enough.
    pub(crate) fn gather(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if self.candidates.len() < self.plan.agents.min.max(1) as usize {
            return;
        }
        self.state = State::Preparing { until_ns: now_ns.saturating_add(self.settings.prepare_ns) };
        let (plan, hash) = (self.plan.canonical_json(), self.plan.hash().to_string());
        for (facts, share) in split(std::mem::take(&mut self.candidates), self.load().users) {
            let agent = facts.incarnation;
            if share.users == 0 {
                out.push(Action::Free { agent });
                continue;
            }
            self.agents.insert(agent, AgentShare::new(facts, share, now_ns, self.settings.lease_ns));
            let order = Order::Prepare { plan: plan.clone(), hash: hash.clone(), share, seed: self.seed };
            self.send(now_ns, agent, order, out);
        }
    }

    pub(crate) fn pinged(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        acknowledged: u64,
        out: &mut Vec<Action>,
    ) {
        let start_ns = self.start_ns();
        let finished = matches!(self.state, State::Finished { .. });
        let lease_ns = self.settings.lease_ns;
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.heard_ns = now_ns;
        for (number, order) in share.acknowledge(acknowledged, now_ns) {
            out.push(Action::Send { agent, number, order });
        }
        let (Some(start_ns), false) = (start_ns, finished) else { return };
        if share.state != AgentState::Running {
            return;
        }
        // A lease must not reach past a stop that the agent may not know of.
        let stop_ns = share.pending_stop_ns().map_or(u64::MAX, |at_ns| start_ns.saturating_add(at_ns));
        let until_ns = now_ns.max(start_ns).saturating_add(lease_ns).min(stop_ns).max(share.lease_until_ns);
        share.lease_until_ns = until_ns;
        out.push(Action::Renew { agent, until_ns: until_ns - start_ns });
    }

    pub(crate) fn ready(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        if share.state != AgentState::Preparing || !matches!(self.state, State::Preparing { .. }) {
            return;
        }
        share.state = AgentState::Ready;
        if self.agents.values().all(|agent| agent.state == AgentState::Ready) {
            self.start(now_ns, out);
        }
    }

    /// Gives out the first grants, then the order to start, so that no worker waits for a grant.
    fn start(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let start_ns = now_ns.saturating_add(self.settings.lead_ns);
        self.state = State::Running { start_ns };
        let all_users = self.load().users;
        let ids: Vec<Incarnation> = self.agents.keys().copied().collect();
        for &agent in &ids {
            let users = self.agents[&agent].share.users;
            if let Some(ledger) = &mut self.ledger {
                let grant = ledger.first(users, all_users);
                self.grant(now_ns, agent, grant, out);
            }
        }
        self.tell_last(now_ns, out);
        for agent in ids {
            let order = Order::Start { at_ns: start_ns, lease_until_ns: self.settings.lease_ns };
            self.send(now_ns, agent, order, out);
            if let Some(share) = self.agents.get_mut(&agent) {
                share.state = AgentState::Running;
                share.lease_until_ns = start_ns.saturating_add(self.settings.lease_ns);
            }
        }
        let agents = counted(self.agents.len() as u64, "agent");
        self.note(now_ns, Level::Info, format!("started on {agents}: {}", self.plan.load_in_words()), out);
    }

    pub(crate) fn refused(&mut self, now_ns: u64, agent: Incarnation, reason: String, out: &mut Vec<Action>) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        if !matches!(self.state, State::Preparing { .. }) {
            return;
        }
        let why = format!("agent {} refused: {reason}", share.facts.name);
        share.state = AgentState::Refused { reason };
        self.note(now_ns, Level::Warn, why.clone(), out);
        self.finish(now_ns, StopReason::CouldNotRun(why), out);
    }

    pub(crate) fn grant_wanted(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        taken: u64,
        iterations: u64,
        out: &mut Vec<Action>,
    ) {
        let live = self.agents.values().filter(|agent| agent.state.is_live()).count();
        let (Some(share), Some(ledger)) = (self.agents.get(&agent), &mut self.ledger) else { return };
        // A wish that does not know the last grant has been answered already.
        let answered = share.told_last || taken != share.granted_to;
        if answered || share.state != AgentState::Running || !matches!(self.state, State::Running { .. }) {
            return;
        }
        let grant = ledger.more(iterations, u32::try_from(live).unwrap_or(u32::MAX));
        self.grant(now_ns, agent, grant, out);
        self.tell_last(now_ns, out);
    }

    fn grant(&mut self, now_ns: u64, agent: Incarnation, grant: std::ops::Range<u64>, out: &mut Vec<Action>) {
        let last = self.ledger.as_ref().is_some_and(|ledger| ledger.remaining() == 0);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.take_grant(&grant);
        share.told_last = last;
        self.send(now_ns, agent, Order::Grant { from: grant.start, to: grant.end, last }, out);
    }

    /// Once nothing is left to grant, everybody else learns that nothing more will come.
    fn tell_last(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        if self.ledger.as_ref().is_none_or(|ledger| ledger.remaining() > 0) {
            return;
        }
        let waits = |agent: &AgentShare| agent.state.is_live() && !agent.told_last;
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

    pub(crate) fn window(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        facts: WindowFacts,
        out: &mut Vec<Action>,
    ) {
        if self.start_ns().is_none() {
            return; // Nobody had leave to send anything.
        }
        let late = matches!(self.state, State::Finished { .. });
        // What can't be kept is not acknowledged, so that it is delivered once it can.
        let store_failed = matches!(self.stop_reason(), Some(StopReason::StoreFailed(_)));
        let Some(share) = self.agents.get_mut(&agent) else { return };
        let known = share.reported.sequence;
        if facts.sequence <= known && store_failed {
            return;
        }
        if facts.sequence <= known {
            out.push(Action::Acknowledge { agent, sequence: known });
            return;
        }
        if facts.sequence > known + 1 || share.reported.last {
            return; // One is missing in between and will be sent again, or nothing more was to come.
        }
        if late {
            (share.reported.sequence, share.reported.last) = (facts.sequence, facts.last);
        } else {
            share.report(facts);
        }
        if !store_failed {
            out.push(Action::Keep { agent, sequence: facts.sequence, late });
            out.push(Action::Acknowledge { agent, sequence: facts.sequence });
        }
        if facts.last {
            if !late {
                self.settle(now_ns, agent, out);
            }
            self.send(now_ns, agent, Order::Release, out);
            out.push(Action::Free { agent });
            self.finish_if_settled(now_ns, out);
        }
    }

    /// An agent has said all it has to say.
    fn settle(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let early = self.ends_early(now_ns, agent);
        let Some(share) = self.agents.get_mut(&agent) else { return };
        match &mut share.state {
            AgentState::Lost { delivered, .. } => {
                *delivered = true;
                let text =
                    format!("agent {} came back and delivered all that it had measured", share.facts.name);
                self.note(now_ns, Level::Info, text, out);
            }
            _ if early => self.lose(now_ns, agent, "ended before its time", true, out),
            state => *state = AgentState::Done,
        }
    }

    /// True if an agent says its last word though it has work left and nobody told it to stop.
    fn ends_early(&self, now_ns: u64, agent: Incarnation) -> bool {
        let has_work =
            |agent: &AgentShare| self.ledger.is_none() || agent.unreported() > 0 || !agent.told_last;
        let running = matches!(self.state, State::Running { .. }) && !self.is_over(now_ns);
        running && self.agents.get(&agent).is_some_and(has_work)
    }

    pub(crate) fn stop_asked(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        match self.state {
            State::Gathering { .. } | State::Preparing { .. } => {
                self.finish(now_ns, StopReason::CouldNotRun("stopped before it started".to_owned()), out);
            }
            State::Running { .. } => {
                self.note(now_ns, Level::Info, "stop asked for".to_owned(), out);
                self.stop(now_ns, StopReason::Asked, nanoseconds(self.load().drain), out);
            }
            State::Draining { .. } | State::Finished { .. } => {}
        }
    }

    pub(crate) fn store_failed(&mut self, now_ns: u64, reason: String, out: &mut Vec<Action>) {
        self.note(now_ns, Level::Warn, format!("results can no longer be kept: {reason}"), out);
        let reason = StopReason::StoreFailed(reason);
        match &mut self.state {
            State::Gathering { .. } | State::Preparing { .. } => self.finish(now_ns, reason, out),
            State::Running { .. } => self.stop(now_ns, reason, 0, out),
            State::Draining { reason: weaker, .. } => *weaker = reason.max(weaker.clone()),
            State::Finished { .. } => {}
        }
    }

    /// Orders every live agent to stop now, and drains.
    fn stop(&mut self, now_ns: u64, reason: StopReason, drain_ns: u64, out: &mut Vec<Action>) {
        let at_ns = self.run_ns(now_ns).unwrap_or(0);
        let live: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| agent.state.is_live()).map(|(&id, _)| id).collect();
        for agent in live {
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns }, out);
        }
        self.drain(now_ns, at_ns, drain_ns, reason, out);
    }

    pub(crate) fn send(&mut self, now_ns: u64, agent: Incarnation, order: Order, out: &mut Vec<Action>) {
        if let Some(share) = self.agents.get_mut(&agent) {
            let number = share.number(order.clone(), now_ns);
            out.push(Action::Send { agent, number, order });
        }
    }
}

/// Splits users as evenly as whole users allow.
fn split(agents: Vec<AgentFacts>, users: u32) -> Vec<(AgentFacts, Share)> {
    let count = u32::try_from(agents.len()).unwrap_or(u32::MAX).max(1);
    let mut first_user = 0;
    let mut shares = Vec::with_capacity(agents.len());
    for (index, facts) in (0u32..).zip(agents) {
        let mine = users / count + u32::from(index < users % count);
        shares.push((facts, Share { users: mine, first_user }));
        first_user += mine;
    }
    shares
}
