//! The store that keeps runs in one SQLite file. It survives the killing of its process at any point; the loss of power
//! may cost the latest seconds, but never the rest.
//!
//! A thread writes ([`writer`]), others read beside it over connections of their own, which SQLite's write-ahead log lets
//! them do without waiting for each other. A window is kept as the message it came as; once seconds are complete,
//! [`merge`] moves what its messages say into rows by second and step, in one transaction. In between, in slices of some
//! milliseconds, [`housekeeping`] puts minutes together and thins old runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use volley_plan::link::RunId;
use volley_stats::{RowKey, SealedRow, StepId};

use super::{
    Arrival, Delivery, Grain, HealthBySecond, Kept, Library, Listed, Page, Remembered, RequestKey,
    RunDocument, SavedOrder, SharedSeries, Span, Standing, Store, StoreError, StoreFuture, Unfinished, span,
};
use crate::document::Marks;

mod checkpoint;
mod closing;
mod codec;
mod file;
mod housekeeping;
mod jobs;
mod library;
mod marks;
mod merge;
mod minutes;
mod open_runs;
mod read;
mod roll_up;
mod shared;
mod thin;
mod unfinished;
mod writer;

#[cfg(test)]
mod tests;

use closing::Close;
use jobs::{Complete, Create, KeepOrders, KeepWindow, Update, Written, WrittenOrder, kept};
use marks::{Mark, Remember, RemoveRun};
use read::ReadError;
use shared::Shared;
use unfinished::{WrittenStanding, text};
use writer::Writer;

/// Most reads at the same time.
const MAX_READERS: usize = 4;

/// How long what is over is kept. Runs that go on are always kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most finished runs; the oldest go.
    pub finished_runs: usize,
    /// How long a run has its seconds; after that, minutes are left of it. Totals stay exact.
    pub seconds_for: Duration,
    /// How long a run is kept at all.
    pub age_max: Duration,
}

impl Default for Retention {
    /// 10,000 runs, seconds for 30 days, a year.
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self { finished_runs: 10_000, seconds_for: DAY * 30, age_max: DAY * 365 }
    }
}

/// Runs in a file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    writer: Writer,
    _lock: file::Lock,
}

/// Connections that read and have nothing to do.
#[derive(Debug)]
struct Readers {
    path: PathBuf,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads within one transaction, so that all of it is of one moment.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let taken = self.idle().pop();
        let mut db = taken.map_or_else(|| file::reader(&self.path), Ok)?;
        let result = sql(db.transaction()).and_then(|transaction| read(&transaction));
        self.idle().push(db);
        result
    }
}

/// An error of SQLite as one of the store.
fn sql<T>(result: rusqlite::Result<T>) -> Result<T, StoreError> {
    result.map_err(|error| StoreError::Failed(error.to_string()))
}

impl SqliteStore {
    /// Opens the store in this file. What is missing is made: the file, the folders above it, the schema. Runs that were
    /// going on when the last process ended are left as they are, see [`Store::unfinished`].
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has it, [`StoreError::Failed`] if it can't be used.
    pub fn open(path: &Path, retention: Retention) -> Result<Self, StoreError> {
        let path = file::prepare(path)?;
        let lock = file::Lock::take(&path)?;
        let db = file::writer(&path)?;
        let shared = Arc::new(Shared::load(&db)?);
        let places = Semaphore::new(MAX_READERS);
        let readers = Arc::new(Readers { path: path.clone(), places, idle: Mutex::default() });
        let writer = Writer::start(db, &path, shared.clone(), retention)?;
        Ok(Self { path, shared, readers, writer, _lock: lock })
    }

    /// The file, without links on the way to it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads something of a run, on a thread that may wait for the disk.
    async fn read<T: Send + 'static>(
        &self,
        run: &RunId,
        read: impl FnOnce(&Connection, i64) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let key = self.shared.index().key(run).ok_or_else(|| StoreError::NotFound(run.clone()))?;
        let run = run.clone();
        self.read_any(move |db| read(db, key).map_err(|error| error.of(&run))).await
    }

    /// Reads something, likewise.
    async fn read_any<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = self.readers.clone();
        let gone = |error: &dyn std::error::Error| StoreError::Failed(format!("reading broke off: {error}"));
        let _place = self.readers.places.acquire().await.map_err(|error| gone(&error))?;
        let work = move || readers.read(read);
        tokio::task::spawn_blocking(work).await.map_err(|error| gone(&error))?
    }

    async fn series_of(&self, run: &RunId) -> Result<SharedSeries, StoreError> {
        let key = self.shared.index().key(run).ok_or_else(|| StoreError::NotFound(run.clone()))?;
        if let Some(series) = self.shared.series(key) {
            return Ok(series);
        }
        let series = self.read(run, read::series).await?;
        Ok(self.shared.remember(key, SharedSeries::of(series)))
    }
}

impl Store for SqliteStore {
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>> {
        async move { self.writer.ask(Create(Written::of(run)?)).await.map(|(_, dropped)| dropped) }.boxed()
    }

    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()> {
        async move { self.writer.ask(Update(Written::of(run)?)).await.map(|_| ()) }.boxed()
    }

    fn save_orders<'a>(
        &'a self,
        run: &'a RunId,
        standing: Standing,
        orders: &'a [SavedOrder],
    ) -> StoreFuture<'a, ()> {
        async move {
            let standing = WrittenStanding::of(&standing)?;
            let orders = orders.iter().map(WrittenOrder::of).collect::<Result<_, _>>()?;
            self.writer.ask(KeepOrders { run: run.clone(), standing, orders }).await
        }
        .boxed()
    }

    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept> {
        let Delivery { run, agent, sequence, window, facts, arrival } = delivery;
        let (body, facts) = (codec::encode_window(window), text(facts));
        let (run, late, window) = (run.clone(), arrival == Arrival::Late, window.clone());
        async move {
            let job = KeepWindow { run, agent, sequence, late, window, body, facts: facts? };
            self.writer.ask(job).await.map(kept)
        }
        .boxed()
    }

    fn complete<'a>(&'a self, run: &'a RunId, below_s: u32) -> StoreFuture<'a, ()> {
        self.writer.ask(Complete { run: run.clone(), below_s }).boxed()
    }

    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries> {
        self.series_of(run).boxed()
    }

    fn spans<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
    ) -> StoreFuture<'a, Vec<Span>> {
        self.read(run, move |db, key| read::spans(db, key, grain, from_s, to_s)).boxed()
    }

    fn rows<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
        step: Option<StepId>,
    ) -> StoreFuture<'a, Vec<(RowKey, SealedRow)>> {
        self.read(run, move |db, key| read::rows(db, key, grain, from_s..to_s, step)).boxed()
    }

    fn health<'a>(&'a self, run: &'a RunId, from_s: u32, most: usize) -> StoreFuture<'a, HealthBySecond> {
        self.read(run, move |db, key| read::health(db, key, from_s, most)).boxed()
    }

    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>> {
        self.read(run, read::orders).boxed()
    }

    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>> {
        async move {
            match self.read(run, read::document).await {
                Err(StoreError::NotFound(_)) => Ok(None),
                document => document,
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, page: &'a Page) -> StoreFuture<'a, Listed> {
        std::future::ready(Ok(self.shared.index().list(page))).boxed()
    }

    fn mark<'a>(&'a self, run: &'a RunId, marks: Marks) -> StoreFuture<'a, ()> {
        async move { self.writer.ask(Mark { run: run.clone(), marks }).await.map(drop) }.boxed()
    }

    fn remove<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        async move { self.writer.ask(RemoveRun(run.clone())).await.map(drop) }.boxed()
    }

    fn remember<'a>(&'a self, request: RequestKey, run: &'a RunId) -> StoreFuture<'a, ()> {
        self.writer.ask(Remember { request, run: run.clone(), at: Timestamp::now() }).boxed()
    }

    fn remembered<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Remembered>> {
        let key = key.to_owned();
        self.read_any(move |db| marks::request(db, &key)).boxed()
    }

    fn library(&self) -> &dyn Library {
        self
    }

    fn unfinished(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.read_any(unfinished::unfinished).boxed()
    }

    fn close<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()> {
        async move { self.writer.ask(Close { run: run.clone() }).await.map(drop) }.boxed()
    }

    fn is_durable(&self) -> bool {
        true
    }
}
