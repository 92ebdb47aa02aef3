//! Scenarios: what their steps mean, what their requests are called, and their canonical form.

use std::time::Duration;
use volley_plan::{Body, MAX_NAME_CHARS, MAX_SCENARIOS, MAX_STEPS, Plan, Request, Step, Think, parse};

fn valid(scenarios: &str) -> Plan {
    let text = format!("target: http://h:81/\nusers: 1\nduration: 1s\nscenarios:\n{scenarios}");
    let plan = parse(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let canonical = plan.canonical_json();
    assert_eq!(parse(&canonical).as_ref(), Ok(&plan), "{canonical}");
    plan
}

/// The one request of a step that says `line`.
fn request(line: &str) -> Request {
    let plan = valid(&format!("  a: {{ steps: [{{ {line} }}] }}\n"));
    plan.requests().next().expect("one request").clone()
}

fn check_line(line: &str, method: &str, path: &str, name: &str) {
    let request = request(line);
    assert_eq!((request.method.as_str(), request.path.as_str(), request.name.as_str()), (method, path, name));
}

/// The names of the requests of a scenario with these steps.
fn check_names(steps: &[&str], names: &[&str]) {
    let steps: String = steps.iter().map(|step| format!("      - {{ {step} }}\n")).collect();
    let plan = valid(&format!("  a:\n    steps:\n{steps}"));
    assert_eq!(plan.requests().map(|request| request.name.as_str()).collect::<Vec<_>>(), names);
}

#[test]
fn scenarios_have_weights_and_steps_in_order() {
    let plan = valid(
        "  browse:
    weight: 9
    steps:
      - get: /products?page=1
        name: list
      - think: 1s..3s
      - get: /products/1
  buy:
    steps:
      - post: /login
        headers: { content-type: application/json, x: [a, b] }
        body: '{\"user\": \"$${me}\"}'
      - think: 1500ms
      - post: /cart
",
    );
    let [browse, buy] = plan.scenarios.as_slice() else { panic!("two scenarios") };
    assert_eq!((browse.name.as_str(), browse.weight, browse.steps.len()), ("browse", 9, 3));
    assert_eq!((buy.name.as_str(), buy.weight, buy.steps.len()), ("buy", 1, 3));
    let think = |least, most| {
        Step::Think(Think { least: Duration::from_millis(least), most: Duration::from_millis(most) })
    };
    assert_eq!((&browse.steps[1], &buy.steps[1]), (&think(1000, 3000), &think(1500, 1500)));
    let requests: Vec<_> = plan.requests().collect();
    let names: Vec<_> = requests.iter().map(|request| request.name.as_str()).collect();
    assert_eq!(names, ["list", "GET /products/1", "POST /login", "POST /cart"]);
    assert_eq!(requests[2].body, Body::Inline(br#"{"user": "${me}"}"#.to_vec()));
    assert_eq!(requests[2].headers.len(), 3);
    assert_eq!(plan.url(), "http://h:81/");
    assert_eq!(plan.iterations_noun(), "iteration");
}

#[test]
fn steps_are_written_by_verb_or_by_method_and_path() {
    for (line, method, path, name) in [
        ("get: /", "GET", "/", "GET /"),
        ("head: /a", "HEAD", "/a", "HEAD /a"),
        ("post: /a?b=c", "POST", "/a?b=c", "POST /a"),
        ("put: //a", "PUT", "//a", "PUT //a"),
        ("patch: /a:b@c", "PATCH", "/a:b@c", "PATCH /a:b@c"),
        ("delete: '/?'", "DELETE", "/?", "DELETE /"),
        ("options: /a, name: preflight", "OPTIONS", "/a", "preflight"),
        ("method: PROPFIND, path: /dav", "PROPFIND", "/dav", "PROPFIND /dav"),
        ("method: GET, path: /", "GET", "/", "GET /"),
        ("method: TRACE, path: /", "TRACE", "/", "TRACE /"),
        // As the target's path would be: encoded, dots taken out.
        ("get: /ü?ü", "GET", "/%C3%BC?%C3%BC", "GET /%C3%BC"),
        ("get: /a/../b/./c", "GET", "/b/c", "GET /b/c"),
        ("get: /a%20b", "GET", "/a%20b", "GET /a%20b"),
        ("get: '/a?q={$${x}}'", "GET", "/a?q={${x}}", "GET /a"),
    ] {
        check_line(line, method, path, name);
    }
}

#[test]
fn requests_without_names_get_one_that_is_free() {
    check_names(&["get: /a", "get: /a?b=1", "get: /a?b=2"], &["GET /a", "GET /a (2)", "GET /a (3)"]);
    check_names(&["get: /a", "post: /a", "get: /b"], &["GET /a", "POST /a", "GET /b"]);
    check_names(&["get: /a", "get: /b, name: GET /a"], &["GET /a (2)", "GET /a"]);
    check_names(&["get: /a", "get: /a", "get: /, name: GET /a (2)"], &["GET /a", "GET /a (3)", "GET /a (2)"]);
    let long = format!("get: /{}", "b".repeat(300));
    let cut = format!("GET /{}", "b".repeat(195));
    check_names(&[&long, &long], &[&cut, &format!("{} (2)", &cut[..MAX_NAME_CHARS - 4])]);
}

#[test]
fn the_same_name_may_be_in_two_scenarios() {
    let plan = valid("  a: { steps: [{ get: /, name: x }] }\n  b: { steps: [{ get: /, name: x }] }\n");
    assert_eq!(plan.requests().count(), 2);
    assert_eq!(plan.iterations_noun(), "request");
}

#[test]
fn a_lone_request_makes_the_same_plan_in_both_forms() {
    let short = "{target: 'http://h:81/a?b', name: x, users: 1, duration: 1s, method: PUT, body: c}";
    let long = valid("  main: { steps: [{ put: /a?b, body: c }] }\nname: x\n");
    assert_eq!(parse(short), Ok(long.clone()));
    assert_eq!(long.url(), "http://h:81/a?b");
}

#[test]
fn counts_are_bounded() {
    let parse_scenarios = |scenarios: &str| {
        let text = format!("{{target: 'http://h', users: 1, duration: 1s, scenarios: {scenarios}}}");
        parse(&text).map(|plan| plan.requests().count()).map_err(|faults| faults.to_string())
    };
    let steps = |count: usize| format!("{{a: {{steps: [{}]}}}}", "get: /, ".repeat(count));
    assert_eq!(parse_scenarios(&steps(MAX_STEPS)), Ok(MAX_STEPS));
    let many = "1:57: scenarios: found 201 requests in all steps, expected at most 200";
    assert_eq!(parse_scenarios(&steps(MAX_STEPS + 1)), Err(many.to_owned()));
    let pauses = |count: usize| format!("{{a: {{steps: [get: /, {}]}}}}", "think: 1s, ".repeat(count));
    assert_eq!(parse_scenarios(&pauses(999)), Ok(1));
    let many = "1:69: scenarios.a.steps: found 1001 entries, expected at most 1000";
    assert_eq!(parse_scenarios(&pauses(1000)), Err(many.to_owned()));
    let scenarios = |count: usize| {
        let scenarios: String = (0..count).map(|n| format!("s{n}: {{steps: [get: /]}}, ")).collect();
        format!("{{{scenarios}}}")
    };
    assert_eq!(parse_scenarios(&scenarios(MAX_SCENARIOS)), Ok(MAX_SCENARIOS));
    let many = "1:57: scenarios: found 101 scenarios, expected 1 to 100";
    assert_eq!(parse_scenarios(&scenarios(MAX_SCENARIOS + 1)), Err(many.to_owned()));
}
