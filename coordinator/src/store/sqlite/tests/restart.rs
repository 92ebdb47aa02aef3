//! What is there when the store is opened again.

use volley_plan::link::Order;

use super::*;
use crate::store::suite::standing;
use crate::store::{Left, SavedOrder};

/// A run of which three seconds are kept, the last of them not complete, in the middle of which the store goes away.
async fn broken_off(folder: &Folder) -> RunDocument {
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    let order = Order::Grant { from: 0, to: 40, last: false };
    let order = SavedOrder { agent: Incarnation(7), number: 1, order };
    store.save_orders(&run.id, standing(&run.id, &[7]), &[order]).await.unwrap();
    for second in 0..3 {
        keep(&store, &run.id, 7, u64::from(second) + 1, &suite::window(second, 10)).await;
        if second == 1 {
            store.complete(&run.id, 2).await.unwrap();
        }
    }
    run
}

#[tokio::test]
async fn a_closed_run_is_in_its_final_form() {
    let folder = Folder::new();
    let run = broken_off(&folder).await;
    assert_eq!(folder.number("SELECT count(*) FROM messages"), 1, "the last second was not complete");
    let store = folder.store();
    store.close(&run.id).await.unwrap();
    assert_eq!(folder.number("SELECT count(*) FROM messages"), 0);
    // Sums by agent have each window once.
    assert_eq!(folder.number("SELECT started FROM agents"), 30);
    assert_eq!(folder.number("SELECT granted FROM agents"), 40);
    assert_eq!(folder.number("SELECT sum(started) FROM agent_seconds"), 30);
    for table in ["run_records", "agent_records", "agent_facts"] {
        assert_eq!(folder.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    folder.until("SELECT rolled FROM runs", 1).await;
}

#[tokio::test]
async fn a_run_that_had_not_begun_is_closed_too() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    store.close(&run.id).await.unwrap();
    let progress = store.document(&run.id).await.unwrap().unwrap().progress;
    assert_eq!((progress.over, progress.elapsed_s, progress.whole.started), (true, 0.0, 0));
}

/// Where the decider stood, after `change`.
async fn check_left(change: &str, expected: &str) {
    let folder = Folder::new();
    broken_off(&folder).await;
    folder.db().execute_batch(change).unwrap();
    let said = match &folder.store().unfinished().await.unwrap()[..] {
        [] => "nothing".to_owned(),
        [unfinished] => match &unfinished.left {
            Left::NotBegun => "not begun".to_owned(),
            Left::Begun { agents, .. } => format!("begun with {}", agents.len()),
            Left::Unreadable(why) => why.clone(),
        },
        more => panic!("{more:?}"),
    };
    assert!(said.contains(expected), "{change}: {said}");
}

#[tokio::test]
async fn what_cannot_be_gone_on_with_is_told() {
    check_left("", "begun with 1").await;
    check_left("DELETE FROM agent_facts", "begun with 1").await;
    check_left("DELETE FROM run_records", "nothing was kept of it").await;
    check_left("DELETE FROM run_records; DELETE FROM orders", "not begun").await;
    check_left("UPDATE run_records SET body = '{'", "JSON").await;
    check_left("UPDATE agent_records SET body = '{}'", "JSON").await;
    check_left("UPDATE agent_facts SET form = 99", "form 99").await;
    check_left("UPDATE documents SET body = '{'", "nothing").await;
}

/// Rows that went to disk with an earlier process are there when another one tells their second.
#[tokio::test]
async fn the_latest_seconds_of_a_run_that_goes_on_are_in_memory() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    for second in 0..100 {
        keep(&store, &run.id, 1, u64::from(second) + 1, &rich_window(second, 2, 3)).await;
        store.complete(&run.id, second.saturating_sub(2)).await.unwrap();
    }
    drop(store);
    let store = folder.store();
    store.complete(&run.id, 0).await.unwrap();
    let series = store.series(&run.id).await.unwrap();
    let kept = |second| series.lock().rows_in(second);
    assert_eq!((kept(0), kept(30), kept(50), kept(97), kept(99)), (0, 0, 2, 2, 2));
    keep(&store, &run.id, 2, 1, &rich_window(98, 2, 5)).await;
    assert_eq!(series.lock().second(98).unwrap().row.latency.count(), 2 * 8);
    assert_eq!(series.lock().whole().latency.count(), 100 * 6 + 10);
}

/// Damages something of run `bad` while the store is closed, and opens it again.
async fn check_damage(damage: &str, bad_is_listed: bool) {
    let folder = Folder::new();
    let store = folder.store();
    for name in ["good", "bad"] {
        let run = suite::document(name);
        store.create(&run).await.unwrap();
        keep(&store, &run.id, 1, 1, &suite::window(0, 3)).await;
        store.complete(&run.id, 1).await.unwrap();
        keep(&store, &run.id, 1, 2, &suite::window(1, 3)).await;
        if !damage.contains("messages") {
            finish(&store, &run).await;
        }
    }
    drop(store);
    folder.db().execute_batch(damage).unwrap();
    let store = folder.store();
    let (good, bad) = (RunId::new("good").unwrap(), RunId::new("bad").unwrap());
    assert_eq!(store.series(&good).await.unwrap().lock().whole().counters.ok, 6, "{damage}");
    let listed = store.list(&Page::newest(9)).await.unwrap();
    assert_eq!(listed.runs.iter().any(|run| run.id == bad), bad_is_listed, "{damage}");
    match store.series(&bad).await {
        Err(StoreError::Damaged { run, .. }) => assert_eq!(run, bad),
        Err(StoreError::NotFound(_)) => assert!(!bad_is_listed),
        other => panic!("{damage}: {other:?}"),
    }
    // And it still takes new ones.
    store.create(&suite::document("new")).await.unwrap();
}

#[tokio::test]
async fn what_is_damaged_hurts_its_own_run_only() {
    for (table, bytes) in [("rows", "x'0a'"), ("totals", "x'ff'"), ("messages", "x'0a0aff'")] {
        check_damage(&format!("UPDATE {table} SET body = {bytes} WHERE run = 2"), true).await;
        check_damage(&format!("UPDATE {table} SET form = 99 WHERE run = 2"), true).await;
    }
    check_damage("UPDATE runs SET summary = '{' WHERE key = 2", false).await;
}
