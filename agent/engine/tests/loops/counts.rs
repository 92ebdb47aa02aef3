//! Fixed counts are exact, and windows add up to what the target saw.

use volley_stats::ALL_STEPS;

use crate::run::{FOR_EVER, Run, plan, run, two_steps};
use crate::target::Target;

/// A fixed count on a healthy target: requests sent, connections opened.
async fn check(requests: u64, users: u32, workers: usize, keep_alive: bool) {
    let target = Target::hello();
    let plan =
        plan(target.address, &format!("users: {users}, requests: {requests}, keep_alive: {keep_alive}"));
    let report = run(plan, workers).await;
    let counters = report.counters();
    let what = format!("{requests}/{users} on {workers}");
    assert_eq!((target.seen().requests(), counters.ok), (requests, requests), "{what}");
    assert_eq!((report.iterations.started, report.iterations.finished), (requests, requests), "{what}");
    assert_eq!(counters.statuses.sorted(), [(200, requests)], "{what}");
    assert_eq!(counters.body_bytes, 5 * requests, "{what}");
    assert_eq!(target.seen().connections(), counters.connections_opened, "{what}");
    assert_eq!((counters.resent, counters.never_sent), (0, 0), "{what}");
    if keep_alive {
        assert!(counters.connections_opened <= u64::from(users).min(requests), "{what}");
    } else {
        assert_eq!(counters.connections_opened, requests, "{what}");
    }
}

#[tokio::test]
async fn case_01_counts_are_exact_whatever_the_users_and_workers() {
    for workers in [1, 2, 8] {
        for (requests, users) in [(100, 30), (7, 50), (401, 400), (1, 1), (1000, 3)] {
            check(requests, users, workers, true).await;
        }
        check(100, 30, workers, false).await;
    }
}

#[tokio::test]
async fn counts_are_exact_with_the_smallest_grants() {
    for (workers, bound) in [(1, 1), (8, 1), (2, 3), (8, 7)] {
        let target = Target::hello();
        let mut run = Run::ready(plan(target.address, "users: 20, requests: 150"), workers).await;
        run.grant_bound = bound;
        run.start(FOR_EVER);
        let report = run.finish().await;
        assert_eq!((report.counters().ok, target.seen().requests()), (150, 150), "{workers}, {bound}");
        assert!(u64::from(report.grants) >= 150 / bound);
    }
}

#[tokio::test]
async fn windows_add_up_to_what_the_target_saw() {
    let target = Target::hello();
    let report = run(plan(target.address, "users: 10, duration: 2200ms"), 2).await;
    let counters = report.counters();
    assert_eq!(counters.ok, target.seen().requests());
    assert_eq!(counters.ok, report.iterations.finished);
    assert_eq!((counters.failed, counters.cancelled, counters.connections_opened), (0, 0, 10));
    // Seconds 0, 1 and the part of 2, each with its own row, and all users and connections in each.
    let seconds: Vec<u32> = report.windows.iter().flat_map(|window| window.seconds.keys().copied()).collect();
    assert_eq!(seconds, [0, 1, 2]);
    for window in &report.windows[..2] {
        assert!(window.rows.iter().all(|(key, row)| row.counters.ok > 0 || key.step == ALL_STEPS));
        let second = window.seconds.values().next().unwrap();
        assert_eq!((second.users, second.connections, second.in_flight), (10, 10, 10));
    }
    let sent: u64 =
        report.windows.iter().flat_map(|window| window.rows.values()).map(|row| row.counters.started).sum();
    assert_eq!(sent, counters.started);
    let latest_ns = report.windows.iter().map(|window| window.latest_ns).max().unwrap();
    assert!((2_100_000_000..2_400_000_000).contains(&latest_ns), "{latest_ns}");
}

#[tokio::test]
async fn every_step_has_its_row() {
    let target = Target::hello();
    let report = run(two_steps(target.address, "users: 3, requests: 50"), 2).await;
    assert_eq!((report.counters().ok, target.seen().requests()), (100, 100));
    assert_eq!((report.iterations.started, report.iterations.finished), (50, 50));
    let by_step = |step| -> u64 {
        let rows = report.windows.iter().flat_map(|window| &window.rows);
        rows.filter(|(key, _)| key.step == step).map(|(_, row)| row.counters.ok).sum()
    };
    assert_eq!((by_step(0), by_step(1)), (50, 50));
}
