//! The run: what goes in, what comes out, and what can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use volley_plan::link::{Incarnation, LEASE_NS, Order, RunId, WindowFacts};
use volley_plan::{ClosedLoad, Ledger, Load, Plan};

use crate::agent::{AgentShare, AgentState};
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

/// What happens to a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An idle agent is there; it matters while agents are gathered.
    Joined(AgentFacts),
    /// An agent was heard of, and has taken its orders up to this number.
    Pinged {
        /// Who.
        agent: Incarnation,
        /// The highest order such that it and all before it have been taken.
        acknowledged: u64,
    },
    /// An agent stands by.
    Ready {
        /// Who.
        agent: Incarnation,
    },
    /// An agent cannot or will not do its share.
    Refused {
        /// Who.
        agent: Incarnation,
        /// Why.
        reason: String,
    },
    /// An agent asks for a further grant.
    GrantWanted {
        /// Who.
        agent: Incarnation,
        /// The end of the last grant that it has taken.
        taken: u64,
        /// How many it would like.
        iterations: u64,
    },
    /// An agent delivered a window.
    Window {
        /// Who.
        agent: Incarnation,
        /// What of it matters here.
        facts: WindowFacts,
    },
    /// Somebody asked for the run's end.
    StopAsked,
    /// Results or orders could not be kept.
    StoreFailed {
        /// Why.
        reason: String,
    },
    /// [`Run::deadline_ns`] has come.
    Time,
}

/// What is to be done, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Save the order, then send it. `Order::Start` says its time on the coordinator's clock.
    Send {
        /// To whom.
        agent: Incarnation,
        /// Its number.
        number: u64,
        /// The order.
        order: Order,
    },
    /// Answer the ping with this lease.
    Renew {
        /// Whose.
        agent: Incarnation,
        /// Its end, in run time.
        until_ns: u64,
    },
    /// Store the window at hand. If that fails, skip what follows and say [`Event::StoreFailed`].
    Keep {
        /// Whose.
        agent: Incarnation,
        /// Its sequence.
        sequence: u64,
        /// It came after the end: shown apart, totals stay.
        late: bool,
    },
    /// Tell the agent that its windows up to this one are kept.
    Acknowledge {
        /// Whom.
        agent: Incarnation,
        /// The highest sequence that is kept.
        sequence: u64,
    },
    /// Write a line of the event log.
    Note(Note),
    /// The agent is free for another run.
    Free {
        /// Who.
        agent: Incarnation,
    },
    /// The run is over; [`Run::outcome`] says how.
    Finished,
}

/// How much a line of the event log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As planned.
    Info,
    /// Not as planned.
    Warn,
}

/// A line of the run's event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When, in run time; `None` before the start.
    pub at_run_ns: Option<u64>,
    /// How much it matters.
    pub level: Level,
    /// What happened, in a sentence.
    pub text: String,
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
    pub(crate) ledger: Option<Ledger>,
}

impl Run {
    /// A new run at `now_ns` of the coordinator's clock, offered all agents that are idle at this moment.
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
        let ledger = closed(&plan).requests.map(Ledger::new);
        let mut run = Self {
            id,
            plan,
            seed,
            settings,
            state: State::Gathering { until_ns },
            candidates: agents,
            agents: BTreeMap::new(),
            ledger,
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
                let over = self.duration_ns().map_or(u64::MAX, |duration| start_ns.saturating_add(duration));
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

    /// The length of the measured part, once the load has stopped.
    #[must_use]
    pub fn end_run_ns(&self) -> Option<u64> {
        match self.state {
            State::Draining { stop_run_ns, .. } => Some(stop_run_ns),
            State::Finished { length_ns, .. } => Some(length_ns),
            State::Gathering { .. } | State::Preparing { .. } | State::Running { .. } => None,
        }
    }

    /// How long requests were sent and answered: what completions are divided by for a rate. Reaches past
    /// [`Self::end_run_ns`] where the drain had completions; `None` until the load has stopped.
    #[must_use]
    pub fn active_run_ns(&self) -> Option<u64> {
        let latest_ns = self.agents.values().map(|agent| agent.reported.latest_ns).max().unwrap_or(0);
        let nobody_left = self.stop_reason() == Some(&StopReason::AgentsLost);
        self.end_run_ns().map(|end_ns| if nobody_left { latest_ns } else { latest_ns.max(end_ns) })
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

    pub(crate) fn load(&self) -> &ClosedLoad {
        closed(&self.plan)
    }

    pub(crate) fn duration_ns(&self) -> Option<u64> {
        self.load().duration.map(nanoseconds)
    }

    pub(crate) fn run_ns(&self, now_ns: u64) -> Option<u64> {
        self.start_ns().map(|start_ns| now_ns.saturating_sub(start_ns))
    }

    pub(crate) fn note(&self, now_ns: u64, level: Level, text: String, out: &mut Vec<Action>) {
        out.push(Action::Note(Note { at_run_ns: self.run_ns(now_ns), level, text }));
    }
}

fn closed(plan: &Plan) -> &ClosedLoad {
    match &plan.load {
        Load::Closed(closed) => closed,
    }
}

/// Durations of plans are bounded to days, so they fit.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
