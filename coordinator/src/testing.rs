//! What the tests of this crate share: plans, windows, and agents that are nothing but the far end of a connection.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use volley_plan::link::{
    FromAgent, Hello, Incarnation, Lease, Order, PROTOCOL, Progress, Report, RoundTrip, RunId, ToAgent,
};
use volley_plan::{AgentsWanted, Plan, parse};
use volley_stats::{
    ErrorKind, Health, Iterations, Part, Row, RowKey, SECOND_NS, SealedWindow, Second, Timed, Window,
};

use crate::fleet::VERSION;
use crate::{Coordinator, MemoryStore, NewRun, RunDocument, Settings, Store};

mod server;
mod working;

pub(crate) use server::{Server, json};
pub(crate) use working::{Arrivals, agent_that_leaves, late_agent, working_agent};

const MS: u64 = 1_000_000;

/// How far the clocks of these agents are ahead of their process' start at first.
const SKEW_NS: u64 = 1_000 * SECOND_NS;

/// A coordinator with a store in memory.
pub(crate) fn coordinator() -> Coordinator {
    with_store(Arc::new(MemoryStore::default()))
}

pub(crate) fn with_store(store: Arc<dyn Store>) -> Coordinator {
    Coordinator::new(store, Settings::default())
}

/// A plan by its lines apart from the target.
pub(crate) fn plan(lines: &str) -> Plan {
    parse(&format!("target: http://127.0.0.1:1/\n{lines}")).unwrap()
}

pub(crate) fn new_run(lines: &str) -> NewRun {
    NewRun::of(plan(lines))
}

/// How many agents are idle, and how many are busy.
pub(crate) fn idle_and_busy(coordinator: &Coordinator) -> (usize, usize) {
    let strength = coordinator.shared.strength(&AgentsWanted::default());
    (strength.idle, strength.busy)
}

/// Waits for a run's end. Where time is paused, it costs nothing.
pub(crate) async fn outcome(coordinator: &Coordinator, run: &RunId) -> RunDocument {
    let document = coordinator.wait(run, Duration::from_secs(600)).await.expect("the run is there");
    assert!(document.progress.over, "{}", document.progress.sentence);
    document
}

/// A window of `ok` requests of 1 ms and `refused` ones, all in one second.
pub(crate) fn window(second: u32, ok: u64, refused: u64) -> Window {
    let mut row = Row::default();
    (row.counters.started, row.counters.ok, row.counters.failed) = (ok + refused, ok, refused);
    row.counters.statuses.add(200, ok);
    row.counters.errors.add(ErrorKind::ConnectRefused, refused);
    (0..ok).for_each(|_| row.latency.record(1_000_000));
    (0..refused).for_each(|_| row.failed_latency.record(500_000));
    let iterations = Iterations { started: ok + refused, finished: ok + refused, missed: 0 };
    let scalars = Second { iterations, users: 1, in_flight: 1, connections: 1, ..Second::default() };
    Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row)]),
        seconds: BTreeMap::from([(second, scalars)]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * SECOND_NS + SECOND_NS / 2,
        ..Window::default()
    }
}

/// A window of the open model: `ok` iterations of 1 ms that were taken up `lag_ms` after they were due, all in one second,
/// and `missed` ones.
pub(crate) fn open_window(second: u32, part: Part, (ok, missed): (u64, u64), lag_ms: u64) -> Window {
    let mut row = Row::default();
    let mut all = Row::default();
    (row.counters.started, row.counters.ok) = (ok, ok);
    row.counters.statuses.add(200, ok);
    for _ in 0..ok {
        row.latency.record((lag_ms + 1) * MS);
        row.service_time.record(MS);
        all.timing.record(Timed::Lag, lag_ms * MS);
        all.timing.record(Timed::FirstByte, MS);
    }
    let iterations = Iterations { started: ok, finished: ok, missed };
    let counts = Second { in_flight: 1, connections: 1, ..Second::default() };
    let scalars = match part {
        Part::Measured => Second { iterations, ..counts },
        Part::Warmup => Second { warmup: iterations, ..counts },
    };
    let health = Health {
        span_ns: SECOND_NS,
        lag_p99_ns: lag_ms * MS,
        lag_max_ns: lag_ms * MS,
        latency_p99_ns: (lag_ms + 1) * MS,
        busiest_cpu_ns: SECOND_NS / 4,
        cpu_ns: SECOND_NS / 2,
        ..Health::default()
    };
    let key = RowKey { part, ..RowKey::second(second, 0) };
    Window {
        rows: BTreeMap::from([(key, row), (RowKey::all_steps(second, part), all)]),
        seconds: BTreeMap::from([(second, scalars)]),
        health: BTreeMap::from([(second, health)]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * SECOND_NS + SECOND_NS / 2,
        ..Window::default()
    }
}

/// An agent's end of its connection. It does only what a test tells it to.
pub(crate) struct FakeAgent {
    hello: Hello,
    /// It says that it is about to end.
    pub(crate) leaving: bool,
    to: mpsc::Sender<FromAgent>,
    from: mpsc::Receiver<ToAgent>,
    epoch: Instant,
    /// How far its clock is ahead of its process' start.
    pub(crate) ahead_ns: u64,
    pub(crate) progress: Option<Progress>,
    round_trip: Option<RoundTrip>,
    pub(crate) lease: Option<Lease>,
    pub(crate) acknowledged: u64,
    /// What of an earlier process' windows is kept.
    pub(crate) acknowledged_of: BTreeMap<Incarnation, u64>,
    orders: std::collections::VecDeque<(u64, Order)>,
}

impl FakeAgent {
    /// Joins, and pings once.
    pub(crate) async fn join(coordinator: &Coordinator, incarnation: u64, name: &str) -> Self {
        Self::join_as(coordinator, hello(Incarnation(incarnation), name)).await
    }

    /// The same, with all that an agent can say of itself.
    pub(crate) async fn join_as(coordinator: &Coordinator, hello: Hello) -> Self {
        let mut agent = Self::connect(coordinator, hello);
        agent.greet().await;
        agent
    }

    fn connect(coordinator: &Coordinator, hello: Hello) -> Self {
        let (to, from) = connection(coordinator);
        Self {
            hello,
            leaving: false,
            to,
            from,
            epoch: Instant::now(),
            ahead_ns: SKEW_NS,
            progress: None,
            round_trip: None,
            lease: None,
            acknowledged: 0,
            acknowledged_of: BTreeMap::new(),
            orders: std::collections::VecDeque::new(),
        }
    }

    async fn greet(&mut self) {
        self.send(FromAgent::Join(self.hello.clone())).await;
        assert_eq!(self.from.recv().await, Some(ToAgent::Welcome));
        self.ping().await;
    }

    /// Comes back over a new connection, with all it knew.
    pub(crate) async fn reconnect(&mut self, coordinator: &Coordinator) {
        (self.to, self.from) = connection(coordinator);
        self.orders.clear();
        self.greet().await;
    }

    /// Its own clock.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap() + self.ahead_ns
    }

    /// What its clock reads at a moment.
    pub(crate) fn clock_at(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.epoch).as_nanos()).unwrap() + self.ahead_ns
    }

    pub(crate) async fn send(&self, message: FromAgent) {
        self.to.send(message).await.expect("the coordinator has ended the connection");
    }

    pub(crate) async fn report(&self, run: &RunId, report: Report) {
        self.send(FromAgent::Report { run: run.clone(), of: None, report }).await;
    }

    /// Delivers what an earlier process on its host had measured.
    pub(crate) async fn deliver_of(
        &self,
        run: &RunId,
        of: Incarnation,
        sequence: u64,
        window: Window,
        last: bool,
    ) {
        let report = Report::Window { sequence, window: SealedWindow::of(&window), last };
        self.send(FromAgent::Report { run: run.clone(), of: Some(of), report }).await;
    }

    pub(crate) async fn deliver(&self, run: &RunId, sequence: u64, window: Window, last: bool) {
        let window = SealedWindow::of(&window);
        self.report(run, Report::Window { sequence, window, last }).await;
    }

    /// Pings, and takes in everything up to the answer.
    pub(crate) async fn ping(&mut self) {
        let sent_ns = self.now_ns();
        let (round_trip, progress) = (self.round_trip, self.progress.clone());
        self.send(FromAgent::Ping { sent_ns, round_trip, progress, leaving: self.leaving }).await;
        while self.take_in().await.is_some_and(|answered| !answered) {}
    }

    /// Takes one message in; true for the answer to a ping, `None` at the end of the connection.
    async fn take_in(&mut self) -> Option<bool> {
        match self.from.recv().await? {
            ToAgent::Pong { sent_ns, received_ns, answered_ns, lease } => {
                let returned_ns = self.now_ns();
                self.round_trip = Some(RoundTrip { sent_ns, received_ns, answered_ns, returned_ns });
                self.lease = lease;
                return Some(true);
            }
            ToAgent::Order { run, number, order } => self.take_order(run, number, order),
            ToAgent::Acknowledge { of: None, sequence, .. } => self.acknowledged = sequence,
            ToAgent::Acknowledge { of: Some(of), sequence, .. } => {
                self.acknowledged_of.insert(of, sequence);
            }
            ToAgent::Welcome => panic!("welcomed twice"),
            ToAgent::Refused { reason } => panic!("refused: {reason}"),
        }
        Some(false)
    }

    fn take_order(&mut self, run: RunId, number: u64, order: Order) {
        let known = self.progress.as_ref();
        if number != known.map_or(0, |progress| progress.acknowledged) + 1 {
            return;
        }
        let start_ns = match order {
            Order::Start { at_ns, .. } => Some(at_ns),
            _ => known.and_then(|progress| progress.start_ns),
        };
        self.progress = Some(Progress { run, acknowledged: number, start_ns });
        self.orders.push_back((number, order));
    }

    /// The next order.
    pub(crate) async fn order(&mut self) -> Order {
        loop {
            if let Some((_, order)) = self.orders.pop_front() {
                if order == Order::Release {
                    self.progress = None;
                }
                return order;
            }
            self.take_in().await.expect("the coordinator has ended the connection");
        }
    }

    /// Waits until a window is acknowledged.
    pub(crate) async fn acknowledgement(&mut self, sequence: u64) {
        while self.acknowledged < sequence {
            self.take_in().await.expect("the coordinator has ended the connection");
        }
    }

    /// Waits until a window of an earlier process is acknowledged.
    pub(crate) async fn acknowledgement_of(&mut self, of: Incarnation, sequence: u64) {
        while self.acknowledged_of.get(&of).is_none_or(|kept| *kept < sequence) {
            self.take_in().await.expect("the coordinator has ended the connection");
        }
    }

    /// Reads on until the coordinator ends the connection, and tells its last refusal.
    pub(crate) async fn last_word(&mut self) -> Option<String> {
        let mut said = None;
        while let Some(message) = self.from.recv().await {
            if let ToAgent::Refused { reason } = message {
                said = Some(reason);
            }
        }
        said
    }

    /// Takes the order to prepare and says ready.
    pub(crate) async fn prepare(&mut self, run: &RunId) {
        assert!(matches!(self.order().await, Order::Prepare { .. }));
        self.report(run, Report::Ready).await;
    }
}

/// A connection to a coordinator, with the agent's two ends.
pub(crate) fn connection(coordinator: &Coordinator) -> (mpsc::Sender<FromAgent>, mpsc::Receiver<ToAgent>) {
    let (to, theirs) = mpsc::channel(100);
    let (ours, from) = mpsc::channel(100);
    tokio::spawn(coordinator.attach(theirs, ours));
    (to, from)
}

pub(crate) fn hello(incarnation: Incarnation, name: &str) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        incarnation,
        name: name.to_owned(),
        workers: 2,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    }
}
