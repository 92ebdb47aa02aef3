//! Agents on hosts of their own (network namespaces), with clocks of their own (time namespaces): links that are cut,
//! blackholed and restored. Where the test isn't root these tests say that they were skipped.

use std::fs;
use std::time::{Duration, Instant};

use volley_e2e::{
    Agent, Coordinator, CoordinatorOptions, HUB, NUMBER_HEADER, Network, Numbers, Report, Server,
};

const TOKEN: &str = "a-secret-of-these-tests-only";
const RATE: u64 = 200;
const DURATION_S: u64 = 18;
/// A day, by which the hosts' clocks differ from the hub's and from each other's.
const DAY_S: u32 = 86_400;

struct Scene {
    // Ended in this order: processes before the namespaces that they are in.
    _agents: Vec<Agent>,
    coordinator: Coordinator,
    server: Server,
    numbers: Numbers,
    network: Network,
}

impl Scene {
    /// Three hosts with an agent each, whose clocks are one, two and three days ahead.
    fn start() -> Option<Self> {
        let network = Network::enter(3)?;
        let coordinator = Coordinator::start_as(CoordinatorOptions {
            ip: HUB,
            token: Some(TOKEN),
            arguments: &["--allow", HUB],
            ..CoordinatorOptions::default()
        });
        let agents = (0..3).map(|host| {
            let place = network.host(host).ahead(DAY_S * (1 + host as u32));
            coordinator.agent_at(&place, &format!("host-{host}"), &["--allow", HUB], &[])
        });
        let agents: Vec<_> = agents.collect();
        check_clocks(&agents);
        let (server, numbers) = Numbers::target(HUB, Duration::from_millis(5));
        Some(Self { _agents: agents, coordinator, server, numbers, network })
    }

    /// Starts a run and waits for its first request; gives its name and about when it began.
    fn run(&self, more: &str) -> (String, Instant) {
        let plan = format!(
            "target: {}\nrate: {RATE}/s\nduration: {DURATION_S}s\nhttp: {{ number_header: {NUMBER_HEADER}, timeout: 1s }}\n\
             tolerate: 30%\nagents: {{ min: 3{more} }}\n",
            self.server.url("/")
        );
        let id = self.coordinator.api().start(&plan);
        let patience = Duration::from_secs(10);
        self.coordinator.api().wait_for("the first request", patience, |_| self.server.requests() > 0);
        (id, Instant::now())
    }

    fn finish(&self, id: &str) -> Report {
        let report = self.coordinator.api().finished(id).checked();
        self.numbers.check(&report, &self.coordinator.api().ticks(id), RATE);
        assert_eq!(report.document()["accounts"]["planned"], RATE * DURATION_S, "{report:?}");
        report
    }
}

/// Their clocks are in time namespaces of their own; an offset of zero can't be right by luck.
fn check_clocks(agents: &[Agent]) {
    let namespace =
        |process: &str| fs::read_link(format!("/proc/{process}/ns/time")).expect("a time namespace");
    let ours = namespace("self");
    for agent in agents {
        assert_ne!(namespace(&agent.id().to_string()), ours);
    }
}

fn sleep_until(begun: Instant, second: u64) {
    // When a link is cut is what these tests are about.
    std::thread::sleep(Duration::from_secs(second).saturating_sub(begun.elapsed()));
}

#[test]
fn clocks_that_are_days_off_start_together_and_interleave() {
    let Some(scene) = Scene::start() else { return };
    let (id, begun) = scene.run("");
    let report = scene.finish(&id);
    assert_eq!((report.count("ok"), report.count("missed")), (RATE * DURATION_S, 0), "{report:?}");
    assert_eq!(report.document()["incomplete"], false, "{report:?}");
    for second in 2..DURATION_S - 2 {
        let came = scene.numbers.came_within(begun + Duration::from_secs(second), Duration::from_secs(1));
        assert!((RATE as usize * 9 / 10..=RATE as usize * 11 / 10).contains(&came), "{came} in one second");
    }
}

#[test]
fn a_host_that_is_cut_off_is_replaced_and_delivers_when_it_is_back() {
    let Some(scene) = Scene::start() else { return };
    let (id, begun) = scene.run("");
    sleep_until(begun, 4);
    scene.network.cut(1);
    let cut = Instant::now();
    sleep_until(begun, 13);
    scene.network.restore(1);
    let came = scene.numbers.came_within(cut + Duration::from_secs(5), Duration::from_secs(2)) as u64;
    assert!((RATE * 2 * 95 / 100..=RATE * 2 * 105 / 100).contains(&came), "{came} in two seconds");
    let report = scene.finish(&id);
    // It is back before the end and has said what it sent, so nothing of it is unknown.
    assert_eq!(report.count("unknown"), 0, "{report:?}");
    assert_eq!(report.document()["incomplete"], true, "{report:?}");
}

#[test]
fn a_blackhole_shorter_than_the_lease_loses_nobody() {
    let Some(scene) = Scene::start() else { return };
    let (id, begun) = scene.run("");
    sleep_until(begun, 5);
    scene.network.blackhole(2);
    sleep_until(begun, 6);
    scene.network.unblackhole(2);
    let report = scene.finish(&id);
    assert_eq!(report.document()["incomplete"], false, "{report:?}");
    assert_eq!(report.count("unknown"), 0, "{report:?}");
}

#[test]
fn a_host_that_stays_away_leaves_what_it_sent_unknown() {
    let Some(scene) = Scene::start() else { return };
    let (id, begun) = scene.run("");
    sleep_until(begun, 4);
    scene.network.blackhole(0);
    let report = scene.finish(&id);
    assert!(report.count("unknown") > 0, "{report:?}");
    assert_eq!(report.document()["incomplete"], true, "{report:?}");
    let lost = RATE / 3 * 6;
    assert!(report.count("unknown") + report.count("missed") <= lost, "more than {lost}: {report:?}");
}
