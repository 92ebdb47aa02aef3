//! What is saved and kept before anybody hears of it, and what happens where that fails; in paused time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::ready;
use tokio::time::{advance, sleep};
use volley_plan::Verdict;
use volley_plan::link::{Order, RunId};

use crate::document::RunSummary;
use crate::store::{Delivery, Kept, SavedOrder, SharedSeries, StoreError, StoreFuture};
use crate::testing::{FakeAgent, coordinator, new_run, outcome, window, with_store, working_agent};
use crate::{MemoryStore, RunDocument, Store};

/// A store that fails to keep windows from the second on.
#[derive(Default)]
struct FailingStore {
    inner: MemoryStore,
}

impl Store for FailingStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        self.inner.create(run)
    }
    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        self.inner.update(run)
    }
    fn save_order<'a>(&'a self, run: &'a RunId, order: SavedOrder) -> StoreFuture<'a, ()> {
        self.inner.save_order(run, order)
    }
    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        match delivery.sequence {
            1 => self.inner.keep_window(delivery),
            _ => ready(Err(StoreError::Failed("no space left on device".to_owned()))).boxed(),
        }
    }
    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries> {
        self.inner.series(run)
    }
    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>> {
        self.inner.orders(run)
    }
    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>> {
        self.inner.document(run)
    }
    fn list(&self) -> StoreFuture<'_, Vec<RunSummary>> {
        self.inner.list()
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_store_stops_the_load_and_nothing_unkept_is_acknowledged() {
    let coordinator = with_store(Arc::new(FailingStore::default()));
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Start { .. }));
    advance(Duration::from_secs(2)).await;
    for sequence in 1..=3 {
        agent.deliver(&run, sequence, window(sequence as u32 - 1, 10, 0), false).await;
    }
    assert!(matches!(agent.order().await, Order::Stop { drain_ns: 0, .. }), "the stop is sent even unsaved");
    agent.deliver(&run, 2, window(1, 10, 0), false).await;
    agent.deliver(&run, 4, window(3, 10, 0), true).await;
    agent.ping().await;
    assert_eq!(agent.acknowledged, 1);
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.stop_reason.as_deref(), Some("store_failed"));
    assert_eq!(progress.verdict, Some(Verdict::Invalid));
    assert!(progress.sentence.contains("no space left on device"), "{}", progress.sentence);
    assert_eq!(progress.whole.ok, 10);
}

#[tokio::test(start_paused = true)]
async fn orders_are_saved_as_they_were_decided() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nrequests: 5")).await.unwrap();
    outcome(&coordinator, &run).await;
    let saved = coordinator.shared.store.orders(&run).await.unwrap();
    let names: Vec<_> = saved
        .iter()
        .map(|saved| match saved.order {
            Order::Prepare { .. } => "prepare",
            Order::Start { .. } => "start",
            Order::Grant { .. } => "grant",
            Order::Stop { .. } => "stop",
            Order::Release => "release",
        })
        .collect();
    assert_eq!((names.first(), names.last()), (Some(&"prepare"), Some(&"release")), "{names:?}");
    assert!(saved.iter().zip(1..).all(|(saved, number)| saved.number == number));
}
