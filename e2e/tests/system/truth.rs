//! Held against a real nginx: what its access log says is what was asked for and what is reported.

use volley_e2e::{Fleet, Nginx, Report, volley};

use crate::play;

const REQUESTS: u64 = 200_000;
const USERS: u64 = 64;

fn check_count(agents: usize, keep_alive: bool) {
    let nginx = Nginx::start();
    let fleet = Fleet::start(agents);
    let url = nginx.url("/");
    let plan = format!("target: {url}\nusers: {USERS}\nrequests: {REQUESTS}\nkeep_alive: {keep_alive}\n");
    let report = play(&fleet.api(), agents, &plan);
    let logged = nginx.logged();
    assert_eq!(logged.requests, REQUESTS, "{logged:?}");
    let reported = (report.count("started"), report.count("ok"), report.statuses(200));
    assert_eq!(reported, (REQUESTS, REQUESTS, REQUESTS), "{report:?}");
    assert_eq!(logged.statuses.get("200"), Some(&REQUESTS), "{logged:?}");
    let connections = if keep_alive { USERS } else { REQUESTS };
    assert_eq!((logged.connections, report.count("connections_opened")), (connections, connections));
    // nginx answers with 11 bytes.
    assert_eq!(report.count("body_bytes"), 11 * REQUESTS);
}

#[test]
fn nginx_logs_what_one_agent_reports() {
    check_count(1, true);
}

#[test]
fn nginx_logs_what_three_agents_report() {
    check_count(3, true);
}

#[test]
fn nginx_logs_what_one_agent_reports_without_keep_alive() {
    check_count(1, false);
}

#[test]
fn nginx_logs_what_three_agents_report_without_keep_alive() {
    check_count(3, false);
}

/// Requests that the end cuts off may be logged or not; all others must be.
fn check_timed(report: &Report, nginx: Nginx) {
    let logged = nginx.logged().requests;
    let completed = report.count("ok") + report.count("failed");
    assert!(report.count("ok") > 1000, "{report:?}");
    assert_eq!(report.count("failed"), 0, "{report:?}");
    let beyond = logged.checked_sub(completed);
    assert!(beyond.is_some_and(|beyond| beyond <= report.count("cancelled")), "{logged} logged: {report:?}");
    assert!(report.count("cancelled") <= USERS, "{report:?}");
}

#[test]
fn nginx_logs_what_a_timed_run_reports() {
    let nginx = Nginx::start();
    let outcome = volley(&[&nginx.url("/"), "-c", &USERS.to_string(), "-z", "3s", "--json"]).exited(0);
    let report = Report::new(outcome.json()).checked();
    let elapsed_s = report.document()["elapsed_s"].as_f64().expect("a time");
    assert!((elapsed_s - 3.0).abs() < 0.05, "{elapsed_s}");
    check_timed(&report, nginx);
}

#[test]
fn nginx_logs_what_a_timed_run_of_three_agents_reports() {
    let fleet = Fleet::start(3);
    for drain in ["0s", "10s"] {
        let nginx = Nginx::start();
        let plan = format!("target: {}\nusers: {USERS}\nduration: 2s\ndrain: {drain}\n", nginx.url("/"));
        let report = play(&fleet.api(), 3, &plan);
        if drain == "10s" {
            assert_eq!(report.count("cancelled"), 0, "{report:?}");
        }
        check_timed(&report, nginx);
    }
}
