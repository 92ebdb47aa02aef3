//! A run among agents that may do anything, with the store that it is resumed from: what must always hold is checked after
//! every event.

use std::collections::BTreeMap;

use volley_plan::Level;
use volley_plan::health::HealthSum;
use volley_plan::link::{Incarnation, Order, WindowFacts};
use volley_plan::shape::Stripes;

use super::beliefs::Beliefs;
use super::model::Agents;
use super::{MS, facts, new_run, settings, short};
use crate::planned::Planned;
use crate::{Action, AgentRecord, AgentShare, AgentState, Event, Leg, Run, RunRecord, State, ToKeep};

pub(crate) const AGENTS: [Incarnation; 3] = [Incarnation(1), Incarnation(2), Incarnation(3)];

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Wait {
        ms: u64,
    },
    Join {
        agent: u64,
    },
    Ping {
        agent: u64,
        behind: u64,
    },
    Ready {
        agent: u64,
    },
    Refuse {
        agent: u64,
    },
    Leave {
        agent: u64,
    },
    Want {
        agent: u64,
        iterations: u64,
        stale: bool,
    },
    Window {
        agent: u64,
        jump: i64,
        most: u64,
        last: bool,
    },
    Adjust {
        to: Level,
    },
    Stop,
    BreakStore,
    /// The coordinator is killed and started again. A window that it was busy with was kept, and no more.
    Restart {
        window: Option<(u64, u64, bool)>,
    },
}

/// What a store has of a run.
#[derive(Clone, Debug, Default)]
struct Saved {
    run: Option<RunRecord>,
    agents: BTreeMap<Incarnation, AgentRecord>,
    facts: BTreeMap<Incarnation, WindowFacts>,
}

/// Holds the run against what must be true whatever happens.
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) now_ns: u64,
    agents: Agents,
    beliefs: Beliefs,
    granted: Vec<(u64, u64)>,
    saved: Saved,
    /// Run time 0 as the agents know it.
    start_ns: Option<u64>,
    /// The legs that were found to be right.
    checked: Vec<Vec<Leg>>,
    /// Nothing is kept any more.
    is_store_broken: bool,
}

impl World {
    pub(crate) fn new(load: &str) -> Self {
        let (run, actions) = new_run(load, &AGENTS);
        let before = run.clone();
        let mut world = Self {
            run,
            now_ns: 0,
            agents: Agents::default(),
            beliefs: Beliefs::default(),
            granted: Vec::new(),
            saved: Saved::default(),
            start_ns: None,
            checked: Vec::new(),
            is_store_broken: false,
        };
        world.check(&before, &actions);
        world.saved.run = Some(world.run.record());
        world
    }

    pub(crate) fn handle(&mut self, event: Event) {
        if !self.keep(&event) {
            return;
        }
        let before = self.run.clone();
        let actions = self.run.handle(self.now_ns, event);
        self.check(&before, &actions);
    }

    fn check(&mut self, before: &Run, actions: &[Action]) {
        self.agents.notice(actions);
        self.beliefs.notice(actions);
        self.save(actions);
        self.start_ns = self
            .run
            .start_ns()
            .filter(|_| !matches!(self.run.state(), State::Resuming { .. }))
            .or(self.start_ns);
        let (old, new) = (before.accounts(), self.run.accounts());
        let told = || format!("{old:?} -> {new:?} by {:?}", short(actions));
        // An agent that has said its last misses all that it still had. Of that, a stop takes out what was not due by then.
        let unplanned = old.planned.zip(new.planned).map_or(0, |(old, new)| old.saturating_sub(new));
        assert!(new.started >= old.started && new.missed + unplanned >= old.missed, "{}", told());
        assert!(new.ok >= old.ok && new.failed >= old.failed && new.cancelled >= old.cancelled);
        if before.outcome().is_some() {
            assert_eq!((before.outcome(), old), (self.run.outcome(), new), "finished is final");
            assert!(!actions.contains(&Action::Finished));
        }
        if self.run.outcome().is_some() {
            assert_eq!(new.fault(), None, "{}", told());
            assert_eq!(self.run.deadline_ns(), None);
        } else {
            assert!(self.run.deadline_ns().is_some(), "a run that is not over has a deadline");
        }
        for action in actions {
            self.check_action(before, action);
        }
        self.check_grants();
        self.check_shares();
        self.beliefs.check(&self.run);
    }

    /// As a driver does: what can't be kept, the run does not hear of.
    fn keep(&mut self, event: &Event) -> bool {
        let Event::Window { agent, facts } = event else { return true };
        if self.is_store_broken {
            return false;
        }
        if let Some(ToKeep { reported, late: false }) = self.run.to_keep(*agent, facts) {
            self.saved.facts.insert(*agent, reported);
        }
        true
    }

    /// As a driver does.
    fn save(&mut self, actions: &[Action]) {
        let mut is_order = false;
        for action in actions {
            if let Action::Send { agent, .. } = action {
                is_order = true;
                let record = self.share_of(*agent).expect("takes part").record();
                self.saved.agents.insert(*agent, record);
            }
        }
        if is_order {
            self.saved.run = Some(self.run.record());
        }
    }

    fn check_action(&mut self, before: &Run, action: &Action) {
        let lost = |agent: &Incarnation| {
            before.agents().any(|share| share.facts.incarnation == *agent && share.was_lost())
        };
        match action {
            Action::Renew { agent, .. } => assert!(!lost(agent), "a lease for a lost agent"),
            Action::Send { agent, order: Order::Grant { from, to, .. }, .. } => {
                let again = self.granted.contains(&(*from, *to));
                assert!(again || !lost(agent), "a grant for a lost agent");
                if from < to && !again {
                    assert!(
                        self.granted.iter().all(|&(start, end)| *to <= start || end <= *from),
                        "granted twice"
                    );
                    self.granted.push((*from, *to));
                }
            }
            _ => {}
        }
    }

    fn check_grants(&self) {
        let Planned::Iterations(planned) = self.run.planned else { return };
        let granted: u64 = self.run.agents().map(|agent| agent.granted).sum();
        assert_eq!(granted + self.run.ungranted(planned), planned);
        if let Some(ledger) = &self.run.ledger {
            assert_eq!(self.run.ungranted(planned), ledger.remaining());
        }
    }

    /// At every run time each stripe has one agent, once there are any.
    fn check_shares(&mut self) {
        let all: Vec<_> = self.run.agents().map(|agent| agent.legs().to_vec()).collect();
        if all == self.checked {
            return;
        }
        self.checked = all;
        let legs = self.run.agents().flat_map(|agent| agent.legs().iter().map(|leg| leg.from_ns));
        let mut times: Vec<_> = legs.collect();
        times.sort_unstable();
        times.dedup();
        for run_ns in times {
            let shares = self.run.agents().filter_map(|agent| agent.share_at(run_ns));
            let mut held: Vec<_> = shares.flat_map(|share| share.stripes.held().to_vec()).collect();
            held.sort_unstable();
            assert!(held.into_iter().eq(0..Stripes::default().count()), "each stripe once at {run_ns}");
        }
    }

    pub(crate) fn share_of(&self, agent: Incarnation) -> Option<&AgentShare> {
        self.run.agents().find(|share| share.facts.incarnation == agent)
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match *step {
            Step::Wait { ms } => self.wait(self.now_ns + ms * MS),
            Step::Join { agent } => self.handle(Event::Joined(facts(Incarnation(agent)))),
            Step::Ping { agent, behind } => self.ping(Incarnation(agent), behind),
            Step::Ready { agent } => self.handle(Event::Ready { agent: Incarnation(agent) }),
            Step::Refuse { agent } => {
                self.handle(Event::Refused { agent: Incarnation(agent), reason: "will not".to_owned() });
            }
            Step::Leave { agent } => self.handle(Event::Leaving { agent: Incarnation(agent) }),
            Step::Want { agent, iterations, stale } => {
                let agent = Incarnation(agent);
                let known = self.share_of(agent).map(|share| share.granted_to);
                let taken = if stale { 0 } else { known.unwrap_or(0) };
                self.handle(Event::GrantWanted { agent, taken, iterations });
            }
            Step::Window { agent, jump, most, last } => {
                if let Some(event) = self.window(Incarnation(agent), jump, most, last) {
                    self.handle(event);
                }
            }
            Step::Adjust { to } => self.handle(Event::AdjustAsked { to }),
            Step::Stop => self.handle(Event::StopAsked),
            Step::BreakStore => {
                self.is_store_broken = true;
                self.handle(Event::StoreFailed { reason: "full".to_owned() });
            }
            Step::Restart { window } => self.restart(window),
        }
    }

    fn ping(&mut self, agent: Incarnation, behind: u64) {
        let acknowledged = self.beliefs.sent_to(agent).saturating_sub(behind).max(self.beliefs.taken(agent));
        self.beliefs.take(agent, acknowledged);
        self.agents.hear(agent, acknowledged, self.run_ns(), self.beliefs.lease_ns(agent));
        let start_ns = self.start_ns.filter(|_| self.beliefs.has_started(agent));
        self.handle(Event::Pinged { agent, acknowledged, start_ns });
    }

    fn window(&mut self, agent: Incarnation, jump: i64, most: u64, last: bool) -> Option<Event> {
        let share = self.run.agents.get(&agent)?.clone();
        let sequence = share.reported.sequence.saturating_add_signed(jump).max(1);
        let times_ns = (self.run_ns(), self.beliefs.lease_ns(agent));
        // Once the load has stopped, it says its last word when it knows that.
        let last = last
            && (self.run.end_run_ns().is_none() || self.agents.knows_the_end(&self.run, agent, times_ns.0));
        let facts = WindowFacts {
            sequence,
            health: HealthSum { seconds: 1, late_seconds: u64::from(most == 39), ..HealthSum::default() },
            watermark_s: u32::try_from(sequence).unwrap_or(u32::MAX),
            ..self.agents.report(&self.run, &share, times_ns, (most, last))
        };
        Some(Event::Window { agent, facts })
    }

    /// Run time as the agents have it.
    fn run_ns(&self) -> u64 {
        self.start_ns.map_or(0, |start_ns| self.now_ns.saturating_sub(start_ns))
    }

    /// Nothing is left but what was saved.
    fn restart(&mut self, window: Option<(u64, u64, bool)>) {
        if self.run.outcome().is_some() || self.is_store_broken {
            return;
        }
        if let Some((agent, most, last)) = window
            && let Some(event) = self.window(Incarnation(agent), 1, most, last)
        {
            self.keep(&event);
        }
        self.run = self.resumed();
        self.beliefs.restarted();
        self.check_shares();
        self.check_grants();
    }

    /// The run as a new process has it.
    pub(crate) fn resumed(&self) -> Run {
        let record = self.saved.run.as_ref().expect("saved from the beginning on");
        let fallback_run_ns = self.run.run_ns(self.now_ns).unwrap_or(0);
        let agents = self.saved.agents.iter().map(|(agent, record)| {
            (written_and_read(record), self.saved.facts.get(agent).copied().unwrap_or_default())
        });
        let (id, plan) = (self.run.id().clone(), self.run.plan().clone());
        let record = written_and_read(record);
        Run::resumed(self.now_ns, id, plan, settings(), record, agents.collect(), fallback_run_ns)
    }

    pub(crate) fn wait(&mut self, until_ns: u64) {
        for _ in 0..100 {
            match self.run.deadline_ns().filter(|&deadline_ns| deadline_ns <= until_ns) {
                Some(deadline_ns) => {
                    self.now_ns = self.now_ns.max(deadline_ns);
                    self.handle(Event::Time);
                }
                None => {
                    self.now_ns = until_ns;
                    return;
                }
            }
        }
        panic!("a deadline that does not pass: {:?}", self.run);
    }

    /// True if nobody is waited for.
    pub(crate) fn is_still(&self) -> bool {
        !self
            .run
            .agents()
            .any(|agent| matches!(agent.state, AgentState::Running | AgentState::Leaving { .. }))
    }
}

fn written_and_read<T: serde::Serialize + serde::de::DeserializeOwned>(record: &T) -> T {
    let text = serde_json::to_string(record).expect("can be written");
    serde_json::from_str(&text).expect("can be read")
}
