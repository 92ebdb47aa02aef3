//! The run: what it holds, how an event reaches it, and what can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use volley_plan::link::{Incarnation, LEASE_NS, RunId};
use volley_plan::{Amount, ClosedLoad, Ledger, Model, Plan};

use crate::agent::{AgentShare, AgentState};
use crate::event::{Action, Event, Level, Note};
use crate::planned::Planned;
use crate::state::{AgentFacts, Outcome, State, StopReason};

/// The times that the decider works with, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a lease lasts.
    pub lease_ns: u64,
    /// From "all ready" to run time 0, so that the order to start reaches everybody in time.
    pub lead_ns: u64,
    /// How long agents may take to get ready.
    pub prepare_ns: u64,
    /// How long reports that are owed are waited for, after the drain and after an agent's loss.
    pub owed_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lease_ns: LEASE_NS, lead_ns: 200_000_000, prepare_ns: 30_000_000_000, owed_ns: 10_000_000_000 }
    }
}

/// One run. See the crate's page for its states.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    pub(crate) state: State,
    pub(crate) candidates: Vec<AgentFacts>,
    pub(crate) agents: BTreeMap<Incarnation, AgentShare>,
    /// What is still to be granted, where iterations are granted.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) planned: Planned,
}

impl Run {
    /// A new run at `now_ns` of the coordinator's clock, offered all agents that are idle at this moment.
    ///
    /// It counts what the plan has in all. For Poisson arrivals that takes a millisecond for ten million of them.
    #[must_use]
    pub fn new(
        now_ns: u64,
        id: RunId,
        plan: Arc<Plan>,
        seed: u64,
        settings: Settings,
        agents: Vec<AgentFacts>,
    ) -> (Self, Vec<Action>) {
        let until_ns = now_ns.saturating_add(nanoseconds(plan.agents.wait));
        let ledger = match &plan.load.model {
            Model::Closed(ClosedLoad { iterations: Some(Amount::InAll(n)), .. }) => Some(Ledger::new(*n)),
            Model::Closed(_) | Model::Open(_) => None,
        };
        let planned = Planned::of(&plan.load, seed);
        let mut run = Self {
            id,
            plan,
            seed,
            settings,
            state: State::Gathering { until_ns },
            candidates: agents,
            agents: BTreeMap::new(),
            ledger,
            planned,
        };
        let mut actions = Vec::new();
        run.gather(now_ns, &mut actions);
        (run, actions)
    }

    /// Takes one event in. `now_ns` is the coordinator's clock and never goes back.
    pub fn handle(&mut self, now_ns: u64, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Joined(facts) => self.joined(now_ns, facts, &mut out),
            Event::Pinged { agent, acknowledged } => self.pinged(now_ns, agent, acknowledged, &mut out),
            Event::Ready { agent } => self.ready(now_ns, agent, &mut out),
            Event::Refused { agent, reason } => self.refused(now_ns, agent, reason, &mut out),
            Event::GrantWanted { agent, taken, iterations } => {
                self.grant_wanted(now_ns, agent, taken, iterations, &mut out);
            }
            Event::Window { agent, facts } => self.window(now_ns, agent, facts, &mut out),
            Event::StopAsked => self.stop_asked(now_ns, &mut out),
            Event::StoreFailed { reason } => self.store_failed(now_ns, reason, &mut out),
            Event::Time => self.time(now_ns, &mut out),
        }
        self.count_due(now_ns);
        out
    }

    /// When [`Event::Time`] is due; `None` once the run is over.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let silence = |agents: &BTreeMap<Incarnation, AgentShare>| {
            let live = agents.values().filter(|agent| agent.state.is_live());
            live.map(|agent| agent.lost_ns(self.settings.lease_ns)).min().unwrap_or(u64::MAX)
        };
        match self.state {
            State::Gathering { until_ns } => Some(until_ns),
            State::Preparing { until_ns } => Some(until_ns.min(silence(&self.agents))),
            State::Running { start_ns } => {
                let over =
                    self.plan.load.total_ns().map_or(u64::MAX, |duration| start_ns.saturating_add(duration));
                Some(over.min(silence(&self.agents)))
            }
            State::Draining { until_ns, .. } => {
                let any_live = self.agents.values().any(|agent| agent.state.is_live());
                let owed_ns = self.agents.values().filter_map(|agent| self.owed_until_ns(agent)).max();
                let settled_ns = owed_ns.filter(|_| !any_live).unwrap_or(u64::MAX);
                Some(until_ns.min(silence(&self.agents)).min(settled_ns))
            }
            State::Finished { .. } => None,
        }
    }

    /// The run's name.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Run time 0 on the coordinator's clock; it may lie ahead.
    #[must_use]
    pub fn start_ns(&self) -> Option<u64> {
        match self.state {
            State::Gathering { .. } | State::Preparing { .. } => None,
            State::Running { start_ns } | State::Draining { start_ns, .. } => Some(start_ns),
            State::Finished { start_ns, .. } => start_ns,
        }
    }

    /// The run time at which the load stopped, its warm-up included; `None` until then. It is the planned end, the moment
    /// of a stop or of the loss of the last agent, or the last completion where a number of iterations was reached.
    #[must_use]
    pub fn end_run_ns(&self) -> Option<u64> {
        match self.state {
            State::Draining { stop_run_ns, .. } | State::Finished { stop_run_ns, .. } => Some(stop_run_ns),
            State::Gathering { .. } | State::Preparing { .. } | State::Running { .. } => None,
        }
    }

    /// The run time until which requests were sent and answered, its warm-up included; `None` until the load has stopped.
    /// Reaches past [`Self::end_run_ns`] where the drain had completions.
    #[must_use]
    pub fn active_run_ns(&self) -> Option<u64> {
        let latest_ns = self.latest_ns();
        let nobody_left = self.stop_reason() == Some(&StopReason::AgentsLost);
        self.end_run_ns().map(|end_ns| if nobody_left { latest_ns } else { latest_ns.max(end_ns) })
    }

    /// How long the measured part took, from the warm-up's end to [`Self::active_run_ns`], in nanoseconds: what its
    /// completions are divided by for a rate. `None` until the load has stopped.
    #[must_use]
    pub fn measured_ns(&self) -> Option<u64> {
        self.active_run_ns().map(|active_ns| active_ns.saturating_sub(self.plan.load.warmup_ns()))
    }

    /// The agents that take part.
    pub fn agents(&self) -> impl Iterator<Item = &AgentShare> {
        self.agents.values()
    }

    /// How it ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Finished { outcome, .. } => Some(outcome),
            _ => None,
        }
    }

    /// Every second before this one is complete as far as the live agents are concerned.
    #[must_use]
    pub fn watermark_s(&self) -> u32 {
        let live = self.agents.values().filter(|agent| agent.state == AgentState::Running);
        let reported = |agent: &AgentShare| agent.reported.watermark_s;
        live.map(reported).min().unwrap_or_else(|| self.agents.values().map(reported).max().unwrap_or(0))
    }

    /// The run time of the latest completion.
    pub(crate) fn latest_ns(&self) -> u64 {
        self.agents.values().map(|agent| agent.reported.latest_ns).max().unwrap_or(0)
    }

    pub(crate) fn run_ns(&self, now_ns: u64) -> Option<u64> {
        self.start_ns().map(|start_ns| now_ns.saturating_sub(start_ns))
    }

    /// Why the load has stopped, once it has.
    pub(crate) fn stop_reason(&self) -> Option<&StopReason> {
        match &self.state {
            State::Draining { reason, .. } => Some(reason),
            State::Finished { outcome, .. } => Some(&outcome.reason),
            State::Gathering { .. } | State::Preparing { .. } | State::Running { .. } => None,
        }
    }

    pub(crate) fn note(&self, now_ns: u64, level: Level, text: String, out: &mut Vec<Action>) {
        out.push(Action::Note(Note { at_run_ns: self.run_ns(now_ns), level, text }));
    }
}

/// Durations of plans are bounded to days, so they fit.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
