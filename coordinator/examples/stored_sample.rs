//! Writes a small store with something of everything that is kept, as a sample of the stored form of this version.
//!
//! `src/store/sqlite/tests/stored_forms.rs` reads the samples of all versions that were released; so when a form changes,
//! write one of the new form beside the old ones, from the root of the workspace, and name it in that test:
//!
//! ```sh
//! cargo run -p volley-coordinator --example stored_sample -- coordinator/tests/stored/v3.db
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use volley_coordinator::document::{AgentDocument, DOCUMENT_VERSION, LogLine, Progress, RunDocument};
use volley_coordinator::store::{Arrival, Delivery, Retention, SavedOrder, SqliteStore, Store};
use volley_plan::health::HealthSum;
use volley_plan::link::{ArrivalShare, Incarnation, Order, RunId, Share, UserShare};
use volley_plan::shape::Stripes;
use volley_stats::{ErrorKind, Health, Iterations, Part, Row, RowKey, Second, Timed, Window};

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
        keep(store, &run.id, u64::from(second) + 1, window, Arrival::InTime).await?;
        store.complete(&run.id, second).await?;
    }
    run.progress.over = true;
    run.progress.state = "finished".to_owned();
    store.update(&run).await?;
    keep(store, &run.id, 71, window(69, 4, 0), Arrival::Late).await
}

/// A run that goes on: two seconds are complete, the third is not.
async fn going_on(store: &SqliteStore) -> Done {
    let mut run = document("20261201-110000-00000002", "going on")?;
    store.create(&run).await?;
    run.progress.state = "running".to_owned();
    run.progress.agents = vec![agent()];
    store.update(&run).await?;
    let orders = [
        prepare(&run, Share::Users(UserShare { users: 1, first_user: 0, every: 1 })),
        Order::Start { at_ns: 5, lease_until_ns: 6 },
        Order::Grant { from: 0, to: 50, last: false },
    ];
    for (number, order) in (1..).zip(orders) {
        let agent = Incarnation(u64::MAX);
        store.save_order(&run.id, SavedOrder { agent, number, order }).await?;
    }
    for second in 0..3 {
        keep(store, &run.id, u64::from(second) + 1, window(second, 10, 0), Arrival::InTime).await?;
        if second == 1 {
            store.complete(&run.id, 2).await?;
        }
    }
    Ok(())
}

/// A run of the open model that goes on: two seconds of warm-up and three that are measured, the last of which is not
/// complete.
async fn open(store: &SqliteStore) -> Done {
    let mut run = document("20261201-120000-00000003", "open")?;
    run.plan = r#"{"target":"http://127.0.0.1:1/","rate":"12/s","duration":"60s","warmup":"2s"}"#.to_owned();
    store.create(&run).await?;
    run.progress.state = "running".to_owned();
    run.progress.agents = vec![agent()];
    store.update(&run).await?;
    let stripes = Stripes::default().all();
    let share = Share::Arrivals(ArrivalShare { stripes, max_in_flight: 100, connections: Some(7) });
    let order = SavedOrder { agent: Incarnation(u64::MAX), number: 1, order: prepare(&run, share) };
    store.save_order(&run.id, order).await?;
    for second in 0..5 {
        let part = if second < 2 { Part::Warmup } else { Part::Measured };
        keep(store, &run.id, u64::from(second) + 1, open_window(second, part), Arrival::InTime).await?;
        if second == 3 {
            store.complete(&run.id, 4).await?;
        }
    }
    Ok(())
}

fn prepare(run: &RunDocument, share: Share) -> Order {
    Order::Prepare { plan: run.plan.clone(), hash: run.plan_hash.clone(), share, seed: 42 }
}

async fn keep(store: &SqliteStore, run: &RunId, sequence: u64, window: Window, arrival: Arrival) -> Done {
    let (agent, window) = (Incarnation(u64::MAX), Arc::new(window));
    store.keep_window(Delivery { run, agent, sequence, window: &window, arrival }).await?;
    Ok(())
}

fn document(id: &str, name: &str) -> Result<RunDocument, Box<dyn Error>> {
    Ok(RunDocument {
        volley: DOCUMENT_VERSION,
        id: RunId::new(id).ok_or("a run's name")?,
        name: name.to_owned(),
        note: Some("a note".to_owned()),
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
        incarnation: Incarnation(u64::MAX),
        name: "a".to_owned(),
        version: "0.1.0".to_owned(),
        workers: 2,
        state: "running".to_owned(),
        share: "1 user".to_owned(),
        users: 1,
        granted: 50,
        started: 0,
        completed: 0,
        unknown: Some(0),
        lost_at_s: None,
        drift_ms: Some(0.25),
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
    row
}

fn window(second: u32, ok: u64, reset: u64) -> Window {
    let iterations = Iterations { started: ok + reset, finished: ok + reset, missed: 0 };
    let scalars = Second { iterations, users: 1, in_flight: 1, connections: 2, ..Second::default() };
    Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row(ok, reset))]),
        seconds: BTreeMap::from([(second, scalars)]),
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
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000,
    }
}
