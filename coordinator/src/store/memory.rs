//! The store that keeps runs in memory: they are gone with the process, and the oldest finished ones make room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use volley_lifecycle::{AgentRecord, RunRecord};
use volley_plan::link::{Incarnation, Order, RunId, WindowFacts};
use volley_stats::{DecodeError, Health, RowKey, SealedRow, SealedWindow, StepId};

use super::library::MemoryLibrary;
use super::sequences::Sequences;
use super::{
    Arrival, Delivery, Grain, HealthBySecond, Kept, Left, Library, Listed, MAX_ORDERS, Page, REMEMBERED,
    Remembered, RequestKey, RunDocument, RunSummary, SavedOrder, SharedSeries, Span, Standing, Store,
    StoreError, StoreFuture, Strain, Unfinished, span,
};
use crate::document::Marks;

mod closing;
mod orders;

use orders::KeptOrders;

/// How much is kept of what is over. Runs that go on are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRetention {
    /// Most finished runs.
    pub finished_runs: usize,
    /// Most seconds of results (of all their steps) that finished runs hold together: a second is a few kilobytes.
    pub finished_step_seconds: u64,
}

impl Default for MemoryRetention {
    fn default() -> Self {
        Self { finished_runs: 200, finished_step_seconds: 100_000 }
    }
}

/// Runs in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    retention: MemoryRetention,
    runs: Mutex<Runs>,
    requests: Mutex<BTreeMap<String, (Remembered, Instant)>>,
    library: MemoryLibrary,
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
    orders: KeptOrders,
    /// Where the decider stood when it last gave orders.
    record: Option<RunRecord>,
    agents: BTreeMap<Incarnation, KeptAgent>,
    series: SharedSeries,
    health: BTreeMap<(u32, Incarnation), Health>,
    strains: BTreeMap<u32, Strain>,
}

/// One agent of it.
#[derive(Debug, Default)]
struct KeptAgent {
    windows: Sequences,
    /// What it has reported in all.
    facts: WindowFacts,
    /// Iterations that it had leave for.
    granted: u64,
    record: Option<AgentRecord>,
}

impl KeptRun {
    fn step_seconds(&self) -> u64 {
        u64::from(self.series.lock().end_s()) * self.document.progress.steps.len().max(1) as u64
    }

    fn add(&mut self, agent: Incarnation, window: &SealedWindow) -> Result<(), DecodeError> {
        for (second, health) in &window.health {
            self.health.entry((*second, agent)).or_default().merge(health);
            self.strains.entry(*second).or_default().merge(Strain::of(health));
        }
        self.series.add(window)
    }

    fn save(&mut self, saved: &SavedOrder) {
        if self.orders.insert(saved.clone(), MAX_ORDERS)
            && let Order::Grant { from, to, .. } = &saved.order
        {
            let granted = &mut self.agents.entry(saved.agent).or_default().granted;
            *granted = granted.saturating_add(to.saturating_sub(*from));
        }
    }

    fn unfinished(&self) -> Unfinished {
        let with_facts = |agent: &KeptAgent| Some((agent.record.clone()?, agent.facts));
        let left = match &self.record {
            None => Left::NotBegun,
            Some(run) => {
                let agents = self.agents.values().filter_map(with_facts).collect();
                Left::Begun { run: run.clone(), agents }
            }
        };
        Unfinished { document: self.document.clone(), left }
    }
}

impl MemoryStore {
    /// A store that keeps this much.
    #[must_use]
    pub fn new(retention: MemoryRetention) -> Self {
        Self { retention, ..Self::default() }
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<String, (Remembered, Instant)>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn create(
        &mut self,
        document: &RunDocument,
        retention: MemoryRetention,
    ) -> Result<Vec<RunId>, StoreError> {
        if self.by_id.contains_key(&document.id) {
            return Err(StoreError::Exists(document.id.clone()));
        }
        let dropped = self.make_room(retention);
        self.created += 1;
        let run = KeptRun {
            place: self.created,
            document: document.clone(),
            orders: KeptOrders::default(),
            record: None,
            agents: BTreeMap::new(),
            series: SharedSeries::default(),
            health: BTreeMap::new(),
            strains: BTreeMap::new(),
        };
        self.by_id.insert(document.id.clone(), run);
        Ok(dropped)
    }

    /// Drops finished runs, the oldest first, until what is left is within bounds.
    fn make_room(&mut self, retention: MemoryRetention) -> Vec<RunId> {
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

    fn list(&self, page: &Page) -> Listed {
        let known = page.before.as_ref().map(|run| self.by_id.get(run).ok_or(run));
        let older = |run: &&KeptRun| match known {
            None => true,
            Some(Ok(before)) => run.place < before.place,
            // Of a run that isn't there any more, its name tells its age: names begin with the time.
            Some(Err(name)) => run.document.id < *name,
        };
        let mut runs: Vec<_> = self.by_id.values().filter(older).collect();
        runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.place));
        let summaries = runs.into_iter().map(|run| Arc::new(RunSummary::from(&run.document)));
        let mut wanted = summaries.filter(|run| page.wanted.is(run));
        let runs: Vec<_> = wanted.by_ref().take(page.most).collect();
        let next = runs.last().filter(|_| wanted.next().is_some()).map(|run| run.id.clone());
        Listed { runs, next, in_all: self.by_id.len() }
    }
}

impl Store for MemoryStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        ready(self.runs().create(run, self.retention)).boxed()
    }

    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        self.with(&run.id, |kept| {
            kept.document = run.clone().marked(kept.document.marks());
            Ok(())
        })
    }

    fn save_orders<'a>(
        &'a self,
        run: &'a RunId,
        standing: Standing,
        orders: &'a [SavedOrder],
    ) -> StoreFuture<'a, ()> {
        self.with(run, |kept| {
            orders.iter().for_each(|order| kept.save(order));
            kept.record = Some(standing.run);
            for record in standing.agents {
                let agent = record.incarnation();
                kept.agents.entry(agent).or_default().record = Some(record);
            }
            Ok(())
        })
    }

    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        let Delivery { run, agent, sequence, window, facts, arrival } = delivery;
        self.with(run, |kept| {
            let of_agent = kept.agents.entry(agent).or_default();
            if !of_agent.windows.insert(sequence) {
                return Ok(Kept::Repeated);
            }
            if arrival == Arrival::InTime {
                of_agent.facts = *facts;
                kept.add(agent, window).map_err(|error| damaged(run, error))?;
            }
            Ok(Kept::New)
        })
    }

    /// Seconds are merged as they come, so there is nothing left to do.
    fn complete<'a>(&'a self, run: &'a RunId, _below_s: u32) -> StoreFuture<'a, ()> {
        self.with(run, |_| Ok(()))
    }

    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries> {
        self.with(run, |kept| Ok(kept.series.clone()))
    }

    fn spans<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
    ) -> StoreFuture<'a, Vec<Span>> {
        let found = self.with(run, |kept| Ok((kept.series.clone(), kept.strains.clone())));
        async move {
            let (series, strains) = found.await?;
            let spans = span::of_series(&series.lock(), &strains, grain, from_s, to_s);
            spans.map_err(|error| damaged(run, error))
        }
        .boxed()
    }

    fn rows<'a>(
        &'a self,
        run: &'a RunId,
        _grain: Grain,
        from_s: u32,
        to_s: u32,
        step: Option<StepId>,
    ) -> StoreFuture<'a, Vec<(RowKey, SealedRow)>> {
        self.with(run, |kept| {
            let series = kept.series.lock();
            let rows = series.sealed_rows(from_s, to_s);
            Ok(rows.filter(|(key, _)| step.is_none_or(|step| key.step == step)).collect())
        })
    }

    fn health<'a>(&'a self, run: &'a RunId, from_s: u32, most: usize) -> StoreFuture<'a, HealthBySecond> {
        self.with(run, |kept| {
            let reports = kept.health.range((from_s, Incarnation(0))..);
            Ok(HealthBySecond::of(reports.map(|(key, health)| (*key, *health)), most))
        })
    }

    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>> {
        self.with(run, |kept| Ok(kept.orders.all()))
    }

    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>> {
        ready(Ok(self.runs().by_id.get(run).map(|kept| kept.document.clone()))).boxed()
    }

    fn list<'a>(&'a self, page: &'a Page) -> StoreFuture<'a, Listed> {
        ready(Ok(self.runs().list(page))).boxed()
    }

    fn mark<'a>(&'a self, run: &'a RunId, marks: Marks) -> StoreFuture<'a, ()> {
        self.with(run, |kept| {
            kept.document = kept.document.clone().marked(marks);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        let mut runs = self.runs();
        let removed = match runs.by_id.get(run).map(|kept| kept.document.progress.over) {
            None => Err(StoreError::NotFound(run.clone())),
            Some(false) => Err(StoreError::GoesOn(run.clone())),
            Some(true) => {
                runs.by_id.remove(run);
                Ok(())
            }
        };
        ready(removed).boxed()
    }

    fn remember<'a>(&'a self, request: RequestKey, run: &'a RunId) -> StoreFuture<'a, ()> {
        let mut requests = self.requests();
        requests.retain(|_, (_, at)| at.elapsed() < REMEMBERED);
        let remembered = Remembered { asks: request.asks, run: run.clone() };
        requests.insert(request.key, (remembered, Instant::now()));
        ready(Ok(())).boxed()
    }

    fn remembered<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Remembered>> {
        ready(Ok(self.requests().get(key).map(|(remembered, _)| remembered.clone()))).boxed()
    }

    fn library(&self) -> &dyn Library {
        &self.library
    }

    fn unfinished(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        let runs = self.runs();
        let mut going_on: Vec<_> = runs.by_id.values().filter(|run| !run.document.progress.over).collect();
        going_on.sort_unstable_by_key(|run| run.place);
        ready(Ok(going_on.into_iter().map(KeptRun::unfinished).collect())).boxed()
    }

    fn close<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.with(run, |kept| {
            kept.document = closing::closed(kept).map_err(|error| damaged(run, error))?;
            Ok(())
        })
    }

    fn is_durable(&self) -> bool {
        false
    }
}

fn damaged(run: &RunId, error: DecodeError) -> StoreError {
    StoreError::Damaged { run: run.clone(), source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::{self, Home};

    /// As long as this is there, so are the runs.
    struct InMemory(Arc<MemoryStore>);

    impl Home for InMemory {
        fn open(&self) -> Arc<dyn Store> {
            self.0.clone()
        }
    }

    #[tokio::test]
    async fn passes_the_suite() {
        suite::run(|| InMemory(Arc::new(MemoryStore::new(MemoryRetention::default())))).await;
    }

    async fn listed(store: &MemoryStore) -> Vec<String> {
        let listed = store.list(&Page::newest(100)).await.unwrap();
        listed.runs.iter().map(|run| run.id.to_string()).collect()
    }

    #[tokio::test]
    async fn the_oldest_finished_runs_make_room() {
        let store = MemoryStore::new(MemoryRetention { finished_runs: 2, finished_step_seconds: 1_000 });
        let mut dropped = Vec::new();
        for n in 0..5 {
            let mut run = suite::document(&format!("r{n}"));
            dropped.extend(store.create(&run).await.unwrap());
            run.progress.over = n != 0;
            store.update(&run).await.unwrap();
        }
        let dropped: Vec<_> = dropped.iter().map(RunId::as_str).collect();
        assert_eq!(dropped, ["r1", "r2"], "r0 goes on, so it stays");
        assert_eq!(listed(&store).await, ["r4", "r3", "r0"]);
    }

    #[tokio::test]
    async fn long_runs_make_room_sooner() {
        let store = MemoryStore::new(MemoryRetention { finished_runs: 100, finished_step_seconds: 1_000 });
        let mut dropped = Vec::new();
        for (n, seconds) in [(0, 600), (1, 600), (2, 1)] {
            let mut run = suite::document(&format!("r{n}"));
            dropped.extend(store.create(&run).await.unwrap());
            suite::keep(&store, &run.id, 1, 1, &suite::window(seconds - 1, 1)).await;
            run.progress.over = true;
            store.update(&run).await.unwrap();
        }
        assert_eq!(dropped.iter().map(RunId::as_str).collect::<Vec<_>>(), ["r0"]);
        assert_eq!(listed(&store).await, ["r2", "r1"]);
    }
}
