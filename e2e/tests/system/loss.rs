//! Agents that are killed in the middle of a run: what they leave unknown is said, and the run ends on time.

use std::time::{Duration, Instant};

use volley_e2e::{Api, Fleet, Reply, Report, Server};

/// A lease, what is owed after it, and some room for a busy machine.
const LOSS: Duration = Duration::from_secs(3 + 10 + 5);

fn server() -> Server {
    Server::start(|_| Reply::ok("hello").after(Duration::from_millis(20)))
}

/// Waits until both agents have reported something, then kills the second.
fn kill_one(fleet: &mut Fleet, id: &str) {
    wait_until_under_way(&fleet.api(), id, 2);
    fleet.agents.remove(1).kill();
}

fn wait_until_under_way(api: &Api, id: &str, agents: usize) {
    api.wait_for("reports of all agents", Duration::from_secs(10), |api| {
        let run = api.run(id);
        run.agents().iter().filter(|agent| agent["started"].as_u64() > Some(0)).count() == agents
    });
}

fn lost(report: &Report) -> usize {
    report.agents().iter().filter(|agent| agent["state"] == "lost").count()
}

/// What the target saw lies between what was surely sent and that with all that nobody knows of.
fn check_target(report: &Report, server: &Server, unknown: u64) {
    let sure = report.count("started") + report.count("resent") - report.count("never_sent");
    let seen = server.requests();
    assert!((sure..=sure + unknown).contains(&seen), "the target saw {seen}: {report:?}");
}

#[test]
fn case_11_an_agent_is_killed_in_a_counted_run() {
    const REQUESTS: u64 = 6000;
    let (mut fleet, server) = (Fleet::start(2), server());
    let plan = format!("target: {}\nusers: 20\nrequests: {REQUESTS}\n", server.url("/"));
    let id = fleet.api().start(&plan);
    kill_one(&mut fleet, &id);
    let killed = Instant::now();
    let report = fleet.api().finished(&id).checked();
    assert!(killed.elapsed() < LOSS, "{:?}: {report:?}", killed.elapsed());
    let (started, unknown, missed) =
        (report.count("started"), report.count("unknown"), report.count("missed"));
    assert_eq!(started + unknown + missed, REQUESTS, "{report:?}");
    assert!(unknown > 0 && server.requests() <= REQUESTS, "{report:?}");
    check_target(&report, &server, unknown);
    assert_eq!((lost(&report), &report.document()["incomplete"]), (1, &true.into()), "{report:?}");
    assert!(report.text("sentence").contains("unknown"), "{report:?}");
}

#[test]
fn case_11_an_agent_is_killed_in_a_timed_run() {
    let (mut fleet, server) = (Fleet::start(2), server());
    let id = fleet.api().start(&format!("target: {}\nusers: 20\nduration: 6s\n", server.url("/")));
    kill_one(&mut fleet, &id);
    let killed = Instant::now();
    let report = fleet.api().finished(&id).checked();
    assert!(killed.elapsed() < LOSS, "{:?}: {report:?}", killed.elapsed());
    let elapsed_s = report.document()["elapsed_s"].as_f64().expect("a time");
    assert!((elapsed_s - 6.0).abs() < 0.1, "{report:?}");
    assert_eq!((lost(&report), &report.document()["incomplete"]), (1, &true.into()), "{report:?}");
    // Half of the users were lost for most of the time.
    assert_eq!(report.text("verdict"), "invalid", "{report:?}");
    // The lost agent's unreported seconds: at most 10 users, 50 requests a second each, for a second or two.
    check_target(&report, &server, 10 * 50 * 2);
    let agents = report.agents();
    let survivor = agents.iter().find(|agent| agent["state"] != "lost").expect("a survivor");
    assert!(survivor["started"].as_u64() > Some(10 * 50 * 4), "{report:?}");
}

#[test]
fn case_11_all_agents_are_killed() {
    let (mut fleet, server) = (Fleet::start(1), server());
    let id = fleet.api().start(&format!("target: {}\nusers: 4\nduration: 60s\n", server.url("/")));
    wait_until_under_way(&fleet.api(), &id, 1);
    fleet.agents.remove(0).kill();
    let killed = Instant::now();
    let report = fleet.api().finished(&id).checked();
    assert!(killed.elapsed() < LOSS, "{:?}: {report:?}", killed.elapsed());
    assert_eq!(
        (report.text("stop_reason"), report.text("verdict")),
        ("agents_lost", "invalid"),
        "{report:?}"
    );
}
