//! A store whose process is killed in the middle: from then on nothing that it was asked comes back.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::sleep;
use volley_plan::link::RunId;
use volley_stats::{RowKey, SealedRow, StepId};

use crate::document::Marks;
use crate::store::{
    Delivery, Grain, HealthBySecond, Kept, Library, Listed, Page, Remembered, RequestKey, SavedOrder,
    SharedSeries, Span, Standing, Store, StoreFuture, Unfinished,
};
use crate::{MemoryStore, RunDocument};

/// When the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    /// Never.
    Never,
    /// Just before the store does what it is asked for the nth time, from 0.
    Before(usize),
    /// Just after that, before anybody hears of it.
    After(usize),
}

/// See the module's page.
pub(super) struct MortalStore {
    /// What is left of it.
    pub(super) inner: Arc<MemoryStore>,
    death: Death,
    asked: AtomicUsize,
    died: Notify,
    /// It takes some seconds to put seconds into their final form, and dies with the next orders that it is given after that.
    dies_slowly: AtomicBool,
}

impl MortalStore {
    pub(super) fn new(inner: Arc<MemoryStore>, death: Death) -> Self {
        Self {
            inner,
            death,
            asked: AtomicUsize::new(0),
            died: Notify::new(),
            dies_slowly: AtomicBool::new(false),
        }
    }

    /// Resolves once it has died.
    pub(super) async fn death(&self) {
        self.died.notified().await;
    }

    /// How often it was asked to change something.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Lets it be slow, and die once it has saved the next orders.
    pub(super) fn die_slowly(&self) {
        self.dies_slowly.store(true, Ordering::Relaxed);
    }

    /// Kills it now.
    pub(super) fn kill(&self) {
        self.asked.store(usize::MAX / 2, Ordering::Relaxed);
    }

    /// A change that survives if it comes in time.
    fn ask<'a, T: Send + 'a>(
        &'a self,
        does: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let nth = self.asked.fetch_add(1, Ordering::Relaxed);
        async move {
            match self.death {
                Death::After(last) if nth == last => drop(does().await),
                Death::Before(last) if nth == last => {}
                Death::After(last) | Death::Before(last) if nth > last => return pending().await,
                _ if nth >= usize::MAX / 2 => return pending().await,
                _ => return does().await,
            }
            self.died.notify_one();
            pending().await
        }
        .boxed()
    }
}

impl Store for MortalStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        self.ask(|| self.inner.create(run))
    }
    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        self.ask(|| self.inner.update(run))
    }
    fn save_orders<'a>(
        &'a self,
        run: &'a RunId,
        standing: Standing,
        orders: &'a [SavedOrder],
    ) -> StoreFuture<'a, ()> {
        if !self.dies_slowly.load(Ordering::Relaxed) {
            return self.ask(move || self.inner.save_orders(run, standing, orders));
        }
        let save = self.ask(move || self.inner.save_orders(run, standing, orders));
        async move {
            save.await?;
            self.kill();
            self.died.notify_one();
            pending().await
        }
        .boxed()
    }
    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        self.ask(move || self.inner.keep_window(delivery))
    }
    fn complete<'a>(&'a self, run: &'a RunId, below_s: u32) -> StoreFuture<'a, ()> {
        let complete = self.ask(move || self.inner.complete(run, below_s));
        async move {
            if self.dies_slowly.load(Ordering::Relaxed) {
                sleep(Duration::from_secs(3)).await;
            }
            complete.await
        }
        .boxed()
    }
    fn close<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.ask(|| self.inner.close(run))
    }
    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries> {
        self.inner.series(run)
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
        self.ask(move || self.inner.mark(run, marks))
    }
    fn remove<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.ask(move || self.inner.remove(run))
    }
    fn remember<'a>(&'a self, request: RequestKey, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.ask(move || self.inner.remember(request, run))
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
    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>> {
        self.inner.orders(run)
    }
    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>> {
        self.inner.document(run)
    }
    fn list<'a>(&'a self, page: &'a Page) -> StoreFuture<'a, Listed> {
        self.inner.list(page)
    }
    fn unfinished(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.inner.unfinished()
    }
    fn is_durable(&self) -> bool {
        true
    }
}
