//! What the writer and those who read have in common: the list of runs, and results in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use volley_plan::link::RunId;

use super::codec::{self, CodecError};
use super::{SharedSeries, StoreError, sql};
use crate::document::{Marks, RunSummary};
use crate::store::{Listed, Page};

/// Series of runs that are over which stay in memory after they were asked for.
const MAX_CACHED: usize = 4;

/// A slice of housekeeping should not be longer; a slow disk may make it so.
const LONG_SLICE: Duration = Duration::from_millis(50);

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Shared {
    index: Mutex<Index>,
    series: Mutex<AllSeries>,
    longest_slice_ns: AtomicU64,
}

/// The list of runs, small enough to be in memory.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_key: BTreeMap<i64, Arc<RunSummary>>,
    keys: BTreeMap<RunId, i64>,
    /// What people say of runs, over what their documents say.
    marks: BTreeMap<i64, Marks>,
}

#[derive(Debug, Default)]
struct AllSeries {
    /// Of runs that go on: the writer adds to them.
    growing: BTreeMap<i64, SharedSeries>,
    /// Of runs that are over, the one that was asked for last at the end.
    cached: VecDeque<(i64, SharedSeries)>,
}

impl Index {
    /// Adds a run, or replaces what is told of it.
    pub(super) fn insert(&mut self, key: i64, mut summary: Arc<RunSummary>) {
        if let Some(marks) = self.marks.get(&key) {
            summary = Arc::new(Arc::unwrap_or_clone(summary).marked(marks.clone()));
        }
        self.keys.insert(summary.id.clone(), key);
        self.by_key.insert(key, summary);
    }

    /// People say this of a run by now.
    pub(super) fn mark(&mut self, key: i64, marks: Marks) {
        self.marks.insert(key, marks);
        if let Some(summary) = self.by_key.get(&key).cloned() {
            self.insert(key, summary);
        }
    }

    /// A run's key.
    pub(super) fn key(&self, run: &RunId) -> Option<i64> {
        self.keys.get(run).copied()
    }

    /// Some runs, newest first.
    pub(super) fn list(&self, page: &Page) -> Listed {
        let known = page.before.as_ref().map(|run| self.key(run).ok_or(run));
        let (before, named) = match known {
            None => (i64::MAX, None),
            Some(Ok(key)) => (key, None),
            // Of a run that isn't there any more, its name tells its age: names begin with the time.
            Some(Err(name)) => (i64::MAX, Some(name)),
        };
        let older = |summary: &&Arc<RunSummary>| named.is_none_or(|name| summary.id < *name);
        let wanted = |summary: &&Arc<RunSummary>| older(summary) && page.wanted.is(summary);
        let mut older = self.by_key.range(..before).rev().map(|(_, summary)| summary).filter(wanted).cloned();
        let runs: Vec<_> = older.by_ref().take(page.most).collect();
        let next = runs.last().filter(|_| older.next().is_some()).map(|summary| summary.id.clone());
        Listed { runs, next, in_all: self.by_key.len() }
    }
}

impl Shared {
    /// Reads the list of runs. What cannot be read of it is left out and said: one damaged run must not hide all others.
    pub(super) fn load(db: &Connection) -> Result<Self, StoreError> {
        let mut index = Index { marks: all_marks(db)?, ..Index::default() };
        let mut statement = sql(db.prepare("SELECT key, id, form, summary FROM runs WHERE NOT removed"))?;
        let mut rows = sql(statement.query([]))?;
        while let Some(row) = sql(rows.next())? {
            let columns =
                (|| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get::<_, String>(3)?)))();
            let (key, run, form, text): (_, _, i64, _) = sql(columns)?;
            match summary(form, &text) {
                Ok(summary) => index.insert(key, Arc::new(summary)),
                Err(error) => tracing::error!(run, %error, "a stored run cannot be read and is left out"),
            }
        }
        Ok(Self { index: Mutex::new(index), ..Self::default() })
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all_series(&self) -> MutexGuard<'_, AllSeries> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The results of a run that goes on; `None` once it doesn't. What was cached of it is out of date.
    pub(super) fn set_growing(&self, key: i64, series: Option<SharedSeries>) {
        let mut all = self.all_series();
        all.cached.retain(|(cached, _)| *cached != key);
        match series {
            Some(series) => all.growing.insert(key, series),
            None => all.growing.remove(&key),
        };
    }

    /// What is in memory of a run's results.
    pub(super) fn series(&self, key: i64) -> Option<SharedSeries> {
        let mut all = self.all_series();
        if let Some(series) = all.growing.get(&key) {
            return Some(series.clone());
        }
        let place = all.cached.iter().position(|(cached, _)| *cached == key)?;
        let found = all.cached.remove(place)?;
        let series = found.1.clone();
        all.cached.push_back(found);
        Some(series)
    }

    /// Caches what was read of a run's results. If it has begun to grow in the meantime, that is what counts.
    pub(super) fn remember(&self, key: i64, series: SharedSeries) -> SharedSeries {
        let mut all = self.all_series();
        if let Some(growing) = all.growing.get(&key) {
            return growing.clone();
        }
        all.cached.retain(|(cached, _)| *cached != key);
        all.cached.push_back((key, series.clone()));
        if all.cached.len() > MAX_CACHED {
            all.cached.pop_front();
        }
        series
    }

    /// What is cached of a run's results has changed on disk.
    pub(super) fn forget_series(&self, key: i64) {
        self.all_series().cached.retain(|(cached, _)| *cached != key);
    }

    /// Housekeeping has held jobs up for this long.
    pub(super) fn note_slice(&self, took: Duration) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let longest_ns = self.longest_slice_ns.fetch_max(took_ns, Ordering::Relaxed);
        if took > LONG_SLICE && took_ns > longest_ns {
            tracing::warn!(?took, "the store's housekeeping has held up others for longer than it should");
        }
    }

    /// The longest that housekeeping has held jobs up.
    #[cfg(test)]
    pub(super) fn longest_slice(&self) -> Duration {
        Duration::from_nanos(self.longest_slice_ns.load(Ordering::Relaxed))
    }

    /// A run is gone.
    pub(super) fn forget(&self, run: &RunId, key: i64) {
        let mut index = self.index();
        index.keys.remove(run);
        index.by_key.remove(&key);
        index.marks.remove(&key);
        drop(index);
        self.set_growing(key, None);
    }
}

fn all_marks(db: &Connection) -> Result<BTreeMap<i64, Marks>, StoreError> {
    let mut statement = sql(db.prepare("SELECT run, form, body FROM marks"))?;
    let mut rows = sql(statement.query([]))?;
    let mut marks = BTreeMap::new();
    while let Some(row) = sql(rows.next())? {
        let columns = (|| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))();
        let (run, form, body): (i64, _, _) = sql(columns)?;
        match codec::decode_marks(form, &body) {
            Ok(of_run) => drop(marks.insert(run, of_run)),
            Err(error) => {
                tracing::error!(run, %error, "what people say of a run cannot be read and is left out");
            }
        }
    }
    Ok(marks)
}

fn summary(form: i64, text: &str) -> Result<RunSummary, CodecError> {
    codec::check_form(form)?;
    Ok(serde_json::from_str(text)?)
}
