//! However a run is looked at, it says the same: what the command line prints, the JSON, the tables and the metrics beside
//! it, the REST API in parts, the page, and above all what the target itself counted.

use std::fs;

use serde_json::Value;
use volley_e2e::{Fleet, Report, Target, read_reports, volley};

/// A plan of every kind of thing at once: two scenarios by weight, several steps, one that fails, one that fails at
/// times, a pause, a warm-up, a rate.
fn plan(target: &Target) -> String {
    format!(
        "name: mixed\n\
         target: {}\n\
         load:\n  warmup: 1s\n  stages:\n    - {{ rate: 60/s, for: 1s }}\n    - {{ rate: 60/s, ramp_to: 120/s, for: 2s }}\n\
         scenarios:\n\
         \x20 browse:\n    weight: 3\n    steps:\n\
         \x20     - get: /bytes/100\n        name: page\n\
         \x20     - think: 5ms..20ms\n\
         \x20     - get: /bytes/2000?fail=20\n        name: picture\n\
         \x20 buy:\n    steps:\n\
         \x20     - post: /delay/2ms\n        name: order\n        body: some bytes\n\
         \x20     - get: /status/404\n        name: missing\n\
         thresholds:\n  - p99 < 10s\n  - \"error_rate{{step=page}} < 1%\"\n\
         agents: {{ min: 2 }}\n",
        target.url("")
    )
}

/// The paths of the steps, in the plan's order.
const PATHS: [&str; 4] = ["/bytes/100", "/bytes/2000", "/delay/2ms", "/status/404"];

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {value:#}"))
}

fn sum(list: &Value, name: &str) -> u64 {
    list.as_array().into_iter().flatten().map(|entry| number(entry, name)).sum()
}

/// Warm-up and measured part together: what a target sees.
fn in_all(document: &Value, name: &str) -> u64 {
    number(&document["whole"], name) + number(&document["warmup"], name)
}

/// The figures that every view has: started, ok, failed.
type Figures = [u64; 3];
const FIGURES: [&str; 3] = ["started", "ok", "failed"];

fn figures(of: &Value) -> Figures {
    FIGURES.map(|name| number(of, name))
}

/// What the page says of a name that it is bound to.
fn bound(html: &str, path: &str) -> String {
    let marked = html.split(&format!("data-bind=\"{path}\"")).nth(1);
    let text = marked.and_then(|rest| rest.split_once('>')).and_then(|(_, rest)| rest.split('<').next());
    text.unwrap_or_else(|| panic!("the page doesn't say {path}")).to_owned()
}

/// The sum of a column over those rows of a table that `of` picks.
fn column(table: &Value, name: &str, of: impl Fn(&Value) -> bool) -> u64 {
    let rows = table.as_array().expect("rows").iter().filter(|row| of(row));
    let cells = rows.map(|row| row[name].as_str().unwrap_or_else(|| panic!("no column {name} in {row:#}")));
    cells.map(|cell| cell.parse::<u64>().unwrap_or_else(|_| panic!("{cell} is no count of {name}"))).sum()
}

/// The tables and the metrics that `--out` wrote, as other programs read them.
fn check_reports(read: &Value, document: &Value) {
    assert_eq!(&read["json"], document);
    let whole = figures(&document["whole"]);
    let row = |kind: &'static str| move |row: &Value| row["row"] == kind;
    for kind in ["total", "step"] {
        assert_eq!(FIGURES.map(|name| column(&read["csv"], name, row(kind))), whole, "{kind}");
    }
    for part in ["warmup", "measured"] {
        let of_part = FIGURES.map(|name| column(&read["series"], name, |row| row["part"] == part));
        assert_eq!(of_part, if part == "warmup" { figures(&document["warmup"]) } else { whole }, "{part}");
    }
    assert_eq!(column(&read["csv"], "count", row("error")), whole[2]);
    for of in document["statuses"].as_array().expect("statuses") {
        let status = number(of, "status").to_string();
        let of_status = |row: &Value| row["row"] == "status" && row["name"] == status.as_str();
        assert_eq!(column(&read["csv"], "count", of_status), number(of, "count"), "{status}");
    }
    let samples = read["metrics"].as_array().expect("samples");
    let ended = samples.iter().filter(|sample| sample["name"] == "volley_requests_total");
    let ended: f64 = ended.filter_map(|sample| sample["value"].as_f64()).sum();
    assert!((ended - (whole[1] + whole[2]) as f64).abs() < 0.5, "{ended} of {whole:?}");
}

#[test]
fn every_view_of_a_run_agrees_with_what_the_target_counted() {
    let (fleet, target) = (Fleet::start(2), Target::start());
    let (api, folder) = (fleet.api(), tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("plan.yaml");
    fs::write(&file, plan(&target)).expect("a plan");
    let file = file.display().to_string();
    // Whatever the verdict: on a busy machine the generator may call itself late, and the numbers agree all the same.
    let out = folder.path().join("reports");
    let words = ["run", &file, "--json", "--coordinator", &fleet.coordinator.url, "--out"];
    let printed = volley(&[&words[..], &[&out.display().to_string()]].concat()).json();
    let report = Report::new(printed).checked();
    let document = report.document();
    let id = report.text("id").to_owned();

    // The target: every request, by status and by path.
    let counted = target.stats();
    assert_eq!(number(&counted, "requests"), in_all(document, "started"), "{counted:#}\n{document:#}");
    assert_eq!(number(&document["whole"], "cancelled"), 0);
    let answered = |status: &str| counted["statuses"][status].as_u64().unwrap_or(0);
    assert_eq!(answered("200"), in_all(document, "ok"), "{counted:#}\n{document:#}");
    assert_eq!(answered("404") + answered("500"), in_all(document, "failed"), "{counted:#}");
    assert!(answered("404") > 0 && answered("500") > 0 && number(&document["warmup"], "started") > 0);

    // REST as a whole, and in parts.
    assert_eq!(api.run(&id).document(), document, "what was printed is what is kept");
    let get = |rest: &str| api.get(&format!("/api/v1/runs/{id}/{rest}"));
    let whole = figures(&document["whole"]);
    assert_eq!(figures(&get("span")["run"]["whole"]), whole);
    let measured = get("series?from=1");
    assert_eq!(FIGURES.map(|name| sum(&measured["points"], name)), whole);
    let errors = get("errors");
    assert_eq!((sum(&errors["errors"], "count"), &errors["statuses"]), (whole[2], &document["statuses"]));
    assert_eq!(number(&get("histogram"), "count"), whole[1]);
    assert_eq!(get("histogram")["percentiles"], document["whole"]["latency_ms"]);
    for (step, path) in document["steps"].as_array().expect("steps").iter().zip(PATHS) {
        let name = step["name"].as_str().expect("a name");
        let all = get(&format!("series?step={name}"));
        let of_step = FIGURES.map(|name| sum(&all["points"], name));
        assert_eq!(of_step[0], counted["paths"][path].as_u64().expect("it was asked for"), "{name}");
        let of_step = get(&format!("series?step={name}&from=1"));
        assert_eq!(FIGURES.map(|name| sum(&of_step["points"], name)), figures(step), "{name}");
        assert_eq!(number(&get(&format!("histogram?step={name}")), "count"), number(step, "ok"), "{name}");
    }
    let ticks = Value::Array(api.ticks(&id).into_iter().filter(|tick| tick["warmup"] == false).collect());
    assert_eq!(FIGURES.map(|name| sum(&ticks, name)), whole, "the stream");

    // The forms of a report.
    check_reports(&read_reports(&out), document);

    // Two spans that meet are the whole.
    let halves = [get("span?to=3"), get("span?from=3")].map(|span| figures(&span["run"]["whole"]));
    assert_eq!([0, 1, 2].map(|n| halves[0][n] + halves[1][n]), whole);

    // Text and page.
    let shown = volley(&["runs", "show", &id, "--coordinator", &fleet.coordinator.url]).exited(0).stdout;
    let [started, ok, failed] = whole;
    assert!(
        shown.contains(&format!("{started} started = {ok} ok + {failed} failed + 0 cancelled")),
        "{shown}"
    );
    assert!(shown.contains(report.text("sentence")), "{shown}");
    let (status, html) = api.ask(&format!("/runs/{id}"));
    assert_eq!(status, 200, "{html}");
    assert_eq!(bound(&html, "sentence"), report.text("sentence").replace('<', "&#60;"));
    let opened = number(&document["whole"], "connections_opened").to_string();
    assert_eq!(bound(&html, "whole/connections_opened"), opened);
    for said in [format!("{started} started"), format!("{ok} ok")] {
        assert!(
            bound(&html, "accounts/requests").contains(&said),
            "{said}: {}",
            bound(&html, "accounts/requests")
        );
    }
    let (_, listed) = api.ask("/");
    assert!(listed.contains(&format!("/runs/{id}")), "{listed}");
}
