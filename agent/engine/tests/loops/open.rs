//! The open model over real sockets: counts and order are exact, times are not.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use volley_engine::Command;
use volley_stats::{Part, Timed};

use crate::run::{FOR_EVER, Report, Run, plan, run};
use crate::target::{Peer, Target, closed_address};

const MS: u64 = 1_000_000;

/// What is timed of the measured part: how often, and the largest.
fn timed(report: &Report, timed: Timed) -> (u64, Option<u64>) {
    let phase = report.total.timing.of(timed);
    (phase.count(), phase.max_ns())
}

/// A target that notes when each request was there.
fn noting_target() -> (Target, std::sync::Arc<Mutex<Vec<Instant>>>) {
    let times = std::sync::Arc::<Mutex<Vec<Instant>>>::default();
    let noted = std::sync::Arc::clone(&times);
    let target = Target::new(move |peer| {
        while peer.request().is_some() {
            noted.lock().unwrap().push(Instant::now());
            if peer.hello().is_none() {
                return;
            }
        }
    });
    (target, times)
}

#[tokio::test]
async fn case_19_rate_held() {
    for workers in [1, 3] {
        let (target, times) = noting_target();
        let report = run(plan(target.address, "rate: 200/s, duration: 2s"), workers).await;
        assert_eq!((target.seen().requests(), report.counters().ok), (400, 400));
        assert_eq!((report.iterations.started, report.iterations.missed), (400, 0));
        let mut times = times.lock().unwrap().clone();
        times.sort();
        let span = times[399] - times[0];
        // 1.995 s from the first to the last.
        assert!((1.9..2.2).contains(&span.as_secs_f64()), "{span:?}");
        let bursts = times.windows(3).filter(|three| three[2] - three[0] < Duration::from_millis(3)).count();
        assert!(bursts < 100, "{bursts} times three requests at once");
        assert_eq!(timed(&report, Timed::Lag).0, 400);
        assert_eq!(report.total.service_time.count(), 400);
    }
}

#[tokio::test]
async fn case_07_a_stall_is_seen_from_when_requests_were_due() {
    let holding = |peer: &mut Peer| {
        if peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(800));
            peer.hello();
        }
        while peer.request().and_then(|_| peer.hello()).is_some() {}
    };
    let target = Target::new(holding);
    let report = run(plan(target.address, "rate: 50/s, duration: 1s, connections: 1"), 1).await;
    assert_eq!((report.counters().ok, target.seen().requests()), (50, 50));
    assert_eq!((report.counters().connections_opened, report.iterations.missed), (1, 0));
    // Forty were due while the first was held, and waited up to 780 ms.
    let (waited, longest_ns) = timed(&report, Timed::Wait);
    assert!(waited >= 35 && longest_ns > Some(700 * MS), "{waited}, {longest_ns:?}");
    let p50_ns = report.total.latency.percentile_ns(50.0).unwrap();
    assert!((150 * MS..750 * MS).contains(&p50_ns), "{p50_ns}");
}

#[tokio::test]
async fn case_20_a_slow_rate_shows_a_fast_target() {
    let target = Target::hello();
    let report = run(plan(target.address, "rate: 100/s, iterations: 50, connections: 10"), 1).await;
    assert_eq!((report.counters().ok, target.seen().requests()), (50, 50));
    let latest_ns = report.windows.iter().map(|window| window.latest_ns).max().unwrap();
    assert!((490 * MS..700 * MS).contains(&latest_ns), "{latest_ns}");
    let p50_ns = report.total.latency.percentile_ns(50.0).unwrap();
    assert!(p50_ns < 10 * MS, "{p50_ns}");
    assert_eq!(timed(&report, Timed::Connect).0, report.counters().connections_opened);
}

#[tokio::test]
async fn case_31_the_warm_up_is_apart() {
    let target = Target::hello();
    let report = run(plan(target.address, "rate: 100/s, warmup: 1s, duration: 1s"), 2).await;
    let ok = |part| -> u64 {
        let rows = report.windows.iter().flat_map(|window| &window.rows);
        rows.filter(|(key, _)| key.part == part).map(|(_, row)| row.counters.ok).sum()
    };
    assert_eq!((ok(Part::Warmup), ok(Part::Measured), target.seen().requests()), (100, 100, 200));
    assert_eq!(report.iterations.started, 100);
}

#[tokio::test]
async fn what_would_be_too_much_in_flight_is_missed() {
    let target = Target::silent();
    let report =
        run(plan(target.address, "rate: 100/s, duration: 1s, max_in_flight: 10, drain: 0s"), 2).await;
    assert_eq!((target.seen().requests(), report.counters().cancelled), (10, 10));
    assert_eq!((report.iterations.started, report.iterations.missed), (10, 90));
}

#[tokio::test]
async fn a_closed_port_fails_every_arrival_and_slows_none() {
    let report = run(plan(closed_address(), "rate: 200/s, duration: 1s"), 1).await;
    assert_eq!((report.counters().failed, report.iterations.started), (200, 200));
    assert!(report.total.failed_latency.percentile_ns(50.0).unwrap() < 20 * MS);
}

#[tokio::test]
async fn what_is_due_without_a_lease_is_missed() {
    let target = Target::hello();
    let mut run = Run::ready(plan(target.address, "rate: 100/s, duration: 3s"), 2).await;
    run.late_rows = true;
    run.start(500 * MS);
    assert!(!run.window().await);
    let seen = target.seen().requests();
    assert!((40..=50).contains(&seen), "{seen}");
    assert!(!run.window().await);
    assert_eq!(target.seen().requests(), seen);
    run.command(Command::Lease { until_ns: FOR_EVER });
    let report = run.finish().await;
    let (started, missed) = (report.iterations.started, report.iterations.missed);
    assert_eq!((report.counters().ok, started + missed), (started, 300));
    // It was renewed after the second second's end.
    assert!((150..200).contains(&missed), "{missed}");
    assert!(report.total.latency.percentile_ns(50.0).unwrap() < 100 * MS);
}
