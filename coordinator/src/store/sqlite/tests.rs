//! The store in its file: what it promises beyond the suite.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::{Timestamp, ToSpan as _};
use tempfile::TempDir;
use volley_plan::link::{Incarnation, RunId};
use volley_stats::{Iterations, Row, RowKey, Second, Window};

use super::*;
use crate::store::Strain;
use crate::store::suite::{self, Home, finish, keep};

mod crash;
mod disk_full;
mod numbers;
mod restart;
mod stall;
mod stored_forms;
mod thinning;

/// A folder with a store in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("volley.db")
    }

    fn store(&self) -> SqliteStore {
        self.store_with(Retention::default())
    }

    fn store_with(&self, retention: Retention) -> SqliteStore {
        SqliteStore::open(&self.path(), retention).unwrap()
    }

    /// A connection past the store, to see what is in its tables or to damage them.
    fn db(&self) -> Connection {
        let db = Connection::open(self.path()).unwrap();
        db.busy_timeout(Duration::from_secs(5)).unwrap();
        db
    }

    fn number(&self, text: &str) -> i64 {
        self.db().query_row(text, [], |row| row.get(0)).unwrap()
    }

    /// Waits until a query gives this number. Housekeeping has no event of its own, so this asks again.
    async fn until(&self, text: &str, expected: i64) {
        let begun = Instant::now();
        while self.number(text) != expected {
            assert!(begun.elapsed() < Duration::from_secs(60), "{text} is {}", self.number(text));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Home for Folder {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store())
    }
}

/// A document of a run that was asked for some days ago.
fn days_old(id: &str, days: i64) -> RunDocument {
    let created_at = (Timestamp::now() - (days * 24).hours()).to_string();
    RunDocument { created_at, ..suite::document(id) }
}

/// A row as a real agent's second has it: some hundred latencies over a decade or two.
fn rich_row(seed: u64, ok: u64) -> Row {
    let mut row = Row::default();
    for n in 0..ok {
        let spread = seed.wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        row.latency.record(200_000 + spread * spread / 8_000_000);
    }
    (row.counters.started, row.counters.ok) = (ok, ok);
    row.counters.statuses.add(200, ok);
    row
}

/// A window of a second with such a row for each step.
fn rich_window(second: u32, steps: u16, ok: u64) -> Arc<Window> {
    let rows = (0..steps).map(|step| {
        let seed = u64::from(second) << 16 | u64::from(step);
        (RowKey::second(second, step), rich_row(seed, ok))
    });
    let started = u64::from(steps) * ok;
    let iterations = Iterations { started, finished: started, missed: 0 };
    let scalars = Second { iterations, users: 5, in_flight: second, connections: 5, ..Second::default() };
    Arc::new(Window {
        rows: rows.collect(),
        seconds: BTreeMap::from([(second, scalars)]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000,
        ..Window::default()
    })
}

/// Writes a span past the store.
fn write_span(db: &Connection, run: i64, grain: Grain, from_s: u32, scalars: Second, body: Option<&[u8]>) {
    let head = merge::SpanHead { grain, from_s, scalars, strain: Strain::default() };
    merge::write_span(db, run, &head, body).unwrap();
}

#[tokio::test]
async fn passes_the_suite() {
    suite::run(Folder::new).await;
}

#[tokio::test]
async fn a_second_store_on_the_same_file_is_refused() {
    let folder = Folder::new();
    let store = folder.store();
    let refused = SqliteStore::open(&folder.path(), Retention::default()).unwrap_err();
    assert!(
        matches!(&refused, StoreError::InUse { pid: Some(pid), .. } if *pid == std::process::id()),
        "{refused}"
    );
    assert!(refused.to_string().contains("volley.db"), "{refused}");
    drop(store);
    folder.store();
}

#[tokio::test]
async fn one_file_is_left_when_it_is_closed() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    finish(&store, &run).await;
    // A reader's connection is closed with the rest.
    store.document(&run.id).await.unwrap();
    drop(store);
    let entries = std::fs::read_dir(folder.0.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["volley.db", "volley.db.lock"]);
}

#[tokio::test]
async fn many_runs_are_written_at_the_same_time() {
    const RUNS: u64 = 8;
    const SECONDS: u32 = 30;
    let folder = Folder::new();
    let store = Arc::new(folder.store());
    let writers = (0..RUNS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let run = suite::document(&format!("r{n}"));
            store.create(&run).await.unwrap();
            for second in 0..SECONDS {
                for agent in 1..=3 {
                    keep(&*store, &run.id, agent, u64::from(second) + 1, &rich_window(second, 2, 5 + n))
                        .await;
                }
                store.complete(&run.id, second).await.unwrap();
            }
            finish(&*store, &run).await;
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    drop(store);
    let store = folder.store();
    for n in 0..RUNS {
        let run = RunId::new(&format!("r{n}")).unwrap();
        let series = store.series(&run).await.unwrap();
        assert_eq!(series.lock().whole().latency.count(), u64::from(SECONDS) * 3 * 2 * (5 + n), "{run}");
        assert_eq!(series.lock().second(7).unwrap().row.counters.ok, 3 * 2 * (5 + n));
    }
    assert_eq!(folder.number("SELECT count(*) FROM messages"), 0);
    assert_eq!(folder.number("SELECT count(*) FROM agent_seconds WHERE run = 1"), i64::from(SECONDS) * 3);
}

#[tokio::test]
async fn rows_in_memory_are_those_of_the_latest_minutes() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    for second in 0..200 {
        keep(&store, &run.id, 1, u64::from(second) + 1, &rich_window(second, 2, 3)).await;
        store.complete(&run.id, second + 1).await.unwrap();
    }
    let series = store.series(&run.id).await.unwrap();
    let kept = |second| series.lock().rows_in(second);
    assert_eq!((kept(0), kept(138), kept(141), kept(199)), (0, 0, 2, 2));
    assert_eq!(series.lock().whole().latency.count(), 1200);
    assert_eq!(series.lock().end_s(), 200);
}
