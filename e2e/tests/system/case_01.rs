//! Case 1: exactly as many requests as were asked for.

use volley_e2e::{Fleet, Reply, Report, Server, volley};

use crate::accounts::check_target;
use crate::play;

/// Requests and users.
const ASKED: [(u64, u64); 3] = [(100, 30), (7, 50), (401, 400)];

fn check(report: &Report, server: &Server, requests: u64) {
    check_target(report, server);
    let counted = (server.requests(), report.count("started"), report.count("ok"));
    assert_eq!(counted, (requests, requests, requests), "{report:?}");
}

#[test]
fn case_01_request_count_in_one_process() {
    for (requests, users) in ASKED {
        let server = Server::start(|_| Reply::ok("hello"));
        let (n, c) = (requests.to_string(), users.to_string());
        let outcome = volley(&[&server.url("/"), "-n", &n, "-c", &c, "--json"]).exited(0);
        check(&Report::new(outcome.json()).checked(), &server, requests);
    }
}

#[test]
fn case_01_request_count_on_three_agents() {
    let fleet = Fleet::start(3);
    for (requests, users) in ASKED {
        let server = Server::start(|_| Reply::ok("hello"));
        let plan = format!("target: {}\nusers: {users}\nrequests: {requests}\n", server.url("/"));
        let report = play(&fleet.api(), 3, &plan);
        check(&report, &server, requests);
        assert_eq!(report.agents().len(), 3);
    }
}
