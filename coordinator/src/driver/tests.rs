//! What is saved and kept before anybody hears of it, and what happens where that fails; in paused time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::ready;
use tokio::time::{Instant, advance, sleep};
use volley_plan::Verdict;
use volley_plan::link::{Order, RunId};
use volley_stats::{RowKey, SealedRow, StepId};

use crate::document::Marks;
use crate::store::{
    Delivery, Grain, HealthBySecond, Kept, Library, Listed, Page, Remembered, RequestKey, SavedOrder,
    SharedSeries, Span, Standing, StoreError, StoreFuture, Unfinished,
};
use crate::testing::{FakeAgent, coordinator, new_run, outcome, window, with_store, working_agent};
use crate::{MemoryStore, RunDocument, Store};

/// What a store fails at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fails {
    /// Keeping windows, from the second on.
    #[default]
    Windows,
    /// Putting seconds into their final form.
    Completing,
    /// Keeping the document of a run that is over, at first.
    EndAtFirst,
    /// Nothing, but it takes its time over windows.
    Slow,
    /// Nothing, but it takes some seconds over the first window.
    Stalls,
    /// All that is written, while it is full.
    Full,
}

/// A store that fails.
#[derive(Default)]
struct FailingStore {
    inner: MemoryStore,
    fails: Fails,
    /// How often it was asked for what it fails at.
    asked: AtomicUsize,
    is_full: AtomicBool,
}

impl FailingStore {
    fn is_full(&self) -> bool {
        self.fails == Fails::Full && self.is_full.load(Ordering::Relaxed)
    }
}

fn full<T: Send + 'static>() -> StoreFuture<'static, T> {
    ready(Err(StoreError::Failed("no space left on device".to_owned()))).boxed()
}

impl Store for FailingStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        self.inner.create(run)
    }
    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        let at_end = run.progress.over && self.fails == Fails::EndAtFirst;
        let fails = self.is_full() || at_end && self.asked.fetch_add(1, Ordering::Relaxed) < 2;
        if fails { full() } else { self.inner.update(run) }
    }
    fn save_orders<'a>(
        &'a self,
        run: &'a RunId,
        standing: Standing,
        orders: &'a [SavedOrder],
    ) -> StoreFuture<'a, ()> {
        if self.is_full() { full() } else { self.inner.save_orders(run, standing, orders) }
    }
    fn unfinished(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.inner.unfinished()
    }
    fn close<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.inner.close(run)
    }
    fn is_durable(&self) -> bool {
        false
    }
    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        let stalls = self.fails == Fails::Stalls && self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        if self.fails == Fails::Slow || stalls {
            return async move {
                sleep(Duration::from_secs(if stalls { 5 } else { 20 })).await;
                self.inner.keep_window(delivery).await
            }
            .boxed();
        }
        let is_full = self.fails == Fails::Windows && delivery.sequence > 1;
        if is_full || self.is_full() { full() } else { self.inner.keep_window(delivery) }
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
    fn list<'a>(&'a self, page: &'a Page) -> StoreFuture<'a, Listed> {
        self.inner.list(page)
    }
    fn complete<'a>(&'a self, run: &'a RunId, below_s: u32) -> StoreFuture<'a, ()> {
        if self.fails == Fails::Completing || self.is_full() {
            full()
        } else {
            self.inner.complete(run, below_s)
        }
    }
    fn rows<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
        step: Option<StepId>,
    ) -> StoreFuture<'a, Vec<(RowKey, SealedRow)>> {
        self.inner.rows(run, grain, from_s, to_s, step)
    }
    fn mark<'a>(&'a self, run: &'a RunId, marks: Marks) -> StoreFuture<'a, ()> {
        self.inner.mark(run, marks)
    }
    fn remove<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.inner.remove(run)
    }
    fn remember<'a>(&'a self, request: RequestKey, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.inner.remember(request, run)
    }
    fn remembered<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Remembered>> {
        self.inner.remembered(key)
    }
    fn library(&self) -> &dyn Library {
        self.inner.library()
    }
    fn health<'a>(&'a self, run: &'a RunId, from_s: u32, most: usize) -> StoreFuture<'a, HealthBySecond> {
        self.inner.health(run, from_s, most)
    }
    fn spans<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
    ) -> StoreFuture<'a, Vec<Span>> {
        self.inner.spans(run, grain, from_s, to_s)
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
    assert_eq!((agent.acknowledged, agent.lease.as_ref()), (1, None));
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.stop_reason.as_deref(), Some("store_failed"));
    assert_eq!(progress.verdict, Some(Verdict::Invalid));
    assert!(progress.sentence.contains("no space left on device"), "{}", progress.sentence);
    assert_eq!(progress.whole.ok, 10);
}

#[tokio::test(start_paused = true)]
async fn what_a_full_store_could_not_keep_is_unknown_and_is_delivered_once_there_is_room() {
    let store = Arc::new(FailingStore { fails: Fails::Full, ..FailingStore::default() });
    let coordinator = with_store(store.clone());
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("rate: 10/s\nduration: 60s")).await.unwrap();
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Start { .. }));
    sleep(Duration::from_millis(2_200)).await;
    agent.ping().await;
    agent.deliver(&run, 1, window(0, 10, 0), false).await;
    agent.acknowledgement(1).await;
    store.is_full.store(true, Ordering::Relaxed);
    agent.deliver(&run, 2, window(1, 10, 0), false).await;
    assert!(matches!(agent.order().await, Order::Stop { .. }));
    agent.deliver(&run, 3, window(2, 2, 0), true).await;

    let progress = outcome(&coordinator, &run).await.progress;
    assert_eq!((progress.whole.ok, progress.accounts.ok, progress.accounts.unknown), (10, 10, 10));
    assert_eq!((progress.account_faults, progress.incomplete), (vec![], false));
    assert_eq!((progress.agents[0].state.as_str(), progress.agents[0].unknown), ("undelivered", Some(10)));
    let said = "Invalid: results could not be kept: no space left on device; 10 started + 10 unknown = 20.";
    assert_eq!(progress.sentence, said);
    let fault = || coordinator.shared.write_fault();
    assert_eq!(fault().as_deref(), Some("no space left on device"));
    sleep(Duration::from_secs(5)).await;
    agent.ping().await;
    assert_eq!((agent.acknowledged, agent.progress.is_some()), (1, true), "it is not let go");

    store.is_full.store(false, Ordering::Relaxed);
    assert_eq!(agent.last_word().await, None, "it is to deliver what it has anew");
    assert_eq!(fault(), None);
    agent.reconnect(&coordinator).await;
    agent.deliver(&run, 2, window(1, 10, 0), false).await;
    agent.deliver(&run, 3, window(2, 2, 0), true).await;
    agent.acknowledgement(3).await;
    assert_eq!(agent.order().await, Order::Release);
    let late = coordinator.document(&run).await.unwrap().progress;
    assert_eq!((late.delivered_late.windows, late.delivered_late.ok, late.whole.ok), (2, 12, 10));
    assert_eq!(late.sentence, said, "totals and verdict stay");
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_nobody_has_tried_to_get_over_for_a_minute_says_nothing() {
    let store = Arc::new(FailingStore { fails: Fails::Full, ..FailingStore::default() });
    let coordinator = with_store(store.clone());
    let failed = || Err::<(), _>(StoreError::Failed("no space left".to_owned()));
    assert!(coordinator.shared.wrote(failed()).is_err());
    sleep(Duration::from_secs(59)).await;
    assert!(coordinator.shared.write_fault().is_some());
    sleep(Duration::from_secs(2)).await;
    assert_eq!(coordinator.shared.write_fault(), None);
    assert!(coordinator.shared.wrote(failed()).is_err());
    assert!(coordinator.shared.wrote(Ok(())).is_ok());
    assert_eq!(coordinator.shared.write_fault(), None);
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_holds_results_up_and_no_lease() {
    let store = FailingStore { fails: Fails::Slow, ..FailingStore::default() };
    let coordinator = with_store(Arc::new(store));
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Start { .. }));
    sleep(Duration::from_millis(1200)).await;
    agent.deliver(&run, 1, window(0, 10, 0), false).await;
    for half_seconds in 1..=36 {
        sleep(Duration::from_millis(500)).await;
        let asked = Instant::now();
        agent.ping().await;
        assert_eq!(asked.elapsed(), Duration::ZERO, "pings wait for nothing");
        let until_ns = agent.lease.as_ref().unwrap().until_ns;
        assert!(until_ns >= 4_000_000_000 + half_seconds * 500_000_000, "{half_seconds} {until_ns}");
        assert_eq!(agent.acknowledged, 0);
    }
    agent.acknowledgement(1).await;
    assert_eq!(coordinator.document(&run).await.unwrap().progress.state, "running");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stalls_holds_no_lease_of_a_hundred_agents_up() {
    let store = FailingStore { fails: Fails::Stalls, ..FailingStore::default() };
    let coordinator = with_store(Arc::new(store));
    let mut agents = Vec::new();
    for n in 1..=100 {
        agents.push(FakeAgent::join(&coordinator, n, &format!("a{n}")).await);
    }
    let run = coordinator.start_run(new_run("users: 100\nduration: 60s")).await.unwrap();
    for agent in &mut agents {
        agent.prepare(&run).await;
    }
    for agent in &mut agents {
        assert!(matches!(agent.order().await, Order::Start { .. }));
    }
    sleep(Duration::from_millis(1200)).await;
    for agent in &agents {
        for sequence in 1..=4 {
            agent.deliver(&run, sequence, window(0, 1, 0), false).await;
        }
    }
    for half_seconds in 1..=16 {
        sleep(Duration::from_millis(500)).await;
        let asked = Instant::now();
        for agent in &mut agents {
            agent.ping().await;
            let until_ns = agent.lease.as_ref().unwrap().until_ns;
            assert!(until_ns >= 4_000_000_000 + half_seconds * 500_000_000, "{half_seconds} {until_ns}");
        }
        assert_eq!(asked.elapsed(), Duration::ZERO, "pings wait for nothing");
        assert_eq!(agents[99].acknowledged > 0, half_seconds >= 10, "{half_seconds}");
    }
    for agent in &mut agents {
        agent.acknowledgement(4).await;
    }
    let progress = coordinator.document(&run).await.unwrap().progress;
    assert_eq!((progress.state.as_str(), progress.incomplete), ("running", false), "{}", progress.sentence);
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
            Order::Change { .. } => "change",
        })
        .collect();
    assert_eq!((names.first(), names.last()), (Some(&"prepare"), Some(&"release")), "{names:?}");
    assert!(saved.iter().zip(1..).all(|(saved, number)| saved.number == number));
}

#[tokio::test(start_paused = true)]
async fn seconds_that_cannot_be_completed_stop_the_load_too() {
    let store = FailingStore { fails: Fails::Completing, ..FailingStore::default() };
    let coordinator = with_store(Arc::new(store));
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    let RunDocument { progress, .. } = outcome(&coordinator, &run).await;
    assert_eq!(progress.stop_reason.as_deref(), Some("store_failed"));
    assert!(progress.elapsed_s < 5.0 && progress.sentence.contains("no space left"), "{progress:?}");
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_kept_is_shown_and_kept_later() {
    let store = Arc::new(FailingStore { fails: Fails::EndAtFirst, ..FailingStore::default() });
    let coordinator = with_store(store.clone());
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 2s")).await.unwrap();
    let document = outcome(&coordinator, &run).await;
    assert_eq!(document.progress.whole.ok, 20);
    let stored = async || store.inner.document(&run).await.unwrap().unwrap().progress;
    assert!(!stored().await.over);
    sleep(Duration::from_secs(11)).await;
    assert!(!stored().await.over, "it fails a second time");
    sleep(Duration::from_secs(10)).await;
    assert_eq!((stored().await.over, stored().await.whole.ok), (true, 20));
}

#[tokio::test(start_paused = true)]
async fn the_document_of_a_run_that_goes_on_is_kept_now_and_then() {
    let store = Arc::new(MemoryStore::default());
    let coordinator = with_store(store.clone());
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 60s")).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    let stored = async || store.document(&run).await.unwrap().unwrap();
    let first = stored().await;
    assert_eq!((first.progress.state.as_str(), first.progress.agents.len()), ("running", 1));
    assert!(first.started_at.is_some() && !first.log.is_empty());
    sleep(Duration::from_secs(12)).await;
    assert!(stored().await.progress.whole.ok >= 80, "{:?}", stored().await.progress);
}
