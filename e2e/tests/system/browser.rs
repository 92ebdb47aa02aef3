//! The page of a run in a real browser: its figures are those that the target counted, and those of selected seconds are
//! what REST tells of them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use volley_e2e::{Fleet, Process, Target};

/// Starts a run as CI would: with curl.
fn start_by_curl(url: &str, plan: &str) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("plan.yaml");
    fs::write(&file, plan).expect("the plan can be written");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail-with-body", "--data-binary"]);
    curl.arg(format!("@{}", file.display())).arg(format!("{url}/api/v1/runs"));
    let (status, stdout, stderr) = Process::start(&mut curl).wait(Duration::from_secs(10));
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{said}{stderr}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error} in {said}"))
}

/// What a script saw in the browser of a run that is going on.
fn look(script: &str, coordinator: &str, run: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = root.join("node_modules/playwright-core");
    assert!(modules.exists(), "{} is missing: run `make test`", modules.display());
    let screenshots = root.join("../target/screenshots");
    fs::create_dir_all(&screenshots).expect("a directory for screenshots");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    let task = json!({
        "chromium": chromium, "coordinator": coordinator, "run": run, "screenshots": screenshots,
    });
    let mut node = Command::new("node");
    node.arg(root.join("browser").join(script)).arg(task.to_string());
    let (status, stdout, stderr) = Process::start(&mut node).wait(Duration::from_secs(110));
    assert!(status.success(), "{status}:\n{stderr}");
    serde_json::from_slice(&stdout).expect("the script prints JSON")
}

/// A number as the page writes it.
fn figure(text: &Value) -> u64 {
    let text = text.as_str().expect("a text");
    text.replace(',', "").parse().unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Started, ok and failed of the only step, and the answers of two statuses.
fn figures(page: &Value) -> [u64; 5] {
    let step = &page["tables"]["steps"][0];
    let statuses = page["tables"]["statuses"].as_array().expect("a table of statuses");
    let of = |status: &str| statuses.iter().filter(|row| row[0] == status).map(|row| figure(&row[1])).sum();
    [figure(&step[1]), figure(&step[2]), figure(&step[3]), of("200"), of("500")]
}

#[test]
fn the_live_page_shows_what_the_target_counted() {
    let (fleet, target) = (Fleet::start(2), Target::start());
    let plan = format!(
        "name: seen <b>live</b>\ntarget: {}\nusers: 10\nduration: 5s\nagents: {{ min: 2 }}\n",
        target.url("/bytes/100?delay=5ms&fail=10")
    );
    let run = start_by_curl(&fleet.coordinator.url, &plan);
    let id = run["id"].as_str().expect("an id");
    let seen = look("run_page.mjs", &fleet.coordinator.url, id);
    assert_eq!(seen["complaints"], json!([]));

    let report = fleet.api().finished(id).checked();
    let counted = target.stats();
    let of = |status: &str| counted["statuses"][status].as_u64().unwrap_or(0);
    let expected = [counted["requests"].as_u64().unwrap_or(0), of("200"), of("500"), of("200"), of("500")];
    assert!(expected.iter().all(|count| *count > 0), "{counted}");
    assert_eq!(figures(&seen["over"]), expected, "{counted}");
    assert_eq!(report.count("started"), expected[0]);

    for later in ["reloaded", "scriptless"] {
        for part in ["bound", "tables", "word", "title"] {
            assert_eq!(seen[later][part], seen["over"][part], "{later} {part}");
        }
    }
    // Beside a browser the generator may have been late, and the run be invalid: the page says what the report says.
    let words = (&seen["live"]["word"], &seen["over"]["word"]);
    assert_eq!(words, (&json!("running"), &report.document()["verdict"]));
    assert!(figures(&seen["live"])[0] < expected[0], "{seen:#}");
    assert!(seen["live"]["charts"].as_u64() > Some(0) && seen["scriptless"]["charts"] == 0, "{seen:#}");
    assert!(
        seen["over"]["title"].as_str().is_some_and(|title| title.contains("seen <b>live</b>")),
        "{seen:#}"
    );
    assert_eq!(seen["over"]["bound"]["sentence"], report.text("sentence"));
    assert_eq!(seen["listed"].as_u64(), Some(1));
}

/// What a page says that REST says too: what is bound, by its name on the page, and where REST has it.
const SAME: [(&str, &str); 6] = [
    ("whole/rate", "/rate"),
    ("whole/latency_ms/50", "/latency_ms/50"),
    ("whole/latency_ms/99", "/latency_ms/99"),
    ("whole/latency_ms/100", "/latency_ms/100"),
    ("now/latency_ms/99", "/latency_ms/99"),
    ("pace/strip/rate", "/rate"),
];

/// A page's numbers are those of REST, as far as three digits go.
fn check_numbers(page: &Value, snapshot: &Value) {
    let whole = &snapshot["whole"];
    for (bound, path) in SAME {
        let shown = page["bound"][bound].as_str().unwrap_or_else(|| panic!("{bound} of {page:#}"));
        let number: f64 = shown.replace(',', "").parse().unwrap_or_else(|error| panic!("{error}: {shown}"));
        let told = whole.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {whole}"));
        assert!((number - told).abs() <= told * 0.006 + 0.0006, "{bound}: {shown}, not {told}");
    }
    let count = |name: &str| whole[name].as_u64().unwrap_or_else(|| panic!("{name} of {whole}"));
    let statuses = snapshot["statuses"].as_array().expect("statuses");
    let of = |status: u64| {
        statuses.iter().filter(|s| s["status"] == status).filter_map(|s| s["count"].as_u64()).sum()
    };
    let counts = [count("started"), count("ok"), count("failed"), of(200), of(500)];
    assert_eq!(figures(page), counts, "{whole}");
}

#[test]
fn a_span_is_selected_by_mouse_by_keyboard_and_without_script() {
    let (fleet, target) = (Fleet::start(1), Target::start());
    let plan = format!(
        "target: {}\nload:\n  stages:\n    - {{ users: 2, for: 4s }}\n    - {{ users: 6, for: 6s }}\n",
        target.url("/bytes/100?delay=5ms&fail=10")
    );
    let (api, url) = (fleet.api(), &fleet.coordinator.url);
    let id = api.start(&plan);
    let seen = look("span.mjs", url, &id);
    assert_eq!(seen["complaints"], json!([]));
    let report = api.finished(&id).checked();

    let span = |from_s: u64, to_s: u64| {
        let span = api.get(&format!("/api/v1/runs/{id}/span?from={from_s}&to={to_s}"));
        assert_eq!((&span["from_s"], &span["to_s"]), (&json!(from_s), &json!(to_s)));
        span["run"].clone()
    };
    let whole = api.get(&format!("/api/v1/runs/{id}/span"))["run"].clone();
    assert_eq!(whole["whole"]["ok"], report.count("ok"));
    let chosen = span(2, 5);
    assert!(
        chosen["whole"]["ok"].as_u64() < whole["whole"]["ok"].as_u64()
            && chosen["whole"]["ok"].as_u64() > Some(0)
    );
    for name in ["dragged", "reloaded", "back", "by_form", "kept", "scriptless"] {
        assert_eq!(seen[name]["query"], "?from=2&to=5", "{name}");
        check_numbers(&seen[name], &chosen);
        assert_eq!(seen[name]["bound"], seen["dragged"]["bound"], "{name}");
        assert_eq!(seen[name]["tables"], seen["dragged"]["tables"], "{name}");
    }
    let points = chosen["distribution"].as_array().expect("points");
    let percentiles = seen["percentiles"].as_array().expect("rows");
    assert_eq!(percentiles.len(), points.len());
    for (shown, point) in percentiles.iter().zip(points) {
        assert_eq!(shown.as_str().and_then(|text| text.parse().ok()), point["percentile"].as_f64());
    }
    for name in ["whole", "while_dragged", "escaped", "linked"] {
        assert_eq!(seen[name]["query"], "", "{name}");
        assert_eq!(seen[name]["bound"], seen["whole"]["bound"], "{name}");
        assert_eq!(figures(&seen[name])[1], whole["whole"]["ok"].as_u64().expect("a count"), "{name}");
    }
    assert_eq!(seen["refused"], "These seconds can't be told: the end must come after the beginning.");
    for name in ["by_keyboard", "given_up"] {
        assert_eq!(seen[name]["query"], "?from=1&to=3", "{name}");
        check_numbers(&seen[name], &span(1, 3));
    }
    let charts = seen["whole"]["charts"].as_u64().expect("a number") - 1;
    assert!(charts >= 3, "{seen:#}");
    assert_eq!(
        (&seen["bands"], &seen["bands_reloaded"]),
        (&json!(charts), &json!(charts)),
        "all but the one by percentile"
    );
    check_numbers(&seen["live"], &span(0, 2));
    for part in ["steps", "statuses"] {
        assert_eq!(seen["live_later"]["tables"][part], seen["live"]["tables"][part], "{part} stays put");
    }
    let states = ["live", "live_later"].map(|name| &seen[name]["bound"]["state"]);
    assert_eq!(states, [&json!("running"), &json!("finished")]);
}
