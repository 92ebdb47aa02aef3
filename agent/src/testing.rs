//! What the tests of several modules share: windows, plans, and an engine that does what the test says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use volley_engine::{Clock, Command, Event, Setup, Spin};
use volley_plan::link::{Order, RunId, Share, UserShare};
use volley_stats::{Health, Iterations, Part, Row, RowKey, SECOND_NS, Second, Timed, Window};

use crate::agent::{Agent, AgentOptions};
use crate::run::{Launch, Launched, Loops};
use crate::runs::{Runs, Threads};

pub(crate) fn run_id(name: &str) -> RunId {
    RunId::new(name).expect("the test gives a run's name")
}

/// A window of requests with these latencies, all in one second.
pub(crate) fn window(second: u32, latencies_ns: &[u64]) -> Window {
    window_of(second, Part::Measured, latencies_ns)
}

/// The same of either part: requests that were ok, one that was cut off, what is timed of them, and the agent's health.
pub(crate) fn window_of(second: u32, part: Part, latencies_ns: &[u64]) -> Window {
    let (mut row, mut timing) = (Row::default(), Row::default());
    for &ns in latencies_ns {
        row.counters.started += 1;
        row.counters.ok += 1;
        row.counters.statuses.count(200);
        row.latency.record(ns);
        row.service_time.record(ns / 2);
        timing.timing.record(Timed::Lag, ns / 2);
        timing.timing.record(Timed::Receive, ns / 4);
    }
    row.counters.started += 1;
    row.counters.cancelled += 1;
    row.cancelled_age.record(1_000);
    let done = latencies_ns.len() as u64;
    let iterations = Iterations { started: done + 1, finished: done + 1, missed: 0 };
    let (iterations, warmup) = match part {
        Part::Warmup => (Iterations::default(), iterations),
        Part::Measured => (iterations, Iterations::default()),
    };
    let lag_max_ns = latencies_ns.iter().max().map_or(0, |ns| ns / 2);
    let health = Health { span_ns: SECOND_NS, cpu_ns: 1_000, lag_max_ns, ..Health::default() };
    Window {
        rows: BTreeMap::from([
            (RowKey { part, ..RowKey::second(second, 0) }, row),
            (RowKey::all_steps(second, part), timing),
        ]),
        seconds: BTreeMap::from([(
            second,
            Second { iterations, warmup, users: 1, in_flight: 0, connections: 1 },
        )]),
        health: BTreeMap::from([(second, health)]),
        watermark_s: second + 1,
        latest_ns: u64::from(second + 1) * SECOND_NS - 1,
    }
}

/// All users of a plan that has one.
pub(crate) fn only_user() -> Share {
    Share::Users(UserShare { users: 1, first_user: 0, every: 1 })
}

/// An order to prepare a plan of ten requests, as a coordinator sends it.
pub(crate) fn prepare() -> Order {
    let plan =
        volley_plan::parse("target: http://127.0.0.1:9/\nusers: 1\nrequests: 10\n").expect("a good plan");
    let hash = plan.hash().to_string();
    Order::Prepare { plan: plan.canonical_json(), hash, share: only_user(), seed: 42 }
}

/// One engine that was launched.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) setup: Setup,
    pub(crate) events: UnboundedSender<Event>,
    commands: Arc<Mutex<Vec<Command>>>,
}

impl Fake {
    pub(crate) fn commands(&self) -> Vec<Command> {
        lock(&self.commands).clone()
    }

    pub(crate) fn tell(&self, event: Event) {
        self.events.send(event).expect("somebody listens to this engine");
    }
}

struct FakeLoops(Arc<Mutex<Vec<Command>>>);

impl Loops for FakeLoops {
    fn command(&self, command: Command) {
        lock(&self.0).push(command);
    }
}

/// All engines that were launched, in order.
#[derive(Clone, Default)]
pub(crate) struct Engines(Arc<Mutex<Vec<Fake>>>);

impl Engines {
    pub(crate) fn launch(&self) -> Launch {
        let engines = self.clone();
        Box::new(move |setup| {
            let (events, told) = unbounded_channel();
            let commands = Arc::default();
            let loops = Box::new(FakeLoops(Arc::clone(&commands)));
            lock(&engines.0).push(Fake { setup, events, commands });
            Launched { loops, events: told }
        })
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn get(&self, index: usize) -> Fake {
        lock(&self.0)[index].clone()
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::new(Clock::start(), Threads { workers: 3, spin: Spin::On }, self.launch())
    }

    pub(crate) fn agent(&self) -> Agent {
        let options = AgentOptions { name: Some("tester".to_owned()), workers: Some(3), spin: Spin::On };
        Agent::with_launch(options, self.launch())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics while it holds this")
}
