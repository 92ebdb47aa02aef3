//! What the tests of several modules share: windows, plans, and an engine that does what the test says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use volley_engine::{Clock, Command, Event, Setup, Spin};
use volley_plan::Plan;
use volley_plan::allow::AllowList;
use volley_plan::link::{Order, RunId, Share};
use volley_plan::shape::Stripes;
use volley_stats::{
    Addresses, Health, Iterations, Part, Row, RowKey, SECOND_NS, SealedWindow, Second, Timed, Window,
};

use crate::agent::Agent;
use crate::disk::{Numbered, Source};
use crate::launch::{Launch, Launched, Loops};
use crate::options::AgentOptions;
use crate::runs::{Means, Runs};

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
        addresses: Addresses::default(),
        watermark_s: second + 1,
        latest_ns: u64::from(second + 1) * SECOND_NS - 1,
    }
}

/// All that a plan of users has.
pub(crate) fn all_users() -> Share {
    Share { stripes: Stripes::default().all(), bounds: None }
}

/// An order to prepare a plan of ten requests, as a coordinator sends it.
pub(crate) fn prepare() -> Order {
    let plan =
        volley_plan::parse("target: http://127.0.0.1:9/\nusers: 1\nrequests: 10\n").expect("a good plan");
    prepare_to(&plan)
}

/// The same of another plan.
pub(crate) fn prepare_to(plan: &Plan) -> Order {
    let hash = plan.hash().to_string();
    Order::Prepare { plan: plan.canonical_json(), hash, share: Share::all(plan), seed: 42, adjusted: vec![] }
}

/// An order to start at this time on the agent's clock, with a lease of 50 ns.
pub(crate) fn start(at_ns: u64) -> Order {
    Order::Start { at_ns, from_ns: 0, lease_until_ns: 50 }
}

/// A window of that source with this number.
pub(crate) fn numbered(source: &Source, sequence: u64, last: bool) -> Numbered {
    let window = SealedWindow::of(&window(u32::try_from(sequence).expect("few"), &[sequence * 1_000]));
    Numbered { source: source.clone(), sequence, window, last }
}

/// A place for an agent's results that is removed with this.
#[derive(Debug)]
pub(crate) struct State(PathBuf);

impl State {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("volley-agent-test-{:016x}", rand::random::<u64>()));
        Self(path)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.clone()
    }

    /// The names of all that is in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten();
        let names = entries.map(|entry| entry.expect("a name can be read").file_name());
        names.map(|name| name.into_string().expect("names are ASCII")).collect()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_dir_all(&self.0);
    }
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

    fn retire(self: Box<Self>) {
        self.command(Command::Stop { at_ns: 0, drain_ns: 0 });
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
        self.runs_allowed("any")
    }

    /// Runs of an agent that has this rule for what it may do.
    pub(crate) fn runs_allowed(&self, rule: &str) -> Runs {
        let allow = Arc::new(AllowList::parse([rule]).expect("a good rule"));
        let means =
            Means { clock: Clock::start(), workers: 3, spin: Spin::On, allow, files: None, listener: None };
        Runs::new(means, self.launch(), false)
    }

    /// Runs of an agent that has a disk.
    pub(crate) fn runs_on_disk(&self) -> Runs {
        let options = AgentOptions::default();
        Runs::new(options.means(Clock::start()), self.launch(), true)
    }

    pub(crate) fn agent(&self) -> Agent {
        self.agent_with(AgentOptions::default())
    }

    /// An agent that keeps its results there.
    pub(crate) fn agent_on(&self, state: &State) -> Agent {
        self.agent_with(AgentOptions { state: Some(state.path()), ..AgentOptions::default() })
    }

    fn agent_with(&self, options: AgentOptions) -> Agent {
        Agent::with_launch(options, self.launch())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics while it holds this")
}
