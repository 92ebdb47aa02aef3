//! The closed model: users that come and go, think, and keep a pace.

use volley_stats::{Iterations, Part, Timed};

use super::*;
use crate::Command;

#[test]
fn case_28_users_ramp_alike_on_one_agent_and_on_four() {
    let text = "load:\n  stages:\n    - { users: 0, ramp_to: 100, for: 10s }\n    - { users: 100, for: 2s }\n    \
                - { ramp_to: 0, for: 4s }";
    let agent = Agent::alone(text, 10 * MS);
    let one = agent.clone().run();
    let four: Vec<Ran> = (0..4).map(|index| agent.clone().of(index, 4).run()).collect();
    let expected = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 100, 100, 75, 50, 25];
    assert_eq!(one.users(), expected);
    for ran in &four {
        assert!((12..=13).contains(&ran.users()[5]), "{:?}", ran.users());
        assert_eq!((ran.users()[10], ran.users()[11]), (25, 25));
    }
    let together = Ran::together((0..4).map(|index| agent.clone().of(index, 4)));
    assert_eq!((together.users(), together.times()), (one.users(), one.times()));
    // Each user sends as long as it is there: the first comes after 50 ms, the last goes shortly before the end.
    assert_eq!(one.times()[0], 50 * MS);
    assert!(one.times().last().unwrap().abs_diff(16 * SECOND) <= 30 * MS);
    assert_eq!(one.measured().counters.connections_opened, 100);
}

#[test]
fn users_come_back_with_a_new_connection() {
    let text = "load:\n  stages:\n    - { users: 2, for: 1s }\n    - { users: 0, for: 1s }\n    - { users: 2, for: 1s }";
    let ran = Agent::alone(text, 100 * MS).run();
    assert_eq!(by_second(&ran.times(), 3), [20, 0, 20]);
    assert_eq!((ran.users(), ran.measured().counters.connections_opened), (vec![2, 0, 2, 2], 4));
    let connections: Vec<u32> = ran.window.seconds.values().map(|second| second.connections).collect();
    assert_eq!(connections[1], 0);
}

#[test]
fn case_31_users_warm_up_apart() {
    let ran = Agent::alone("users: 5\nwarmup: 2s\nduration: 3s", 250 * MS).run();
    assert_eq!((ran.total(Part::Warmup).counters.ok, ran.measured().counters.ok), (40, 60));
    assert_eq!(ran.started(0, Part::Warmup), [20, 20, 0, 0, 0, 0]);
    assert_eq!(ran.started(0, Part::Measured), [0, 0, 20, 20, 20, 0]);
}

#[test]
fn pacing_is_the_least_time_from_start_to_start() {
    let ran = Agent::alone("users: 1\nduration: 2s\npacing: 200ms", 30 * MS).run();
    assert_eq!(ran.times(), (0..10).map(|cycle| cycle * 200 * MS).collect::<Vec<_>>());
    assert_eq!((ran.timed(Timed::Lag).count(), ran.timed(Timed::Lag).max_ns()), (10, Some(0)));
    // A late cycle begins at once, and the next is counted from there.
    let slow_once = |seen: &Seen| Some(seen.at_ns + if seen.at_ns == 400 * MS { 350 * MS } else { 30 * MS });
    let ran = Agent::alone("users: 1\nduration: 2s\npacing: 200ms", 0).answered(slow_once).run();
    let expected: Vec<u64> = [0, 200, 400, 750, 950, 1150, 1350, 1550, 1750, 1950].map(|ms| ms * MS).to_vec();
    assert_eq!(ran.times(), expected);
    assert_eq!(ran.timed(Timed::Lag).max_ns(), Some(0));
}

#[test]
fn an_unpaced_run_has_no_lag() {
    let ran = Agent::alone("users: 3\nduration: 1s", 30 * MS).run();
    assert!(ran.timed(Timed::Lag).is_empty() && ran.measured().service_time.is_empty());
    assert_eq!(ran.timed(Timed::FirstByte).count(), ran.measured().counters.ok);
}

#[test]
fn each_user_does_its_own_number() {
    let ran = Agent::alone("users: 7\niterations_per_user: 3", 30 * MS).with_workers(2).run();
    assert_eq!((ran.measured().counters.ok, ran.window.iterations().finished), (21, 21));
    assert_eq!((ran.times()[20], ran.window.latest_ns, ran.window.watermark_s), (60 * MS, 90 * MS, 1));
}

#[test]
fn case_01_what_is_granted_is_done() {
    let grant = |from, to, last| Command::Grant { from, to, last };
    let agent = Agent::alone("users: 4\nrequests: 10", 30 * MS);
    let ran = agent.told(0, grant(0, 6, false)).told(500 * MS, grant(6, 10, true)).run();
    assert_eq!(by_second(&ran.times(), 1), [10]);
    assert_eq!((ran.times()[5], ran.times()[6], ran.window.latest_ns), (30 * MS, 500 * MS, 530 * MS));
    assert_eq!(ran.window.iterations(), Iterations { started: 10, finished: 10, missed: 0 });
}

#[test]
fn a_grant_that_is_used_up_ends_the_wait_for_a_time_to_come() {
    let text = "requests: 10\nload:\n  stages:\n    - { users: 1, for: 60s }\n    - { users: 3, for: 60s }";
    let text = text.replace("requests: 10\nload:", "load:\n  iterations: 10");
    let grant = Command::Grant { from: 0, to: 10, last: true };
    let ran = Agent::alone(&text, 30 * MS).told(0, grant).run();
    assert_eq!((ran.measured().counters.ok, ran.window.watermark_s), (10, 1));
}
