//! Start, lease, stop, drain, time-outs.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc;

use volley_engine::{Command, Event};
use volley_stats::ErrorKind as Kind;

use crate::run::{FOR_EVER, Run, plan, run, two_steps};
use crate::target::{Target, listener};

const MS: u64 = 1_000_000;

#[tokio::test]
async fn case_02_without_drain_what_is_in_flight_is_cancelled() {
    for workers in [1, 3] {
        let target = Target::silent();
        let report = run(plan(target.address, "users: 10, duration: 300ms, drain: 0s"), workers).await;
        let counters = report.counters();
        assert_eq!((counters.started, counters.cancelled, target.seen().requests()), (10, 10, 10));
        assert_eq!((counters.ok, counters.failed, counters.never_sent), (0, 0, 0));
        assert_eq!((report.iterations.started, report.iterations.finished), (10, 0));
        assert!(report.windows.iter().all(|window| window.latest_ns == 0));
    }
}

/// A target that holds each answer until the test lets it go.
fn holding_target() -> (Target, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let target = Target::new(move |peer| {
        while peer.request().is_some() {
            let _ = wait.lock().unwrap().recv();
            peer.hello();
        }
    });
    (target, go)
}

#[tokio::test]
async fn case_02_with_drain_what_is_in_flight_is_finished_and_no_step_begun() {
    let (target, go) = holding_target();
    let mut run = Run::ready(two_steps(target.address, "users: 10, duration: 1100ms, drain: 20s"), 2).await;
    run.start(FOR_EVER);
    // Windows of seconds 0 and 1: the stop was in second 1.
    assert!(!run.window().await);
    assert!(!run.window().await);
    (0..10).for_each(|_| go.send(()).unwrap());
    let report = run.finish().await;
    assert_eq!((report.counters().ok, report.counters().cancelled), (10, 0));
    assert_eq!((report.iterations.started, report.iterations.finished), (10, 0));
    assert_eq!(target.seen().requests(), 10);
    assert!(report.total.latency.percentile_ns(50.0).unwrap() > 1900 * MS);
}

#[tokio::test]
async fn a_second_shows_the_users_that_were_there_when_it_began() {
    let (target, go) = holding_target();
    let mut run = Run::ready(plan(target.address, "users: 10, requests: 10"), 2).await;
    (0..6).for_each(|_| go.send(()).unwrap());
    run.start(FOR_EVER);
    assert!(!run.window().await);
    assert!(!run.window().await);
    (0..4).for_each(|_| go.send(()).unwrap());
    let report = run.finish().await;
    assert_eq!((report.counters().ok, target.seen().requests()), (10, 10));
    let seconds = report.windows.iter().flat_map(|window| window.seconds.values());
    let users_in_flight: Vec<_> = seconds.map(|second| (second.users, second.in_flight)).collect();
    assert_eq!(users_in_flight, [(10, 4), (4, 4), (4, 0)]);
}

#[tokio::test]
async fn a_stop_order_stops_and_cancels() {
    let target = Target::silent();
    let mut run = Run::ready(plan(target.address, "users: 10, duration: 60s"), 2).await;
    run.start(FOR_EVER);
    run.command(Command::Stop { at_ns: 300 * MS, drain_ns: 0 });
    let report = run.finish().await;
    assert_eq!((report.counters().started, report.counters().cancelled), (10, 10));

    let target = Target::hello();
    let mut run = Run::ready(plan(target.address, "users: 10, duration: 60s"), 2).await;
    run.start(FOR_EVER);
    run.command(Command::Stop { at_ns: 200 * MS, drain_ns: 5000 * MS });
    let report = run.finish().await;
    assert_eq!((report.counters().ok, report.counters().cancelled), (target.seen().requests(), 0));
}

#[tokio::test]
async fn a_run_that_is_stopped_before_its_start_sends_nothing() {
    let target = Target::hello();
    let run = Run::ready(plan(target.address, "users: 10, duration: 60s"), 2).await;
    run.command(Command::Stop { at_ns: 0, drain_ns: 0 });
    let report = run.finish().await;
    assert_eq!((report.windows.len(), target.seen().connections()), (1, 0));
}

#[tokio::test]
async fn users_without_grants_wait_and_end_with_the_stop() {
    let target = Target::hello();
    let mut run = Run::ready(plan(target.address, "users: 4, requests: 100"), 2).await;
    run.command(Command::Start { at_ns: run.now_ns(), from_ns: 0, lease_until_ns: FOR_EVER });
    assert_eq!(run.event().await, Event::GrantWanted { taken: 0, iterations: 8 });
    run.command(Command::Grant { from: 0, to: 10, last: false });
    let wish = run.event().await;
    assert!(matches!(wish, Event::GrantWanted { taken: 10, iterations: 8.. }), "{wish:?}");
    // All ten are done and nothing is in flight: the next second shows it.
    while run.event().await.is_busy() {}
    run.command(Command::Stop { at_ns: 0, drain_ns: 0 });
    run.finish().await;
    assert_eq!(target.seen().requests(), 10);
}

trait IsBusy {
    fn is_busy(&self) -> bool;
}

impl IsBusy for Event {
    fn is_busy(&self) -> bool {
        match self {
            Self::Window { window, .. } => window.rows.values().any(|row| row.counters.started > 0),
            _ => false,
        }
    }
}

#[tokio::test]
async fn nothing_is_sent_past_the_lease_until_it_is_renewed() {
    let target = Target::hello();
    let mut run = Run::ready(plan(target.address, "users: 4, duration: 3500ms"), 2).await;
    run.start(500 * MS);
    // The lease ended in second 0; second 1 must be still, and so must be what the target counts.
    assert!(!run.window().await);
    let seen = target.seen().requests();
    assert!(!run.window().await);
    assert_eq!(target.seen().requests(), seen);
    run.command(Command::Lease { until_ns: FOR_EVER });
    let report = run.finish().await;
    let started: Vec<u64> = report
        .windows
        .iter()
        .map(|window| window.rows.values().map(|row| row.counters.started).sum())
        .collect();
    assert!(started[0] == seen && started[1] == 0 && started[2] > 0, "{started:?}");
    assert_eq!(report.counters().ok, target.seen().requests());
    assert_eq!(report.counters().connections_opened, 4);
    assert!(report.total.latency.max_ns().unwrap() < 400 * MS, "waiting for leave is not latency");
}

#[tokio::test]
async fn a_connection_that_came_about_after_the_lease_carries_nothing_until_it_is_renewed() {
    // One connection fills the backlog, so the user's SYN is dropped and comes again after a second.
    let listener = listener(0);
    let address = listener.local_addr().unwrap();
    let _held = TcpStream::connect(address).unwrap();
    let mut run = Run::ready(plan(address, "users: 1, duration: 60s, drain: 0s, timeout: 30s"), 1).await;
    run.start(300 * MS);
    assert!(!run.window().await);
    listener.accept().unwrap();
    let mut stream = tokio::task::spawn_blocking(move || listener.accept().unwrap().0).await.unwrap();
    assert!(!run.window().await);
    stream.set_nonblocking(true).unwrap();
    let heard = stream.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(heard, Err(ErrorKind::WouldBlock));
    run.command(Command::Lease { until_ns: FOR_EVER });
    stream.set_nonblocking(false).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1);
    run.command(Command::Stop { at_ns: 0, drain_ns: 0 });
    let report = run.finish().await;
    let counters = report.counters();
    assert_eq!((counters.started, counters.cancelled, counters.never_sent), (1, 1, 0));
}

#[tokio::test]
async fn case_21_a_time_out_is_kept_whether_the_target_is_silent_or_slow() {
    let drip = |peer: &mut crate::target::Peer| {
        while peer.request().is_some() {
            peer.say("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n");
            for _ in 0..50 {
                if peer.say("x").is_none() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        }
    };
    for target in [Target::silent(), Target::new(drip)] {
        let report = run(plan(target.address, "users: 10, requests: 20, timeout: 1s"), 2).await;
        let failed = &report.total.failed_latency;
        assert_eq!(report.errors(), [(Kind::TotalTimeout, 20)]);
        let (min_ns, p50_ns) = (failed.min_ns().unwrap(), failed.percentile_ns(50.0).unwrap());
        // Not the maximum: a machine that is busy with other tests adds what it likes to a single one.
        assert!(min_ns >= 1000 * MS && p50_ns <= 1050 * MS, "{min_ns}, {p50_ns}");
        // A connection that timed out carries nothing more.
        assert_eq!(target.seen().connections(), 20);
    }
}

#[tokio::test]
async fn no_answer_counts_as_ok_past_its_time_out() {
    let target = Target::hello();
    let report = run(plan(target.address, "users: 50, duration: 500ms, timeout: 1ms"), 1).await;
    assert!(report.total.latency.max_ns().unwrap_or(0) <= MS);
    assert!(
        report.errors().iter().all(|(kind, _)| { matches!(kind, Kind::TotalTimeout | Kind::ConnectTimeout) })
    );
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_refused_with_the_reason() {
    let plan = volley_plan::parse("target: http://does-not-exist.invalid/\nusers: 1\nrequests: 1").unwrap();
    let mut run = Run::launch(plan, 1);
    let Event::Refused { reason } = run.event().await else { panic!("not refused") };
    assert!(
        reason.starts_with("the target's name does-not-exist.invalid could not be resolved: "),
        "{reason}"
    );
}
