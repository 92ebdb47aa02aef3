//! The API is what its description says: schemathesis asks a real coordinator, with an agent, whatever the description
//! allows and what it doesn't.
//!
//! That coordinator lets nothing be loaded but the echo target, for few requests a second; and what runs, a runaway one
//! included, ends with the test. The stream is left out: it goes on as long as its run.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use volley_e2e::{Api, Coordinator, CoordinatorOptions, Process, Target, of_python};

/// How many cases of each operation are made up, beside those that go along the bounds of its schema.
const EXAMPLES: u32 = 30;

/// What the checks are told beyond the description.
///
/// What is a good plan, and how two parameters belong together, no schema of theirs says: so that good-looking data is
/// refused is no failure, while accepting what the schema forbids is one. The names are of things that are there, those of
/// deletions of things that nobody else asks for.
fn settings(kept: &[String], doomed: &[String], agent: &str) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let (kept, doomed) = (list(kept), list(doomed));
    format!(
        "[checks]\n\
         positive_data_acceptance.enabled = false\n\
         [parameters]\n\
         \"path.id\" = [{kept}]\n\
         \"path.name\" = [\"checkout\"]\n\
         \"path.incarnation\" = [\"{agent}\"]\n\
         [[operations]]\n\
         include-method = \"DELETE\"\n\
         parameters = {{ \"path.id\" = [{doomed}], \"path.name\" = [\"doomed\"] }}\n"
    )
}

fn plan(target: &Target) -> String {
    format!(
        "name: checkout\ntarget: {}\nrate: 20/s\nduration: 500ms\nthresholds: [\"error_rate < 1%\"]\n",
        target.url("/bytes/10")
    )
}

/// Runs that are over, with notes, labels and errors.
fn runs(api: &Api, plan: &str, number: usize) -> Vec<String> {
    (0..number).map(|_| api.play(plan).checked().text("id").to_owned()).collect()
}

#[test]
fn the_api_is_what_it_says_it_is() {
    let target = Target::start();
    let allowed = format!("{} max 50/s", target.authority());
    let options = CoordinatorOptions { arguments: &["--allow", &allowed], ..CoordinatorOptions::default() };
    let coordinator = Coordinator::start_as(options);
    let _agent = coordinator.agent("a");
    let api = coordinator.api();
    let plan = plan(&target);
    let (kept, doomed) = (runs(&api, &plan, 2), runs(&api, &plan, 2));
    for name in ["checkout", "doomed"] {
        let (status, body) = api.put(&format!("/api/v1/plans/{name}"), "application/yaml", &plan);
        assert_eq!(status, 201, "{body}");
    }
    let agents = api.agents();
    let incarnation = agents[0]["incarnation"].as_str().expect("an agent has one");

    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("schemathesis.toml");
    fs::write(&config, settings(&kept, &doomed, incarnation)).expect("the settings can be written");
    let mut command = Command::new(of_python("schemathesis"));
    command.current_dir(folder.path()).arg("--config-file").arg(&config).arg("run");
    command
        .arg(format!("{}/openapi.json", coordinator.url))
        .args(["--url", &format!("{}/api/v1", coordinator.url)]);
    command.args(["--exclude-path", "/runs/{id}/stream", "--exclude-checks", "positive_data_acceptance"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", &EXAMPLES.to_string()]);
    command.args(["--seed", "1", "--request-timeout", "15", "--continue-on-failure", "--no-color"]);
    let (status, stdout, stderr) = Process::start(&mut command).wait(Duration::from_secs(240));
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{said}\n{stderr}");
    assert!(said.contains(" passed"), "{said}");
    // It lives, and what it keeps is whole.
    let run: Value = api.get(&format!("/api/v1/runs/{}", kept[0]));
    assert_eq!((&run["over"], &run["whole"]["ok"]), (&true.into(), &10.into()));
}
