//! Any events in any order, over plans of all kinds: what must always hold is checked after every one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use volley_plan::health::HealthSum;
use volley_plan::link::{Incarnation, Order, Share, WindowFacts};
use volley_plan::shape::Stripes;

use super::model::Agents;
use super::{MS, S, facts, new_run, short};
use crate::planned::Planned;
use crate::{Action, AgentShare, AgentState, Event, Run};

const AGENTS: [Incarnation; 3] = [Incarnation(1), Incarnation(2), Incarnation(3)];

const LOADS: &[&str] = &[
    "users: 5\nrequests: 200",
    "users: 5\nduration: 20s",
    "users: 5\nrequests: 200\nduration: 20s\ndrain: 2s",
    "users: 5\nrequests: 50\nagents: { min: 4, wait: 30s }",
    "users: 5\niterations_per_user: 40",
    "users: 5\niterations_per_user: 400\nduration: 20s",
    "users: 5\nwarmup: 5s\nduration: 15s",
    "load:\n  stages:\n    - { users: 1, ramp_to: 6, for: 10s }\n    - { ramp_to: 0, for: 5s }\n    - { users: 0, for: 5s }",
    "rate: 20/s\nduration: 20s\nmax_in_flight: 50",
    "rate: 20/s\nduration: 15s\nwarmup: 5s\narrivals: poisson\nmax_in_flight: 50\nconnections: 2",
    "rate: 10/s\niterations: 100\nmax_in_flight: 50",
    "load:\n  warmup: 3s\n  max_in_flight: 50\n  stages:\n    - { rate: 5/s, ramp_to: 50/s, for: 10s }\n    - { rate: 0/s, for: 5s }",
];

#[derive(Clone, Debug)]
enum Step {
    Wait { ms: u64 },
    Join { agent: u64 },
    Ping { agent: u64, behind: u64 },
    Ready { agent: u64 },
    Refuse { agent: u64 },
    Want { agent: u64, iterations: u64, stale: bool },
    Window { agent: u64, jump: i64, most: u64, last: bool },
    Stop,
    BreakStore,
}

fn step() -> impl Strategy<Value = Step> {
    let agent = || 1u64..5;
    prop_oneof![
        6 => (1u64..4000).prop_map(|ms| Step::Wait { ms }),
        1 => agent().prop_map(|agent| Step::Join { agent }),
        12 => (agent(), 0u64..6).prop_map(|(agent, behind)| Step::Ping { agent, behind }),
        6 => agent().prop_map(|agent| Step::Ready { agent }),
        1 => (0u64..40).prop_map(|agent| Step::Refuse { agent }),
        6 => (agent(), 0u64..60, any::<bool>()).prop_map(|(agent, iterations, stale)| Step::Want { agent, iterations, stale }),
        12 => (agent(), -1i64..3, 0u64..40, prop::bool::weighted(0.1))
            .prop_map(|(agent, jump, most, last)| Step::Window { agent, jump, most, last }),
        1 => (0u64..8).prop_map(|n| if n == 0 { Step::Stop } else { Step::Wait { ms: n } }),
        1 => (0u64..20).prop_map(|n| if n == 0 { Step::BreakStore } else { Step::Wait { ms: n } }),
    ]
}

/// Holds the run against what must be true whatever happens.
struct Checked {
    run: Run,
    now_ns: u64,
    agents: Agents,
    granted: Vec<(u64, u64)>,
    leases_ns: BTreeMap<Incarnation, u64>,
}

impl Checked {
    fn new(load: &str) -> Self {
        let (run, actions) = new_run(load, &AGENTS);
        let before = run.clone();
        let mut checked = Self {
            run,
            now_ns: 0,
            agents: Agents::default(),
            granted: Vec::new(),
            leases_ns: BTreeMap::new(),
        };
        checked.check(&before, &actions);
        checked
    }

    fn handle(&mut self, event: Event) {
        let before = self.run.clone();
        let actions = self.run.handle(self.now_ns, event);
        self.check(&before, &actions);
    }

    fn check(&mut self, before: &Run, actions: &[Action]) {
        self.agents.notice(&self.run, actions);
        let (old, new) = (before.accounts(), self.run.accounts());
        let told = || format!("{old:?} -> {new:?} by {:?}", short(actions));
        assert!(new.started >= old.started && new.missed >= old.missed, "{}", told());
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
    }

    fn check_action(&mut self, before: &Run, action: &Action) {
        let lost = |agent: &Incarnation| {
            before.agents().any(|share| share.facts.incarnation == *agent && share.was_lost())
        };
        match action {
            Action::Renew { agent, until_ns } => {
                assert!(!lost(agent), "a lease for a lost agent");
                let earlier_ns = self.leases_ns.insert(*agent, *until_ns);
                assert!(earlier_ns.is_none_or(|earlier_ns| earlier_ns <= *until_ns), "a lease taken back");
            }
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

    /// Every user and every stripe has one agent, once there are any.
    fn check_shares(&self) {
        let (mut users, mut stripes) = (Vec::new(), Vec::new());
        for agent in self.run.agents() {
            match &agent.share {
                Share::Users(share) => users.extend(share.numbers()),
                Share::Arrivals(share) => stripes.extend_from_slice(share.stripes.held()),
            }
        }
        for (mut held, count) in [(users, 0), (stripes, Stripes::default().count())] {
            let count = if count == 0 { u32::try_from(held.len()).expect("few") } else { count };
            held.sort_unstable();
            assert!(held.is_empty() || held.iter().copied().eq(0..count), "{held:?}");
        }
    }

    fn share_of(&self, agent: Incarnation) -> Option<&AgentShare> {
        self.run.agents().find(|share| share.facts.incarnation == agent)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Wait { ms } => self.wait(self.now_ns + ms * MS),
            Step::Join { agent } => self.handle(Event::Joined(facts(Incarnation(agent)))),
            Step::Ping { agent, behind } => {
                let (agent, acknowledged) = (Incarnation(agent), 6u64.saturating_sub(behind));
                self.agents.hear(&self.run, agent, acknowledged, self.now_ns);
                self.handle(Event::Pinged { agent, acknowledged });
            }
            Step::Ready { agent } => self.handle(Event::Ready { agent: Incarnation(agent) }),
            Step::Refuse { agent } => {
                self.handle(Event::Refused { agent: Incarnation(agent), reason: "will not".to_owned() });
            }
            Step::Want { agent, iterations, stale } => {
                let agent = Incarnation(agent);
                let known = self.share_of(agent).map(|share| share.granted_to);
                let taken = if stale { 0 } else { known.unwrap_or(0) };
                self.handle(Event::GrantWanted { agent, taken, iterations });
            }
            Step::Window { agent, jump, most, last } => self.window(Incarnation(agent), jump, most, last),
            Step::Stop => self.handle(Event::StopAsked),
            Step::BreakStore => self.handle(Event::StoreFailed { reason: "full".to_owned() }),
        }
    }

    fn window(&mut self, agent: Incarnation, jump: i64, most: u64, last: bool) {
        let Some(share) = self.share_of(agent) else { return };
        let sequence = share.reported.sequence.saturating_add_signed(jump).max(1);
        let facts = WindowFacts {
            sequence,
            health: HealthSum { seconds: 1, late_seconds: u64::from(most == 39), ..HealthSum::default() },
            watermark_s: u32::try_from(sequence).unwrap_or(u32::MAX),
            ..self.agents.report(&self.run, share, self.now_ns, most, last)
        };
        self.handle(Event::Window { agent, facts });
    }

    fn wait(&mut self, until_ns: u64) {
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
}

fn walk(load: &str, steps: &[Step]) -> Checked {
    let mut world = Checked::new(load);
    for step in steps {
        world.take(step);
    }
    world
}

/// Delivers the next window of one agent or the other by each turn, sometimes one that comes too early and is sent
/// again, all at the same moment.
fn deliver(load: &str, windows: &[Vec<WindowFacts>; 2], turns: &[(bool, bool)]) -> Run {
    let mut run = super::started(load, &AGENTS[..2]);
    let mut next = [0, 0];
    let mut turns = turns.iter().copied().chain((0..).map(|turn| (turn % 2 == 0, false)));
    while next[0] < windows[0].len() || next[1] < windows[1].len() {
        let (second, early) = turns.next().expect("turns go on");
        let index = usize::from(second);
        let place = next[index] + usize::from(early);
        if let Some(&facts) = windows[index].get(place) {
            run.handle(S, Event::Window { agent: AGENTS[index], facts });
        }
        next[index] += usize::from(!early);
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_invariants_hold_and_the_run_ends(
        load in prop::sample::select(LOADS), steps in prop::collection::vec(step(), 0..150),
    ) {
        let mut world = walk(load, &steps);
        // Left alone, every run comes to its end: patience is bounded everywhere.
        world.wait(world.now_ns + 200 * S);
        prop_assert!(world.run.outcome().is_some(), "{:?}", world.run.state());
        let silent = world.run.agents().all(|agent| !matches!(agent.state, AgentState::Running));
        prop_assert!(silent, "nobody is left running");
    }

    #[test]
    fn repeating_every_report_changes_nothing(
        load in prop::sample::select(LOADS), steps in prop::collection::vec(step(), 0..100),
    ) {
        let mut once = walk(load, &steps);
        let mut twice = Checked::new(load);
        for step in &steps {
            let before: Vec<_> = twice.run.agents().map(|agent| (agent.facts.incarnation, agent.reported)).collect();
            twice.take(step);
            // The same window again, as after a reconnect.
            for (agent, facts) in before.into_iter().filter(|(_, facts)| facts.sequence > 0) {
                twice.handle(Event::Window { agent, facts });
            }
        }
        for _ in 0..2 {
            // What is missed as time passes is counted with each event, so both get one now, and once more at the end.
            once.handle(Event::Time);
            twice.handle(Event::Time);
            prop_assert_eq!(once.run.accounts(), twice.run.accounts());
            prop_assert_eq!(once.run.outcome(), twice.run.outcome());
            once.wait(once.now_ns + 200 * S);
            twice.wait(twice.now_ns + 200 * S);
        }
    }

    #[test]
    fn the_order_of_reports_changes_nothing(
        load in prop::sample::select(LOADS).prop_filter("two agents are enough", |load| !load.contains("min:")),
        counts in prop::array::uniform2(prop::collection::vec((0u64..9, 0u64..3), 1..8)),
        ends in any::<bool>(),
        turns in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 0..40),
    ) {
        let windows = counts.map(|counts| {
            let last = counts.len();
            let facts = |(sequence, &(started, missed))| {
                super::window_facts(sequence as u64, started, missed, ends && sequence == last)
            };
            (1..).zip(&counts).map(facts).collect::<Vec<_>>()
        });
        let (plain, mixed) = (deliver(load, &windows, &[]), deliver(load, &windows, &turns));
        prop_assert_eq!(plain.accounts(), mixed.accounts());
        prop_assert_eq!(plain.outcome(), mixed.outcome());
    }
}
