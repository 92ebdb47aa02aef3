//! An agent that joins while the run goes on.

use volley_plan::Model;
use volley_plan::link::{Incarnation, Order, Share};

use crate::agent::{AgentShare, AgentState};
use crate::change::{Change, seconds};
use crate::deal::{Taker, deal_anew, hands_max, weight};
use crate::event::{Action, Level};
use crate::run::Run;
use crate::state::{AgentFacts, State};

/// Beyond one lease, so much of the planned time must be left for a joiner to be worth it, in nanoseconds.
const WORTH_NS: u64 = 2_000_000_000;
/// An agent that was not heard for so long, two pings, may be lost, in nanoseconds.
const SILENT_NS: u64 = 1_000_000_000;

impl Run {
    /// Whether an idle agent that matches the plan is of use: while agents are gathered, and while an elastic run goes on
    /// that has enough left to do, as of its latest event, and not its most agents yet. One that the run has had or let go
    /// is not taken again.
    #[must_use]
    pub fn wants_agents(&self) -> bool {
        match self.state {
            State::Gathering { .. } => true,
            State::Running { .. } => self.is_worth_joining(self.seen_ns) && self.has_room(),
            _ => false,
        }
    }

    fn is_worth_joining(&self, now_ns: u64) -> bool {
        let at_ns = self.safe_ns(now_ns).saturating_add(WORTH_NS);
        self.plan.agents.elastic && !self.is_per_user() && self.is_any_left(at_ns)
    }

    /// True while there are fewer than can take part, those that are getting ready included.
    fn has_room(&self) -> bool {
        let takes = |agent: &AgentShare| agent.can_take() || agent.state.waits();
        self.agents.values().filter(|agent| takes(agent)).count() < hands_max(&self.plan, &self.load)
    }

    pub(crate) fn can_join(&self, facts: &AgentFacts) -> bool {
        let is_new = !self.agents.contains_key(&facts.incarnation);
        is_new && weight(&self.plan, facts).is_some() && self.wants_agents()
    }

    /// Has an agent get ready for what it would get if it were by now. Nobody waits for it.
    pub(crate) fn prepare_joiner(&mut self, now_ns: u64, facts: AgentFacts, out: &mut Vec<Action>) {
        let (agent, share) = (facts.incarnation, self.share_beside_others(&facts));
        let mut joiner = AgentShare::new(facts, share.clone(), now_ns, self.lease_ns);
        joiner.ready_by_ns = now_ns.saturating_add(self.settings.prepare_ns);
        self.agents.insert(agent, joiner);
        let order = Order::Prepare {
            plan: self.plan.canonical_json(),
            hash: self.plan.hash().to_string(),
            share,
            seed: self.seed,
            adjusted: self.adjusted.clone(),
        };
        self.send(now_ns, agent, order, out);
    }

    fn share_beside_others(&self, facts: &AgentFacts) -> Share {
        let all = Share::all(&self.plan);
        let taker = |agent, weight, holds| Taker { agent, weight, holds };
        let of = |share: &AgentShare| {
            let weight = weight(&self.plan, &share.facts).unwrap_or(1);
            taker(share.facts.incarnation, weight, share.share().stripes.clone())
        };
        let mut takers: Vec<_> = self.agents.values().filter(|agent| agent.can_take()).map(of).collect();
        let nothing = all.stripes.without(&all.stripes);
        takers.push(taker(facts.incarnation, weight(&self.plan, facts).unwrap_or(1), nothing));
        deal_anew(&self.plan, &self.load, &takers, false).pop().unwrap_or(all)
    }

    /// Takes in those who are ready and had to wait.
    pub(crate) fn take_in_those_ready(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        let may_wait = self.plan.agents.elastic && matches!(self.state, State::Running { .. });
        if !may_wait || self.is_anybody_silent(now_ns) {
            return;
        }
        for agent in self.agents_that(|state| *state == AgentState::Ready) {
            self.take_in(now_ns, agent, out);
        }
    }

    /// True if an agent that runs may be about to be lost. Its part is to go to others as soon as its lease is over, and
    /// before a change that was announced no other can come; so nothing is announced that can wait.
    fn is_anybody_silent(&self, now_ns: u64) -> bool {
        let is_silent =
            |agent: &AgentShare| agent.can_take() && now_ns >= agent.heard_ns.saturating_add(SILENT_NS);
        self.agents.values().any(is_silent)
    }

    /// A joiner is ready: it gets its part, at one run time for all.
    pub(crate) fn take_in(&mut self, now_ns: u64, agent: Incarnation, out: &mut Vec<Action>) {
        let State::Running { start_ns } = self.state else { return };
        let waits = self.is_anybody_silent(now_ns);
        let Some(joiner) = self.agents.get_mut(&agent) else { return };
        if waits {
            joiner.state = AgentState::Ready;
            return;
        }
        let name = joiner.facts.name.clone();
        if !self.is_worth_joining(now_ns) {
            let reason = "it was ready too late to be of use".to_owned();
            let note = format!("agent {name} was ready too late to take part");
            return self.let_go(now_ns, agent, reason, note, out);
        }
        let at_ns = self.safe_ns(now_ns);
        if let Model::Closed(closed) = &self.load.model {
            let users = self.agents.get(&agent).map_or(0, |agent| agent.prepared.users(closed));
            self.grant_to_joiner(now_ns, agent, users, out);
        }
        let change = Change { at_ns, to: None, nobody_gives: false, joiner: Some(agent) };
        self.change(now_ns, &change, out);
        self.begin(now_ns, agent, start_ns, at_ns, out);
        let text = format!("agent {name} has joined: it has a part from {} on", seconds(at_ns));
        self.note(now_ns, Level::Info, text, out);
    }

    /// Lets a joiner go that never had a part.
    pub(crate) fn let_go(
        &mut self,
        now_ns: u64,
        agent: Incarnation,
        reason: String,
        note: String,
        out: &mut Vec<Action>,
    ) {
        let Some(share) = self.agents.get_mut(&agent) else { return };
        share.state = AgentState::Refused { reason };
        self.note(now_ns, Level::Warn, note, out);
        self.send(now_ns, agent, Order::Release, out);
        out.push(Action::Free { agent });
    }

    /// Lets all joiners go that are still getting ready: the load is over, or nearly.
    pub(crate) fn let_joiners_go(&mut self, now_ns: u64, out: &mut Vec<Action>) {
        for agent in self.agents_that(AgentState::waits) {
            let name = self.names(&[agent]);
            let note = format!("agent {name} was not ready before the load's end");
            self.let_go(now_ns, agent, "it was not ready before the load's end".to_owned(), note, out);
        }
    }
}
