//! Runs that were going on when their process ended.

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order, WindowFacts};

use super::{Home, document, facts, finish, health, keep, keep_late, open_window, sealed, standing, window};
use crate::document::AgentDocument;
use crate::store::{Arrival, Delivery, Left, Page, SavedOrder};

pub(super) async fn unfinished_runs_come_back(home: &impl Home) {
    let store = home.open();
    for id in ["c", "a", "over", "b"] {
        store.create(&document(id)).await.unwrap();
    }
    finish(&*store, &document("over")).await;
    let mut going_on = document("a");
    going_on.progress.state = "running".to_owned();
    store.update(&going_on).await.unwrap();
    let run = &going_on.id;
    store.save_orders(run, standing(run, &[1, 2]), &[]).await.unwrap();
    let mut sum = WindowFacts::default();
    for second in 0..4 {
        let window = window(second, 10);
        sum.merge(&facts(u64::from(second) + 1, &window));
        let (agent, sequence, arrival) = (Incarnation(2), sum.sequence, Arrival::InTime);
        let delivery = Delivery { run, agent, sequence, window: &sealed(&window), facts: &sum, arrival };
        store.keep_window(delivery).await.unwrap();
        // Kept already, so what is said of it now counts for nothing.
        store.keep_window(Delivery { facts: &WindowFacts::default(), ..delivery }).await.unwrap();
        if second == 1 {
            store.complete(run, 2).await.unwrap();
        }
    }
    keep_late(&*store, run, 2, 9, &window(4, 10)).await;
    drop(store);
    let store = home.open();
    let found = store.unfinished().await.unwrap();
    let names: Vec<_> = found.iter().map(|unfinished| unfinished.document.id.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"], "oldest first");
    assert_eq!((&found[1].document, &found[0].left), (&going_on, &Left::NotBegun));
    let Left::Begun { agents, .. } = &found[1].left else { panic!("{:?}", found[1].left) };
    assert_eq!((agents[0].1, agents[1].1), (WindowFacts::default(), sum));
    // It goes on: what is there is added to, whatever form it is in.
    store.complete(run, 2).await.unwrap();
    let series = store.series(run).await.unwrap();
    let ok = |second| series.lock().second(second).unwrap().row.counters.ok;
    assert_eq!([ok(0), ok(1), ok(2), ok(3)], [10; 4]);
    keep(&*store, run, 1, 1, &window(1, 5)).await;
    keep(&*store, run, 1, 2, &window(3, 5)).await;
    assert_eq!([ok(0), ok(1), ok(2), ok(3)], [10, 15, 10, 15]);
    assert_eq!(series.lock().whole().latency.count(), 50);
}

fn agent(incarnation: u64) -> AgentDocument {
    AgentDocument {
        incarnation: Incarnation(incarnation),
        name: "a".to_owned(),
        version: "1".to_owned(),
        workers: 2,
        state: "running".to_owned(),
        share: "1 user".to_owned(),
        part: 1.0,
        outlier: None,
        users: 1,
        granted: 0,
        started: 0,
        completed: 0,
        unknown: Some(0),
        lost_at_s: None,
        drift_ms: None,
        gaps: Vec::new(),
        round_trip_ms: None,
        last_seen_s: Some(0.5),
        health: Default::default(),
    }
}

/// A run of 100 requests, 40 of them granted and 30 reported.
pub(super) async fn closed_runs_tell_what_there_is(home: &impl Home) {
    let store = home.open();
    let mut run = document("r");
    run.plan = r#"{"target":"http://127.0.0.1:1/","users":1,"requests":100}"#.to_owned();
    store.create(&run).await.unwrap();
    run.progress.state = "running".to_owned();
    run.progress.agents = vec![agent(7)];
    store.update(&run).await.unwrap();
    let order = Order::Grant { from: 0, to: 40, last: false };
    let order = SavedOrder { agent: Incarnation(7), number: 1, order };
    let standing = standing(&run.id, &[7]);
    for _ in 0..2 {
        store.save_orders(&run.id, standing.clone(), std::slice::from_ref(&order)).await.unwrap();
    }
    let mut sum = WindowFacts::default();
    for second in 0..3 {
        let mut of_second = open_window(second, 10, 0);
        std::sync::Arc::make_mut(&mut of_second).health.insert(second, health(1));
        let sequence = u64::from(second) + 1;
        sum.merge(&facts(sequence, &of_second));
        let (agent, arrival) = (Incarnation(7), Arrival::InTime);
        let window = &sealed(&of_second);
        let delivery = Delivery { run: &run.id, agent, sequence, window, facts: &sum, arrival };
        store.keep_window(delivery).await.unwrap();
        if second == 1 {
            store.complete(&run.id, 2).await.unwrap();
        }
    }
    store.close(&run.id).await.unwrap();
    assert_eq!(store.unfinished().await.unwrap(), []);
    let listed = store.list(&Page::newest(1)).await.unwrap();
    assert_eq!((listed.runs[0].over, listed.runs[0].whole.ok), (true, 30));
    let first = store.document(&run.id).await.unwrap().unwrap();
    drop(store);
    let store = home.open();
    let document = store.document(&run.id).await.unwrap().unwrap();
    assert_eq!(document, first);
    let progress = &document.progress;
    let sentence =
        "The coordinator stopped while this run was going on; what had been stored until then is below.";
    assert_eq!((progress.sentence.as_str(), progress.verdict), (sentence, Some(Verdict::Invalid)));
    assert_eq!((progress.over, progress.whole.ok, progress.elapsed_s), (true, 30, 3.0));
    let accounts = progress.accounts;
    let said = (accounts.planned, accounts.started, accounts.unknown, accounts.missed);
    assert_eq!(said, (Some(100), 30, 10, 60));
    assert_eq!(progress.account_faults, [""; 0]);
    let agent = &progress.agents[0];
    assert_eq!((agent.state.as_str(), agent.started, agent.unknown), ("lost", 30, Some(10)));
    assert_eq!(store.series(&run.id).await.unwrap().lock().second(2).unwrap().row.latency.count(), 10);
}
