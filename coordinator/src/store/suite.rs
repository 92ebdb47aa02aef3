//! What every store must do. One function, run for each implementation; it cites nothing of any.

use std::sync::Arc;

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order, RunId, WindowFacts};
use volley_stats::Window;
use volley_web::stream::LogLine;

use super::{Arrival, Delivery, Grain, Kept, Listed, Page, SavedOrder, Store, StoreError};
use crate::document::RunDocument;

mod library;
mod measured;
mod orders;
mod results;
mod samples;
mod unfinished;

use library::{
    marks_stay_whatever_a_document_says, plans_are_changed_on_condition, plans_have_versions,
    removed_runs_are_gone, requests_are_remembered, rows_are_of_steps_and_seconds,
};
use measured::{health_comes_back, the_warm_up_is_counted_apart, what_is_timed_of_all_steps_comes_back};
use orders::{old_orders_make_room, orders_come_back, orders_come_with_where_the_decider_stood};
use results::{
    addresses_come_back, late_rows_add_to_complete_seconds, spans_are_seconds_or_minutes,
    steps_and_parts_are_told_apart, windows_are_merged_once,
};
pub(crate) use samples::{document, facts, health, open_window, sealed, standing, warmup_window, window};
use unfinished::{closed_runs_tell_what_there_is, unfinished_runs_come_back};

/// A place where runs outlive the store that is open on it.
pub(crate) trait Home {
    /// Opens the store that is there. Only one is open at a time.
    fn open(&self) -> Arc<dyn Store>;
}

/// Keeps a window that is in time.
pub(crate) async fn keep(store: &dyn Store, run: &RunId, agent: u64, sequence: u64, window: &Window) -> Kept {
    keep_in(store, run, (agent, sequence), window, Arrival::InTime).await
}

async fn keep_late(store: &dyn Store, run: &RunId, agent: u64, sequence: u64, window: &Window) -> Kept {
    keep_in(store, run, (agent, sequence), window, Arrival::Late).await
}

async fn keep_in(
    store: &dyn Store,
    run: &RunId,
    (agent, sequence): (u64, u64),
    window: &Window,
    arrival: Arrival,
) -> Kept {
    let (agent, facts) = (Incarnation(agent), facts(sequence, window));
    let window = &sealed(window);
    store.keep_window(Delivery { run, agent, sequence, window, facts: &facts, arrival }).await.unwrap()
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
    addresses_come_back(&home()).await;
    windows_are_known_again(&home()).await;
    late_windows_are_in_no_total(&home()).await;
    late_rows_add_to_complete_seconds(&home()).await;
    spans_are_seconds_or_minutes(&home()).await;
    the_warm_up_is_counted_apart(&home()).await;
    what_is_timed_of_all_steps_comes_back(&home()).await;
    health_comes_back(&home()).await;
    orders_come_back(&home()).await;
    old_orders_make_room(&home()).await;
    orders_come_with_where_the_decider_stood(&home()).await;
    unfinished_runs_come_back(&home()).await;
    closed_runs_tell_what_there_is(&home()).await;
    plans_have_versions(&home()).await;
    plans_are_changed_on_condition(&home()).await;
    marks_stay_whatever_a_document_says(&home()).await;
    removed_runs_are_gone(&home()).await;
    requests_are_remembered(&home()).await;
    rows_are_of_steps_and_seconds(&home()).await;
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
        let Listed { runs, next, in_all } = store.list(&Page { before, ..Page::newest(most) }).await.unwrap();
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

async fn unknown_runs_are_errors(home: &impl Home) {
    let store = home.open();
    let nobody = document("nobody");
    assert_eq!(store.document(&nobody.id).await.unwrap(), None);
    let (run, window) = (&nobody.id, sealed(&window(0, 1)));
    let arrival = Arrival::InTime;
    let (agent, facts) = (Incarnation(1), WindowFacts::default());
    let delivery = Delivery { run, agent, sequence: 1, window: &window, facts: &facts, arrival };
    let order = SavedOrder { agent: Incarnation(1), number: 1, order: Order::Release };
    let results = [
        store.update(&nobody).await.err(),
        store.save_orders(run, standing(run, &[1]), &[order]).await.err(),
        store.keep_window(delivery).await.err(),
        store.complete(run, 1).await.err(),
        store.series(run).await.err(),
        store.spans(run, Grain::Second, 0, 1).await.err(),
        store.orders(run).await.err(),
        store.health(run, 0, 10).await.err(),
        store.rows(run, Grain::Second, 0, 1, None).await.err(),
        store.mark(run, Default::default()).await.err(),
        store.remove(run).await.err(),
        store.close(run).await.err(),
    ];
    for error in results {
        assert!(matches!(&error, Some(StoreError::NotFound(id)) if id == run), "{error:?}");
    }
}
