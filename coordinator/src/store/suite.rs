//! What every store must do. One function, run for each implementation; it cites nothing of any.

use std::collections::BTreeMap;

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order, RunId};
use volley_stats::{Iterations, Row, RowKey, Second, Window};
use volley_web::stream::LogLine;

use super::{Arrival, Delivery, Kept, SavedOrder, Store, StoreError};
use crate::document::{DOCUMENT_VERSION, Progress, RunDocument};

/// The document of a run that has just been asked for.
pub(crate) fn document(id: &str) -> RunDocument {
    RunDocument {
        volley: DOCUMENT_VERSION,
        id: RunId::new(id).unwrap(),
        name: format!("plan of {id}"),
        note: None,
        created_at: "2026-11-30T12:00:00Z".to_owned(),
        started_at: None,
        load: "1 user closed, 1 s".to_owned(),
        target: "http://127.0.0.1:1/".to_owned(),
        plan: "{}".to_owned(),
        plan_hash: "0".repeat(64),
        progress: Progress { state: "gathering".to_owned(), ..Progress::default() },
        log: Vec::new(),
        log_lines_dropped: 0,
    }
}

/// A window of `ok` requests of 1 ms in one second.
pub(crate) fn window(second: u32, ok: u64) -> Window {
    let mut row = Row::default();
    for _ in 0..ok {
        row.latency.record(1_000_000);
    }
    (row.counters.started, row.counters.ok) = (ok, ok);
    row.counters.statuses.add(200, ok);
    let iterations = Iterations { started: ok, finished: ok, missed: 0 };
    Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row)]),
        seconds: BTreeMap::from([(second, Second { iterations, users: 1, ..Second::default() })]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000 + 1,
    }
}

/// The whole suite, each part on a store of its own.
pub(crate) async fn run<S: Store>(store: impl Fn() -> S) {
    documents_come_back(&store()).await;
    runs_are_listed_newest_first(&store()).await;
    windows_are_merged_once(&store()).await;
    late_windows_are_in_no_total(&store()).await;
    orders_come_back(&store()).await;
    unknown_runs_are_errors(&store()).await;
}

async fn documents_come_back(store: &dyn Store) {
    let mut run = document("r");
    store.create(&run).await.unwrap();
    assert_eq!(store.document(&run.id).await.unwrap().as_ref(), Some(&run));
    assert!(matches!(store.create(&run).await, Err(StoreError::Exists(id)) if id == run.id));
    run.progress.over = true;
    run.progress.verdict = Some(Verdict::Invalid);
    run.progress.whole.error_rate = Some(0.25);
    run.log.push(LogLine {
        at_s: 1.5,
        text: "<b>\u{1f4a5} \"quoted\"\n".to_owned(),
        level: "warn".to_owned(),
    });
    store.update(&run).await.unwrap();
    assert_eq!(store.document(&run.id).await.unwrap().as_ref(), Some(&run));
}

async fn runs_are_listed_newest_first(store: &dyn Store) {
    assert_eq!(store.list().await.unwrap(), Vec::new());
    for id in ["b", "c", "a"] {
        store.create(&document(id)).await.unwrap();
    }
    let mut first = document("b");
    first.progress.state = "finished".to_owned();
    store.update(&first).await.unwrap();
    let list = store.list().await.unwrap();
    let listed: Vec<_> = list.iter().map(|run| (run.id.as_str(), run.state.as_str())).collect();
    assert_eq!(listed, [("a", "gathering"), ("c", "gathering"), ("b", "finished")]);
}

async fn windows_are_merged_once(store: &dyn Store) {
    let (run, other) = (document("r"), document("s"));
    store.create(&run).await.unwrap();
    store.create(&other).await.unwrap();
    let windows = [(1, 1, window(0, 3)), (2, 1, window(0, 4)), (1, 2, window(1, 5)), (1, 1, window(0, 3))];
    let mut kept = Vec::new();
    for (agent, sequence, window) in &windows {
        let (agent, arrival) = (Incarnation(*agent), Arrival::InTime);
        let delivery = Delivery { run: &run.id, agent, sequence: *sequence, window, arrival };
        kept.push(store.keep_window(delivery).await.unwrap());
    }
    assert_eq!(kept, [Kept::New, Kept::New, Kept::New, Kept::Repeated]);
    let series = store.series(&run.id).await.unwrap();
    assert_eq!(series.lock().whole().counters.ok, 12);
    assert_eq!(series.lock().second(0).unwrap().row.latency.count(), 7);
    assert_eq!(series.lock().iterations().started, 12);
    assert_eq!(store.series(&other.id).await.unwrap().lock().end_s(), 0, "runs are kept apart");
}

async fn late_windows_are_in_no_total(store: &dyn Store) {
    let run = document("r");
    store.create(&run).await.unwrap();
    let window = window(0, 3);
    let late = Delivery {
        run: &run.id,
        agent: Incarnation(1),
        sequence: 1,
        window: &window,
        arrival: Arrival::Late,
    };
    assert_eq!(store.keep_window(late).await.unwrap(), Kept::New);
    assert_eq!(store.keep_window(late).await.unwrap(), Kept::Repeated);
    let again = Delivery { arrival: Arrival::InTime, ..late };
    assert_eq!(store.keep_window(again).await.unwrap(), Kept::Repeated, "once late, it stays so");
    assert_eq!(store.series(&run.id).await.unwrap().lock().whole().counters.started, 0);
}

async fn orders_come_back(store: &dyn Store) {
    let run = document("r");
    store.create(&run).await.unwrap();
    let order = |agent, number, order| SavedOrder { agent: Incarnation(agent), number, order };
    let orders = [
        order(1, 1, Order::Grant { from: 0, to: 10, last: false }),
        order(1, 2, Order::Start { at_ns: 5, lease_until_ns: 6 }),
        order(2, 1, Order::Release),
    ];
    for index in [2, 0, 1, 0] {
        store.save_order(&run.id, orders[index].clone()).await.unwrap();
    }
    assert_eq!(store.orders(&run.id).await.unwrap(), orders);
}

async fn unknown_runs_are_errors(store: &dyn Store) {
    let nobody = document("nobody");
    assert_eq!(store.document(&nobody.id).await.unwrap(), None);
    let (run, window) = (&nobody.id, window(0, 1));
    let arrival = Arrival::InTime;
    let delivery = Delivery { run, agent: Incarnation(1), sequence: 1, window: &window, arrival };
    let order = SavedOrder { agent: Incarnation(1), number: 1, order: Order::Release };
    let results = [
        store.update(&nobody).await.err(),
        store.save_order(run, order).await.err(),
        store.keep_window(delivery).await.err(),
        store.series(run).await.err(),
        store.orders(run).await.err(),
    ];
    for error in results {
        assert!(matches!(&error, Some(StoreError::NotFound(id)) if id == run), "{error:?}");
    }
}
