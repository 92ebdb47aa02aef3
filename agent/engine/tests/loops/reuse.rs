//! What becomes of connections: used again, closed by the target, given up; each counted.

use volley_stats::ErrorKind;

use crate::run::{Report, plan, run};
use crate::target::{Peer, Target};

/// Connections opened, used again, and closed by the target; and requests that were sent again.
fn counts(report: &Report) -> [u64; 4] {
    let counters = report.counters();
    [counters.connections_opened, counters.connections_reused, counters.connections_closed, counters.resent]
}

async fn of_two_users(method: &str, serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> (Report, Target) {
    let target = Target::new(serve);
    let report = run(plan(target.address, &format!("users: 2, requests: 20, method: {method}")), 1).await;
    (report, target)
}

#[tokio::test]
async fn a_kept_connection_is_counted_each_time_it_is_used_again() {
    let (report, _target) =
        of_two_users("POST", |peer| while peer.request().and_then(|_| peer.hello()).is_some() {}).await;
    assert_eq!((report.counters().ok, counts(&report)), (20, [2, 18, 0, 0]));
}

#[tokio::test]
async fn a_connection_that_ends_with_its_answer_is_neither_used_again_nor_closed_by_the_target() {
    let (report, _target) = of_two_users("GET", |peer| {
        peer.request()
            .and_then(|_| peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
    })
    .await;
    assert_eq!((report.counters().ok, counts(&report)), (20, [20, 0, 0, 0]));
}

#[tokio::test]
async fn case_09_a_kept_connection_that_the_target_closes_is_counted_so() {
    let (report, target) = of_two_users("GET", |peer| {
        peer.request().and_then(|_| peer.hello());
    })
    .await;
    let [opened, reused, closed, resent] = counts(&report);
    // The last one of each user may be closed or not, since nobody looks.
    assert_eq!((report.counters().ok, opened, closed, target.seen().connections()), (20, 20, 18, 20));
    // Where the close was seen only under a request, that was written again.
    assert_eq!(reused, resent);
}

#[tokio::test]
async fn a_connection_that_says_something_unasked_is_given_up_and_was_not_closed_by_the_target() {
    let target = Target::new(|peer| {
        if peer.request().and_then(|_| peer.hello()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(10));
            peer.say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
            peer.drain();
        }
    });
    let steps = "scenarios:\n  one:\n    steps:\n      - get: /\n      - think: 200ms\n";
    let report = run(plan(target.address, &format!("users: 2, iterations: 8\n{steps}")), 1).await;
    assert_eq!((report.counters().ok, report.errors()), (8, vec![]));
    assert_eq!(counts(&report), [8, 0, 0, 0]);
}

#[tokio::test]
async fn a_connection_that_dies_under_a_request_is_counted_once() {
    let dying = |peer: &mut Peer| {
        if peer.request().and_then(|_| peer.hello()).is_some() {
            peer.request();
        }
    };
    let target = Target::new(dying);
    let report = run(plan(target.address, "users: 1, requests: 20"), 1).await;
    assert_eq!((report.counters().ok, counts(&report)), (20, [20, 19, 19, 19]));
    let target = Target::new(dying);
    let report = run(plan(target.address, "users: 1, requests: 20, method: POST"), 1).await;
    assert_eq!((report.counters().ok, counts(&report)), (10, [10, 10, 10, 0]));
    assert_eq!(report.errors(), [(ErrorKind::ClosedEarly, 10)]);
}

/// In the open model a connection is opened before a request is there for it, which makes it no less fresh.
#[tokio::test]
async fn case_09_a_connection_opened_ahead_is_fresh() {
    let target = Target::new(|peer| {
        peer.request();
    });
    let report = run(plan(target.address, "rate: 20/s, iterations: 20"), 1).await;
    assert_eq!(report.errors(), [(ErrorKind::ClosedEarly, 20)]);
    assert_eq!((counts(&report), target.seen().requests()), ([20, 0, 0, 0], 20));
}
