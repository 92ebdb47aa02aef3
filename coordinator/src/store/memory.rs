//! The store that keeps runs in memory: they are gone with the process, and the oldest finished ones make room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use volley_plan::link::{Incarnation, RunId};

use super::{
    Arrival, Delivery, Kept, RunDocument, RunSummary, SavedOrder, SharedSeries, Store, StoreError,
    StoreFuture,
};

/// Orders that are kept of one agent in one run. They are of use only as long as this process lives, which knows
/// them by other means too, so a long run need not pile them up.
const MAX_ORDERS: usize = 100;

/// How much is kept of what is over. Runs that go on are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most finished runs.
    pub finished_runs: usize,
    /// Most seconds of results (of all their steps) that finished runs hold together: a second is a few kilobytes.
    pub finished_step_seconds: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { finished_runs: 200, finished_step_seconds: 100_000 }
    }
}

/// Runs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    retention: Retention,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    by_id: BTreeMap<RunId, KeptRun>,
    created: u64,
}

/// One run.
#[derive(Debug)]
struct KeptRun {
    /// Its place among all runs, by age.
    place: u64,
    document: RunDocument,
    orders: BTreeMap<Incarnation, BTreeMap<u64, SavedOrder>>,
    windows: BTreeMap<Incarnation, Sequences>,
    series: SharedSeries,
}

impl KeptRun {
    fn step_seconds(&self) -> u64 {
        u64::from(self.series.lock().end_s()) * self.document.progress.steps.len().max(1) as u64
    }
}

/// The windows of one agent that are kept. They come in order but for repeats, so the set stays small.
#[derive(Debug, Default)]
struct Sequences {
    all_up_to: u64,
    beyond: BTreeSet<u64>,
}

impl Sequences {
    /// False if it is there already.
    fn insert(&mut self, sequence: u64) -> bool {
        if sequence <= self.all_up_to || !self.beyond.insert(sequence) {
            return false;
        }
        while self.beyond.remove(&(self.all_up_to + 1)) {
            self.all_up_to += 1;
        }
        true
    }
}

impl MemoryStore {
    /// A store that keeps this much.
    #[must_use]
    pub fn new(retention: Retention) -> Self {
        Self { retention, runs: Mutex::default() }
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with one run, at once.
    fn with<T: Send + 'static>(
        &self,
        run: &RunId,
        act: impl FnOnce(&mut KeptRun) -> Result<T, StoreError>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let done =
            self.runs().by_id.get_mut(run).ok_or_else(|| StoreError::NotFound(run.clone())).and_then(act);
        ready(done).boxed()
    }
}

impl Runs {
    fn create(&mut self, document: &RunDocument, retention: Retention) -> Result<Vec<RunId>, StoreError> {
        if self.by_id.contains_key(&document.id) {
            return Err(StoreError::Exists(document.id.clone()));
        }
        let dropped = self.make_room(retention);
        self.created += 1;
        let run = KeptRun {
            place: self.created,
            document: document.clone(),
            orders: BTreeMap::new(),
            windows: BTreeMap::new(),
            series: SharedSeries::default(),
        };
        self.by_id.insert(document.id.clone(), run);
        Ok(dropped)
    }

    /// Drops finished runs, the oldest first, until what is left is within bounds.
    fn make_room(&mut self, retention: Retention) -> Vec<RunId> {
        let finished = self.by_id.values().filter(|run| run.document.progress.over);
        let mut finished: Vec<_> =
            finished.map(|run| (run.place, run.document.id.clone(), run.step_seconds())).collect();
        finished.sort_unstable_by_key(|&(place, ..)| std::cmp::Reverse(place));
        let (mut count, mut seconds) = (0, 0_u64);
        let mut dropped = Vec::new();
        for (_, id, step_seconds) in finished {
            count += 1;
            seconds = seconds.saturating_add(step_seconds);
            if count >= retention.finished_runs || seconds > retention.finished_step_seconds {
                self.by_id.remove(&id);
                dropped.push(id);
            }
        }
        dropped
    }

    fn list(&self) -> Vec<RunSummary> {
        let mut runs: Vec<_> = self.by_id.values().collect();
        runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.place));
        runs.into_iter().map(|run| RunSummary::from(&run.document)).collect()
    }
}

impl Store for MemoryStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        ready(self.runs().create(run, self.retention)).boxed()
    }

    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        self.with(&run.id, |kept| {
            kept.document = run.clone();
            Ok(())
        })
    }

    fn save_order<'a>(&'a self, run: &'a RunId, order: SavedOrder) -> StoreFuture<'a, ()> {
        self.with(run, |kept| {
            let orders = kept.orders.entry(order.agent).or_default();
            orders.entry(order.number).or_insert(order);
            if orders.len() > MAX_ORDERS {
                orders.pop_first();
            }
            Ok(())
        })
    }

    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        let Delivery { run, agent, sequence, window, arrival } = delivery;
        self.with(run, |kept| {
            if !kept.windows.entry(agent).or_default().insert(sequence) {
                return Ok(Kept::Repeated);
            }
            if arrival == Arrival::InTime {
                let merged = kept.series.lock().add(window);
                merged.map_err(|source| StoreError::Damaged { run: run.clone(), source })?;
            }
            Ok(Kept::New)
        })
    }

    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries> {
        self.with(run, |kept| Ok(kept.series.clone()))
    }

    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>> {
        self.with(run, |kept| Ok(kept.orders.values().flat_map(BTreeMap::values).cloned().collect()))
    }

    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>> {
        ready(Ok(self.runs().by_id.get(run).map(|kept| kept.document.clone()))).boxed()
    }

    fn list(&self) -> StoreFuture<'_, Vec<RunSummary>> {
        ready(Ok(self.runs().list())).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite;

    #[tokio::test]
    async fn passes_the_suite() {
        suite::run(|| MemoryStore::new(Retention::default())).await;
    }

    #[tokio::test]
    async fn the_oldest_finished_runs_make_room() {
        let store = MemoryStore::new(Retention { finished_runs: 2, finished_step_seconds: 1_000 });
        let mut dropped = Vec::new();
        for n in 0..5 {
            let mut run = suite::document(&format!("r{n}"));
            dropped.extend(store.create(&run).await.unwrap());
            run.progress.over = n != 0;
            store.update(&run).await.unwrap();
        }
        let dropped: Vec<_> = dropped.iter().map(RunId::as_str).collect();
        assert_eq!(dropped, ["r1", "r2"], "r0 goes on, so it stays");
        assert_eq!(store.list().await.unwrap().len(), 3);
    }

    #[tokio::test]
    async fn long_runs_make_room_sooner() {
        let store = MemoryStore::new(Retention { finished_runs: 100, finished_step_seconds: 1_000 });
        let mut dropped = Vec::new();
        for (n, seconds) in [(0, 600), (1, 600), (2, 1)] {
            let mut run = suite::document(&format!("r{n}"));
            dropped.extend(store.create(&run).await.unwrap());
            let window = suite::window(seconds - 1, 1);
            let arrival = Arrival::InTime;
            let delivery =
                Delivery { run: &run.id, agent: Incarnation(1), sequence: 1, window: &window, arrival };
            store.keep_window(delivery).await.unwrap();
            run.progress.over = true;
            store.update(&run).await.unwrap();
        }
        let kept = |list: Vec<RunSummary>| list.iter().map(|run| run.id.to_string()).collect::<Vec<_>>();
        assert_eq!(dropped.iter().map(RunId::as_str).collect::<Vec<_>>(), ["r0"]);
        assert_eq!(kept(store.list().await.unwrap()), ["r2", "r1"]);
    }
}
