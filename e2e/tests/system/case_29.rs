//! Case 29: names and answers that would be markup, formulas or further columns, in every form of a report.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use volley_e2e::{Fleet, Outcome, Reply, Server, read_reports, volley_with};

const IMAGE: &str = "<img src=x onerror=alert(1)>";
const FORMULA: &str = "=1+1";
const CELLS: &str = "a,\"b|c `d` @me";
const PLAN: &str = "=HYPERLINK(\"http://x/\",\"<b>\")";

fn server() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/bad" => Reply::status(500, "<script>alert(1)</script>"),
        _ => Reply::ok("<b>hello</b>"),
    })
}

/// A plan of one pass over three steps, of which the second fails.
fn plan(server: &Server) -> (TempDir, String) {
    let step = |path: &str, name: &str| format!("      - {{ get: {path}, name: {} }}\n", quoted(name));
    let steps = [step("/", IMAGE), step("/bad", FORMULA), step("/", CELLS)].concat();
    let text = format!(
        "name: {}\ntarget: {}\nusers: 1\niterations: 4\nscenarios:\n  main:\n    steps:\n{steps}thresholds:\n  - p99 < 1ns\n",
        quoted(PLAN),
        server.url("/")
    );
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("plan.yaml");
    fs::write(&file, text).expect("the plan can be written");
    let name = file.to_str().expect("temporary folders have names in ASCII").to_owned();
    (dir, name)
}

/// JSON's strings are YAML's too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn texts<'a>(rows: &'a Value, column: &str) -> Vec<&'a str> {
    rows.as_array().into_iter().flatten().filter_map(|row| row[column].as_str()).collect()
}

/// What all readers found in a folder of reports.
fn check(read: &Value) {
    let steps = read["json"]["steps"].as_array().expect("steps");
    let names: Vec<_> = steps.iter().map(|step| step["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        (names.as_slice(), &read["json"]["name"]),
        ([IMAGE, FORMULA, CELLS].as_slice(), &Value::from(PLAN))
    );
    let names = texts(&read["csv"], "name");
    for literal in [IMAGE, "'=1+1", CELLS, "'=HYPERLINK(\"http://x/\",\"<b>\")", "status", "500", "200"] {
        assert!(names.contains(&literal), "{literal} in {names:?}");
    }
    let rows = read["csv"].as_array().expect("rows");
    let errors: Vec<_> = rows.iter().filter(|row| row["row"] == "error").collect();
    assert_eq!((errors.len(), &errors[0]["name"], &errors[0]["count"]), (1, &"status".into(), &"4".into()));
    let by_second = texts(&read["series"], "error_status");
    assert_eq!(by_second.iter().map(|n| n.parse::<u64>().expect("a count")).sum::<u64>(), 4);
    let (elements, words) = (&read["html"]["elements"], texts_of(&read["html"]["words"]));
    assert!(
        elements["img"].is_null() && elements["script"].is_null() && elements["b"].is_null(),
        "{elements}"
    );
    for literal in [IMAGE, FORMULA, CELLS, PLAN] {
        assert!(words.contains(&literal), "{literal} in {words:?}");
    }
    let cases = read["junit"].as_array().expect("test cases");
    assert_eq!((&cases[1]["name"], &cases[1]["ends"][0]), (&"p99 < 1ns".into(), &"failure".into()));
    check_metrics(&read["metrics"]);
    let markdown = read["markdown"].as_str().expect("text");
    let is_markup = |c: char| matches!(c, '<' | '>' | '`' | '@');
    assert!(!markdown.contains(is_markup) && markdown.contains("&#60;img src=x"), "{markdown}");
    let last = read["hgrm"].as_str().and_then(|text| text.lines().rfind(|line| !line.starts_with('#')));
    assert!(last.is_some_and(|line| line.ends_with(" 8")), "{last:?}");
    assert!(read["hlog"].as_str().is_some_and(|text| text.contains("\nTag=latency,")));
}

fn texts_of(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn check_metrics(samples: &Value) {
    let count = |step: &str, outcome: &str| {
        let samples = samples.as_array().expect("samples").iter();
        let wanted = samples.filter(|sample| {
            let labels = &sample["labels"];
            sample["name"] == "volley_requests_total"
                && labels["step"] == step
                && labels["outcome"] == outcome
        });
        wanted.filter_map(|sample| sample["value"].as_f64()).sum::<f64>()
    };
    assert_eq!([count(IMAGE, "ok"), count(FORMULA, "failed"), count(CELLS, "ok")], [4.0; 3]);
}

fn played(file: &str, out: &str, more: &[(&str, &str)]) -> Outcome {
    let arguments = ["run", file, "--out", out, "--quiet"];
    volley_with(&arguments, |command| {
        command.envs(more.iter().copied());
    })
    .exited(99)
}

#[test]
fn case_29_names_are_literal_in_every_form_of_a_report() {
    let (fleet, server) = (Fleet::start(1), server());
    let (dir, file) = plan(&server);
    let folder = |name: &str| dir.path().join(name).display().to_string();
    played(&file, &folder("here"), &[]);
    played(&file, &folder("there"), &[("VOLLEY_COORDINATOR", &fleet.coordinator.url)]);
    for name in ["here", "there"] {
        check(&read_reports(&dir.path().join(name)));
    }
    assert_eq!(server.requests(), 24);
}

#[test]
fn case_29_a_name_of_two_lines_is_refused_by_its_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("plan.yaml");
    let plan = "target: http://127.0.0.1:1/\nusers: 1\niterations: 1\nscenarios:\n  main:\n    steps:\n      - { get: /, name: \"b\\nc\" }\n";
    fs::write(&file, plan).expect("the plan can be written");
    let refused = volley_with(&["run", &file.display().to_string()], |_| {}).exited(2);
    assert!(refused.stderr.contains("plan.yaml:7:") && refused.stderr.contains("line break"), "{refused:?}");
}

#[test]
fn case_29_names_end_no_command_of_github_and_break_no_summary() {
    let (server, (dir, file)) = {
        let server = server();
        let plan = plan(&server);
        (server, plan)
    };
    let summary = dir.path().join("summary.md");
    fs::write(&summary, "before\n").expect("the summary can be written");
    let variables =
        [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.to_str().expect("a path in ASCII"))];
    let outcome = played(&file, &dir.path().join("out").display().to_string(), &variables);
    let notes: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("::")).collect();
    let title = "=HYPERLINK(\"http%3A//x/\"%2C\"<b>\")%3A p99 < 1ns";
    assert!(notes[0].starts_with(&format!("::error title={title}::p99 was ")), "{notes:?}");
    assert_eq!((notes.len(), outcome.stdout.contains("::error")), (2, false), "{outcome:?}");
    let written = fs::read_to_string(&summary).expect("the summary is there");
    let report = fs::read_to_string(dir.path().join("out/report.md")).expect("the report is there");
    assert_eq!(written, format!("before\n{report}"));
    assert_eq!(server.requests(), 12);
}
