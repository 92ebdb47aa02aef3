//! Writes a small store with something of everything that is kept, as a sample of the stored form of this version.
//!
//! `src/store/sqlite/tests/stored_forms.rs` reads the samples of all versions that were released; so when a form changes,
//! write one of the new form beside the old ones, from the root of the workspace, and name it in that test:
//!
//! ```sh
//! cargo run -p volley-coordinator --example stored_sample -- coordinator/tests/stored/v4.db
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use volley_coordinator::document::{AgentDocument, DOCUMENT_VERSION, LogLine, Progress, RunDocument};
use volley_coordinator::store::{Arrival, Delivery, Retention, SavedOrder, SqliteStore, Standing, Store};
use volley_lifecycle::{Action, AgentFacts, AgentShare, Event, Run, Settings};
use volley_plan::health::HealthSum;
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_stats::{
    AddressCounts, Addresses, ErrorKind, Health, Iterations, Part, Row, RowKey, SealedWindow, Second, Timed,
    Window,
};

type Done = Result<(), Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let path = std::env::args().nth(1).ok_or("give the file to be written")?;
    if Path::new(&path).exists() {
        return Err(format!("{path} is there already, and stored forms are never altered").into());
    }
    let store = SqliteStore::open(Path::new(&path), Retention::default())?;
    finished(&store).await?;
    going_on(&store).await?;
    open(&store).await?;
    drop(store);
    // It is for whoever has the file open alone.
    std::fs::remove_file(format!("{path}.lock"))?;
    Ok(())
}

/// A run of 70 seconds with two steps in its tenth, that is over.
async fn finished(store: &SqliteStore) -> Done {
    let mut run = document("20261201-100000-00000001", "finished")?;
    store.create(&run).await?;
    for second in 0..70 {
        let mut window = window(second, 10, u64::from(second % 7 == 0));
        if second == 10 {
            let row = row(5, 0);
            window.rows.insert(RowKey::second(second, 1), row);
        }
        let facts = WindowFacts::counted(&SealedWindow::of(&window));
        keep(store, &run.id, (u64::from(second) + 1, &facts), window, Arrival::InTime).await?;
        store.complete(&run.id, second).await?;
    }
    run.progress.over = true;
    run.progress.state = "finished".to_owned();
    store.update(&run).await?;
    keep(store, &run.id, (71, &WindowFacts::default()), window(69, 4, 0), Arrival::Late).await
}

/// A run that goes on, whose agent was granted 50 of 100 iterations: two seconds are complete, the third is not.
async fn going_on(store: &SqliteStore) -> Done {
    let run = document("20261201-110000-00000002", "going on")?;
    let mut decider = Decider::begin(store, run).await?;
    decider.decide(Event::GrantWanted { agent: AGENT, taken: 25, iterations: 25 }).await?;
    for second in 0..3 {
        decider.report(window(second, 10, 0)).await?;
        if second == 1 {
            store.complete(decider.run.id(), 2).await?;
        }
    }
    Ok(())
}

/// A run of the open model that goes on: two seconds of warm-up and three that are measured, the last of which is not
/// complete.
async fn open(store: &SqliteStore) -> Done {
    let mut run = document("20261201-120000-00000003", "open")?;
    run.plan = concat!(
        r#"{"target":"http://127.0.0.1:1/","rate":"12/s","duration":"60s","warmup":"2s","#,
        r#""max_in_flight":100,"http":{"connections":7}}"#
    )
    .to_owned();
    let mut decider = Decider::begin(store, run).await?;
    for second in 0..5 {
        let part = if second < 2 { Part::Warmup } else { Part::Measured };
        decider.report(open_window(second, part)).await?;
        if second == 3 {
            store.complete(decider.run.id(), 4).await?;
        }
    }
    Ok(())
}

/// The agent of all runs.
const AGENT: Incarnation = Incarnation(u64::MAX);

/// The decider of a run with one agent. What it says is saved as its driver does it.
struct Decider<'a> {
    store: &'a SqliteStore,
    run: Run,
    sequence: u64,
}

impl<'a> Decider<'a> {
    /// A run that has just been started.
    async fn begin(store: &'a SqliteStore, mut document: RunDocument) -> Result<Self, Box<dyn Error>> {
        store.create(&document).await?;
        document.progress.state = "running".to_owned();
        document.progress.agents = vec![agent()];
        store.update(&document).await?;
        let plan = Arc::new(volley_plan::parse(&document.plan).map_err(|faults| format!("{faults:?}"))?);
        let facts = AgentFacts {
            incarnation: AGENT,
            name: "a".to_owned(),
            version: "0.1.0".to_owned(),
            workers: 2,
            labels: BTreeMap::new(),
            weight: None,
            capacity: None,
        };
        let (run, actions) = Run::new(1, document.id, plan, 42, Settings::default(), vec![facts]);
        let mut decider = Self { store, run, sequence: 0 };
        decider.save(actions).await?;
        decider.decide(Event::Ready { agent: AGENT }).await?;
        Ok(decider)
    }

    async fn decide(&mut self, event: Event) -> Done {
        let actions = self.run.handle(1, event);
        self.save(actions).await
    }

    async fn save(&mut self, actions: Vec<Action>) -> Done {
        let order = |action| match action {
            Action::Send { agent, number, order } => Some(SavedOrder { agent, number, order }),
            _ => None,
        };
        let orders: Vec<_> = actions.into_iter().filter_map(order).collect();
        let agents = self.run.agents().map(AgentShare::record).collect();
        let standing = Standing { run: self.run.record(), agents };
        self.store.save_orders(self.run.id(), standing, &orders).await?;
        Ok(())
    }

    /// Its agent reports a window.
    async fn report(&mut self, window: Window) -> Done {
        self.sequence += 1;
        let sealed = SealedWindow::of(&window);
        let facts = WindowFacts::of(self.sequence, &sealed, false, self.run.load());
        self.run.handle(1, Event::Window { agent: AGENT, facts });
        let reported = self.run.agents().next().map(|agent| agent.reported).ok_or("an agent")?;
        keep(self.store, self.run.id(), (self.sequence, &reported), window, Arrival::InTime).await
    }
}

async fn keep(
    store: &SqliteStore,
    run: &RunId,
    (sequence, facts): (u64, &WindowFacts),
    window: Window,
    arrival: Arrival,
) -> Done {
    let window = Arc::new(SealedWindow::of(&window));
    store.keep_window(Delivery { run, agent: AGENT, sequence, window: &window, facts, arrival }).await?;
    Ok(())
}

fn document(id: &str, name: &str) -> Result<RunDocument, Box<dyn Error>> {
    Ok(RunDocument {
        volley: DOCUMENT_VERSION,
        id: RunId::new(id).ok_or("a run's name")?,
        name: name.to_owned(),
        note: Some("a note".to_owned()),
        labels: BTreeMap::from([("zone".to_owned(), "eu".to_owned())]),
        library: None,
        created_at: "2026-12-01T10:00:00.000Z".to_owned(),
        started_at: Some("2026-12-01T10:00:00.250Z".to_owned()),
        load: "1 user closed, 100 requests".to_owned(),
        target: "http://127.0.0.1:1/".to_owned(),
        plan: r#"{"target":"http://127.0.0.1:1/","users":1,"requests":100}"#.to_owned(),
        plan_hash: "0".repeat(64),
        progress: Progress { state: "gathering".to_owned(), ..Progress::default() },
        log: vec![LogLine { at_s: 0.0, text: "started".to_owned(), level: "info".to_owned() }],
        log_lines_dropped: 0,
    })
}

fn agent() -> AgentDocument {
    AgentDocument {
        incarnation: AGENT,
        name: "a".to_owned(),
        version: "0.1.0".to_owned(),
        workers: 2,
        state: "running".to_owned(),
        share: "1 user".to_owned(),
        part: 1.0,
        outlier: None,
        users: 1,
        granted: 50,
        started: 0,
        completed: 0,
        unknown: Some(0),
        lost_at_s: None,
        drift_ms: Some(0.25),
        gaps: Vec::new(),
        round_trip_ms: Some(0.125),
        last_seen_s: Some(0.5),
        health: HealthSum { seconds: 1, ..HealthSum::default() },
    }
}

fn row(ok: u64, reset: u64) -> Row {
    let mut row = Row::default();
    (0..ok).for_each(|n| row.latency.record(1_000_000 + n * 100_000));
    (0..reset).for_each(|_| row.failed_latency.record(250_000));
    (row.counters.started, row.counters.ok, row.counters.failed) = (ok + reset, ok, reset);
    row.counters.statuses.add(200, ok);
    row.counters.errors.add(ErrorKind::Reset, reset);
    let counters = &mut row.counters;
    (counters.connections_opened, counters.connections_reused, counters.connections_closed) = (2, 3, 4);
    (counters.handshakes, counters.handshakes_resumed) = (6, 5);
    row
}

/// What went to each address in one window.
fn addresses() -> Addresses {
    let mut addresses = Addresses::default();
    addresses.add("127.0.0.1:1", &AddressCounts { connections: 1, failures: 0, requests: 10 });
    addresses.add("[::1]:1", &AddressCounts { connections: 0, failures: 1, requests: 0 });
    addresses
}

fn window(second: u32, ok: u64, reset: u64) -> Window {
    let iterations = Iterations { started: ok + reset, finished: ok + reset, missed: 0 };
    let scalars = Second { iterations, users: 1, in_flight: 1, connections: 2, ..Second::default() };
    Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row(ok, reset))]),
        seconds: BTreeMap::from([(second, scalars)]),
        addresses: addresses(),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000,
        ..Window::default()
    }
}

/// Ten iterations that were started and one that was missed, with all that is measured beside.
fn open_window(second: u32, part: Part) -> Window {
    let mut row = row(9, 0);
    (0..9).for_each(|_| row.service_time.record(900_000));
    row.cancelled_age.record(5_000_000);
    (row.counters.started, row.counters.cancelled) = (10, 1);
    let mut all = Row::default();
    for timed in Timed::ALL {
        all.timing.record(*timed, 2_000_000);
    }
    let iterations = Iterations { started: 10, finished: 9, missed: 1 };
    let counts = Second { in_flight: 1, connections: 2, ..Second::default() };
    let scalars = match part {
        Part::Measured => Second { iterations, ..counts },
        Part::Warmup => Second { warmup: iterations, ..counts },
    };
    let health = Health {
        span_ns: 1_000_000_000,
        lag_p99_ns: 2_000_000,
        lag_max_ns: 3_000_000,
        busiest_cpu_ns: 250_000_000,
        stolen_ns: 10_000_000,
        ..Health::default()
    };
    let key = RowKey { part, ..RowKey::second(second, 0) };
    Window {
        rows: BTreeMap::from([(key, row), (RowKey::all_steps(second, part), all)]),
        seconds: BTreeMap::from([(second, scalars)]),
        health: BTreeMap::from([(second, health)]),
        addresses: addresses(),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000,
    }
}
