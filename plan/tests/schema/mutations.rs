//! What is done to plans: one thing at one place.

use serde_json::{Value, json};

/// A change of one place.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    /// The way to the place: keys, and positions in lists.
    way: Vec<String>,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    /// Takes it out of its mapping or list.
    Drop,
    /// Gives its key another name.
    Rename(String),
    /// Puts something else in its place.
    Put(Value),
    /// Puts something into it, under a key; a list gets it as a further item.
    Add(String, Value),
}

impl Mutation {
    /// The plan with this change.
    pub(super) fn of(&self, plan: &Value) -> Value {
        let mut plan = plan.clone();
        if let Change::Put(value) = &self.change {
            *find(&mut plan, &self.way) = value.clone();
        } else if let Change::Add(key, value) = &self.change {
            match find(&mut plan, &self.way) {
                Value::Object(entries) => drop(entries.insert(key.clone(), value.clone())),
                Value::Array(items) => items.push(value.clone()),
                _ => {}
            }
        } else if let Some((last, way)) = self.way.split_last() {
            let parent = find(&mut plan, way);
            let taken = take(parent, last);
            if let (Change::Rename(name), Value::Object(entries)) = (&self.change, parent) {
                entries.insert(name.clone(), taken);
            }
        }
        plan
    }
}

fn find<'v>(plan: &'v mut Value, way: &[String]) -> &'v mut Value {
    way.iter().fold(plan, |value, part| match value {
        Value::Object(entries) => entries.get_mut(part).expect("a key that is there"),
        Value::Array(items) => &mut items[part.parse::<usize>().expect("a position")],
        _ => panic!("{part} of a scalar"),
    })
}

fn take(parent: &mut Value, part: &str) -> Value {
    match parent {
        Value::Object(entries) => entries.remove(part).expect("a key that is there"),
        Value::Array(items) => items.remove(part.parse().expect("a position")),
        _ => panic!("{part} of a scalar"),
    }
}

/// All changes of all places of a plan.
pub(super) fn mutations(plan: &Value) -> Vec<Mutation> {
    let mut found = Vec::new();
    walk(plan, &mut Vec::new(), &mut found);
    found
}

fn walk(value: &Value, way: &mut Vec<String>, found: &mut Vec<Mutation>) {
    let mut add = |change: Change| found.push(Mutation { way: way.clone(), change });
    if let Some(key) = way.last() {
        add(Change::Drop);
        if key.parse::<usize>().is_err() {
            renamed(key).into_iter().map(Change::Rename).for_each(&mut add);
        }
    }
    replacements(value).into_iter().map(Change::Put).for_each(&mut add);
    if matches!(value, Value::Object(_) | Value::Array(_)) {
        additions().into_iter().map(|(key, value)| Change::Add(key.to_owned(), value)).for_each(&mut add);
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    for (part, child) in children {
        way.push(part);
        walk(child, way, found);
        way.pop();
    }
}

/// Other spellings of a key.
fn renamed(key: &str) -> Vec<String> {
    let shorter: String = key.chars().skip(1).collect();
    vec![shorter, format!("{key}s"), key.to_uppercase(), key.replace('_', "-") + " "]
}

/// What may stand in the place of a value, whatever it is.
fn replacements(value: &Value) -> Vec<Value> {
    let others = json!([
        null, true, false, -1, 0, 1, 1.5, 7, 100_001, 1_000_000_000_001_i64, "", " ", "x", "1", "10", "-5s", "0s", "5s",
        "10minuts", "1 s", "1s1s", "30m1h", "1.s", "0.5s", "1s..2s", "5/s", "-5/s", "5/x", "5 /s", "1.5/m", "0/s", "50%",
        "101%", "-1%", "0.55%", "1MiB", "1MB", "1.5KiB", "${a}", "$${a}", "a b", "a\nb", "a\u{7}b", "/", "/a?b", "a/b",
        "/a/../b", "a/../b", "GET", "get", "CONNECT", "http//x", "http://x", "https://x", "http://x/y", "ftp://x",
        "http://a:b@x", "http://x#y", "http://x:99x", "h:80", "[::1]:80", "[::1]", "127.0.0.1", "::1", "any", "once",
        "connection", "uniform", "poisson", "weight", "evenly", "2xx", "1xx", "200..204", "404", "p99 < 300ms",
        "p99 < 300", "p101 < 1s", "p99 = 1s", "error_rate < 1%", "error_rate < 2", "error_rate < 5ms", "errors < 5",
        "errors < 1%", "missed <= 1%", "missed{step=a} < 1", "ok_rate > 5/s", "lag_p99 < 1ms", "speed > 1",
        "p99{step=} < 1s", "p99{stage=a} < 1s", "errors{kind=none} < 1", "errors{kind=reset} < 1",
        "errors{status=503} < 1", "errors{status=99} < 1", "true", [], {}, [null], [1], ["x"], {"x": 1}, [[]],
    ]);
    let mut all = others.as_array().cloned().unwrap_or_default();
    all.push(json!([value]));
    all.push(json!([value, value]));
    if let Some(text) = value.as_str() {
        let changed = [
            format!("{text}x"),
            format!("-{text}"),
            format!(" {text}"),
            format!("{text} "),
            text.to_uppercase(),
        ];
        all.extend(changed.into_iter().map(Value::String));
        all.push(Value::String(format!("{text}\n")));
        all.push(Value::String("a".repeat(9_000)));
    }
    all
}

/// What may be put into a mapping: keys of all sections, and those that none has.
fn additions() -> Vec<(&'static str, Value)> {
    vec![
        ("colour", json!(1)),
        ("variables", json!({})),
        ("rate", json!("5/s")),
        ("users", json!(5)),
        ("duration", json!("10s")),
        ("requests", json!(5)),
        ("iterations", json!(5)),
        ("iterations_per_user", json!(5)),
        ("warmup", json!("1s")),
        ("warmup", json!("0s")),
        ("arrivals", json!("poisson")),
        ("max_in_flight", json!(500)),
        ("pacing", json!("1s")),
        ("connections", json!(5)),
        ("load", json!({ "stages": [{ "rate": "5/s", "for": "10s" }] })),
        ("stages", json!([{ "rate": "5/s", "for": "10s" }])),
        ("ramp_to", json!("5/s")),
        ("ramp_to", json!(5)),
        ("for", json!("1s")),
        ("steps", json!({ "from": "1/s", "to": "2/s", "by": "1/s", "every": "1s" })),
        ("steps", json!([{ "get": "/" }])),
        ("http", json!({})),
        ("http", json!({ "timeout": "2s" })),
        ("timeout", json!("9s")),
        ("tls", json!({ "ca": "a.pem" })),
        ("insecure", json!(true)),
        ("ca", json!("a.pem")),
        ("key", json!("a.pem")),
        ("unix", json!("/run/a.sock")),
        ("to", json!("h:80")),
        ("from", json!("127.0.0.1")),
        ("scenarios", json!({ "a": { "steps": [{ "get": "/" }] } })),
        ("method", json!("PUT")),
        ("path", json!("/")),
        ("get", json!("/")),
        ("think", json!("1s")),
        ("name", json!("n")),
        ("weight", json!(2)),
        ("headers", json!({ "x": 1 })),
        ("headers", json!({ "Content-Length": 1 })),
        ("host", json!("h:80")),
        ("body", json!("x")),
        ("body", json!("")),
        ("body_file", json!("x")),
        ("body_size", json!("1B")),
        ("ask_first", json!(true)),
        ("ask_first", json!(false)),
        ("check", json!({ "status": [200, "2xx"] })),
        ("is", json!("x")),
        ("agents", json!({ "min": 1, "max": 5 })),
        ("agents", json!({ "elastic": true })),
        ("min", json!(1)),
        ("labels", json!({ "zone": "eu" })),
        ("labels", json!({ "a b": "eu" })),
        ("thresholds", json!(["p99 < 1s"])),
        ("expect", json!("p99 < 1s")),
        ("after", json!("1s")),
        ("over", json!("5s")),
        ("abort", json!(true)),
    ]
}
