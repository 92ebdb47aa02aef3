//! The server's numbers and sentences against the script's: both are given the same runs, by Node.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::format::Format;
use crate::samples;
use crate::view::view;

const SCRIPT: &str = r#"
import { text } from "node:stream/consumers";
import { write } from "./assets/format.js";
import { view } from "./assets/view.js";
const { formats, runs } = JSON.parse(await text(process.stdin));
console.log(JSON.stringify({
  formats: formats.map(([format, x]) => write(format, x)),
  views: runs.map(({ name, run, ticks, log, span }) => view(name, run, ticks, log, span)),
}));
"#;

fn by_script(input: &Value) -> Value {
    let mut node = Command::new("node")
        .args(["--input-type=module", "--eval", SCRIPT])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node is installed: `make test` does it");
    node.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// 30 and 30.0 are one number, as they are to the script; reading JSON may be off by the last bit.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(n) => json!(n.as_f64().map(|x| (x * 1e9).round())),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, plain(value))).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
    }
}

#[test]
fn every_format_reads_the_same_in_script() {
    let numbers = [
        0.0, 0.0004, 0.0005, 0.057, 0.125, 0.9994, 0.9995, 0.99951, 1.0, 1.005, 2.5, 9.994, 9.995, 10.0,
        59.96, 60.0, 99.94, 99.95, 99.999, 100.5, 999.5, 1000.0, 3599.9, 3600.0, 12345.678, 1234567.5,
        90061.0, -0.231, -0.0001, -12.5, 0.000_004, 0.05, 0.995, 0.999_99, 1.0,
    ];
    let values: Vec<Value> =
        numbers.iter().map(|x| json!(x)).chain([json!(null), json!("<b>"), json!([1])]).collect();
    let cases: Vec<(Format, &Value)> =
        Format::ALL.iter().flat_map(|format| values.iter().map(move |value| (*format, value))).collect();
    let input: Vec<Value> = cases.iter().map(|(format, value)| json!([format.name(), value])).collect();
    let output = by_script(&json!({ "formats": input, "runs": [] }));
    for ((format, value), theirs) in cases.iter().zip(output["formats"].as_array().unwrap()) {
        assert_eq!(format.write(value), theirs.as_str().unwrap(), "{} of {value}", format.name());
    }
}

#[test]
fn every_view_reads_the_same_in_script() {
    let pages = samples::all();
    let runs: Vec<Value> = pages
        .iter()
        .map(|page| {
            json!({ "name": page.name, "run": page.run, "ticks": page.ticks, "log": page.log, "span": page.span })
        })
        .collect();
    let output = by_script(&json!({ "formats": [], "runs": runs }));
    for (page, theirs) in pages.iter().zip(output["views"].as_array().unwrap()) {
        let ours = view(&page.name, &page.run, &page.ticks, &page.log, page.span.as_ref()).unwrap();
        let (ours, theirs) = (plain(ours), plain(theirs.clone()));
        for (key, value) in ours.as_object().unwrap() {
            assert_eq!(value, &theirs[key], "{key} of {}", page.name);
        }
        assert_eq!(ours.as_object().unwrap().len(), theirs.as_object().unwrap().len(), "{}", page.name);
    }
}
