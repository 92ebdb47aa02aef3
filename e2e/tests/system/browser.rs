//! The page of a run in a real browser: its figures are those that the target counted.

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

/// What the browser saw of a run that is going on.
fn look(coordinator: &str, run: &str) -> Value {
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
    node.arg(root.join("browser/run_page.mjs")).arg(task.to_string());
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
    let seen = look(&fleet.coordinator.url, id);
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
    assert_eq!((&seen["live"]["word"], &seen["over"]["word"]), (&json!("running"), &json!("none")));
    assert!(figures(&seen["live"])[0] < expected[0], "{seen:#}");
    assert!(seen["live"]["charts"].as_u64() > Some(0) && seen["scriptless"]["charts"] == 0, "{seen:#}");
    assert!(
        seen["over"]["title"].as_str().is_some_and(|title| title.contains("seen <b>live</b>")),
        "{seen:#}"
    );
    assert_eq!(seen["over"]["bound"]["sentence"], report.text("sentence"));
    assert_eq!(seen["listed"].as_u64(), Some(1));
}
