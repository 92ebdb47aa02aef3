//! A target that refuses, hangs, resets or answers garbage: a clear kind of error, and the run ends on time.

use std::time::Duration;

use volley_e2e::{Reply, Report, Server, Then, volley};

use crate::accounts::check_target;

const REQUESTS: u64 = 5;

/// Asks a target that always answers so, one request after the other; every one must fail in this way.
fn check(reply: Reply, kind: &str) -> Report {
    let server = Server::start(move |_| reply.clone());
    let (n, url) = (REQUESTS.to_string(), server.url("/"));
    let outcome = volley(&[&url, "-n", &n, "-c", "1", "-t", "300ms", "--json"]).exited(1);
    assert!(outcome.took < Duration::from_secs(5), "{outcome:?}");
    assert!(!outcome.stderr.contains("panic"), "{outcome:?}");
    let report = Report::new(outcome.json()).checked();
    check_target(&report, &server);
    let counted = (report.count("started"), report.count("failed"), report.errors(kind));
    assert_eq!(counted, (REQUESTS, REQUESTS, REQUESTS), "{report:?}");
    // A request on a fresh connection is never sent again.
    assert_eq!((server.requests(), server.connections()), (REQUESTS, REQUESTS));
    report
}

#[test]
fn a_target_that_hangs() {
    check(Reply::nothing().then(Then::Hang), "total_timeout");
}

#[test]
fn a_target_that_hangs_in_its_answer() {
    check(Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").then(Then::Hang), "total_timeout");
}

#[test]
fn a_target_that_resets() {
    check(Reply::nothing().then(Then::Reset), "reset");
}

#[test]
fn a_target_that_closes() {
    check(Reply::nothing().then(Then::Close), "closed_early");
}

#[test]
fn a_target_that_answers_garbage() {
    check(Reply::raw("SSH-2.0-OpenSSH_9.2\r\n\r\n").then(Then::Close), "protocol");
    check(Reply::raw([0xff; 200]).then(Then::Close), "protocol");
    check(Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello"), "protocol");
}

#[test]
fn a_target_that_fails() {
    let server = Server::start(|_| Reply::status(503, "down"));
    let outcome = volley(&[&server.url("/"), "-n", "20", "-c", "2", "--json"]).exited(1);
    let report = Report::new(outcome.json()).checked();
    check_target(&report, &server);
    assert_eq!((report.errors("status"), report.statuses(503), report.count("failed")), (20, 20, 20));
    assert_eq!((server.connections(), report.count("never_sent")), (2, 0));
}

#[test]
fn a_target_whose_name_has_no_address() {
    let outcome = volley(&["http://no-such-host.invalid/", "-n", "3", "-c", "1"]).exited(1);
    assert!((outcome.stdout.clone() + &outcome.stderr).contains("no-such-host.invalid"), "{outcome:?}");
    assert!(outcome.took < Duration::from_secs(30), "{outcome:?}");
}
