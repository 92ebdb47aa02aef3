//! A coordinator or an agent that dies at a named point of its work, and the run that survives it. Each request carries its
//! number, and the target keeps the set.

use std::time::{Duration, Instant};

use volley_e2e::{Agent, Coordinator, CoordinatorOptions, NUMBER_HEADER, Numbers, Report, Server};

const RATE: u64 = 200;
const DURATION_S: u64 = 12;
/// How long a process may take to reach the point at which it dies.
const CRASH_WITHIN: Duration = Duration::from_secs(30);

fn crash_at(point: &str) -> Vec<(&'static str, String)> {
    vec![("VOLLEY_CRASH_AT", point.to_owned())]
}

fn plan(server: &Server, load: &str) -> String {
    format!(
        "target: {}\n{load}\nhttp: {{ number_header: {NUMBER_HEADER} }}\ntolerate: 50%\nagents: {{ min: 2, wait: 20s }}\n",
        server.url("/")
    )
}

fn open_plan(server: &Server) -> String {
    plan(server, &format!("rate: {RATE}/s\nduration: {DURATION_S}s"))
}

/// A coordinator that dies at a point, two agents and a target that keeps numbers.
struct Scene {
    coordinator: Coordinator,
    _agents: Vec<Agent>,
    server: Server,
    numbers: Numbers,
}

impl Scene {
    fn start(environment: &[(&'static str, String)]) -> Self {
        let coordinator = Coordinator::start_with(environment);
        let agents = (1..=2).map(|number| coordinator.agent(&format!("agent-{number}"))).collect();
        let (server, numbers) = Numbers::target("127.0.0.1", Duration::from_millis(5));
        Self { coordinator, _agents: agents, server, numbers }
    }

    fn run(&self) -> String {
        let id = self.coordinator.api().start(&open_plan(&self.server));
        let patience = Duration::from_secs(10);
        self.coordinator.api().wait_for("the first request", patience, |_| self.server.requests() > 0);
        id
    }

    /// Starts another process on the same store and the same ports once the one at hand is gone.
    fn start_again(self, gone: impl FnOnce(Coordinator) -> tempfile::TempDir, pause: Duration) -> Self {
        let ports = self.coordinator.ports();
        let store = Some(gone(self.coordinator));
        std::thread::sleep(pause);
        let options = CoordinatorOptions { store, ports, ..CoordinatorOptions::default() };
        Self { coordinator: Coordinator::start_as(options), ..self }
    }

    fn finish(&self, id: &str) -> Report {
        let report = self.coordinator.api().finished(id).checked();
        self.numbers.check(&report, &self.coordinator.api().ticks(id), RATE);
        assert_eq!(report.document()["accounts"]["planned"], RATE * DURATION_S, "{report:?}");
        assert_eq!(report.document()["incomplete"], false, "nobody was lost: {report:?}");
        assert_eq!(report.count("unknown"), 0, "{report:?}");
        // What was stored is what was sent: no window is lost, and none is there twice.
        assert_eq!(report.count("ok"), self.numbers.count(), "{report:?}");
        report
    }
}

/// The coordinator dies at a point of its work, and is started again at once.
fn check_coordinator(point: &str) {
    let scene = Scene::start(&crash_at(point));
    let id = scene.run();
    let scene = scene.start_again(|coordinator| coordinator.gone(CRASH_WITHIN), Duration::ZERO);
    let report = scene.finish(&id);
    let log = report.document()["log"].to_string();
    assert!(log.contains("started again"), "{log}");
}

#[test]
fn a_window_that_was_stored_and_not_acknowledged_counts_once() {
    check_coordinator("window-stored:6");
}

#[test]
fn an_order_that_was_saved_and_not_sent_is_sent_by_the_next_process() {
    // The orders to prepare and to start were sent; the last one is the one that lets an agent go.
    check_coordinator("draining");
}

#[test]
fn a_coordinator_that_is_killed_and_back_within_the_lease_is_not_missed() {
    let scene = Scene::start(&[]);
    let id = scene.run();
    scene
        .coordinator
        .api()
        .wait_for("a second or two", Duration::from_secs(10), |_| scene.server.requests() > RATE);
    let scene = scene.start_again(Coordinator::kill, Duration::ZERO);
    let report = scene.finish(&id);
    assert_eq!((report.count("ok"), report.count("missed")), (RATE * DURATION_S, 0), "{report:?}");
}

#[test]
fn a_coordinator_that_is_back_after_the_lease_finds_its_run_paused_and_goes_on() {
    let scene = Scene::start(&[]);
    let id = scene.run();
    scene
        .coordinator
        .api()
        .wait_for("a second or two", Duration::from_secs(10), |_| scene.server.requests() > RATE);
    let killed = Instant::now();
    let scene = scene.start_again(Coordinator::kill, Duration::from_secs(5));
    // Between the lease's end and the return nothing is sent.
    let came = scene.numbers.came_within(killed + Duration::from_millis(3_300), Duration::from_millis(1_500));
    assert_eq!(came, 0, "requests without a lease");
    let report = scene.finish(&id);
    let missed = report.count("missed");
    assert!((RATE..RATE * 5).contains(&missed), "{missed}: {report:?}");
}

/// An agent dies at a point of its work, and another one is started on its folder.
fn check_agent(point: &str) -> (Report, Numbers) {
    let coordinator = Coordinator::start();
    let folder = tempfile::tempdir().expect("a folder");
    let state = ["--state", folder.path().to_str().expect("temporary folders have names in ASCII")];
    let (server, numbers) = Numbers::target("127.0.0.1", Duration::from_millis(5));
    let _other = coordinator.agent("stays");
    let mut dies = coordinator.agent_in("dies", &state, &crash_at(point));
    let id = coordinator.api().start(&open_plan(&server));
    dies.gone(CRASH_WITHIN);
    let _again = coordinator.agent_with("again", &state);
    let report = coordinator.api().finished(&id).checked();
    numbers.check(&report, &coordinator.api().ticks(&id), RATE);
    (report, numbers)
}

#[test]
fn a_window_that_an_agent_had_saved_is_delivered_by_the_next_process() {
    let (report, numbers) = check_agent("window-saved:4");
    assert_eq!(report.document()["incomplete"], true, "{report:?}");
    let agents = report.agents();
    let dead = agents.iter().find(|agent| agent["name"] == "dies").expect("it took part");
    // Three windows were sent, and the fourth came from the disk: at least three whole seconds of its half.
    assert!(dead["started"].as_u64() >= Some(RATE / 2 * 3), "{report:?}");
    assert!(numbers.doubled().is_empty());
}

#[test]
fn an_agent_that_dies_while_it_prepares_is_named() {
    let coordinator = Coordinator::start();
    let (server, _numbers) = Numbers::target("127.0.0.1", Duration::ZERO);
    let _other = coordinator.agent("stays");
    let mut dies = coordinator.agent_in("dies", &[], &crash_at("preparing"));
    let id = coordinator.api().start(&open_plan(&server));
    dies.gone(CRASH_WITHIN);
    let report = coordinator.api().finished(&id).checked();
    assert!(report.text("sentence").contains("dies"), "{report:?}");
    assert_eq!((report.text("verdict"), server.requests()), ("invalid", 0), "{report:?}");
}

#[test]
fn an_agent_that_dies_while_it_drains_leaves_its_last_second_unknown() {
    let coordinator = Coordinator::start();
    let (server, numbers) = Numbers::target("127.0.0.1", Duration::from_millis(5));
    let _other = coordinator.agent("stays");
    let mut dies = coordinator.agent_in("dies", &[], &crash_at("draining"));
    let id = coordinator.api().start(&open_plan(&server));
    dies.gone(CRASH_WITHIN);
    let report = coordinator.api().finished(&id).checked();
    numbers.check(&report, &coordinator.api().ticks(&id), RATE);
    assert!(report.count("unknown") <= RATE, "{report:?}");
    assert_eq!(report.document()["incomplete"], true, "{report:?}");
}

#[test]
fn a_counted_run_survives_its_coordinator() {
    const REQUESTS: u64 = 4_000;
    let scene = Scene::start(&[]);
    let api = scene.coordinator.api();
    let id = api.start(&plan(&scene.server, &format!("users: 8\nrequests: {REQUESTS}\npacing: 15ms")));
    api.wait_for("a thousand requests", Duration::from_secs(20), |_| scene.server.requests() > REQUESTS / 4);
    let scene = scene.start_again(Coordinator::kill, Duration::from_secs(1));
    let report = scene.coordinator.api().finished(&id).checked();
    assert_eq!(
        report.count("started") + report.count("unknown") + report.count("missed"),
        REQUESTS,
        "{report:?}"
    );
    assert_eq!((report.count("ok"), scene.numbers.count()), (REQUESTS, REQUESTS), "{report:?}");
    assert_eq!(scene.numbers.doubled(), Vec::<u64>::new());
}

#[test]
fn a_run_that_waits_in_line_survives_its_coordinator_and_tells_all_of_itself() {
    const REQUESTS: u64 = 300;
    let scene = Scene::start(&[]);
    let first = scene.run();
    let api = scene.coordinator.api();
    let second = api.start(&plan(&scene.server, &format!("users: 2\nrequests: {REQUESTS}")));
    assert_eq!(api.run(&second).text("state"), "queued");
    let scene = scene.start_again(Coordinator::kill, Duration::ZERO);
    let api = scene.coordinator.api();
    let first = api.finished(&first).checked();
    let second = api.finished(&second).checked();
    assert_eq!((second.count("started"), second.count("ok")), (REQUESTS, REQUESTS), "{second:?}");
    assert_eq!(first.count("ok") + REQUESTS, scene.server.requests(), "{first:?}");
}
