//! Any events in any order: what must always hold is checked after every one.

use proptest::prelude::*;
use volley_plan::link::{Incarnation, Order, WindowFacts};
use volley_stats::Iterations;

use super::{MS, S, facts, new_run, short};
use crate::{Action, AgentState, Event, Run};

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
        12 => (agent(), 0u64..3).prop_map(|(agent, behind)| Step::Ping { agent, behind }),
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
    granted: Vec<(u64, u64)>,
}

impl Checked {
    fn handle(&mut self, event: Event) {
        let before = self.run.clone();
        let actions = self.run.handle(self.now_ns, event);
        self.check(&before, &actions);
    }

    fn check(&mut self, before: &Run, actions: &[Action]) {
        let (old, new) = (before.accounts(), self.run.accounts());
        let told = || format!("{:?}", short(actions));
        assert!(new.started >= old.started && new.missed >= old.missed, "{old:?} -> {new:?} by {}", told());
        assert!(new.ok >= old.ok && new.failed >= old.failed && new.cancelled >= old.cancelled);
        if before.outcome().is_some() {
            assert_eq!((before.outcome(), old), (self.run.outcome(), new), "finished is final");
            assert!(!actions.contains(&Action::Finished));
        }
        if self.run.outcome().is_some() {
            assert_eq!(new.fault(), None, "{new:?}");
            assert_eq!(self.run.deadline_ns(), None);
        } else {
            assert!(self.run.deadline_ns().is_some(), "a run that is not over has a deadline");
        }
        for action in actions {
            self.check_action(before, action);
        }
        self.check_grants();
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
        let Some(ledger) = &self.run.ledger else { return };
        let granted: u64 = self.run.agents().map(|agent| agent.granted).sum();
        assert_eq!(granted + ledger.remaining(), ledger.total());
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Wait { ms } => self.wait(self.now_ns + ms * MS),
            Step::Join { agent } => self.handle(Event::Joined(facts(Incarnation(agent)))),
            Step::Ping { agent, behind } => {
                let acknowledged = 6u64.saturating_sub(behind);
                self.handle(Event::Pinged { agent: Incarnation(agent), acknowledged });
            }
            Step::Ready { agent } => self.handle(Event::Ready { agent: Incarnation(agent) }),
            Step::Refuse { agent } => {
                self.handle(Event::Refused { agent: Incarnation(agent), reason: "will not".to_owned() });
            }
            Step::Want { agent, iterations, stale } => {
                let agent = Incarnation(agent);
                let known = self
                    .run
                    .agents()
                    .find(|share| share.facts.incarnation == agent)
                    .map(|share| share.granted_to);
                let taken = if stale { 0 } else { known.unwrap_or(0) };
                self.handle(Event::GrantWanted { agent, taken, iterations });
            }
            Step::Window { agent, jump, most, last } => self.window(Incarnation(agent), jump, most, last),
            Step::Stop => self.handle(Event::StopAsked),
            Step::BreakStore => self.handle(Event::StoreFailed { reason: "full".to_owned() }),
        }
    }

    fn window(&mut self, agent: Incarnation, jump: i64, most: u64, last: bool) {
        let Some(share) = self.run.agents().find(|share| share.facts.incarnation == agent) else { return };
        let counted = self.run.ledger.is_some();
        let n = if counted { most.min(share.unreported()) } else { most };
        let sequence = share.reported.sequence.saturating_add_signed(jump).max(1);
        let (failed, cancelled) = (n / 5, n / 7);
        let facts = WindowFacts {
            sequence,
            iterations: Iterations { started: n, finished: n, missed: 0 },
            started: n,
            ok: n - failed - cancelled,
            failed,
            cancelled,
            watermark_s: u32::try_from(sequence).unwrap_or(u32::MAX),
            latest_ns: self.now_ns,
            last,
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
    let agents = [Incarnation(1), Incarnation(2), Incarnation(3)];
    let (run, _) = new_run(load, &agents);
    let mut world = Checked { run, now_ns: 0, granted: Vec::new() };
    for step in steps {
        world.take(step);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_invariants_hold_and_the_run_ends(
        load in prop_oneof![
            Just("users: 5\nrequests: 200"),
            Just("users: 5\nduration: 20s"),
            Just("users: 5\nrequests: 200\nduration: 20s\ndrain: 2s"),
            Just("users: 5\nrequests: 50\nagents: { min: 4, wait: 30s }"),
        ],
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let mut world = walk(load, &steps);
        // Left alone, every run comes to its end: patience is bounded everywhere.
        world.wait(world.now_ns + 200 * S);
        prop_assert!(world.run.outcome().is_some(), "{:?}", world.run.state());
        let silent = world.run.agents().all(|agent| !matches!(agent.state, AgentState::Running));
        prop_assert!(silent, "nobody is left running");
    }

    #[test]
    fn repeating_every_report_changes_nothing(steps in prop::collection::vec(step(), 0..100)) {
        let load = "users: 5\nrequests: 200";
        let once = walk(load, &steps);
        let agents = [Incarnation(1), Incarnation(2), Incarnation(3)];
        let mut twice = Checked { run: new_run(load, &agents).0, now_ns: 0, granted: Vec::new() };
        for step in &steps {
            let before: Vec<_> = twice.run.agents().map(|agent| (agent.facts.incarnation, agent.reported)).collect();
            twice.take(step);
            // The same window again, as after a reconnect.
            for (agent, facts) in before.into_iter().filter(|(_, facts)| facts.sequence > 0) {
                twice.handle(Event::Window { agent, facts });
            }
        }
        prop_assert_eq!(once.run.accounts(), twice.run.accounts());
        prop_assert_eq!(once.run.outcome(), twice.run.outcome());
    }
}
