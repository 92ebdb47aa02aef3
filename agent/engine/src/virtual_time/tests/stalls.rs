//! A process that stands still for a while: it is noticed, and nothing is filed wrongly for it.

use volley_stats::Timed;

use super::*;
use crate::Command;

/// The longest stall of each second, in milliseconds.
fn stalls(ran: &Ran) -> Vec<u64> {
    ran.window.health.values().map(|health| health.stall_max_ns / MS).collect()
}

#[test]
fn a_closed_run_notices_that_it_stood_still() {
    let ran = Agent::alone("users: 2\nduration: 3s", 10 * MS).stopped(1110 * MS..1410 * MS).run();
    // The keeper was to come round at 1.15 s, and every 50 ms else.
    assert_eq!(stalls(&ran)[..3], [0, 260, 0]);
    assert_eq!(ran.measured().latency.max_ns(), Some(310 * MS));
}

#[test]
fn an_open_run_sends_late_what_was_due_and_files_it_under_its_second() {
    let agent = Agent::alone("rate: 100/s\nduration: 4s\nmax_in_flight: 1000", MS);
    let ran = agent.stopped(1500 * MS..2700 * MS).run();
    let iterations: Vec<_> = ran.window.seconds.values().map(|second| second.iterations.started).collect();
    assert_eq!(iterations, [100; 4]);
    assert_eq!(ran.measured().counters.ok, 400);
    assert_eq!(stalls(&ran), [0, 0, 1200, 0]);
    assert_eq!(ran.timed(Timed::Lag).max_ns(), Some(1200 * MS));
    assert_eq!(ran.measured().latency.max_ns(), Some(1201 * MS));
    // The 121 that were due meanwhile go out at once, as fast as connections may be opened for them.
    let made_up = ran.times().iter().filter(|&at_ns| (2700 * MS..2705 * MS).contains(at_ns)).count();
    assert_eq!((made_up, ran.seen.len()), (121, 400));
    assert!(ran.measured().service_time.max_ns().unwrap() < 5 * MS);
    assert!(ran.measured().counters.connections_opened < 60);
}

#[test]
fn who_wakes_without_a_lease_sends_nothing() {
    let lease = Command::Lease { until_ns: 20 * SECOND };
    let agent = Agent::alone("rate: 10/s\nduration: 8s\nmax_in_flight: 1000", MS).with_lease(3 * SECOND);
    let ran = agent.stopped(2550 * MS..5050 * MS).told(5500 * MS, lease).run();
    let times = ran.times();
    // What was due before the lease's end and not yet taken up is no longer sent either.
    assert_eq!((times[25], times[26], times.len()), (2500 * MS, 5500 * MS, 51));
    let (all, none) = ((10, 0), (0, 10));
    assert_eq!(ran.iterations(), [all, all, (6, 4), none, none, (5, 5), all, all]);
}

#[test]
fn what_was_due_before_the_stop_is_sent_after_it_while_the_drain_lasts() {
    let agent = Agent::alone("rate: 10/s\nduration: 2s\nmax_in_flight: 1000\ndrain: 1s", MS);
    let ran = agent.clone().stopped(1750 * MS..2300 * MS).run();
    assert_eq!((ran.measured().counters.ok, ran.window.iterations().missed), (20, 0));
    let ran = agent.stopped(1750 * MS..3300 * MS).run();
    assert_eq!((ran.measured().counters.ok, ran.window.iterations().missed), (18, 2));
}
