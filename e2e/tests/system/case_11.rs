//! Case 11: an agent is lost, hangs, comes back, or joins in the middle of a run, and the intended rate is kept. Each request
//! carries its number, and the target keeps the set. The exact numbers are in the simulation.

use std::time::{Duration, Instant};

use volley_e2e::{Agent, Api, Coordinator, NUMBER_HEADER, Numbers, Report, Server};

const RATE: u64 = 300;
const DURATION_S: u64 = 16;
/// When something happens.
const FAULT_S: u64 = 5;
/// A lease, and two seconds.
const BACK_WITHIN: Duration = Duration::from_secs(3 + 2);

/// A run at 300/s on three agents, and its target.
struct Scene {
    coordinator: Coordinator,
    agents: Vec<Agent>,
    server: Server,
    numbers: Numbers,
    id: String,
    begun: Instant,
}

impl Scene {
    /// Starts it; `more` goes into the plan's `agents`.
    fn start(more: &str) -> Self {
        let coordinator = Coordinator::start();
        let agents = (1..=3).map(|number| coordinator.agent(&format!("agent-{number}"))).collect();
        let (server, numbers) = Numbers::target("127.0.0.1", Duration::from_millis(5));
        let plan = format!(
            "target: {}\nrate: {RATE}/s\nduration: {DURATION_S}s\nhttp: {{ number_header: {NUMBER_HEADER} }}\n\
             tolerate: 20%\nagents: {{ min: 3{more} }}\n",
            server.url("/")
        );
        let id = coordinator.api().start(&plan);
        coordinator.api().wait_for("the first request", Duration::from_secs(10), |_| server.requests() > 0);
        Self { coordinator, agents, server, numbers, id, begun: Instant::now() }
    }

    /// Waits until so much of the run is over: when something happens is what this case is about.
    fn sleep_until(&self, second: u64) {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(self.begun.elapsed()));
    }

    fn api(&self) -> Api {
        self.coordinator.api()
    }

    /// The target got the whole rate in the two seconds from then on, and in none more than it.
    fn check_rate_is_back(&self, from: Instant) {
        let came = self.numbers.came_within(from, Duration::from_secs(2)) as u64;
        assert!((RATE * 2 * 95 / 100..=RATE * 2 * 105 / 100).contains(&came), "{came} in two seconds");
    }

    /// The report, held to what the target saw.
    fn finish(self) -> Report {
        let report = self.api().finished(&self.id).checked();
        self.numbers.check(&report, &self.api().ticks(&self.id), RATE);
        let accounts = &report.document()["accounts"];
        assert_eq!(accounts["planned"], RATE * DURATION_S, "{report:?}");
        let elapsed_s = report.document()["elapsed_s"].as_f64().expect("a time");
        assert!((elapsed_s - DURATION_S as f64).abs() < 0.2, "it ends on time: {report:?}");
        let seen = self.server.requests();
        assert!(seen <= RATE * DURATION_S, "{seen} of {} came", RATE * DURATION_S);
        report
    }
}

fn states(report: &Report) -> Vec<String> {
    let mut states: Vec<_> =
        report.agents().iter().map(|agent| agent["state"].as_str().unwrap_or_default().to_owned()).collect();
    states.sort();
    states
}

/// Nothing but what a dead agent had in hand and what it could have sent until its lease's end is missing.
fn check_gap(report: &Report) {
    let gone = report.count("missed") + report.count("unknown");
    let most = RATE / 3 * (3 + 2);
    assert!((1..=most).contains(&gone), "{gone} are missing, {most} at most: {report:?}");
    assert_eq!(report.document()["incomplete"], true, "{report:?}");
}

#[test]
fn case_11_an_agent_is_killed_and_the_others_take_over() {
    let mut scene = Scene::start("");
    scene.sleep_until(FAULT_S);
    let killed = Instant::now();
    scene.agents.remove(1).kill();
    scene.sleep_until(FAULT_S + 7);
    scene.check_rate_is_back(killed + BACK_WITHIN);
    let report = scene.finish();
    assert_eq!(states(&report), ["done", "done", "lost"], "{report:?}");
    check_gap(&report);
    let log = report.document()["log"].to_string();
    assert!(log.contains("agent-2 was lost"), "{log}");
}

#[test]
fn case_11_an_agent_hangs_for_eight_seconds_and_comes_back() {
    let scene = Scene::start("");
    scene.sleep_until(FAULT_S);
    scene.agents[1].freeze();
    let frozen = Instant::now();
    scene.sleep_until(FAULT_S + 8);
    scene.agents[1].go_on();
    scene.check_rate_is_back(frozen + BACK_WITHIN);
    let report = scene.finish();
    // It delivered what it had measured, so it is known what of its part was sent.
    assert_eq!((report.count("unknown"), report.count("unresolved")), (0, 0), "{report:?}");
    check_gap(&report);
}

#[test]
fn case_11_an_agent_is_killed_and_started_again() {
    let mut scene = Scene::start("");
    scene.sleep_until(FAULT_S);
    scene.agents.remove(1).kill();
    scene.sleep_until(FAULT_S + 3);
    let again = scene.coordinator.agent("agent-2");
    scene.agents.push(again);
    let agents = scene.api().agents();
    assert!(agents.iter().any(|agent| agent["name"] == "agent-2" && agent["state"] == "idle"), "{agents:?}");
    let report = scene.finish();
    // The new process takes no part, and the old one's counts are there once.
    assert_eq!(states(&report), ["done", "done", "lost"], "{report:?}");
    check_gap(&report);
}

#[test]
fn case_11_a_fourth_agent_joins_and_is_idle() {
    let mut scene = Scene::start("");
    scene.sleep_until(FAULT_S);
    let fourth = scene.coordinator.agent("agent-4");
    scene.agents.push(fourth);
    let report = scene.finish();
    assert_eq!(report.agents().len(), 3, "{report:?}");
    assert_eq!((report.count("ok"), report.count("missed")), (RATE * DURATION_S, 0), "{report:?}");
}

#[test]
fn case_11_a_fourth_agent_joins_an_elastic_run_and_takes_its_part() {
    let mut scene = Scene::start(", elastic: true");
    scene.sleep_until(FAULT_S - 2);
    let fourth = scene.coordinator.agent("agent-4");
    scene.agents.push(fourth);
    let report = scene.finish();
    assert_eq!(states(&report), ["done"; 4], "{report:?}");
    let agents = report.agents();
    let joined = agents.iter().find(|agent| agent["name"] == "agent-4").expect("it took part");
    assert!(joined["started"].as_u64() > Some(RATE / 4 * 4), "{report:?}");
    assert_eq!((report.count("ok"), report.count("missed")), (RATE * DURATION_S, 0), "{report:?}");
    assert_eq!(report.document()["incomplete"], false, "{report:?}");
}

#[test]
fn an_agent_that_is_told_to_end_gives_its_part_away() {
    let mut scene = Scene::start("");
    scene.sleep_until(FAULT_S);
    let mut leaving = scene.agents.remove(0);
    leaving.ask_to_leave();
    assert!(leaving.gone(Duration::from_secs(20)), "{}", leaving.stderr());
    let report = scene.finish();
    assert_eq!(states(&report), ["done", "done", "left"], "{report:?}");
    assert_eq!((report.count("ok"), report.count("missed")), (RATE * DURATION_S, 0), "{report:?}");
    assert_eq!(report.document()["incomplete"], false, "{report:?}");
}

#[test]
fn a_run_is_adjusted_while_it_goes_on() {
    let scene = Scene::start("");
    scene.sleep_until(2);
    let (status, said) = scene.api().post(
        &format!("/api/v1/runs/{}/adjust", scene.id),
        "application/json",
        r#"{"rate":"600/s"}"#,
    );
    assert_eq!(status, 202, "{said}");
    let said: serde_json::Value = serde_json::from_str(&said).expect("an answer in JSON");
    let at_s = said["at_s"].as_f64().expect("it says when");
    assert!((2.0..8.0).contains(&at_s), "{said}");
    let report = scene.api().finished(&scene.id).checked();
    let expected = 300.0 * at_s + 600.0 * (DURATION_S as f64 - at_s);
    let planned = report.document()["accounts"]["planned"].as_f64().expect("a number");
    assert!((planned - expected).abs() <= 1.0, "{planned}, not {expected}: {report:?}");
    assert_eq!((report.count("ok"), report.count("missed")), (planned as u64, 0), "{report:?}");
    assert_eq!(scene.numbers.doubled(), Vec::<u64>::new());
    assert_eq!(scene.numbers.absent(planned as u64), Vec::<u64>::new());
}
