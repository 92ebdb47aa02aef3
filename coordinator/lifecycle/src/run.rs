//! The run: what it holds, how an event reaches it, and what can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use volley_plan::link::{Incarnation, RunId};
use volley_plan::{Adjust, Amount, ClosedLoad, Ledger, Load, Model, Plan};

use crate::agent::{AgentShare, AgentState};
use crate::event::{Action, Event, Level, Note};
use crate::planned::Planned;
use crate::settings::Settings;
use crate::state::{AgentFacts, Outcome, State, StopReason};

/// One run. See the crate's page for its states.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
    pub(crate) settings: Settings,
    /// How long a lease lasts.
    pub(crate) lease_ns: u64,
    /// The plan's load as it was adjusted, which is what everything is counted by.
    pub(crate) load: Load,
    pub(crate) adjusted: Vec<Adjust>,
    pub(crate) state: State,
    pub(crate) candidates: Vec<AgentFacts>,
    pub(crate) agents: BTreeMap<Incarnation, AgentShare>,
    /// What is still to be granted, where iterations are granted.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) planned: Planned,
    /// The run time of the latest change of shares or of the load. Later ones come no earlier.
    pub(crate) changed_ns: u64,
    /// The coordinator was started again while the run went on.
    pub(crate) was_resumed: bool,
    /// Until when agents had no lease while the load went on, as far as that was told, coordinator's clock.
    pub(crate) told_pause_ns: u64,
    /// When the latest event came, coordinator's clock.
    pub(crate) seen_ns: u64,
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
        let mut run = Self::gathering(now_ns, id, plan, seed, settings);
        run.candidates = agents;
        let mut actions = Vec::new();
        run.gather(now_ns, &mut actions);
        (run, actions)
    }

    /// A run that nobody takes part in yet.
    pub(crate) fn gathering(now_ns: u64, id: RunId, plan: Arc<Plan>, seed: u64, settings: Settings) -> Self {
        let ledger = match &plan.load.model {
            Model::Closed(ClosedLoad { iterations: Some(Amount::InAll(n)), .. }) => Some(Ledger::new(*n)),
            Model::Closed(_) | Model::Open(_) => None,
        };
        Self {
            id,
            seed,
            settings,
            lease_ns: nanoseconds(plan.agents.lease),
            load: plan.load.clone(),
            adjusted: Vec::new(),
            state: State::Gathering { until_ns: now_ns.saturating_add(nanoseconds(plan.agents.wait)) },
            candidates: Vec::new(),
            agents: BTreeMap::new(),
            ledger,
            planned: Planned::of(&plan.load, seed),
            changed_ns: 0,
            was_resumed: false,
            told_pause_ns: 0,
            seen_ns: now_ns,
            plan,
        }
    }

    /// Takes one event in. `now_ns` is the coordinator's clock and never goes back.
    pub fn handle(&mut self, now_ns: u64, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.seen_ns = now_ns;
        match event {
            Event::Joined(facts) => self.joined(now_ns, facts, &mut out),
            Event::Pinged { agent, acknowledged, start_ns } => {
                self.pinged(now_ns, agent, acknowledged, start_ns, &mut out);
            }
            Event::Leaving { agent } => self.leaving(now_ns, agent, &mut out),
            Event::Ready { agent } => self.ready(now_ns, agent, &mut out),
            Event::Refused { agent, reason } => self.refused(now_ns, agent, reason, &mut out),
            Event::GrantWanted { agent, taken, iterations } => {
                self.grant_wanted(now_ns, agent, taken, iterations, &mut out);
            }
            Event::Window { agent, facts } => self.window(now_ns, agent, facts, &mut out),
            Event::AdjustAsked { to } => self.adjust_asked(now_ns, to, &mut out),
            Event::StopAsked => self.stop_asked(now_ns, &mut out),
            Event::ThresholdBroken { words } => self.threshold_broken(now_ns, &words, &mut out),
            Event::Forbidden { reason } => self.forbidden(now_ns, reason, &mut out),
            Event::StoreFailed { reason } => self.store_failed(now_ns, reason, &mut out),
            Event::Time => self.time(now_ns, &mut out),
        }
        self.count_due(now_ns);
        out
    }

    /// When [`Event::Time`] is due; `None` once the run is over.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        match self.state {
            State::Gathering { until_ns } | State::Resuming { until_ns, .. } => Some(until_ns),
            State::Preparing { until_ns } => Some(until_ns.min(self.patience_ns())),
            State::Running { start_ns } => {
                let over_ns = self.load.total_ns().map_or(u64::MAX, |ns| start_ns.saturating_add(ns));
                Some(over_ns.min(self.patience_ns()))
            }
            State::Draining { until_ns, .. } => {
                let any_live = self.agents.values().any(|agent| agent.state.is_live());
                let owed_ns = self.agents.values().filter_map(|agent| self.owed_until_ns(agent)).max();
                let settled_ns = owed_ns.filter(|_| !any_live).unwrap_or(u64::MAX);
                Some(until_ns.min(self.patience_ns()).min(settled_ns))
            }
            State::Finished { .. } => None,
        }
    }

    /// Until when every agent is waited for, if nothing more is heard of it.
    fn patience_ns(&self) -> u64 {
        let live = self.agents.values().filter(|agent| agent.state.is_live());
        live.map(|agent| agent.patience_ns(self.lease_ns)).min().unwrap_or(u64::MAX)
    }

    /// The run's name.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The plan, whose load may have been adjusted: see [`Self::load`].
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The plan's load as it was adjusted so far.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// How the load was adjusted, in this order.
    #[must_use]
    pub fn adjusted(&self) -> &[Adjust] {
        &self.adjusted
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Run time 0 on the coordinator's clock; it may lie ahead. By the wall clock while the run resumes.
    #[must_use]
    pub fn start_ns(&self) -> Option<u64> {
        match self.state {
            State::Gathering { .. } | State::Preparing { .. } => None,
            State::Resuming { start_ns, .. }
            | State::Running { start_ns }
            | State::Draining { start_ns, .. } => Some(start_ns),
            State::Finished { start_ns, .. } => start_ns,
        }
    }

    /// The run time at which the load stopped, its warm-up included; `None` until then. It is the planned end, the moment
    /// of a stop or of the loss of the last agent, or the last completion where a number of iterations was reached.
    #[must_use]
    pub fn end_run_ns(&self) -> Option<u64> {
        match &self.state {
            State::Draining { stop_run_ns, .. } | State::Finished { stop_run_ns, .. } => Some(*stop_run_ns),
            State::Resuming { stopped, .. } => stopped.as_ref().map(|stopped| stopped.run_ns),
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
        self.active_run_ns().map(|active_ns| active_ns.saturating_sub(self.load.warmup_ns()))
    }

    /// The agents that take part, or did.
    pub fn agents(&self) -> impl Iterator<Item = &AgentShare> {
        self.agents.values()
    }

    /// An agent's part of the load at a run time, from 0 to 1: of the users in the closed model, of the arrivals in the
    /// open one.
    #[must_use]
    pub fn part_at(&self, agent: &AgentShare, run_ns: u64) -> f64 {
        let Some(share) = agent.share_at(run_ns) else { return 0.0 };
        let (part, all) = match &self.load.model {
            Model::Closed(closed) => (share.users(closed), closed.users.most()),
            Model::Open(_) => {
                // A run's stripes are fewer than 32 bits can count.
                let held = u32::try_from(share.stripes.held().len()).unwrap_or(u32::MAX);
                (held, share.stripes.stripes().count())
            }
        };
        f64::from(part) / f64::from(all.max(1))
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
        let working = self.agents.values().filter(|agent| agent.state.works());
        let reported = AgentShare::watermark_s;
        working.map(reported).min().unwrap_or_else(|| self.agents.values().map(reported).max().unwrap_or(0))
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
            State::Resuming { stopped, .. } => stopped.as_ref().map(|stopped| &stopped.reason),
            State::Gathering { .. } | State::Preparing { .. } | State::Running { .. } => None,
        }
    }

    /// The agents in a state that `is_so`.
    pub(crate) fn agents_that(&self, is_so: impl Fn(&AgentState) -> bool) -> Vec<Incarnation> {
        self.agents.iter().filter(|(_, agent)| is_so(&agent.state)).map(|(&id, _)| id).collect()
    }

    pub(crate) fn note(&self, now_ns: u64, level: Level, text: String, out: &mut Vec<Action>) {
        out.push(Action::Note(Note { at_run_ns: self.run_ns(now_ns), level, text }));
    }
}

/// Durations of plans are bounded to days, so they fit.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
