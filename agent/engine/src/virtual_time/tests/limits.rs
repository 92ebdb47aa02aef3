//! What bounds an agent: its lease, the stop, the drain, and how much may be in flight.

use volley_stats::{ErrorKind, Iterations, Timed};

use super::*;
use crate::Command;

#[test]
fn case_02_without_drain_what_is_in_flight_is_cancelled_with_its_age() {
    let ran = Agent::alone("users: 10\nduration: 2s\ndrain: 0s", 5 * SECOND).run();
    let total = ran.measured();
    assert_eq!((total.counters.started, total.counters.ok, total.counters.cancelled), (10, 0, 10));
    assert_eq!(
        (total.cancelled_age.min_ns(), total.cancelled_age.max_ns()),
        (Some(2 * SECOND), Some(2 * SECOND))
    );
    assert!(total.latency.is_empty() && total.failed_latency.is_empty());
    assert_eq!(ran.window.latest_ns, 0);
}

#[test]
fn case_02_with_drain_it_is_finished() {
    let ran = Agent::alone("users: 10\nduration: 2s\ndrain: 10s", 5 * SECOND).run();
    let total = ran.measured();
    assert_eq!((total.counters.started, total.counters.ok, total.counters.cancelled), (10, 10, 0));
    assert_eq!(total.latency.percentile_ns(50.0), Some(5 * SECOND));
    assert_eq!(ran.window.latest_ns, 5 * SECOND);
}

#[test]
fn what_waits_for_a_connection_at_the_stop_has_the_drain_time_too() {
    let text = "rate: 10/s\nduration: 1s\nconnections: 1\ntimeout: 20s\ndrain: ";
    let drained = Agent::alone(&format!("{text}5s"), 500 * MS).run();
    assert_eq!(drained.measured().counters.ok, 10);
    assert_eq!(drained.window.latest_ns, 5 * SECOND);
    // With 2.1 s of drain six of them come to their end; the seventh is cut off. The others never got a connection:
    // nobody sent them.
    let cut = Agent::alone(&format!("{text}2100ms"), 500 * MS).run();
    let counters = cut.measured().counters;
    assert_eq!((counters.started, counters.ok, counters.cancelled, counters.never_sent), (7, 6, 1, 0));
    let ages = cut.measured().cancelled_age;
    assert_eq!((ages.min_ns(), ages.max_ns()), (Some(2500 * MS), Some(2500 * MS)));
    assert_eq!(cut.window.iterations(), Iterations { started: 7, finished: 6, missed: 3 });
}

#[test]
fn a_counted_run_that_wakes_after_its_drain_misses_the_rest_and_ends() {
    let ran = Agent::alone("rate: 10/s\niterations: 20\ndrain: 0s", MS).stopped(1850 * MS..3000 * MS).run();
    assert_eq!(ran.window.iterations(), Iterations { started: 19, finished: 19, missed: 1 });
}

#[test]
fn a_counted_run_lets_its_iterations_finish() {
    let steps = "scenarios:\n  two:\n    steps:\n      - get: /a\n      - think: 1s\n      - get: /b\n";
    let ran = Agent::alone(&format!("rate: 10/s\niterations: 20\ndrain: 5s\n{steps}"), 500 * MS).run();
    assert_eq!(ran.window.iterations(), Iterations { started: 20, finished: 20, missed: 0 });
    // The last began at 1.9 s, and took two answers and the pause.
    assert_eq!((ran.seen.len(), ran.window.latest_ns), (40, 3900 * MS));
}

#[test]
fn an_arrival_beyond_the_bound_is_missed_in_the_second_it_was_due() {
    let stalled = |seen: &Seen| Some(if seen.at_ns < SECOND { seen.at_ns + MS } else { 3450 * MS });
    let ran = Agent::alone("rate: 10/s\nduration: 4s\nmax_in_flight: 5", 0).answered(stalled).run();
    assert_eq!(ran.iterations(), [(10, 0), (5, 5), (0, 10), (5, 5)]);
    assert_eq!(ran.window.iterations().finished, 20);
    assert_eq!(ran.measured().counters.started, 20);
}

#[test]
fn a_stop_in_mid_run_takes_what_is_due_before_it() {
    let stop = Command::Stop { at_ns: 1500 * MS, drain_ns: SECOND };
    let ran = Agent::alone("rate: 100/s\nduration: 10s", MS).told(1200 * MS, stop).run();
    assert_eq!((ran.seen.len(), ran.times().last()), (150, Some(&(1490 * MS))));
    assert_eq!(ran.iterations(), [(100, 0), (50, 0)]);
    assert_eq!(ran.window.watermark_s, 2);
}

#[test]
fn what_is_due_without_a_lease_is_missed_once_that_is_renewed() {
    let lease = Command::Lease { until_ns: 10 * SECOND };
    let agent = Agent::alone("rate: 10/s\nduration: 5s\nmax_in_flight: 100", MS).with_lease(1250 * MS);
    let ran = agent.clone().told(3050 * MS, lease).run();
    // Up to 1.2 s as due, then nothing, and no burst: from 3.1 s on as due.
    let expected: Vec<u64> = (0..13).chain(31..50).map(|n| n * 100 * MS).collect();
    assert_eq!(ran.times(), expected);
    assert_eq!(ran.iterations(), [(10, 0), (3, 7), (0, 10), (9, 1), (10, 0)]);
    assert_eq!((ran.timed(Timed::Lag).max_ns(), ran.measured().latency.max_ns()), (Some(0), Some(MS)));
    assert_eq!(ran.window.watermark_s, 5);
}

#[test]
fn what_is_due_without_a_lease_is_undecided_until_it_is_said_whose_it_is() {
    let agent = Agent::alone("rate: 10/s\nduration: 5s\ndrain: 100ms", MS).with_lease(1250 * MS);
    let stop = |at_ns| Command::Stop { at_ns, drain_ns: 0 };
    // It was lost, and what was due from 2.3 s on is the others'. It hears of that long after its end.
    let lost = agent.clone().told(9 * SECOND, stop(2300 * MS)).run();
    assert_eq!(lost.iterations(), [(10, 0), (3, 7), (0, 3)]);
    // It wasn't lost: all of it is its own.
    let kept = agent.clone().told(9 * SECOND, Command::Lease { until_ns: 12 * SECOND }).run();
    assert_eq!(kept.iterations(), [(10, 0), (3, 7), (0, 10), (0, 10), (0, 10)]);
    // It was stopped, and had no lease when the stop came.
    let stopped = agent.clone().told(2 * SECOND, stop(2600 * MS)).run();
    assert_eq!(stopped.iterations(), [(10, 0), (3, 7), (0, 6)]);
    // It stopped by itself, for being alone: what was due after its lease may be anybody's, and is not said to be missed.
    let alone = agent.told(4 * SECOND, stop(1250 * MS)).run();
    assert_eq!(alone.iterations(), [(10, 0), (3, 0)]);
    for ran in [lost, kept, stopped, alone] {
        assert_eq!(ran.seen.len(), 13);
    }
}

#[test]
fn a_lease_that_comes_back_before_the_stop_is_used() {
    let stop = Command::Stop { at_ns: 3 * SECOND, drain_ns: SECOND };
    let lease = Command::Lease { until_ns: 3 * SECOND };
    let agent = Agent::alone("rate: 10/s\nduration: 9s", MS).with_lease(SECOND);
    let ran = agent.told(1500 * MS, stop).told(2 * SECOND, lease).run();
    assert_eq!(ran.iterations(), [(10, 0), (0, 10), (10, 0)]);
}

#[test]
fn a_connection_that_fails_after_the_lease_has_failed_and_is_not_cancelled() {
    let stop = Command::Stop { at_ns: 50 * MS, drain_ns: 0 };
    let agent = Agent::alone("rate: 10/s\nduration: 5s", MS).with_lease(50 * MS).refused(0..200 * MS);
    let counters = agent.told(300 * MS, stop).run().measured().counters;
    assert_eq!((counters.started, counters.failed, counters.cancelled), (1, 1, 0));
    assert_eq!((counters.errors.get(ErrorKind::ConnectRefused), counters.never_sent), (1, 1));
}

#[test]
fn users_pause_without_a_lease_and_go_on_with_it() {
    let lease = Command::Lease { until_ns: 10 * SECOND };
    let agent = Agent::alone("users: 2\nduration: 4s", 100 * MS).with_lease(SECOND);
    let ran = agent.told(3 * SECOND, lease).run();
    assert_eq!(by_second(&ran.times(), 4), [20, 0, 0, 20]);
    assert_eq!(ran.measured().latency.max_ns(), Some(100 * MS));
}

#[test]
fn a_time_out_counts_from_when_the_connection_was_had() {
    let ran =
        Agent::alone("rate: 2/s\nduration: 2s\nconnections: 1\ntimeout: 1s\ndrain: 10s", 900 * MS).run();
    assert_eq!(ran.measured().counters.ok, 4);
    assert_eq!(ran.measured().latency.max_ns(), Some(4 * 900 * MS - 1500 * MS));
    let silent = Agent::alone("rate: 2/s\nduration: 2s\nconnections: 1\ntimeout: 1s\ndrain: 10s", 0);
    let ran = silent.answered(|_| None).run();
    assert_eq!((ran.measured().counters.failed, ran.measured().counters.connections_opened), (4, 4));
    let latency = ran.measured().failed_latency;
    assert_eq!((latency.min_ns(), latency.max_ns()), (Some(1000 * MS), Some(2500 * MS)));
}
