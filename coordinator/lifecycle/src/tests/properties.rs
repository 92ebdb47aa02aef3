//! Any events in any order, over plans of all kinds.

use proptest::prelude::*;
use volley_plan::Level;
use volley_plan::link::{Incarnation, WindowFacts};

use super::S;
use super::world::{AGENTS, Step, World};
use crate::{Event, Run};

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
    "rate: 20/s\nduration: 20s\nwarmup: 3s\nmax_in_flight: 50\nagents: { elastic: true }",
    "rate: 20/s\nduration: 20s\nmax_in_flight: 50\nagents: { elastic: true, max: 3, share_by: even, lease: 4s }",
    "users: 9\nduration: 20s\nagents: { elastic: true }",
    "users: 9\nrequests: 300\nagents: { elastic: true }",
    "users: 5\nrequests: 200\nagents: { min: 2 }",
    "users: 5\niterations_per_user: 40\nagents: { min: 2 }",
    "rate: 20/s\nduration: 20s\nmax_in_flight: 50\nagents: { min: 2, elastic: true }",
];

fn level() -> impl Strategy<Value = Level> {
    let rates = ["0/s", "7/s", "100/s"].map(|rate| Level::Rate(rate.parse().expect("a rate")));
    prop_oneof![prop::sample::select(rates.to_vec()), (0u32..12).prop_map(Level::Users)]
}

/// Something rare, or a little time.
fn rare(step: Step) -> impl Strategy<Value = Step> {
    (0u64..12).prop_map(move |n| if n == 0 { step.clone() } else { Step::Wait { ms: n } })
}

fn step() -> impl Strategy<Value = Step> {
    let agent = || 1u64..6;
    let window = (agent(), 0u64..40, prop::bool::weighted(0.3));
    prop_oneof![
        6 => (1u64..4000).prop_map(|ms| Step::Wait { ms }),
        2 => agent().prop_map(|agent| Step::Join { agent }),
        14 => (agent(), 0u64..4).prop_map(|(agent, behind)| Step::Ping { agent, behind }),
        6 => agent().prop_map(|agent| Step::Ready { agent }),
        1 => (0u64..40).prop_map(|agent| Step::Refuse { agent }),
        1 => (0u64..12).prop_map(|agent| Step::Leave { agent }),
        6 => (agent(), 0u64..60, any::<bool>()).prop_map(|(agent, iterations, stale)| Step::Want { agent, iterations, stale }),
        12 => (agent(), -1i64..3, 0u64..40, prop::bool::weighted(0.1))
            .prop_map(|(agent, jump, most, last)| Step::Window { agent, jump, most, last }),
        1 => level().prop_map(|to| Step::Adjust { to }),
        1 => rare(Step::Stop),
        1 => rare(Step::BreakStore),
        1 => rare(Step::Restart { window: None }),
        1 => (window, 0u64..5).prop_map(|(window, n)| {
            if n == 0 { Step::Restart { window: Some(window) } } else { Step::Wait { ms: n } }
        }),
    ]
}

/// Every agent is well for a while: all ping, and take their orders.
fn steady(seconds: u64) -> impl Iterator<Item = Step> {
    let ping = |agent| Step::Ping { agent, behind: 0 };
    (0..2 * seconds).flat_map(move |_| (1..6).map(ping).chain([Step::Wait { ms: 500 }]))
}

fn walk(load: &str, steps: &[Step]) -> World {
    let mut world = World::new(load);
    for step in steps {
        world.take(step);
    }
    world
}

/// As [`walk`], of a run that has started.
fn walk_started(load: &str, steps: &[Step]) -> World {
    let ready = [Step::Join { agent: 4 }].into_iter().chain((1..5).map(|agent| Step::Ready { agent }));
    walk(load, &ready.chain(steady(2)).chain(steps.iter().cloned()).collect::<Vec<_>>())
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

/// The agents whose last window is delivered twice.
fn reported(run: &Run) -> Vec<(Incarnation, WindowFacts)> {
    let agents = run.agents().filter(|agent| agent.reported.sequence > 0);
    agents.map(|agent| (agent.facts.incarnation, agent.reported)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_invariants_hold_and_the_run_ends(
        load in prop::sample::select(LOADS), steps in prop::collection::vec(step(), 0..150), from_start in any::<bool>(),
    ) {
        let mut world = if from_start { walk(load, &steps) } else { walk_started(load, &steps) };
        // Left alone, every run comes to its end: patience is bounded everywhere.
        world.wait(world.now_ns + 200 * S);
        prop_assert!(world.run.outcome().is_some(), "{:?}", world.run.state());
        prop_assert!(world.is_still(), "nobody is left running");
    }

    #[test]
    fn repeating_every_report_changes_nothing(
        load in prop::sample::select(LOADS), steps in prop::collection::vec(step(), 0..100),
    ) {
        let mut once = walk_started(load, &steps);
        let mut twice = walk_started(load, &[]);
        for step in &steps {
            let before = reported(&twice.run);
            twice.take(step);
            // The same window again, as after a reconnect.
            for (agent, facts) in before {
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
        turns in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 0..40),
    ) {
        let windows = counts.map(|counts| {
            let facts = |(sequence, &(started, missed))| {
                super::window_facts(sequence as u64, started, missed, false)
            };
            (1..).zip(&counts).map(facts).collect::<Vec<_>>()
        });
        let (mut plain, mut mixed) = (deliver(load, &windows, &[]), deliver(load, &windows, &turns));
        prop_assert_eq!(plain.accounts(), mixed.accounts());
        super::pass(&mut plain, 300 * S);
        super::pass(&mut mixed, 300 * S);
        prop_assert_eq!(plain.accounts(), mixed.accounts());
        prop_assert_eq!(plain.outcome(), mixed.outcome());
    }

    #[test]
    fn a_run_that_is_resumed_has_the_account_that_it_had_and_ends(
        load in prop::sample::select(LOADS), steps in prop::collection::vec(step(), 0..60),
        more in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = walk_started(load, &steps);
        world.take(&Step::Restart { window: None });
        for step in steady(12).chain(more) {
            world.take(&step);
        }
        world.wait(world.now_ns + 200 * S);
        prop_assert!(world.run.outcome().is_some(), "{:?}", world.run.state());
    }
}
