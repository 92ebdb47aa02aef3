//! Where runs are kept: their documents, the orders given, and the merged results by second and step.
//!
//! One trait and one suite of tests ([`suite`]) for every implementation. What is kept is kept before it is
//! acknowledged to an agent or shown to anybody; keeping the same window or order twice changes nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use thiserror::Error;
use volley_plan::link::{Incarnation, Order, RunId};
use volley_stats::{DecodeError, Series, Window};

use crate::document::{RunDocument, RunSummary};

mod memory;
#[cfg(test)]
mod suite;

pub use memory::{MemoryStore, Retention};

/// What a store operation gives.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why something could not be kept or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no run of this name.
    #[error("no run {0} is kept")]
    NotFound(RunId),
    /// There is one already.
    #[error("run {0} is kept already")]
    Exists(RunId),
    /// Merged results cannot be read.
    #[error("results of run {run} are damaged")]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong.
        #[source]
        source: DecodeError,
    },
    /// The place where runs are kept does not work.
    #[error("{0}")]
    Failed(String),
}

/// What became of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is kept now.
    New,
    /// It was kept before; nothing has changed.
    Repeated,
}

/// When a window arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Before the end of its run: it is merged.
    InTime,
    /// After it: it is kept, and in no total.
    Late,
}

/// A window and where it comes from; (run, agent, sequence) is its identity.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The agent.
    pub agent: Incarnation,
    /// Its number, from 1.
    pub sequence: u64,
    /// The results.
    pub window: &'a Window,
    /// In time or late.
    pub arrival: Arrival,
}

/// An order as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOrder {
    /// To whom.
    pub agent: Incarnation,
    /// Its number, from 1 by (run, agent).
    pub number: u64,
    /// The order; `Order::Start` on the coordinator's clock.
    pub order: Order,
}

/// Where runs are kept. Every operation is done when its future says so.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new run. Gives back the runs that had to make room.
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>>;

    /// Replaces a run's document: at its end, and when something is delivered late.
    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()>;

    /// Keeps an order. Keeping it again changes nothing.
    fn save_order<'a>(&'a self, run: &'a RunId, order: SavedOrder) -> StoreFuture<'a, ()>;

    /// Keeps a window: merged where it came in time. Keeping it again changes nothing.
    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept>;

    /// The merged results of a run, which go on growing while it does.
    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries>;

    /// The orders of a run, by agent and number.
    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>>;

    /// A run's document as it was last given.
    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>>;

    /// All runs, newest first.
    fn list(&self) -> StoreFuture<'_, Vec<RunSummary>>;
}

/// Merged results that a store adds to while others read.
#[derive(Clone, Debug, Default)]
pub struct SharedSeries(Arc<Mutex<Series>>);

impl SharedSeries {
    /// The results, locked: to be read at once and let go.
    pub fn lock(&self) -> MutexGuard<'_, Series> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
