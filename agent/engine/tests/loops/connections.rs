//! Connections: how many, when they are opened again, and when a request is sent again.

use std::time::Duration;

use volley_engine::Command;
use volley_stats::ErrorKind;

use crate::run::{FOR_EVER, Report, Run, plan, run};
use crate::target::{Target, closed_address, listener};

#[tokio::test]
async fn case_37_every_user_has_its_connection_whatever_the_workers() {
    for (users, workers) in [(15, 8), (10, 1), (3, 8)] {
        let target = Target::hello();
        let report = run(plan(target.address, &format!("users: {users}, duration: 1200ms")), workers).await;
        assert_eq!(target.seen().connections(), u64::from(users));
        assert_eq!(report.counters().connections_opened, u64::from(users));
        assert_eq!(report.scalars_max(), (users, users, users));
        assert_eq!(report.counters().ok, target.seen().requests());
    }
}

/// A target that closes after each answer without having said so: ok, failed, whole requests that it saw.
async fn closing_target(method: &str) -> (Report, Target) {
    let target = Target::new(|peer| {
        peer.request().and_then(|_| peer.hello());
    });
    let report = run(plan(target.address, &format!("users: 4, requests: 200, method: {method}")), 2).await;
    (report, target)
}

#[tokio::test]
async fn case_09_an_unannounced_close_is_no_failure() {
    let (report, target) = closing_target("GET").await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.failed, target.seen().requests()), (200, 0, 200));
    assert_eq!((counters.connections_opened, target.seen().connections()), (200, 200));
}

#[tokio::test]
async fn a_request_that_might_do_harm_twice_is_never_sent_twice() {
    let (report, target) = closing_target("POST").await;
    let counters = report.counters();
    assert_eq!(counters.resent, 0);
    assert_eq!(counters.ok, target.seen().requests());
    assert_eq!(counters.ok + counters.failed, 200);
    for (kind, _) in report.errors() {
        assert!(matches!(kind, ErrorKind::ClosedEarly | ErrorKind::Reset | ErrorKind::Write), "{kind:?}");
    }
}

#[tokio::test]
async fn case_09_a_connection_that_was_closed_while_idle_is_replaced_and_nothing_is_sent_on_it() {
    let target = Target::new(|peer| {
        peer.stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        while peer.request().and_then(|_| peer.hello()).is_some() {}
    });
    let mut run = Run::ready(plan(target.address, "users: 4, duration: 60s, method: POST"), 2).await;
    // The lease ends after 200 ms, so the users are idle when the target loses patience.
    run.start(200_000_000);
    assert!(!run.window().await);
    assert_eq!(target.seen().connections(), 4);
    run.command(Command::Lease { until_ns: FOR_EVER });
    run.command(Command::Stop { at_ns: 2_000_000_000, drain_ns: 1_000_000_000 });
    let report = run.finish().await;
    let counters = report.counters();
    assert_eq!((counters.failed, counters.resent, counters.cancelled), (0, 0, 0));
    assert_eq!((counters.ok, counters.connections_opened), (target.seen().requests(), 8));
}

/// A target that answers the first request of a connection and dies on the second one, which it has read.
fn dying_target() -> Target {
    Target::new(|peer| {
        if peer.request().and_then(|_| peer.hello()).is_some() {
            peer.request();
        }
    })
}

#[tokio::test]
async fn a_dying_connection_costs_a_get_a_second_sending_and_a_post_its_life() {
    let target = dying_target();
    let report = run(plan(target.address, "users: 1, requests: 20"), 1).await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.failed, counters.resent), (20, 0, 19));
    assert_eq!(target.seen().requests(), counters.started + counters.resent);

    let target = dying_target();
    let report = run(plan(target.address, "users: 1, requests: 20, method: POST"), 1).await;
    let counters = report.counters();
    assert_eq!((counters.ok, counters.failed, counters.resent), (10, 10, 0));
    assert_eq!(report.errors(), [(ErrorKind::ClosedEarly, 10)]);
    assert_eq!(target.seen().requests(), 20);
}

#[tokio::test]
async fn a_request_on_a_fresh_connection_is_never_sent_again() {
    let target = Target::new(|peer| {
        peer.request();
    });
    let report = run(plan(target.address, "users: 2, requests: 20"), 1).await;
    assert_eq!(report.errors(), [(ErrorKind::ClosedEarly, 20)]);
    assert_eq!((report.counters().resent, target.seen().requests()), (0, 20));
}

#[tokio::test]
async fn an_announced_close_is_obeyed() {
    let target = Target::new(|peer| {
        while peer.request().is_some() {
            peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let report = run(plan(target.address, "users: 2, requests: 10"), 1).await;
    assert_eq!((report.counters().ok, target.seen().connections()), (10, 10));
}

#[tokio::test]
async fn case_22_a_closed_port_is_refused_and_named_so() {
    let report = run(plan(closed_address(), "users: 3, requests: 10"), 2).await;
    let counters = report.counters();
    assert_eq!(report.errors(), [(ErrorKind::ConnectRefused, 10)]);
    assert_eq!((counters.never_sent, counters.connections_opened, counters.bytes_sent), (10, 0, 0));
    assert_eq!(report.total.latency.percentile_ns(50.0), None);
}

#[tokio::test]
async fn a_timed_run_against_a_closed_port_does_not_spin() {
    let report = run(plan(closed_address(), "users: 10, duration: 1s"), 1).await;
    let failed = report.counters().failed;
    // Ten users that wait 1, 2, 4 ... 100 ms after each attempt, at most 5 ms more for the coarse watch.
    assert!((30..400).contains(&failed), "{failed}");
    assert_eq!(report.errors(), [(ErrorKind::ConnectRefused, failed)]);
    let latency_ns = report.total.failed_latency.percentile_ns(50.0).unwrap();
    assert!(latency_ns < 5_000_000, "waiting is not part of the latency: {latency_ns}");
}

#[tokio::test]
async fn a_name_is_resolved() {
    let target = Target::hello();
    let mut plan = plan(target.address, "users: 4, requests: 40, keep_alive: false");
    let port = target.address.port();
    plan.target = volley_plan::Target::parse(&format!("http://localhost:{port}/")).unwrap();
    let report = run(plan, 2).await;
    assert_eq!((report.counters().ok, target.seen().requests()), (40, 40));
}

#[tokio::test]
async fn a_full_backlog_ends_in_a_connect_timeout() {
    let listener = listener(0);
    let address = listener.local_addr().unwrap();
    // One connection fills the backlog of a listener that never accepts.
    let _held = std::net::TcpStream::connect(address).unwrap();
    let report = run(plan(address, "users: 3, requests: 3, timeout: 1s, connect_timeout: 200ms"), 1).await;
    assert_eq!(report.errors(), [(ErrorKind::ConnectTimeout, 3)]);
    assert_eq!(report.counters().never_sent, 3);
    let latency_ns = report.total.failed_latency.max_ns().unwrap();
    assert!((200_000_000..250_000_000).contains(&latency_ns), "{latency_ns}");
}
