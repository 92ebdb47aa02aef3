//! What is there when the store is opened again.

use volley_plan::Verdict;
use volley_plan::health::HealthSum;
use volley_plan::link::Order;

use super::*;
use crate::document::AgentDocument;
use crate::store::SavedOrder;

fn agent(incarnation: u64) -> AgentDocument {
    AgentDocument {
        incarnation: Incarnation(incarnation),
        name: "a".to_owned(),
        version: "1".to_owned(),
        workers: 2,
        state: "running".to_owned(),
        share: "1 user".to_owned(),
        users: 1,
        granted: 0,
        started: 0,
        completed: 0,
        unknown: Some(0),
        lost_at_s: None,
        drift_ms: None,
        round_trip_ms: None,
        last_seen_s: Some(0.5),
        health: HealthSum::default(),
    }
}

/// A run of 100 requests, 40 of them granted and 30 reported, in the middle of which the store goes away.
async fn broken_off(folder: &Folder) -> RunDocument {
    let store = folder.store();
    let mut run = suite::document("r");
    run.plan = r#"{"target":"http://127.0.0.1:1/","users":1,"requests":100}"#.to_owned();
    store.create(&run).await.unwrap();
    run.progress.state = "running".to_owned();
    run.progress.agents = vec![agent(7)];
    store.update(&run).await.unwrap();
    let order = Order::Grant { from: 0, to: 40, last: false };
    store.save_order(&run.id, SavedOrder { agent: Incarnation(7), number: 1, order }).await.unwrap();
    for second in 0..3 {
        keep(&store, &run.id, 7, u64::from(second) + 1, &suite::window(second, 10)).await;
        if second == 1 {
            store.complete(&run.id, 2).await.unwrap();
        }
    }
    run
}

#[tokio::test]
async fn a_run_that_was_going_on_is_closed_with_what_there_is() {
    let folder = Folder::new();
    let run = broken_off(&folder).await;
    assert_eq!(folder.number("SELECT count(*) FROM messages"), 1, "the last second was not complete");
    let mut documents = Vec::new();
    for _ in 0..2 {
        let store = folder.store();
        documents.push(store.document(&run.id).await.unwrap().unwrap());
        let series = store.series(&run.id).await.unwrap();
        assert_eq!(series.lock().whole().latency.count(), 30);
        for second in 0..3 {
            assert_eq!(series.lock().second(second).unwrap().row.latency.count(), 10);
        }
        let listed = store.list(&Page::newest(1)).await.unwrap();
        assert_eq!((listed.runs[0].over, listed.runs[0].whole.ok), (true, 30));
    }
    assert_eq!(documents[0], documents[1]);
    let progress = &documents[0].progress;
    let sentence =
        "The coordinator stopped while this run was going on; what had been stored until then is below.";
    assert_eq!((progress.sentence.as_str(), progress.verdict), (sentence, Some(Verdict::Invalid)));
    assert_eq!((progress.over, progress.whole.ok, progress.elapsed_s), (true, 30, 3.0));
    let accounts = progress.accounts;
    assert_eq!(
        (accounts.planned, accounts.started, accounts.unknown, accounts.missed),
        (Some(100), 30, 10, 60)
    );
    assert_eq!(progress.account_faults, [""; 0]);
    let agent = &progress.agents[0];
    assert_eq!((agent.state.as_str(), agent.started, agent.unknown), ("lost", 30, Some(10)));
    assert_eq!(folder.number("SELECT count(*) FROM messages"), 0);
    // Sums by agent have each window once.
    assert_eq!(folder.number("SELECT started FROM agents"), 30);
    assert_eq!(folder.number("SELECT sum(started) FROM agent_seconds"), 30);
}

#[tokio::test]
async fn a_run_that_had_not_begun_is_closed_too() {
    let folder = Folder::new();
    let store = folder.store();
    let run = suite::document("r");
    store.create(&run).await.unwrap();
    drop(store);
    let progress = folder.store().document(&run.id).await.unwrap().unwrap().progress;
    assert_eq!((progress.over, progress.elapsed_s, progress.whole.started), (true, 0.0, 0));
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
