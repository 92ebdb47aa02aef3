//! Case 13: thresholds without data. A number of failures is 0 where nothing failed; a percentile of a step that was never
//! reached fails; a step that the plan doesn't have is refused before anything is sent.

use std::time::Duration;

use volley_e2e::{Reply, Report, Server, volley_run};

fn standings(report: &Report) -> Vec<(String, String)> {
    let thresholds = report.document()["thresholds"].as_array().cloned().unwrap_or_default();
    let text = |of: &serde_json::Value, name: &str| of[name].as_str().unwrap_or_default().to_owned();
    thresholds.iter().map(|of| (text(of, "standing"), text(of, "value_words"))).collect()
}

fn check(plan: &str, code: i32, verdict: &str, expected: &[(&str, &str)]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let report = Report::new(volley_run(plan, folder.path()).exited(code).json()).checked();
    assert_eq!(report.text("verdict"), verdict, "{report:?}");
    let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(standings(&report), expected, "{report:?}");
    report
}

#[test]
fn case_13_no_errors_are_less_than_ten() {
    let server = Server::start(|_| Reply::ok("hello"));
    let plan = format!("target: {}\nusers: 2\nrequests: 20\nthresholds: [errors < 10]\n", server.url("/"));
    let report = check(&plan, 0, "passed", &[("holds", "0")]);
    assert_eq!((report.count("ok"), server.requests()), (20, 20));
    assert!(report.text("sentence").starts_with("Passed: "), "{report:?}");
}

/// Two steps, of which the first takes longer than the run.
fn slow_first(server: &Server, threshold: &str) -> String {
    format!(
        "target: {}\nusers: 1\nduration: 200ms\nscenarios:\n  main:\n    steps:\n      - {{ get: /slow, \
         name: first }}\n      - {{ get: /never, name: second }}\nthresholds:\n  - {threshold}\n",
        server.url("")
    )
}

#[test]
fn case_13_a_step_that_was_never_reached_has_no_data() {
    let server = Server::start(|_| Reply::ok("hello").after(Duration::from_millis(500)));
    let report = check(&slow_first(&server, "p95{step=second} < 1s"), 99, "failed", &[("no_data", "")]);
    assert_eq!((server.requests_to("/slow"), server.requests_to("/never")), (1, 0));
    let sentence = report.text("sentence");
    assert!(sentence.starts_with("Failed: p95{step=second} had no data; "), "{sentence}");
}

#[test]
fn case_13_a_misspelt_step_is_refused_before_anything_is_sent() {
    let server = Server::start(|_| Reply::ok("hello"));
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = volley_run(&slow_first(&server, "p95{step=secnd} < 1s"), folder.path()).exited(2);
    assert!(outcome.stderr.contains("second"), "it says what may be meant: {outcome:?}");
    assert_eq!(server.connections(), 0);
}
