//! Case 37: as many connections as were asked for, and no more.

use std::time::Duration;

use volley_e2e::{Fleet, Reply, Report, Server, volley};

use crate::accounts::check_target;
use crate::play;

/// A target that takes long enough for every user to get its turn.
fn server() -> Server {
    Server::start(|_| Reply::ok("hello").after(Duration::from_millis(5)))
}

#[test]
fn case_37_connections_on_many_workers() {
    let server = server();
    let outcome = volley(&[&server.url("/"), "-n", "1500", "-c", "15", "--workers", "8", "--json"]).exited(0);
    let report = Report::new(outcome.json()).checked();
    check_target(&report, &server);
    assert_eq!((server.connections(), report.count("connections_opened")), (15, 15));
}

#[test]
fn case_37_connections_on_three_agents() {
    let fleet = Fleet::start(3);
    let server = server();
    let plan = format!("target: {}\nusers: 10\nrequests: 1000\n", server.url("/"));
    let report = play(&fleet.api(), 3, &plan);
    check_target(&report, &server);
    assert_eq!((server.connections(), report.count("connections_opened")), (10, 10));
    let mut users: Vec<_> = report.agents().iter().filter_map(|agent| agent["users"].as_u64()).collect();
    users.sort_unstable();
    assert_eq!(users, [3, 3, 4]);
}

#[test]
fn case_37_connections_are_kept_at_full_speed() {
    let server = Server::start(|_| Reply::ok("hello"));
    let outcome = volley(&[&server.url("/"), "-c", "10", "-z", "3s", "--json"]).exited(0);
    let report = Report::new(outcome.json()).checked();
    assert_eq!((server.connections(), report.count("connections_opened")), (10, 10));
    assert!(report.count("ok") > 1000, "{report:?}");
}
