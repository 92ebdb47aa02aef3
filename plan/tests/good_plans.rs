//! Plans that are accepted: what each way of writing them means, and their canonical form.

use std::time::Duration;
use volley_plan::{
    AgentsWanted, Amount, Body, Model, Plan, QuickPlan, Request, ShareBy, Tolerance, Users, parse,
};

const YAML: &str = r#"
# every key of a closed load, in its short form
version: 1
name: "checkout: été"
target: http://shop.test:8080/cart?id=1
method: POST
headers:
  Content-Type: application/json
  accept: [text/html, "*/*"]
  x-number: 1.50
  x-empty: ""
  Host: other.test
body: |
  {"sku": 42}
users: 50
requests: 1000
duration: 1m30s
tolerate: 0.5%
drain: 500ms
keep_alive: false
timeout: 2s
connect_timeout: 1.5s
agents: { min: 2, wait: 60s }
"#;

const JSON: &str = r#"{
	"version": 1, "name": "checkout: \u00e9t\u00e9", "target": "http:\/\/shop.test:8080/cart?id=1", "method": "POST",
	"headers": {"Content-Type": "application/json", "accept": ["text/html", "*/*"], "x-number": 1.50,
		"x-empty": "", "Host": "other.test"},
	"body": "{\"sku\": 42}\n", "users": 50, "requests": 1000, "duration": "90s", "tolerate": "0.5%", "drain": "0.5s",
	"keep_alive": false, "timeout": "2s", "connect_timeout": "1500ms", "agents": {"min": 2, "wait": "1m"}
}"#;

const CANONICAL: &str = concat!(
    r#"{"version":1,"name":"checkout: été","target":"http://shop.test:8080/","#,
    r#""http":{"keep_alive":false,"timeout":"2s","connect_timeout":"1s500ms"},"#,
    r#""load":{"warmup":"0s","stages":[{"users":50,"for":"1m30s"}],"iterations":1000,"tolerate":"0.5%","#,
    r#""drain":"500ms"},"#,
    r#""scenarios":{"main":{"weight":1,"steps":[{"post":"/cart?id=1","name":"POST /cart","#,
    r#""headers":{"Content-Type":"application/json","accept":["text/html","*/*"],"x-number":"1.50","#,
    r#""x-empty":"","Host":"other.test"},"body":"{\"sku\": 42}\n"}]}},"#,
    r#""agents":{"min":2,"wait":"1m"}}"#,
);

fn valid(text: &str) -> Plan {
    parse(text).unwrap_or_else(|faults| panic!("{faults}\n{text}"))
}

fn step(plan: &Plan) -> &Request {
    plan.requests().next().expect("every plan sends a request")
}

/// The body that `lines`, put behind the keys that every plan needs, say.
fn body(lines: &str) -> String {
    let plan = valid(&format!("target: http://h\nusers: 1\nrequests: 1\n{lines}"));
    let Body::Inline(body) = &step(&plan).body else { panic!("a body in the plan") };
    String::from_utf8_lossy(body).into_owned()
}

#[test]
fn yaml_and_json_say_the_same_plan() {
    let plan = valid(YAML);
    let Model::Closed(load) = &plan.load.model else { panic!("a closed load") };
    let Users::Staged(shape) = &load.users else { panic!("users by the time") };
    assert_eq!(plan.name, "checkout: été");
    assert_eq!((plan.target.host(), plan.target.port()), ("shop.test", 8080));
    assert_eq!(plan.target.path_and_query(), "/", "the step has it");
    assert_eq!(plan.url(), "http://shop.test:8080/cart?id=1");
    assert_eq!((load.users.most(), load.iterations), (50, Some(Amount::InAll(1000))));
    assert_eq!((shape.total_ns(), plan.load.drain), (90_000_000_000, Duration::from_millis(500)));
    assert_eq!(plan.load.tolerate, Tolerance { thousandths: 5 });
    assert_eq!((plan.http.keep_alive, plan.http.timeout), (false, Duration::from_secs(2)));
    assert_eq!(plan.http.connect_timeout, Duration::from_millis(1500));
    assert_eq!((plan.agents.min, plan.agents.wait), (2, Duration::from_secs(60)));
    let [scenario] = plan.scenarios.as_slice() else { panic!("one scenario") };
    assert_eq!((scenario.name.as_str(), scenario.weight, scenario.steps.len()), ("main", 1, 1));
    let step = step(&plan);
    assert_eq!((step.name.as_str(), step.method.as_str()), ("POST /cart", "POST"));
    assert_eq!((step.path.as_str(), &step.body), ("/cart?id=1", &Body::Inline(b"{\"sku\": 42}\n".to_vec())));
    let headers: Vec<_> = step.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        headers,
        [
            ("Content-Type", "application/json"),
            ("accept", "text/html"),
            ("accept", "*/*"),
            ("x-number", "1.50"),
            ("x-empty", ""),
            ("Host", "other.test"),
        ]
    );
    assert_eq!(valid(JSON), plan);
    assert_eq!(valid(&format!("\u{feff}{}", YAML.replace('\n', "\r\n"))), plan);
}

#[test]
fn the_canonical_form_and_its_hash_stay_as_they_are() {
    let plan = valid(YAML);
    assert_eq!(plan.canonical_json(), CANONICAL);
    assert_eq!(valid(CANONICAL), plan);
    // What `printf %s CANONICAL | sha256sum` says: agents of this version compute the same.
    let hash = "ab07b69041d012890694bdd5d6b43c12056994c4424f46a842f7a054e7fa9981";
    assert_eq!(plan.hash().to_string(), hash);
    assert_eq!(hash.parse(), Ok(plan.hash()));
    assert_eq!(serde_json::to_value(plan.hash()).unwrap(), hash);
    assert!("0123".parse::<volley_plan::PlanHash>().is_err());
}

#[test]
fn defaults_are_written_out() {
    let plan = valid("target: http://h/a?b\nusers: 3\nrequests: 7\n");
    assert_eq!(
        plan.canonical_json(),
        concat!(
            r#"{"version":1,"name":"h/a","target":"http://h/","#,
            r#""http":{"keep_alive":true,"timeout":"10s","connect_timeout":"5s"},"#,
            r#""load":{"warmup":"0s","stages":[{"users":3}],"iterations":7,"tolerate":"1%","drain":"10s"},"#,
            r#""scenarios":{"main":{"weight":1,"steps":[{"get":"/a?b","name":"GET /a"}]}},"#,
            r#""agents":{"min":1,"wait":"0s"}}"#,
        )
    );
    let short = valid("target: http://h\nusers: 1\nrequests: 1\ntimeout: 1s\n");
    assert_eq!(short.http.connect_timeout, Duration::from_secs(1), "bounded by the time-out of the whole");
}

#[test]
fn agents_are_chosen_and_share_as_the_plan_says() {
    let plan = |agents: &str| valid(&format!("target: http://h\nusers: 9\nduration: 1m\nagents: {agents}\n"));
    let full = "{ min: 2, max: 5, wait: 1m, labels: { zone: eu, rack: 7 }, elastic: true, share_by: capacity, lease: 10s, \
                beside: true }";
    let AgentsWanted { min, max, wait, labels, elastic, share_by, lease, beside } = plan(full).agents;
    assert_eq!((min, max, wait, elastic), (2, Some(5), Duration::from_secs(60), true));
    assert_eq!((share_by, lease, beside), (ShareBy::Capacity, Duration::from_secs(10), true));
    assert_eq!(
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
        ["rack=7", "zone=eu"]
    );
    let written = plan(full).canonical_json();
    let agents = concat!(
        r#""agents":{"min":2,"wait":"1m","max":5,"labels":{"rack":"7","zone":"eu"},"elastic":true,"#,
        r#""share_by":"capacity","lease":"10s","beside":true}}"#,
    );
    assert!(written.ends_with(agents), "{written}");
    assert_eq!(valid(&written), plan(full));
    // What says the default changes nothing, so that plans of earlier versions keep their hash.
    let defaults =
        "{ min: 1, wait: 0s, labels: {}, elastic: false, share_by: weight, lease: 3s, beside: false }";
    assert_eq!(plan(defaults).hash(), plan("{}").hash());
    assert_eq!(plan("{}").agents, AgentsWanted::default());
}

#[test]
fn numbers_of_iterations_go_into_a_header() {
    let plan = valid("target: http://h\nusers: 1\nrequests: 1\nnumber_header: X-Number\n");
    assert_eq!(plan.http.number_header.as_deref(), Some("X-Number"));
    assert!(plan.canonical_json().contains(r#""connect_timeout":"5s","number_header":"X-Number"},"#));
    assert_eq!(valid(&plan.canonical_json()), plan);
}

#[test]
fn plans_differ_in_their_hash_where_they_differ() {
    let hash = |lines: &str| valid(&format!("target: http://h\nusers: 1\n{lines}")).hash();
    assert_eq!(hash("duration: 60s\n"), hash("duration: 1m # the same\n"));
    assert_ne!(hash("duration: 60s\n"), hash("duration: 61s\n"));
    assert_ne!(hash("duration: 60s\nheaders: {a: 1, b: 2}"), hash("duration: 60s\nheaders: {b: 2, a: 1}"));
}

#[test]
fn bodies_are_sent_as_they_are_written() {
    for (lines, expected) in [
        ("body: plain words", "plain words"),
        ("body: 42", "42"),
        ("body: 1.50", "1.50"),
        ("body: true", "true"),
        ("body: 'no'", "no"),
        ("body: \"042\"", "042"),
        ("body: \"\"", ""),
        ("body: |\n  a\n   b\n", "a\n b\n"),
        ("body: |-\n  {\"a\": [1]}\n", "{\"a\": [1]}"),
        ("body: >-\n  a\n  b\n", "a b"),
        ("body: '{\"a\": \"$${b}\", \"c\": \"$$\"}'", "{\"a\": \"${b}\", \"c\": \"$$\"}"),
        ("body: \"a\\0\\x01\\u20ac\"", "a\0\u{1}€"),
        ("body: \"😀\"", "😀"),
    ] {
        assert_eq!(body(lines), expected, "{lines}");
    }
    let json = r#"{"target":"http://h","users":1,"requests":1,"body":"\ud83d\ude00\u0000\/"}"#;
    assert_eq!(step(&valid(json)).body, Body::Inline("😀\0/".into()));
}

#[test]
fn flow_mappings_are_yaml_too() {
    for text in [
        "{target: http://h, users: 1, requests: 1}",
        "{\"target\": http://h, \"users\": 1, \"requests\": 1,}",
        "  {\n\"target\": 'http://h', # a comment\n users: +1, requests: 1 }",
    ] {
        assert_eq!(valid(text), valid("target: http://h\nusers: 1\nrequests: 1\n"));
    }
}

#[test]
fn flags_make_the_plan_that_a_file_would() {
    let url = |url: &str| QuickPlan { url: url.to_owned(), ..QuickPlan::default() };
    let timed = "target: http://h\nusers: 50\nduration: 10s\ndrain: 0s\n";
    assert_eq!(url("http://h").into_plan(), Ok(valid(timed)));
    let counted = QuickPlan { users: Some(10), requests: Some(1000), ..url("http://h") };
    assert_eq!(counted.into_plan(), Ok(valid("target: http://h\nusers: 10\nrequests: 1000\n")));
    let full = QuickPlan {
        users: Some(2),
        duration: Some("1m".to_owned()),
        method: Some("PUT".to_owned()),
        headers: ["A: 1", "b:no", "a:  2 ", "C:"].map(str::to_owned).to_vec(),
        body: Some("${x} 042".to_owned()),
        keep_alive: Some(false),
        timeout: Some("3s".to_owned()),
        drain: Some("5s".to_owned()),
        ..url("http://h/${y}?${z}")
    };
    let file = "{target: 'http://h/$${y}?$${z}', users: 2, duration: 1m, method: PUT, body: '$${x} 042', \
                headers: {A: ['1', '2'], b: 'no', C: ''}, keep_alive: false, timeout: 3s, drain: 5s}";
    assert_eq!(full.into_plan(), Ok(valid(file)));
}

#[test]
fn flags_of_a_rate_make_the_open_model() {
    let rate = |rate: &str| QuickPlan {
        url: "http://h".to_owned(),
        rate: Some(rate.to_owned()),
        ..QuickPlan::default()
    };
    let timed = "target: http://h\nrate: 200/s\nduration: 10s\ndrain: 0s\n";
    assert_eq!(rate("200/s").into_plan(), Ok(valid(timed)));
    let counted = QuickPlan { requests: Some(200), connections: Some(10), ..rate("10/s") };
    assert_eq!(
        counted.into_plan(),
        Ok(valid("target: http://h\nrate: 10/s\nrequests: 200\nconnections: 10\n"))
    );
    let full = QuickPlan {
        connections: Some(5),
        requests: Some(7),
        duration: Some("1m".to_owned()),
        warmup: Some("5s".to_owned()),
        arrivals: Some("poisson".to_owned()),
        max_in_flight: Some(20),
        tolerate: Some("0.5%".to_owned()),
        ..rate("30/m")
    };
    let file = "{target: 'http://h', rate: 30/m, connections: 5, requests: 7, duration: 1m, warmup: 5s, \
                arrivals: poisson, max_in_flight: 20, tolerate: 0.5%, drain: 0s}";
    assert_eq!(full.into_plan(), Ok(valid(file)));
}
