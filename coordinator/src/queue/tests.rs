//! Whose turn it is.

use std::collections::BTreeMap;

use tokio::sync::mpsc;
use volley_plan::link::{Hello, PROTOCOL};

use super::*;
use crate::fleet::VERSION;
use crate::testing::plan;

/// A queue with a fleet, and the ends of what must not be dropped.
struct Scene {
    queue: Queue,
    fleet: Fleet,
    turns: BTreeMap<String, Turn>,
    _ends: Vec<Box<dyn std::any::Any>>,
}

fn id(name: &str) -> RunId {
    RunId::new(name).unwrap()
}

impl Scene {
    /// With agents 1 to `agents`, the even ones of zone us, the others of zone eu.
    fn new(agents: u64) -> Self {
        let mut scene = Self {
            queue: Queue::default(),
            fleet: Fleet::default(),
            turns: BTreeMap::new(),
            _ends: Vec::new(),
        };
        (1..=agents).for_each(|n| scene.joins(n));
        scene
    }

    fn joins(&mut self, n: u64) {
        let zone = if n.is_multiple_of(2) { "us" } else { "eu" };
        let hello = Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            incarnation: Incarnation(n),
            name: format!("a{n}"),
            workers: 1,
            labels: BTreeMap::from([("zone".to_owned(), zone.to_owned())]),
            weight: None,
            capacity: None,
        };
        let (to, end) = mpsc::channel(4);
        let connection = self.fleet.join(hello, to, 0).unwrap();
        self._ends.extend([Box::new(end) as Box<dyn std::any::Any>, Box::new(connection)]);
    }

    fn enters(&mut self, name: &str, lines: &str) {
        let plan = plan(&format!("users: 9\nrequests: 9\n{lines}"));
        let turn = self.queue.enter(id(name), Arc::new(plan));
        self.turns.insert(name.to_owned(), turn);
    }

    /// A run on this target that wants one agent.
    fn enters_on(&mut self, name: &str, url: &str) {
        let text = format!("target: {url}\nusers: 1\nrequests: 1\n{ONE}");
        let turn = self.queue.enter(id(name), Arc::new(volley_plan::parse(&text).unwrap()));
        self.turns.insert(name.to_owned(), turn);
    }

    fn ends(&mut self, name: &str) {
        self.queue.leave(&id(name));
        self.fleet.free_all(&id(name));
    }

    /// Lets those begin that can, and tells who did with which agents and who waits: `a[1 2] b#1`.
    fn check(&mut self, expected: &str) -> Vec<String> {
        let Advanced { places, .. } = self.queue.advance(&mut self.fleet, 0);
        let mut said = Vec::new();
        for (name, turn) in &mut self.turns {
            if let Ok(agents) = turn.try_recv() {
                let agents: Vec<_> = agents.iter().map(|facts| facts.incarnation.0.to_string()).collect();
                said.push(format!("{name}[{}]", agents.join(" ")));
            }
        }
        said.extend(places.iter().map(|(run, place)| format!("{run}#{}", place.place)));
        assert_eq!(said.join(" "), expected);
        places.into_iter().map(|(_, place)| place.because).collect()
    }
}

const ONE: &str = "agents: { max: 1 }";

#[test]
fn a_target_is_loaded_by_one_run_at_a_time() {
    let mut scene = Scene::new(4);
    for name in ["a", "b", "c"] {
        scene.enters(name, ONE);
    }
    let because = scene.check("a[1] b#1 c#2");
    assert_eq!(because, ["run a loads 127.0.0.1:1", "run a loads 127.0.0.1:1"]);
    scene.check("b#1 c#2");
    scene.enters("d", "agents: { max: 1, beside: true }");
    scene.check("d[2] b#1 c#2");
    scene.ends("a");
    scene.check("b[1] c#1");
    scene.ends("d");
    scene.ends("b");
    scene.check("c[1]");
}

#[test]
fn another_target_or_another_port_is_no_obstacle() {
    let mut scene = Scene::new(3);
    for (name, url) in [("a", "http://h:1/"), ("b", "http://h:2/x"), ("c", "http://H:1/y")] {
        scene.enters_on(name, url);
    }
    scene.check("a[1] b[2] c#1");
}

#[test]
fn a_target_is_one_by_all_its_names() {
    let check = |first: &str, second: &str, is_one: bool| {
        let mut scene = Scene::new(2);
        scene.enters_on("a", first);
        scene.enters_on("b", second);
        scene.check(if is_one { "a[1] b#1" } else { "a[1] b[2]" });
    };
    check("http://shop.test/", "http://shop.test.:80/x", true);
    check("http://localhost:8/", "http://127.0.0.1:8/", true);
    check("http://127.0.0.2:8/", "http://[::1]:8/", true);
    check("http://a.localhost:8/", "http://[::ffff:127.0.0.1]:8/", true);
    check("http://localhost:8/", "http://localhost:9/", false);
    check("http://localhost.test/", "http://127.0.0.1/", false);
    check("http://10.0.0.1/", "http://10.0.0.2/", false);
}

#[test]
fn what_is_connected_to_is_what_is_loaded() {
    let check = |first: &str, second: &str, because: Option<&str>| {
        let mut scene = Scene::new(2);
        scene.enters_on("a", first);
        scene.enters_on("b", second);
        let said = scene.check(if because.is_some() { "a[1] b#1" } else { "a[1] b[2]" });
        assert_eq!(said.first().map(String::as_str), because, "{first} {second}");
    };
    let to = |hosts: &str| format!("http://shop.test/\nconnect: {{ to: [{hosts}] }}");
    let unix = |path: &str| format!("http://localhost/\nconnect: {{ unix: {path} }}");
    check("http://10.0.0.1/", &to("10.0.0.2:80, 10.0.0.1:80"), Some("run a loads 10.0.0.1:80"));
    check(&to("10.0.0.2:80, 10.0.0.1:80"), "http://10.0.0.1/", Some("run a loads 10.0.0.1"));
    check(&to("127.0.0.1:81"), "http://localhost:81/", Some("run a loads localhost:81"));
    check("https://10.0.0.1/", "http://10.0.0.1:443/", Some("run a loads 10.0.0.1:443"));
    check(&to("10.0.0.1:80"), "http://shop.test/", None);
    check(&to("10.0.0.1:80"), &to("10.0.0.2:80"), None);
    check(&unix("/run/a"), &unix("/run/a"), Some("run a loads unix:/run/a"));
    check(&unix("/run/a"), &unix("/run/b"), None);
    check(&unix("/run/a"), "http://localhost/", None);
}

#[test]
fn who_waits_for_agents_is_not_overtaken_by_who_wants_fewer() {
    let mut scene = Scene::new(3);
    scene.enters("a", "agents: { max: 2, beside: true }");
    scene.check("a[1 2]");
    scene.enters("big", "agents: { min: 3, beside: true }");
    scene.enters("small", "agents: { min: 1, beside: true }");
    let because = scene.check("big#1 small#2");
    assert_eq!(because[0], "the plan wants 3 agents, and others have them or come first");
    scene.ends("a");
    scene.check("big[1 2 3] small#1");
    scene.ends("big");
    scene.check("small[1 2 3]");
}

#[test]
fn who_can_not_begin_holds_nobody_up() {
    let mut scene = Scene::new(1);
    scene.enters("a", "agents: { min: 2, beside: true }");
    scene.enters("b", "agents: { min: 1, beside: true }");
    scene.check("b[1] a#1");
    // As soon as there are enough for it, busy ones included, they are its.
    scene.joins(2);
    scene.enters("c", "agents: { min: 1, beside: true }");
    scene.check("a#1 c#2");
    scene.ends("b");
    scene.check("a[1 2] c#1");
}

#[test]
fn agents_of_another_kind_are_no_matter() {
    let mut scene = Scene::new(3);
    scene.enters("a", "agents: { labels: { zone: eu }, beside: true }");
    scene.enters("b", "agents: { labels: { zone: eu }, beside: true }");
    scene.enters("c", "agents: { labels: { zone: us }, beside: true }");
    let because = scene.check("a[1 3] c[2] b#1");
    assert_eq!(because, ["the plan wants 1 agent, and all 2 that fit are busy"]);
}

#[test]
fn who_waits_for_its_target_holds_no_agents_back() {
    let mut scene = Scene::new(2);
    scene.enters("a", ONE);
    scene.enters("b", ONE);
    scene.check("a[1] b#1");
    scene.enters("c", "agents: { beside: true }");
    scene.check("c[2] b#1");
    scene.ends("a");
    scene.ends("c");
    scene.check("b[1]");
}

#[test]
fn a_plan_that_has_time_gathers_its_agents_itself() {
    let mut scene = Scene::new(1);
    scene.enters("a", "agents: { min: 2, wait: 60s }");
    scene.check("a[]");
    let mut scene = Scene::new(1);
    scene.enters("a", "agents: { min: 1 }");
    scene.enters("b", "agents: { min: 1, wait: 60s, beside: true }");
    let because = scene.check("a[1] b#1");
    assert_eq!(because, ["the plan wants 1 agent, and the only one that fits is busy"]);
}

#[test]
fn a_queue_goes_on_when_agents_are_gone() {
    let mut scene = Scene::new(0);
    scene.enters("a", "agents: { min: 2 }");
    assert_eq!(scene.check("a#1"), ["the plan wants 2 agents, and none that fits is connected"]);
    scene.joins(1);
    let because = scene.check("a#1");
    assert_eq!(because, ["the plan wants 2 agents, and only 1 of those that fit is connected"]);
    scene.joins(2);
    scene.check("a[1 2]");
}

#[test]
fn agents_of_a_run_that_was_cancelled_are_free() {
    let mut scene = Scene::new(1);
    scene.enters("a", ONE);
    scene.turns.clear();
    scene.check("");
    scene.ends("a");
    scene.enters("b", ONE);
    scene.check("b[1]");
}

#[test]
fn runs_of_the_coordinator_before_have_their_targets() {
    let mut scene = Scene::new(1);
    scene.queue.goes_on(id("old"), Arc::new(plan("users: 1\nrequests: 1")));
    scene.enters("a", ONE);
    assert_eq!(scene.check("a#1"), ["run old loads 127.0.0.1:1"]);
    scene.ends("old");
    scene.check("a[1]");
}
