//! What each event does to a run.

use volley_plan::link::{Incarnation, Order, Share, WindowFacts};
use volley_plan::words::counted;
use volley_plan::{Amount, Model, Users};

use crate::agent::{AgentShare, AgentState};
use crate::deal::deal;
use crate::event::{Action, Level};
use crate::planned::Planned;
use crate::run::{Run, nanoseconds};
use crate::state::{AgentFacts, State, StopReason};

/// How far two clocks may disagree about the end of the planned time.
const CLOCK_SLACK_NS: u64 = 100_000_000;

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
        let dealt = deal(&self.plan, std::mem::take(&mut self.candidates));
        for (facts, share) in dealt.taken {
            let (agent, lease_ns) = (facts.incarnation, self.settings.lease_ns);
            self.agents.insert(agent, AgentShare::new(facts, share.clone(), now_ns, lease_ns));
            let order = Order::Prepare { plan: plan.clone(), hash: hash.clone(), share, seed: self.seed };
            self.send(now_ns, agent, order, out);
        }
        for facts in dealt.spare {
            out.push(Action::Free { agent: facts.incarnation });
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
        let ids: Vec<Incarnation> = self.agents.keys().copied().collect();
        self.first_grants(now_ns, &ids, out);
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

    /// A number of iterations in all is granted piece by piece. A number for each user is known from the plan, and an
    /// arrival has its time, so these need no grants.
    fn first_grants(&mut self, now_ns: u64, ids: &[Incarnation], out: &mut Vec<Action>) {
        let plan = self.plan.clone();
        let Model::Closed(closed) = &plan.load.model else { return };
        for &agent in ids {
            let Some(share) = self.agents.get_mut(&agent) else { continue };
            let users = share.share.users();
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
            share.reported.merge(&facts);
            let due = match &self.planned {
                Planned::Arrivals(arrivals) => arrivals.due_before_stop(share),
                Planned::Iterations(_) | Planned::UserTime { .. } => None,
            };
            share.count_missed(due);
        }
        if !store_failed {
            out.push(Action::Keep { agent, sequence: facts.sequence, late });
            out.push(Action::Acknowledge { agent, sequence: facts.sequence });
        }
        if !late {
            self.count_lost_time(agent);
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

    /// True if an agent says its last word though it has work and time left and nobody told it to stop.
    fn ends_early(&self, now_ns: u64, agent: Incarnation) -> bool {
        let Some(share) = self.agents.get(&agent) else { return false };
        let running = matches!(self.state, State::Running { .. });
        running && self.has_work(share) && self.has_time(now_ns, &share.share)
    }

    fn has_work(&self, agent: &AgentShare) -> bool {
        match &self.planned {
            Planned::Iterations(_) => agent.unreported() > 0 || (self.ledger.is_some() && !agent.told_last),
            Planned::UserTime { .. } => true,
            Planned::Arrivals(arrivals) => arrivals.has_work(agent),
        }
    }

    /// True if some of the planned time of this share is left, as nearly as two clocks can agree on it.
    fn has_time(&self, now_ns: u64, share: &Share) -> bool {
        let run_ns = self.run_ns(now_ns).unwrap_or(0).saturating_add(CLOCK_SLACK_NS);
        match (&self.plan.load.model, share) {
            (Model::Closed(closed), Share::Users(share)) => match &closed.users {
                Users::Steady(_) => true,
                // Of an agent's users the first is there the longest.
                Users::Staged(shape) => shape.span(share.first_user, run_ns).is_some(),
            },
            (Model::Closed(_) | Model::Open(_), _) => {
                self.plan.load.total_ns().is_none_or(|total_ns| run_ns < total_ns)
            }
        }
    }

    pub(crate) fn stop_asked(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        match self.state {
            State::Gathering { .. } | State::Preparing { .. } => {
                self.finish(now_ns, StopReason::CouldNotRun("stopped before it started".to_owned()), out);
            }
            State::Running { .. } => {
                self.note(now_ns, Level::Info, "stop asked for".to_owned(), out);
                self.stop(now_ns, StopReason::Asked, nanoseconds(self.plan.load.drain), out);
            }
            State::Draining { .. } => self.cut_off(now_ns, out),
            State::Finished { .. } => {}
        }
    }

    /// Somebody asked for the end of a run that drains, so nothing in flight is waited for any longer.
    fn cut_off(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let waits = |agent: &AgentShare| agent.state.is_live() && !agent.is_cut_off;
        let waiting: Vec<Incarnation> =
            self.agents.iter().filter(|(_, agent)| waits(agent)).map(|(&id, _)| id).collect();
        let State::Draining { stop_run_ns, until_ns, reason, .. } = &mut self.state else { return };
        if waiting.is_empty() || matches!(reason, StopReason::StoreFailed(_) | StopReason::AgentsLost) {
            return;
        }
        *until_ns = (*until_ns).min(now_ns.saturating_add(self.settings.owed_ns));
        let (at_ns, again) = (*stop_run_ns, if *reason == StopReason::Asked { " again" } else { "" });
        let text = format!("stop asked for{again}: what is in flight is cut off");
        self.note(now_ns, Level::Info, text, out);
        for agent in waiting {
            self.send(now_ns, agent, Order::Stop { at_ns, drain_ns: 0 }, out);
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
