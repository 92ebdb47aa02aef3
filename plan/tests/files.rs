//! The plans that people are given to read are right: the examples, and those of the reference.

use std::fs;
use std::path::Path;
use volley_plan::{Plan, parse};

const REFERENCE: &str = include_str!("../../docs/plan.md");

/// The plan, which says itself again in its canonical form.
fn check(name: &str, text: &str) -> Plan {
    let plan = parse(text).unwrap_or_else(|faults| panic!("{}", faults.in_file(name)));
    assert_eq!(parse(&plan.canonical_json()).as_ref(), Ok(&plan), "{name}");
    let explained = plan.explained();
    assert!(explained.lines().all(|line| line.chars().count() <= 80), "{name}:\n{explained}");
    plan
}

/// The blocks of the reference that are marked so.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    REFERENCE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn examples_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let loads: Vec<_> = files
        .iter()
        .map(|file| check(&file.display().to_string(), &fs::read_to_string(file).unwrap()).load_in_words())
        .collect();
    assert!(loads.len() >= 6, "{files:?}");
    for kind in ["open, Poisson", "users closed", "up to 100 users closed", "requests"] {
        assert!(loads.iter().any(|load| load.contains(kind)), "no example is of {kind}: {loads:?}");
    }
}

#[test]
fn every_plan_of_the_reference_is_valid() {
    let blocks = blocks("yaml");
    assert!(blocks.len() >= 5, "the reference has lost its examples");
    for block in blocks {
        check("docs/plan.md", block);
    }
}

#[test]
fn steps_and_stages_of_the_reference_are_valid() {
    for (language, before) in [
        ("yaml steps", "target: http://h\nusers: 1\nduration: 1s\nscenarios:\n  a:\n    steps:\n"),
        ("yaml stages", "target: http://h\nload:\n  stages:\n"),
    ] {
        let blocks = blocks(language);
        assert!(!blocks.is_empty(), "{language}");
        for block in blocks {
            let lines: String = block.lines().map(|line| format!("      {line}\n")).collect();
            check("docs/plan.md", &format!("{before}{lines}"));
        }
    }
}

#[test]
fn the_reference_names_every_key() {
    let mut faults = String::new();
    for key in [
        "version",
        "name",
        "target",
        "method",
        "headers",
        "body",
        "rate",
        "users",
        "duration",
        "requests",
        "iterations",
        "iterations_per_user",
        "warmup",
        "arrivals",
        "max_in_flight",
        "pacing",
        "tolerate",
        "drain",
        "stages",
        "ramp_to",
        "for",
        "steps",
        "from",
        "to",
        "by",
        "every",
        "keep_alive",
        "timeout",
        "connect_timeout",
        "connections",
        "number_header",
        "http_version",
        "proxy",
        "proxy_authorization",
        "first_byte_timeout",
        "idle_timeout",
        "host",
        "tls",
        "insecure",
        "ca",
        "certificate",
        "key",
        "server_name",
        "versions",
        "resumption",
        "connect",
        "unix",
        "family",
        "resolve",
        "body_file",
        "body_size",
        "ask_first",
        "check",
        "status",
        "is",
        "contains",
        "bytes",
        "weight",
        "get",
        "head",
        "post",
        "put",
        "patch",
        "delete",
        "options",
        "path",
        "think",
        "min",
        "max",
        "wait",
        "labels",
        "elastic",
        "share_by",
        "lease",
        "beside",
        "load",
        "http",
        "scenarios",
        "agents",
        "thresholds",
        "expect",
        "over",
        "after",
        "abort",
        "min_samples",
    ] {
        if !REFERENCE.contains(&format!("`{key}`")) {
            faults += &format!("`{key}` ");
        }
    }
    assert!(faults.is_empty(), "the reference doesn't name {faults}");
}
