//! What every store must do. One function, run for each implementation; it cites nothing of any.

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order, RunId};
use volley_stats::{Iterations, Part, Row, RowKey, Second, Window};
use volley_web::stream::LogLine;

use super::{
    Arrival, Delivery, Grain, Kept, Listed, MAX_ORDERS, Page, SavedOrder, SharedSeries, Store, StoreError,
};
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
pub(crate) fn window(second: u32, ok: u64) -> Arc<Window> {
    let mut row = Row::default();
    for _ in 0..ok {
        row.latency.record(1_000_000);
    }
    (row.counters.started, row.counters.ok) = (ok, ok);
    row.counters.statuses.add(200, ok);
    let iterations = Iterations { started: ok, finished: ok, missed: 0 };
    Arc::new(Window {
        rows: BTreeMap::from([(RowKey::second(second, 0), row)]),
        seconds: BTreeMap::from([(second, Second { iterations, users: 1, ..Second::default() })]),
        watermark_s: second + 1,
        latest_ns: u64::from(second) * 1_000_000_000 + 1,
    })
}

/// A place where runs outlive the store that is open on it.
pub(crate) trait Home {
    /// Opens the store that is there. Only one is open at a time.
    fn open(&self) -> Arc<dyn Store>;
}

/// Keeps a window that is in time.
pub(crate) async fn keep(
    store: &dyn Store,
    run: &RunId,
    agent: u64,
    sequence: u64,
    window: &Arc<Window>,
) -> Kept {
    let (agent, arrival) = (Incarnation(agent), Arrival::InTime);
    store.keep_window(Delivery { run, agent, sequence, window, arrival }).await.unwrap()
}

async fn keep_late(store: &dyn Store, run: &RunId, agent: u64, sequence: u64, window: &Arc<Window>) -> Kept {
    let (agent, arrival) = (Incarnation(agent), Arrival::Late);
    store.keep_window(Delivery { run, agent, sequence, window, arrival }).await.unwrap()
}

/// Says that a run is over.
pub(crate) async fn finish(store: &dyn Store, run: &RunDocument) -> RunDocument {
    let mut run = run.clone();
    (run.progress.over, run.progress.state) = (true, "finished".to_owned());
    store.update(&run).await.unwrap();
    run
}

/// The whole suite, each part in a home of its own.
pub(crate) async fn run<H: Home>(home: impl Fn() -> H) {
    documents_come_back(&home()).await;
    runs_are_listed_newest_first(&home()).await;
    lists_have_pages(&home()).await;
    windows_are_merged_once(&home()).await;
    steps_and_parts_are_told_apart(&home()).await;
    windows_are_known_again(&home()).await;
    late_windows_are_in_no_total(&home()).await;
    late_rows_add_to_complete_seconds(&home()).await;
    spans_are_seconds_or_minutes(&home()).await;
    orders_come_back(&home()).await;
    old_orders_make_room(&home()).await;
    unknown_runs_are_errors(&home()).await;
}

async fn documents_come_back(home: &impl Home) {
    let mut run = document("r");
    let store = home.open();
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
    drop(store);
    assert_eq!(home.open().document(&run.id).await.unwrap().as_ref(), Some(&run));
}

async fn runs_are_listed_newest_first(home: &impl Home) {
    let store = home.open();
    assert_eq!(store.list(&Page::newest(9)).await.unwrap(), Listed::default());
    for id in ["b", "c", "a"] {
        store.create(&document(id)).await.unwrap();
    }
    finish(&*store, &document("b")).await;
    let said = |listed: &Listed| {
        let runs = listed.runs.iter();
        runs.map(|run| format!("{} {}", run.id, run.state)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(said(&store.list(&Page::newest(9)).await.unwrap()), "a gathering, c gathering, b finished");
    finish(&*store, &document("a")).await;
    finish(&*store, &document("c")).await;
    drop(store);
    let listed = home.open().list(&Page::newest(9)).await.unwrap();
    assert_eq!(said(&listed), "a finished, c finished, b finished");
}

async fn lists_have_pages(home: &impl Home) {
    let store = home.open();
    for n in 0..5 {
        store.create(&document(&format!("r{n}"))).await.unwrap();
    }
    let page = async |before: Option<&str>, most| {
        let before = before.map(|name| RunId::new(name).unwrap());
        let Listed { runs, next, in_all } = store.list(&Page { before, most }).await.unwrap();
        let names: Vec<_> = runs.iter().map(|run| run.id.as_str()).collect();
        format!(
            "{} then {} of {in_all}",
            names.join(" "),
            next.map_or("none".to_owned(), |id| id.to_string())
        )
    };
    assert_eq!(page(None, 2).await, "r4 r3 then r3 of 5");
    assert_eq!(page(Some("r3"), 2).await, "r2 r1 then r1 of 5");
    assert_eq!(page(Some("r1"), 2).await, "r0 then none of 5");
    assert_eq!(page(Some("r0"), 2).await, " then none of 5");
    assert_eq!(page(Some("r25"), 2).await, "r2 r1 then r1 of 5", "a run that isn't there any more");
    assert_eq!(page(None, 5).await, "r4 r3 r2 r1 r0 then none of 5");
}

async fn windows_are_merged_once(home: &impl Home) {
    let store = home.open();
    let (run, other) = (document("r"), document("s"));
    store.create(&run).await.unwrap();
    store.create(&other).await.unwrap();
    let windows = [(1, 1, window(0, 3)), (2, 1, window(0, 4)), (1, 2, window(1, 5)), (1, 1, window(0, 3))];
    let mut kept = Vec::new();
    for (agent, sequence, window) in &windows {
        kept.push(keep(&*store, &run.id, *agent, *sequence, window).await);
    }
    assert_eq!(kept, [Kept::New, Kept::New, Kept::New, Kept::Repeated]);
    let check = |series: SharedSeries| {
        assert_eq!(series.lock().whole().counters.ok, 12);
        assert_eq!(series.lock().second(0).unwrap().row.latency.count(), 7);
        assert_eq!(series.lock().second(0).unwrap().scalars.users, 2);
        assert_eq!(series.lock().iterations().started, 12);
        assert_eq!(series.lock().end_s(), 2);
    };
    check(store.series(&run.id).await.unwrap());
    assert_eq!(store.series(&other.id).await.unwrap().lock().end_s(), 0, "runs are kept apart");
    store.complete(&run.id, 1).await.unwrap();
    check(store.series(&run.id).await.unwrap());
    finish(&*store, &run).await;
    check(store.series(&run.id).await.unwrap());
    drop(store);
    let store = home.open();
    check(store.series(&run.id).await.unwrap());
    assert_eq!(store.series(&other.id).await.unwrap().lock().end_s(), 0);
}

async fn steps_and_parts_are_told_apart(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    let mut window = Window::clone(&window(7, 3));
    let row = window.rows[&RowKey::second(7, 0)].clone();
    window.rows.insert(RowKey::second(7, 1), row.clone());
    window.rows.insert(RowKey { part: Part::Warmup, ..RowKey::second(7, 0) }, row.clone());
    window.rows.insert(RowKey { from_s: 3, to_s: 6, step: 2, part: Part::Measured }, row);
    keep(&*store, &run.id, 1, 1, &Arc::new(window)).await;
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    let series = store.series(&run.id).await.unwrap();
    let totals: Vec<_> = series.lock().totals().map(|(step, total)| (step, total.latency.count())).collect();
    assert_eq!(totals, [(0, 3), (1, 3), (2, 3)], "the warm-up is in no total");
    assert_eq!(series.lock().second(7).unwrap().row.latency.count(), 9);
    assert_eq!(series.lock().span(3, 6).unwrap().latency.count(), 3);
    let spans = store.spans(&run.id, Grain::Second, 0, 60).await.unwrap();
    let said: Vec<_> = spans.iter().map(|span| (span.from_s, span.row.counters.ok)).collect();
    assert_eq!(said, [(7, 9)]);
    let spans = store.spans(&run.id, Grain::Minute, 0, 60).await.unwrap();
    assert_eq!(spans.len(), 1);
}

async fn windows_are_known_again(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    // Merged, not merged yet, and late; and one out of its order.
    keep(&*store, &run.id, 1, 1, &window(0, 1)).await;
    store.complete(&run.id, 1).await.unwrap();
    keep(&*store, &run.id, 1, 4, &window(1, 1)).await;
    keep_late(&*store, &run.id, u64::MAX, 1, &window(0, 1)).await;
    finish(&*store, &run).await;
    drop(store);
    for _ in 0..2 {
        let store = home.open();
        let repeated = [(1, 1), (1, 4), (u64::MAX, 1)];
        for (agent, sequence) in repeated {
            let kept = keep(&*store, &run.id, agent, sequence, &window(0, 1)).await;
            assert_eq!(kept, Kept::Repeated, "{agent} {sequence}");
        }
        assert_eq!(store.series(&run.id).await.unwrap().lock().whole().counters.ok, 2);
    }
    let store = home.open();
    assert_eq!(keep(&*store, &run.id, 1, 2, &window(1, 5)).await, Kept::New);
    assert_eq!(store.series(&run.id).await.unwrap().lock().whole().counters.ok, 7);
}

async fn late_windows_are_in_no_total(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    assert_eq!(keep_late(&*store, &run.id, 1, 1, &window(0, 3)).await, Kept::New);
    assert_eq!(keep_late(&*store, &run.id, 1, 1, &window(0, 3)).await, Kept::Repeated);
    assert_eq!(keep(&*store, &run.id, 1, 1, &window(0, 3)).await, Kept::Repeated, "once late, it stays so");
    assert_eq!(store.series(&run.id).await.unwrap().lock().whole().counters.started, 0);
    finish(&*store, &run).await;
    drop(store);
    assert_eq!(home.open().series(&run.id).await.unwrap().lock().whole().counters.started, 0);
}

async fn late_rows_add_to_complete_seconds(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for second in 0..300 {
        keep(&*store, &run.id, 1, u64::from(second) + 1, &window(second, 10)).await;
        store.complete(&run.id, second + 1).await.unwrap();
    }
    // Long complete, and of the last minute.
    for (sequence, second) in [(1, 3), (2, 250), (3, 3)] {
        keep(&*store, &run.id, 2, sequence, &window(second, 7)).await;
        let series = store.series(&run.id).await.unwrap();
        let at_once = series.lock().second(second).unwrap().row.counters.ok;
        assert_eq!(at_once, if sequence == 3 { 24 } else { 17 }, "second {second}");
    }
    store.complete(&run.id, 300).await.unwrap();
    let check = async |store: &dyn Store| {
        let spans = store.spans(&run.id, Grain::Second, 0, 300).await.unwrap();
        let changed = spans.iter().filter(|span| span.row.counters.ok != 10);
        let changed: Vec<_> = changed.map(|span| (span.from_s, span.row.counters.ok)).collect();
        assert_eq!((spans.len(), changed), (300, vec![(3, 24), (250, 17)]));
        let minutes = store.spans(&run.id, Grain::Minute, 0, 300).await.unwrap();
        let minutes: Vec<_> = minutes.iter().map(|span| span.row.counters.ok).collect();
        assert_eq!(minutes, [614, 600, 600, 600, 607]);
        assert_eq!(store.series(&run.id).await.unwrap().lock().whole().latency.count(), 3021);
    };
    check(&*store).await;
    finish(&*store, &run).await;
    check(&*store).await;
    drop(store);
    let store = home.open();
    check(&*store).await;
    assert_eq!(store.series(&run.id).await.unwrap().lock().second(3).unwrap().row.counters.ok, 24);
}

async fn spans_are_seconds_or_minutes(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for (sequence, second) in (1..).zip([0, 1, 59, 60, 200]) {
        keep(&*store, &run.id, 1, sequence, &window(second, u64::from(second) + 1)).await;
    }
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    let check = async |grain, from_s, to_s, expected: &[(u32, u32, u64)]| {
        let spans = store.spans(&run.id, grain, from_s, to_s).await.unwrap();
        let said = spans.iter().map(|span| (span.from_s, span.to_s, span.scalars.iterations.started));
        assert_eq!(said.collect::<Vec<_>>(), expected, "{grain:?} {from_s} {to_s}");
        for span in &spans {
            assert_eq!(span.row.open().unwrap().latency.count(), span.scalars.iterations.started);
        }
    };
    check(Grain::Second, 1, 60, &[(1, 2, 2), (59, 60, 60)]).await;
    check(Grain::Minute, 0, u32::MAX, &[(0, 60, 63), (60, 120, 61), (180, 240, 201)]).await;
    check(Grain::Minute, 1, 61, &[(60, 120, 61)]).await;
    check(Grain::Minute, 0, 0, &[]).await;
}

async fn orders_come_back(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    let order = |agent, number, order| SavedOrder { agent: Incarnation(agent), number, order };
    let orders = [
        order(1, 1, Order::Grant { from: 0, to: 10, last: false }),
        order(1, 2, Order::Start { at_ns: 5, lease_until_ns: 6 }),
        order(u64::MAX, 1, Order::Release),
    ];
    for index in [2, 0, 1, 0] {
        store.save_order(&run.id, orders[index].clone()).await.unwrap();
    }
    assert_eq!(store.orders(&run.id).await.unwrap(), orders);
    finish(&*store, &run).await;
    drop(store);
    assert_eq!(home.open().orders(&run.id).await.unwrap(), orders);
}

async fn old_orders_make_room(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    for number in 1..=MAX_ORDERS as u64 + 10 {
        let order = Order::Grant { from: number, to: number + 1, last: false };
        store.save_order(&run.id, SavedOrder { agent: Incarnation(1), number, order }).await.unwrap();
    }
    let orders = store.orders(&run.id).await.unwrap();
    let numbers: Vec<_> = orders.iter().map(|order| order.number).collect();
    assert_eq!((numbers.len(), numbers[0], numbers[1], numbers[99]), (MAX_ORDERS, 1, 12, 110));
}

async fn unknown_runs_are_errors(home: &impl Home) {
    let store = home.open();
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
        store.complete(run, 1).await.err(),
        store.series(run).await.err(),
        store.spans(run, Grain::Second, 0, 1).await.err(),
        store.orders(run).await.err(),
    ];
    for error in results {
        assert!(matches!(&error, Some(StoreError::NotFound(id)) if id == run), "{error:?}");
    }
}
