//! The plans: those that people are given to read, some more, and the wrong ones of the parser's tables; as JSON trees.

use std::fs;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode as _, ScalarOwned, YamlOwned};
use serde_json::{Map, Value};
use volley_plan::parse;

/// Plans with what the documents have no example of.
const MORE: &[&str] = &[
    "target: http://h\nload: { stages: [{ users: 5 }], iterations_per_user: 3, pacing: 2s }\n",
    "target: http://h/a\nusers: 3\nduration: 10s\nwarmup: 1s\npacing: 1s\ntolerate: 0.5%\ndrain: 0s\nmethod: PUT\n\
     body_size: 1.5KiB\nask_first: true\ncheck: { status: 404, body: { bytes: 0 } }\nidle_timeout: 1s\nname: 42\n",
    "target: http://h/a\nrate: 90/m\nduration: 1m\nfirst_byte_timeout: 1s\nnumber_header: x-number\nkeep_alive: false\n\
     body_file: a/b.bin\nask_first: 250ms\narrivals: uniform\nmax_in_flight: 50\nconnections: 10\nversion: 1\n\
     thresholds: [p99 < 1s, { expect: \"errors{kind=reset} <= 3\", over: 10s, after: 5s, abort: true, min_samples: 5 }]\n",
    r#"
target: https://h
load: { stages: [{ rate: 5/s, for: 10s }, { ramp_to: 9/s, for: 10s }], arrivals: poisson, iterations: 5 }
http: { connect: { unix: /run/a.sock }, tls: { insecure: true } }
scenarios:
  a:
    steps: [{ head: / }, { put: /, body: x }, { patch: / }, { delete: / }, { options: /, name: o }, { think: 1s }]
  b: { weight: 3, steps: [{ method: PROPFIND, path: /f, check: { body: { is: a } } }] }
thresholds: ["p95{scenario=a, step=o} < 1s", missed < 1%, "ok_rate{status=200} > 0.5/s", check_rate >= 0.99]
"#,
];

/// Plans that are right, as people write them.
pub(super) fn good_plans() -> Vec<Value> {
    let texts =
        examples().into_iter().chain(of_the_reference()).chain(MORE.iter().map(|text| (*text).to_owned()));
    texts.map(|text| tree(&text).unwrap_or_else(|| panic!("no YAML: {text}"))).collect()
}

/// A plan as agents get it.
pub(super) fn canonical(plan: &Value) -> Value {
    let plan = parse(&plan.to_string()).unwrap_or_else(|faults| panic!("{faults}\n{plan:#}"));
    serde_json::from_str(&plan.canonical_json()).expect("JSON")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn examples() -> Vec<String> {
    let folder = fs::read_dir(root().join("examples")).expect("examples/");
    folder.map(|entry| read(&entry.expect("a file").path())).collect()
}

/// The plans of README and reference, and its steps and stages in plans.
fn of_the_reference() -> Vec<String> {
    let blocks = |name: &str, language: &str| -> Vec<String> {
        let text = read(&root().join(name));
        let fence = format!("```{language}\n");
        text.split(&fence)
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
            .collect()
    };
    let inside = |before: &str, block: String| {
        let lines: String = block.lines().map(|line| format!("      {line}\n")).collect();
        format!("{before}{lines}")
    };
    let steps = "target: http://h\nusers: 1\nduration: 1s\nscenarios:\n  a:\n    steps:\n";
    let steps = blocks("docs/plan.md", "yaml steps").into_iter().map(|block| inside(steps, block));
    let stages = "target: http://h\nload:\n  stages:\n";
    let stages = blocks("docs/plan.md", "yaml stages").into_iter().map(|block| inside(stages, block));
    let whole = blocks("README.md", "yaml").into_iter().chain(blocks("docs/plan.md", "yaml"));
    whole.chain(steps).chain(stages).collect()
}

/// The wrong plans of the parser's tables, but for those that no tree can have: doubled keys, and what YAML readers take
/// for other things.
pub(super) fn bad_plans() -> Vec<Value> {
    let tables =
        ["bad_plans.txt", "bad_loads.txt", "bad_scenarios.txt", "bad_http.txt", "bad_thresholds.txt"];
    let texts = tables.map(|name| read(&root().join("plan/tests").join(name)));
    let cases = texts.iter().flat_map(|table| table.split("=== ").skip(1));
    let plans = cases.filter_map(|case| case.split_once('\n')?.1.split_once("\n--->\n"));
    plans.filter_map(|(plan, _)| tree(plan)).filter(|plan| parse(&plan.to_string()).is_err()).collect()
}

/// The tree of a YAML text, where it has one.
fn tree(text: &str) -> Option<Value> {
    let documents = YamlOwned::load_from_str(text).ok()?;
    if let [document] = documents.as_slice() { json(document) } else { None }
}

fn json(node: &YamlOwned) -> Option<Value> {
    Some(match node {
        YamlOwned::Value(scalar) => match scalar {
            ScalarOwned::Null => Value::Null,
            ScalarOwned::Boolean(value) => (*value).into(),
            ScalarOwned::Integer(value) => (*value).into(),
            ScalarOwned::FloatingPoint(value) => value.into_inner().into(),
            ScalarOwned::String(value) => value.clone().into(),
        },
        YamlOwned::Sequence(items) => Value::Array(items.iter().map(json).collect::<Option<_>>()?),
        YamlOwned::Mapping(entries) => {
            let entry = |(key, value): (&YamlOwned, &YamlOwned)| {
                let key = json(key)?;
                Some((key.as_str().map_or_else(|| key.to_string(), str::to_owned), json(value)?))
            };
            Value::Object(entries.iter().map(entry).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}
