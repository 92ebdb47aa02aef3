//! Plans that are refused: every fault at once, with its place, its field, what was expected and what was meant.

use volley_plan::{MAX_FAULTS, MAX_PLAN_BYTES, QuickPlan, parse, parse_bytes};

const VALID: &str = "target: http://h\nusers: 1\nduration: 1s\n";

/// The plan has exactly these faults, one a line.
fn check(name: &str, text: &str, faults: &str) {
    let found = parse(text).map_or_else(|faults| faults.to_string(), |plan| plan.canonical_json());
    assert_eq!(found, faults, "{name}:\n{text}");
}

/// One fault that begins so.
fn check_fault(text: &str, fault: &str) {
    let found = parse(text).expect_err(fault).to_string();
    assert!(found.starts_with(fault) && !found.contains('\n'), "{found}");
}

/// All plans of a table of cases.
fn check_all(table: &str, least: usize) {
    let cases: Vec<_> = table.split("=== ").skip(1).collect();
    for case in &cases {
        let (name, case) = case.split_once('\n').expect("a name in a line of its own");
        let (text, faults) = case.split_once("\n--->\n").expect("an arrow between plan and faults");
        check(name, &text.replace("<NUL>", "\0"), faults.trim_end());
    }
    assert!(cases.len() >= least, "the table has lost its cases");
}

#[test]
fn case_49_plan_errors() {
    check_all(include_str!("bad_plans.txt"), 60);
}

#[test]
fn case_49_errors_of_loads() {
    check_all(include_str!("bad_loads.txt"), 60);
}

#[test]
fn case_49_errors_of_scenarios() {
    check_all(include_str!("bad_scenarios.txt"), 20);
}

#[test]
fn case_49_errors_of_connections_and_checks() {
    check_all(include_str!("bad_http.txt"), 45);
}

#[test]
fn case_49_errors_of_thresholds() {
    check_all(include_str!("bad_thresholds.txt"), 11);
}

#[test]
fn case_49_faults_name_file_line_field_and_expectation() {
    let faults = parse("target: http//x\nusers: -1\nduration: 1s\n").unwrap_err();
    assert_eq!(
        faults.in_file("perf/x.yaml"),
        "perf/x.yaml:1:9: target: found a text without http:// or https:// in front, expected an http:// or \
         https:// URL \
         (did you mean http://x?)\n\
         perf/x.yaml:2:8: users: found `-1`, expected a whole number from 1 to 100000"
    );
}

#[test]
fn faults_serialize_for_problem_details() {
    let text = format!("{VALID}agents:\n  wait: 5\nheaders:\n  x-a/b~c: [1, no]\n");
    let found = serde_json::to_value(parse(&text).unwrap_err()).unwrap();
    let headers = "found the header name \"x-a/b~c\", \
                   expected at most 256 letters, digits and !#$%&'*+-.^_`|~";
    let wait = "found `5`, a number without one of the units ns us ms s m h, \
                expected a duration from 0s to 24h, such as 1m30s";
    assert_eq!(
        found,
        serde_json::json!([
            { "pointer": "/agents/wait", "line": 5, "column": 9, "detail": wait, "hint": "did you mean 5s?" },
            { "pointer": "/headers", "line": 7, "column": 3, "detail": headers, "hint": null },
        ])
    );
    let text = format!("{VALID}a/b~c: 1\nheaders: {{ x: [a, no] }}\n");
    let pointers = parse(&text).unwrap_err().0.into_iter().map(|fault| fault.pointer).collect::<Vec<_>>();
    assert_eq!(pointers, ["/a~1b~0c", "/headers/x/1"]);
}

#[test]
fn secrets_are_not_repeated() {
    for text in [
        "target: http://user:hunter2@h\nusers: 1\nduration: 1s\n".to_owned(),
        "target: user:hunter2@h\nusers: 1\nduration: 1s\n".to_owned(),
        "target: https://user:hunter2@h\nusers: 1\nduration: 1s\n".to_owned(),
        format!("{VALID}headers: {{ authorization: \"hunter2\\n\" }}\n"),
        format!("{VALID}headers: {{ authorization: \" hunter2\" }}\n"),
        format!("{VALID}headers: {{ authorization: \"hunter2 ${{x}}\" }}\n"),
    ] {
        let faults = parse(&text).expect_err(&text).to_string();
        assert!(!faults.contains("hunter2"), "{faults}");
    }
}

#[test]
fn texts_are_bounded() {
    check_fault(
        &"#".repeat(MAX_PLAN_BYTES + 1),
        "1:1: found a plan of 1048577 bytes, expected at most 1048576",
    );
    assert!(parse(&format!("{VALID}{}", "#".repeat(MAX_PLAN_BYTES - VALID.len()))).is_ok());
    // 2 bytes of YAML become 6 of JSON, which is what agents are sent.
    let body = "\\a".repeat(MAX_PLAN_BYTES / 3);
    check_fault(&format!("{VALID}body: \"{body}\""), "1:1: found a plan of 209");
    for deep in ["[", "{\"a\":", "- ", "? ", "a:\n "] {
        let nested = format!("target: {}", deep.repeat(100_000));
        assert!(parse(&nested).is_err(), "{deep}");
    }
    check_fault(&format!("a: {}", "[".repeat(100)), "1:36: nested deeper than 32");
    check_fault(&format!("{{\"a\": {}", "[".repeat(100)), "1:39: nested deeper than 32");
    check_fault(&format!("a:\n{}", "- b\n".repeat(100_000)), "99999:3: more than 100000 values");
}

#[test]
fn faults_are_bounded_and_counted() {
    let text: String = (0..MAX_FAULTS + 20).map(|n| format!("zz{n}: 1\n")).collect();
    let faults = parse(&format!("{VALID}{text}")).unwrap_err().0;
    assert_eq!(faults.len(), MAX_FAULTS + 1);
    assert_eq!(faults.last().unwrap().detail, "20 more faults are not shown");
}

#[test]
fn headers_are_bounded() {
    let headers = |lines: usize| format!("{VALID}headers: {{ x: [{}1] }}", "1, ".repeat(lines - 1));
    assert!(parse(&headers(100)).is_ok());
    check_fault(&headers(101), "4:10: headers: found 101 header lines, expected at most 100");
    let value = |bytes: usize| format!("{VALID}headers: {{ x: {} }}", "a".repeat(bytes));
    assert!(parse(&value(8192)).is_ok());
    check_fault(&value(8193), "4:15: headers.x: found a value of 8193 bytes");
    let name = |bytes: usize| format!("{VALID}headers: {{ {}: a }}", "x".repeat(bytes));
    assert!(parse(&name(256)).is_ok());
    check_fault(&name(257), "4:12: headers: found the header name \"xxxxx");
}

#[test]
fn names_are_bounded() {
    let name = |chars: usize| format!("{VALID}name: {}", "ü".repeat(chars));
    assert!(parse(&name(200)).is_ok());
    check_fault(&name(201), "4:7: name: found a name of 201 characters");
}

#[test]
fn bytes_that_are_no_text_are_a_fault() {
    let found = parse_bytes(b"target: http://h\nname: \xc3\xbc\xff").unwrap_err().to_string();
    assert_eq!(found, "2:8: not UTF-8");
}

#[test]
fn faults_of_flags_name_the_flag() {
    let quick = QuickPlan {
        url: "ftp://h".to_owned(),
        users: Some(0),
        requests: Some(0),
        duration: Some("10".to_owned()),
        method: Some("post".to_owned()),
        headers: vec!["x".to_owned(), "Content-Length: 3".to_owned(), "a b: c".to_owned()],
        body: Some("${x}".to_owned()),
        keep_alive: Some(false),
        timeout: Some("0s".to_owned()),
        drain: Some("-1s".to_owned()),
        ..QuickPlan::default()
    };
    let found = quick.into_plan().unwrap_err();
    assert!(found.0.iter().all(|fault| fault.line().is_none() && fault.column().is_none()));
    assert_eq!(
        found.to_string(),
        "--drain: drain: found `-1s`, a negative duration, expected a duration from 0s to 24h, such as 1m30s\n\
         -H: headers: found a header without a colon, expected `Name: value`\n\
         -H: headers.Content-Length: belongs to the framing, which volley sets itself\n\
         -H: headers: found the header name \"a b\", expected at most 256 letters, digits and !#$%&'*+-.^_`|~\n\
         -c: users: found `0`, expected a whole number from 1 to 100000\n\
         -m: method: found lower case, but methods are case-sensitive, expected a method such as GET \
         (did you mean POST?)\n\
         -n: requests: found `0`, expected a whole number from 1 to 1000000000000\n\
         -t: timeout: found `0s`, expected a duration from 1ms to 24h, such as 1m30s\n\
         -z: duration: found `10`, a number without one of the units ns us ms s m h, expected a duration from \
         1ms to 720h, such as 1m30s (did you mean 10s?)\n\
         URL: target: found the scheme `ftp`, expected an http:// or https:// URL"
    );
}

#[test]
fn faults_of_a_rate_name_its_flags() {
    let quick = QuickPlan {
        url: "http://h".to_owned(),
        users: Some(3),
        rate: Some("200".to_owned()),
        connections: Some(0),
        warmup: Some("5".to_owned()),
        arrivals: Some("random".to_owned()),
        max_in_flight: Some(0),
        tolerate: Some("1".to_owned()),
        ..QuickPlan::default()
    };
    let found = quick.into_plan().unwrap_err();
    assert_eq!(
        found.to_string(),
        "--arrivals: arrivals: found `random`, expected `uniform` or `poisson`\n\
         --max-in-flight: max_in_flight: found `0`, expected a whole number from 1 to 100000\n\
         --rate: rate: found `200`, a number without one of the units /s /m /h, expected a rate from 0/s to \
         10000000/s, such as 200/s (did you mean 200/s?)\n\
         --tolerate: tolerate: found `1`, a number without %, expected a percentage from 0% to 100%, such as 1% or \
         0.5% (did you mean 1%?)\n\
         --warmup: warmup: found `5`, a number without one of the units ns us ms s m h, expected a duration from \
         0s to 720h, such as 1m30s (did you mean 5s?)\n\
         -c: connections: found `0`, expected a whole number from 1 to 100000\n\
         -c: users: stands beside `rate`, expected `rate` (the open model) or `users` (the closed one), not both"
    );
}
