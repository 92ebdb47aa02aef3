//! A coordinator that is killed and started again on its store: its runs are there, as they were.

use std::time::{Duration, Instant};

use serde_json::Value;
use volley_e2e::{Api, Coordinator, Fleet, Report, Target, volley};

/// A run's page, without the moments at which its seconds were sent.
fn page(api: &Api, id: &str) -> String {
    let (status, html) = api.ask(&format!("/runs/{id}"));
    assert_eq!(status, 200, "{html}");
    let mut parts = html.split("\"elapsed_s\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// The events of a stream by name, in order, without the moments at which they were sent.
fn stream(api: &Api, id: &str) -> Vec<(String, Value)> {
    let (status, text) = api.ask(&format!("/api/v1/runs/{id}/stream"));
    assert_eq!(status, 200, "{text}");
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {block}")).to_owned()
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("event: "));
    let events = blocks.map(|block| {
        let mut data: Value = serde_json::from_str(&field(block, "data: ")).expect("events are JSON");
        if let Some(elapsed_s) = data.get_mut("elapsed_s") {
            *elapsed_s = Value::Null;
        }
        (field(block, "event: "), data)
    });
    events.collect()
}

fn named<'a>(events: &'a [(String, Value)], name: &str) -> Vec<&'a Value> {
    let mut found: Vec<_> = events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect();
    found.sort_by_key(|data| data["second"].as_u64());
    found
}

#[test]
fn a_finished_run_is_the_same_after_its_coordinator_was_killed() {
    let (fleet, target) = (Fleet::start(2), Target::start());
    let api = fleet.api();
    let plan = |load: &str| {
        format!("target: {}\nusers: 8\n{load}\nagents: {{ min: 2, wait: 20s }}\n", target.url("/"))
    };
    let timed = api.play(&plan("duration: 3s")).checked();
    let counted = api.play(&plan("requests: 5000")).checked();
    let ids: Vec<_> = [&timed, &counted].map(|report| report.text("id").to_owned()).into();
    let documents: Vec<_> = ids.iter().map(|id| api.get(&format!("/api/v1/runs/{id}"))).collect();
    let pages: Vec<_> = ids.iter().map(|id| page(&api, id)).collect();
    let streams: Vec<_> = ids.iter().map(|id| stream(&api, id)).collect();
    let list = api.get("/api/v1/runs");

    let Fleet { coordinator, agents } = fleet;
    drop(agents);
    let coordinator = Coordinator::start_on(coordinator.kill());
    let api = coordinator.api();
    assert_eq!(api.get("/api/v1/runs"), list);
    for (n, id) in ids.iter().enumerate() {
        let report = Report::new(api.get(&format!("/api/v1/runs/{id}?wait=60s"))).checked();
        assert_eq!(report.document(), &documents[n]);
        assert_eq!(page(&api, id), pages[n]);
        let again = stream(&api, id);
        for event in ["tick", "log", "end"] {
            assert_eq!(named(&again, event), named(&streams[n], event), "{event} of {id}");
        }
        assert_eq!(named(&again, "state").last(), named(&streams[n], "state").last());
        let (status, _) = api.post(&format!("/api/v1/runs/{id}/stop"), "text/plain", "");
        assert_eq!(status, 409, "it is over");
    }
    coordinator.goodbye();
}

#[test]
fn a_run_whose_agents_never_find_its_next_coordinator_is_told_as_far_as_it_was_stored() {
    let (fleet, target) = (Fleet::start(1), Target::start());
    let plan = format!("target: {}\nusers: 4\nduration: 60s\n", target.url("/delay/10ms"));
    let id = fleet.api().start(&plan);
    fleet.api().wait_for("some seconds of results", Duration::from_secs(20), |api| {
        api.run(&id).document()["last5"]["rate"].as_f64() > Some(0.0) && api.run(&id).count("ok") > 500
    });
    let before = fleet.api().run(&id).count("ok");
    let Fleet { coordinator, agents } = fleet;
    // It listens elsewhere, where its agent doesn't look for it.
    let coordinator = Coordinator::start_on(coordinator.kill());
    let report = coordinator.api().finished(&id).checked();
    assert_eq!(
        (report.text("stop_reason"), report.text("verdict")),
        ("agents_lost", "invalid"),
        "{report:?}"
    );
    assert!(report.count("ok") >= before, "{before} were shown: {report:?}");
    assert!(report.count("ok") <= target.stats()["requests"].as_u64().unwrap_or(u64::MAX), "{report:?}");
    assert_eq!(report.agents().len(), 1, "{report:?}");
    let sentence = report.text("sentence");
    assert!(page(&coordinator.api(), &id).contains(sentence), "{sentence}");
    drop(agents);
    let _agent = coordinator.agent("another");
    let next =
        coordinator.api().play(&format!("target: {}\nusers: 1\nrequests: 10\n", target.url("/"))).checked();
    assert_eq!(next.count("ok"), 10);
}

#[test]
fn a_second_coordinator_on_a_store_is_refused() {
    let coordinator = Coordinator::start();
    let store = coordinator.store();
    let file = store.to_str().expect("temporary folders have names in ASCII");
    let begun = Instant::now();
    let arguments = ["coordinator", "--http", "127.0.0.1:0", "--agents", "127.0.0.1:0", "--store", file];
    let outcome = volley(&arguments).exited(1);
    let said = &outcome.stderr;
    assert!(said.contains("in use by another coordinator") && said.contains("volley.db"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(coordinator.api().ask("/readyz").0, 200, "the first one is not disturbed");
}
