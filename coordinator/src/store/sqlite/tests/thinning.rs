//! What becomes of runs that are old or too many.

use super::*;

fn keep_all() -> Retention {
    Retention::default()
}

/// A run of two steps over five minutes that was asked for some days ago. Gives back the counts of its minutes.
async fn old_run(store: &SqliteStore, id: &str, days: i64) -> RunDocument {
    let run = days_old(id, days);
    store.create(&run).await.unwrap();
    for second in 0..290 {
        keep(store, &run.id, 1, u64::from(second) + 1, &rich_window(second, 2, 20)).await;
    }
    finish(store, &run).await
}

const SECONDS_LEFT: &str = "SELECT (SELECT count(*) FROM rows WHERE scale = 1) + (SELECT count(*) FROM spans
    WHERE scale = 1) + (SELECT count(*) FROM agent_seconds) + (SELECT count(*) FROM agent_health)
    + (SELECT count(*) FROM orders)";

#[tokio::test]
async fn old_runs_have_minutes_and_exact_totals() {
    let folder = Folder::new();
    let store = folder.store();
    let run = old_run(&store, "r", 1).await;
    let minutes = store.spans(&run.id, Grain::Minute, 0, 300).await.unwrap();
    let seconds = store.spans(&run.id, Grain::Second, 0, 300).await.unwrap();
    let whole = store.series(&run.id).await.unwrap().lock().whole();
    drop(store);
    let thirty_one_days_ago = Timestamp::now().as_second() - 31 * 86_400;
    folder.db().execute("UPDATE runs SET created_s = ?", [thirty_one_days_ago]).unwrap();
    let store = folder.store();
    folder.until("SELECT thinned FROM runs", 2).await;
    assert_eq!(folder.number(SECONDS_LEFT), 0);
    let check = async |store: &SqliteStore| {
        assert_eq!(store.spans(&run.id, Grain::Minute, 0, 300).await.unwrap(), minutes);
        assert_eq!(store.spans(&run.id, Grain::Second, 0, 300).await.unwrap(), minutes, "in their place");
        let series = store.series(&run.id).await.unwrap();
        assert_eq!(series.lock().whole(), whole);
        assert_eq!(series.lock().iterations().started, 290 * 40);
        assert_eq!(series.lock().span(60, 240).unwrap().latency.count(), 180 * 40);
        assert_eq!(store.document(&run.id).await.unwrap().as_ref(), Some(&run));
    };
    check(&store).await;
    drop(store);
    check(&folder.store()).await;
    // A minute's percentiles are of all its requests: those of the merged histogram, not of a mean.
    let mut first = Row::default();
    for span in &seconds[..60] {
        first.merge(&span.row.open::<u32>().unwrap());
    }
    assert_eq!(minutes[0].row.open::<u32>().unwrap(), first);
    assert_eq!((minutes.len(), minutes[4].scalars.in_flight), (5, 289));
}

#[tokio::test]
async fn young_runs_and_those_that_go_on_stay_as_they_are() {
    let folder = Folder::new();
    let store = folder.store();
    old_run(&store, "young", 29).await;
    let old = days_old("old", 400);
    store.create(&old).await.unwrap();
    keep(&store, &old.id, 1, 1, &rich_window(0, 1, 5)).await;
    store.complete(&old.id, 1).await.unwrap();
    // Something that is removed tells that the rest was looked at.
    old_run(&store, "gone", 400).await;
    folder.until("SELECT count(*) FROM runs", 2).await;
    folder.until("SELECT rolled FROM runs WHERE id = 'young'", 1).await;
    assert_eq!(folder.number("SELECT count(*) FROM runs WHERE thinned"), 0);
    assert_eq!(folder.number("SELECT count(*) FROM spans WHERE scale = 1"), 291);
    assert_eq!(store.series(&old.id).await.unwrap().lock().whole().counters.ok, 5);
}

#[tokio::test]
async fn runs_beyond_the_count_or_the_age_are_removed_whole() {
    let folder = Folder::new();
    let store = folder.store_with(Retention { finished_runs: 2, ..keep_all() });
    for (n, days) in [(0, 1), (1, 366), (2, 1), (3, 1), (4, 1)] {
        old_run(&store, &format!("r{n}"), days).await;
        folder.until("SELECT count(*) FROM runs", [1, 1, 2, 2, 2][n]).await;
    }
    let listed = store.list(&Page::newest(9)).await.unwrap();
    let names: Vec<_> = listed.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(names, ["r4", "r3"]);
    let gone = RunId::new("r2").unwrap();
    assert_eq!(store.document(&gone).await.unwrap(), None);
    assert!(matches!(store.series(&gone).await, Err(StoreError::NotFound(_))));
    let dropped = store.create(&suite::document("r5")).await.unwrap();
    let dropped: Vec<_> = dropped.iter().map(RunId::as_str).collect();
    assert_eq!(dropped, ["r2"], "whoever makes the next run is told");
    for table in [
        "documents",
        "rows",
        "spans",
        "totals",
        "agents",
        "agent_seconds",
        "agent_health",
        "messages",
        "orders",
    ] {
        let stray = format!("SELECT count(*) FROM {table} WHERE run NOT IN (SELECT key FROM runs)");
        assert_eq!(folder.number(&stray), 0, "{table}");
    }
    // A name is free again, and what was of the old run is not the new one's.
    store.create(&suite::document("r0")).await.unwrap();
    assert_eq!(keep(&store, &RunId::new("r0").unwrap(), 1, 1, &suite::window(0, 1)).await, Kept::New);
}

#[tokio::test]
async fn what_was_begun_is_ended_after_a_restart() {
    let folder = Folder::new();
    let store = folder.store();
    for id in ["half-thinned", "half-removed"] {
        old_run(&store, id, 1).await;
    }
    folder.until("SELECT min(rolled) FROM runs", 1).await;
    drop(store);
    let halves = "UPDATE runs SET thinned = 1, created_s = 1000 WHERE key = 1;
        DELETE FROM rows WHERE run = 1 AND scale = 1 AND from_s < 100;
        UPDATE runs SET removed = 1 WHERE key = 2; DELETE FROM rows WHERE run = 2;";
    folder.db().execute_batch(halves).unwrap();
    let store = folder.store_with(Retention { age_max: Duration::MAX, ..keep_all() });
    let listed = store.list(&Page::newest(9)).await.unwrap();
    assert_eq!(listed.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["half-thinned"]);
    let spans = store.spans(&listed.runs[0].id, Grain::Second, 0, 300).await.unwrap();
    assert_eq!(spans.iter().map(|span| span.row.counters.ok).sum::<u64>(), 290 * 40);
    folder.until("SELECT count(*) FROM runs", 1).await;
    folder.until("SELECT thinned FROM runs", 2).await;
    assert_eq!(folder.number(SECONDS_LEFT), 0);
}

#[tokio::test]
async fn minutes_are_put_together_while_the_run_goes_on_and_again_when_a_late_row_comes() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    for second in 0..250 {
        keep(&store, &run.id, 1, u64::from(second) + 1, &rich_window(second, 2, 10)).await;
        store.complete(&run.id, second + 1).await.unwrap();
    }
    let whole = "SELECT count(*) FROM spans WHERE scale = 60";
    folder.until(whole, 3).await;
    let ok = async |minute: u32| {
        let spans = store.spans(&run.id, Grain::Minute, minute * 60, minute * 60 + 1).await.unwrap();
        spans[0].row.open::<u32>().unwrap().latency.count()
    };
    assert_eq!((ok(0).await, ok(1).await, ok(4).await), (1200, 1200, 200));
    keep(&store, &run.id, 2, 1, &rich_window(70, 3, 5)).await;
    store.complete(&run.id, 251).await.unwrap();
    assert_eq!((ok(0).await, ok(1).await), (1200, 1215), "whether or not it is put together yet");
    folder.until(whole, 3).await;
    assert_eq!(ok(1).await, 1215);
    assert_eq!(folder.number("SELECT count(*) FROM rows WHERE scale = 60 AND from_s = 60"), 3);
}

#[tokio::test]
async fn freed_pages_are_used_again() {
    let folder = Folder::new();
    let retention = Retention { finished_runs: 3, ..keep_all() };
    let store = folder.store_with(retention);
    let mut pages = Vec::new();
    for n in 0..12 {
        old_run(&store, &format!("r{n}"), 1).await;
        folder.until("SELECT count(*) FROM runs", 3.min(n + 1)).await;
        pages.push(folder.number("PRAGMA page_count"));
    }
    // The last ones bring nothing that the first ones hadn't needed too, but for where the pages lie.
    assert!(pages[11] * 10 <= pages[5] * 12, "{pages:?}");
}

#[tokio::test]
async fn what_is_damaged_holds_up_nothing_else() {
    let folder = Folder::new();
    let store = folder.store();
    for id in ["bad", "good"] {
        old_run(&store, id, 1).await;
    }
    folder.until("SELECT min(rolled) FROM runs", 1).await;
    drop(store);
    let damage = "UPDATE runs SET created_s = 1000, rolled = 0; DELETE FROM spans WHERE scale = 60;
        UPDATE rows SET body = x'0a' WHERE run = 1 AND scale = 1 AND from_s = 70";
    folder.db().execute_batch(damage).unwrap();
    let store = folder.store_with(Retention { age_max: Duration::MAX, ..keep_all() });
    folder.until("SELECT thinned FROM runs WHERE id = 'good'", 2).await;
    assert_eq!(folder.number("SELECT thinned + rolled FROM runs WHERE id = 'bad'"), 0, "its seconds stay");
    // A document that comes late changes nothing of what was done.
    let good = RunId::new("good").unwrap();
    let document = store.document(&good).await.unwrap().unwrap();
    store.update(&document).await.unwrap();
    assert_eq!(folder.number("SELECT thinned * 10 + rolled FROM runs WHERE id = 'good'"), 21);
}
