//! Case 4: a body that ends with the connection is whole; one that ends before its length is not.

use volley_e2e::{Reply, Report, Server, Then, volley};

use crate::accounts::check_target;

/// 100 requests of 4 users to a target that always answers so.
fn ask(reply: Reply, exit: i32) -> (Report, Server) {
    let server = Server::start(move |_| reply.clone());
    let outcome = volley(&[&server.url("/"), "-n", "100", "-c", "4", "--json"]).exited(exit);
    let report = Report::new(outcome.json()).checked();
    check_target(&report, &server);
    (report, server)
}

fn check_whole(answer: &str) {
    let (report, server) = ask(Reply::raw(answer).then(Then::Close), 0);
    let counted = (report.count("ok"), report.count("body_bytes"), server.connections());
    assert_eq!(counted, (100, 500, 100), "{report:?}");
}

fn check_cut(then: Then, kind: &str) {
    let (report, _) = ask(Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").then(then), 1);
    let counted = (report.count("ok"), report.count("failed"), report.errors(kind));
    assert_eq!(counted, (0, 100, 100), "{report:?}");
}

#[test]
fn case_04_body_ended_by_close() {
    check_whole("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
}

#[test]
fn case_04_body_ended_by_close_in_http_1_0() {
    check_whole("HTTP/1.0 200 OK\r\n\r\nhello");
}

#[test]
fn case_04_control_truncated() {
    check_cut(Then::Close, "truncated");
}

#[test]
fn case_04_control_reset() {
    check_cut(Then::Reset, "reset");
}
