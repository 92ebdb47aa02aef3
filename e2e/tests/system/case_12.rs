//! Case 12: a run's end is told by the exit code, and each kind of end has its own.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use volley_e2e::{Fleet, Process, Reply, Server, binary, volley, volley_run};

/// Each thousandth answer is a 500.
fn mostly_well() -> Server {
    let asked = std::sync::atomic::AtomicU64::new(0);
    Server::start(move |_| {
        let nth = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if nth == 500 { Reply::status(500, "") } else { Reply::ok("hello") }
    })
}

fn check(plan: &str, code: i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = volley_run(plan, folder.path());
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
}

#[test]
fn case_12_a_clean_run_is_0_and_so_is_one_failure_that_no_threshold_forbids() {
    let server = mostly_well();
    check(&format!("target: {}\nusers: 4\nrequests: 1000\n", server.url("/")), 0);
    assert_eq!(server.requests(), 1000);
}

#[test]
fn case_12_a_broken_threshold_is_99() {
    let server = mostly_well();
    let plan =
        format!("target: {}\nusers: 4\nrequests: 1000\nthresholds: [error_rate < 0.1%]\n", server.url("/"));
    check(&plan, 99);
    assert_eq!(server.requests(), 1000);
}

#[test]
fn case_12_a_junit_report_says_the_same_here_and_on_a_coordinator() {
    let (fleet, server) = (Fleet::start(1), Server::start(|_| Reply::ok("hello")));
    let folder = tempfile::tempdir().expect("a folder");
    let [plan, here, there] = ["plan.yaml", "here.xml", "there.xml"].map(|name| folder.path().join(name));
    let text = "users: 2\nrequests: 20\nthresholds: [errors < 1, p50 < 1ns]\n";
    fs::write(&plan, format!("target: {}\n{text}", server.url("/"))).expect("a plan");
    let run = |file: &std::path::Path, more: &[&str]| {
        let [plan, file] = [&plan, file].map(|path| path.to_str().expect("a path in UTF-8").to_owned());
        let arguments = [&["run", &plan, "--quiet", "--junit", &file], more].concat();
        let outcome = volley(&arguments).exited(99);
        // Where the run is to be seen on a coordinator is no news of how it goes.
        assert!(outcome.stderr.lines().all(|line| line.starts_with("run ")), "{outcome:?}");
        fs::read_to_string(&file).expect("a report")
    };
    let reports = [run(&here, &[]), run(&there, &["--coordinator", &fleet.coordinator.url])];
    for xml in &reports {
        for part in
            ["tests=\"3\" failures=\"1\" errors=\"0\"", "name=\"errors &#60; 1\"", "<failure message=\"p50 "]
        {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }
    let runs = fleet.api().get("/api/v1/runs");
    let id = runs["runs"][0]["id"].as_str().expect("a run").to_owned();
    assert_eq!(fleet.api().ask(&format!("/api/v1/runs/{id}/report.junit.xml")), (200, reports[1].clone()));
    assert_eq!(server.requests(), 40);
}

#[test]
fn case_12_a_bad_plan_is_2() {
    check("target: http://127.0.0.1:1/\nusers: many\nrequests: 10\n", 2);
}

/// A run of a minute that `volley run` waits for.
fn minute(server: &Server, coordinator: Option<&str>) -> (tempfile::TempDir, Process) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.yaml");
    fs::write(&file, format!("target: {}\nusers: 2\nduration: 60s\n", server.url("/"))).expect("a plan");
    let mut command = Command::new(binary());
    command.arg("run").arg(&file).env_remove("VOLLEY_COORDINATOR");
    command.args(coordinator.into_iter().flat_map(|url| ["--coordinator", url]));
    (folder, Process::start(&mut command))
}

fn wait_for_a_request(server: &Server) {
    let begun = std::time::Instant::now();
    while server.requests() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "no request came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn case_12_agents_that_all_crash_are_1() {
    let (mut fleet, server) =
        (Fleet::start(2), Server::start(|_| Reply::ok("hello").after(Duration::from_millis(20))));
    let url = fleet.coordinator.url.clone();
    let (_folder, mut run) = minute(&server, Some(&url));
    wait_for_a_request(&server);
    fleet.agents.drain(..).for_each(volley_e2e::Agent::kill);
    let (status, _, stderr) = run.wait(Duration::from_secs(30));
    assert_eq!(status.code(), Some(1), "{stderr}");
}

#[test]
fn case_12_ctrl_c_is_130() {
    let server = Server::start(|_| Reply::ok("hello").after(Duration::from_millis(20)));
    let (_folder, mut run) = minute(&server, None);
    wait_for_a_request(&server);
    run.signal(Signal::INT);
    let (status, _, stderr) = run.wait(Duration::from_secs(15));
    assert_eq!(status.code(), Some(130), "{stderr}");
}
