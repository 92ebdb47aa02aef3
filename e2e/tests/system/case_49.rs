//! Case 49: faults in a plan. Nothing is sent, every fault is told at once with file, line, column and field, and the exit
//! code is that of wrong usage.

use std::fs;

use serde_json::Value;
use volley_e2e::{Coordinator, Fleet, Outcome, Reply, Server, volley};

/// A plan with a fault in it, and how its line of the report goes on behind the file: line, column, field, what was found,
/// what was expected. `TARGET` stands for a server that would count requests.
const FAULTY: &[(&str, &str)] = &[
    (
        "target: TARGET\nrequests: 5\nusers: 1\nscenarios:\n  browse:\n    weight: 2\n",
        "6:5: scenarios.browse.steps: missing, expected a list of steps, such as `- get: /`",
    ),
    ("target: TARGET\nusrs: 1\nrequests: 5\n", "2:1: usrs: unknown key `usrs` (did you mean users?)"),
    (
        "target: http//x\nusers: 1\nrequests: 5\n",
        "1:9: target: found a text without http:// or https:// in front, expected an http:// or https:// URL (did you mean \
         http://x?)",
    ),
    (
        "target: TARGET\nrate: -5/s\nduration: 1s\n",
        "2:7: rate: found `-5/s`, a negative rate, expected a rate from 0/s to 10000000/s, such as 200/s",
    ),
    (
        "target: TARGET\nrate: 5/s\nduration: 10minuts\n",
        "3:11: duration: found `10minuts`, the unit `minuts`, which is none of ns us ms s m h, expected a duration from 1ms \
         to 720h, such as 1m30s (did you mean 10m?)",
    ),
];

/// Two faults: a key that is misspelt, and a duration without its unit.
const TWICE_FAULTY: &str = "target: http://127.0.0.1:1/\nuser: 5\nduration: 10\n";

/// What the program says of each faulty plan, when it is asked so; `FILE` stands for the plan's file.
fn check(words: &[&str]) {
    let server = Server::start(|_| Reply::ok("hello"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.yaml");
    let name = file.to_str().expect("a path in UTF-8");
    let words: Vec<_> = words.iter().map(|word| if *word == "FILE" { name } else { word }).collect();
    for (plan, fault) in FAULTY {
        fs::write(&file, plan.replace("TARGET", &server.url(""))).expect("the plan can be written");
        let outcome = volley(&words).exited(2);
        assert!(outcome.stderr.contains(&format!("\n{name}:{fault}\n")), "{fault}: {outcome:?}");
        assert_eq!(outcome.stdout, "");
    }
    assert_eq!((server.connections(), server.requests()), (0, 0));
}

#[test]
fn case_49_faults_of_a_plan_on_the_command_line() {
    check(&["plan", "check", "FILE"]);
    check(&["plan", "explain", "FILE"]);
    check(&["run", "FILE"]);
}

#[test]
fn case_49_faults_of_a_plan_that_goes_to_a_coordinator() {
    let fleet = Fleet::start(1);
    check(&["run", "FILE", "--coordinator", &fleet.coordinator.url]);
    assert_eq!(fleet.api().get("/api/v1/runs")["runs"], Value::Array(Vec::new()));
}

#[test]
fn case_49_faults_of_a_plan_over_rest() {
    let fleet = Fleet::start(1);
    let server = Server::start(|_| Reply::ok("hello"));
    for (plan, fault) in FAULTY {
        let plan = plan.replace("TARGET", &server.url(""));
        let (status, body) = fleet.api().post("/api/v1/runs", "application/yaml", &plan);
        let problem: Value = serde_json::from_str(&body).expect("a problem document");
        let error = &problem["errors"][0];
        let (line, column) = (&error["line"], &error["column"]);
        assert!(status == 422 && fault.starts_with(&format!("{line}:{column}:")), "{fault}: {status} {body}");
        let detail = error["detail"].as_str().expect("a text");
        assert!(fault.contains(detail), "{fault}: {body}");
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(fleet.api().get("/api/v1/runs")["runs"], Value::Array(Vec::new()));
}

/// Which places of a faulty plan a text names.
fn names_both(outcome: &Outcome, file: &str) {
    for part in [format!("{file}:2:1: user"), format!("{file}:3:11: duration"), "did you mean".to_owned()] {
        assert!(outcome.stderr.contains(&part), "{part} in {outcome:?}");
    }
    assert_eq!(outcome.stdout, "");
}

#[test]
fn case_49_all_faults_are_told_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("plan.yaml");
    fs::write(&file, TWICE_FAULTY).expect("the plan can be written");
    let file = file.to_str().expect("a path in UTF-8");
    names_both(&volley(&["plan", "check", file]).exited(2), file);
    names_both(&volley(&["run", file]).exited(2), file);
    // Nobody is asked about a plan that can't be right.
    names_both(&volley(&["run", file, "--coordinator", "http://127.0.0.1:1"]).exited(2), file);
    let coordinator = Coordinator::start();
    let (status, body) = coordinator.api().post("/api/v1/runs", "application/yaml", TWICE_FAULTY);
    let problem: Value = serde_json::from_str(&body).expect("a problem document");
    let pointers: Vec<_> =
        problem["errors"].as_array().expect("a list").iter().map(|error| error["pointer"].clone()).collect();
    assert!(
        status == 422 && ["/user", "/duration"].iter().all(|one| pointers.contains(&(*one).into())),
        "{body}"
    );
}

#[test]
fn case_49_several_plans_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).expect("the plan can be written");
        file.to_str().expect("a path in UTF-8").to_owned()
    };
    let first = write("first.yaml", TWICE_FAULTY);
    let good = write("good.yaml", "target: http://h/\nusers: 3\nrequests: 7\n");
    let missing = folder.path().join("missing.yaml").display().to_string();
    let last = write("last.yaml", "target: http//x\nusers: 1\nrequests: 1\n");
    let outcome = volley(&["plan", "check", &first, &missing, &good, &last]).exited(2);
    assert_eq!(outcome.stdout, format!("{good}: h/, 3 users closed, 7 requests\n"));
    for part in
        [format!("{first}:2:1: user"), format!("{missing} can't be read"), format!("{last}:1:9: target")]
    {
        assert!(outcome.stderr.contains(&part), "{part} in {outcome:?}");
    }
    let outcome = volley(&["plan", "check", &good]).exited(0);
    assert_eq!(outcome.stderr, "");
    assert!(volley(&["run", "/no/such/plan.yaml"]).exited(2).stderr.contains("/no/such/plan.yaml"));
}

#[test]
fn case_49_faults_of_flags() {
    for (arguments, part) in [
        (&["ftp://127.0.0.1/"][..], "URL"),
        (&["http//x"], "URL"),
        (&["http://127.0.0.1:1/", "-z", "10minuts"], "-z"),
        (&["http://127.0.0.1:1/", "-n", "-5"], "-5"),
        (&["http://127.0.0.1:1/", "-n", "30s"], "use -z 30s"),
        (&["http://127.0.0.1:1/", "-H", "nocolon"], "-H"),
        (&["http://127.0.0.1:1/", "--no-such-flag"], "--no-such-flag"),
        (&["http://127.0.0.1:1/", "-D", "/no/such/body"], "/no/such/body"),
    ] {
        let outcome = volley(arguments).exited(2);
        assert!(outcome.stderr.contains(part), "{part} in {outcome:?}");
        assert_eq!(outcome.stdout, "");
    }
}
