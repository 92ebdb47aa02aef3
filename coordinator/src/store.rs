//! Where runs are kept: their documents, the orders given, and the merged results by second and step.
//!
//! One trait and one suite of tests ([`suite`]) for every implementation: [`MemoryStore`] and [`SqliteStore`]. What
//! is kept is kept before it is acknowledged to an agent or shown to anybody; keeping the same window or order twice
//! changes nothing. With the orders goes what the decider decided them from, so that another process can go on with a run
//! where this one ends.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use thiserror::Error;
use volley_lifecycle::{AgentRecord, RunRecord};
use volley_plan::link::{Incarnation, Order, RunId, WindowFacts};
use volley_stats::{Health, RowKey, SealedRow, SealedWindow, StepId};

use crate::document::{Marks, RunDocument, RunSummary};

mod closing;
pub mod library;
mod memory;
mod requests;
mod results;
mod sequences;
mod span;
pub mod sqlite;
#[cfg(test)]
pub(crate) mod suite;

pub use library::Library;
pub use memory::{MemoryRetention, MemoryStore};
pub use requests::{REMEMBERED, Remembered, RequestKey};
pub use results::{Results, SharedSeries};
pub use span::{Grain, Span, Strain};
pub(crate) use span::{errors_seen, extend};
pub use sqlite::{Retention, SqliteStore};

/// Orders that are kept of one agent in one run: the first, which says its share, and the latest ones. A long run need not
/// pile up grants that were used up long ago.
pub const MAX_ORDERS: usize = 100;

/// What a store operation gives.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Why something could not be kept or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no run of this name.
    #[error("no run {0} is kept")]
    NotFound(RunId),
    /// It is not over.
    #[error("run {0} goes on")]
    GoesOn(RunId),
    /// There is one already.
    #[error("run {0} is kept already")]
    Exists(RunId),
    /// What is kept of a run cannot be read.
    #[error("what is kept of run {run} is damaged")]
    Damaged {
        /// The run.
        run: RunId,
        /// What is wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another process has the store.
    #[error("{} is in use by another coordinator{}", .path.display(), .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    InUse {
        /// The store's file.
        path: PathBuf,
        /// That process, where it is known.
        pid: Option<u32>,
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
    /// The results, checked. Shared, since a store may finish with them on another thread.
    pub window: &'a Arc<SealedWindow>,
    /// The sum of what the agent has reported, this window included. Of a late one it is left out: it is in no total.
    pub facts: &'a WindowFacts,
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

/// Where the decider stands once it has given orders: what another process goes on from.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The run.
    pub run: RunRecord,
    /// Those of its agents of which there is news.
    pub agents: Vec<AgentRecord>,
}

/// A run that was going on when its coordinator ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// Its document as it was last kept, some seconds behind.
    pub document: RunDocument,
    /// How far it had come.
    pub left: Left,
}

/// How far a run had come when its coordinator ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Left {
    /// No order was given yet.
    NotBegun,
    /// Orders were given, and this is where the decider stood.
    Begun {
        /// The run.
        run: RunRecord,
        /// Its agents, each with the sum of what it had reported.
        agents: Vec<(AgentRecord, WindowFacts)>,
    },
    /// Orders were given, but where the decider stood cannot be read: it was not kept, or a version kept it that this one
    /// doesn't know.
    Unreadable(String),
}

/// A part of the list of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only runs that are older than this one, which need not be there any more.
    pub before: Option<RunId>,
    /// Most runs.
    pub most: usize,
    /// Only these.
    pub wanted: Wanted,
}

/// The state of a run that is over, see [`crate::document::Progress::state`].
const FINISHED: &str = "finished";

/// Which runs are wanted of a list: all of these must be so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// In this state. Of a run that goes on, a store only knows that it is not `finished`.
    pub state: Option<String>,
    /// Of a plan of this name, its own or the library's.
    pub plan: Option<String>,
    /// With all of these labels.
    pub labels: Vec<(String, String)>,
}

impl Wanted {
    /// True for a run that is wanted.
    #[must_use]
    pub fn is(&self, run: &RunSummary) -> bool {
        let is_of =
            |name: &String| run.name == *name || run.library.as_ref().is_some_and(|of| of.name == *name);
        let may_be_in = |state: &String| run.over == (state == FINISHED);
        self.state.as_ref().is_none_or(may_be_in)
            && self.plan.as_ref().is_none_or(is_of)
            && self.labels.iter().all(|(key, value)| run.labels.get(key) == Some(value))
    }
}

impl Page {
    /// The newest runs.
    #[must_use]
    pub fn newest(most: usize) -> Self {
        Self { before: None, most, wanted: Wanted::default() }
    }
}

/// Some runs, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The runs.
    pub runs: Vec<Arc<RunSummary>>,
    /// There are older ones: the list goes on before this run, which is the last of these.
    pub next: Option<RunId>,
    /// Runs that are kept in all, wanted or not.
    pub in_all: usize,
}

/// How agents were in some of a run's seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthBySecond {
    /// By second and agent.
    pub reports: BTreeMap<(u32, Incarnation), Health>,
    /// The second that goes on where these end; `None` if there is nothing after them.
    pub next_s: Option<u32>,
}

impl HealthBySecond {
    /// Whole seconds with no more than `most` reports of those that are given in their order, of which there may be more.
    fn of(reports: impl Iterator<Item = ((u32, Incarnation), Health)>, most: usize) -> Self {
        let mut found = Self::default();
        for (key, health) in reports {
            if found.reports.len() == most {
                let cut_s = key.0;
                found.reports.retain(|(second, _), _| *second < cut_s);
                found.next_s = Some(cut_s);
                break;
            }
            found.reports.insert(key, health);
        }
        found
    }
}

/// Where runs are kept. Every operation is done when its future says so.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new run. Gives back the runs that had to make room.
    fn create<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, Vec<RunId>>;

    /// Replaces a run's document: at its end, and when something is delivered late. What people say of the run stays as
    /// [`Self::mark`] has left it.
    fn update<'a>(&'a self, run: &'a RunDocument) -> StoreFuture<'a, ()>;

    /// Keeps orders, and where the decider stands now that it has given them: all of it or nothing. Keeping an order again
    /// changes nothing.
    fn save_orders<'a>(
        &'a self,
        run: &'a RunId,
        standing: Standing,
        orders: &'a [SavedOrder],
    ) -> StoreFuture<'a, ()>;

    /// Keeps a window, merged where it came in time, and with it what its agent has reported in all. Keeping it again
    /// changes nothing.
    fn keep_window<'a>(&'a self, delivery: Delivery<'a>) -> StoreFuture<'a, Kept>;

    /// Says that every live agent has reported the seconds before this one, so that they can be put into their final
    /// form. A later row still adds to them.
    fn complete<'a>(&'a self, run: &'a RunId, below_s: u32) -> StoreFuture<'a, ()>;

    /// The merged results of a run, which go on growing while it does. Totals and scalars are always whole. Of a run that
    /// goes on, the rows of older seconds may be left out; of one that is over, rows may be of minutes in place of
    /// seconds. [`Self::spans`] has them all.
    fn series<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, SharedSeries>;

    /// What happened in a run over time, all steps merged: the spans of the wanted length that begin in `from_s..to_s`, as
    /// far as seconds are complete. Spans in which nothing is known are left out. Where the seconds are gone by age,
    /// minutes are given in their place.
    fn spans<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
    ) -> StoreFuture<'a, Vec<Span>>;

    /// What happened in a run by step and part: the rows of the wanted length, of one step or of all, that lie in
    /// `from_s..to_s`, as far as seconds are complete. A minute that is not put together yet is told by its seconds; where
    /// the seconds are gone by age, minutes are given in their place.
    fn rows<'a>(
        &'a self,
        run: &'a RunId,
        grain: Grain,
        from_s: u32,
        to_s: u32,
        step: Option<StepId>,
    ) -> StoreFuture<'a, Vec<(RowKey, SealedRow)>>;

    /// How the agents of a run were, by second and agent: of the seconds from `from_s` on, as many whole ones as have no
    /// more than `most` reports, which is to be as many as there are agents at least. Seconds that are gone by age are
    /// left out.
    fn health<'a>(&'a self, run: &'a RunId, from_s: u32, most: usize) -> StoreFuture<'a, HealthBySecond>;

    /// The orders of a run, by agent and number.
    fn orders<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Vec<SavedOrder>>;

    /// A run's document as it was last given.
    fn document<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Option<RunDocument>>;

    /// Runs, newest first.
    fn list<'a>(&'a self, page: &'a Page) -> StoreFuture<'a, Listed>;

    /// Keeps what people say of a run, in place of what they said.
    fn mark<'a>(&'a self, run: &'a RunId, marks: Marks) -> StoreFuture<'a, ()>;

    /// Takes a run away for good. One that goes on is [`StoreError::GoesOn`].
    fn remove<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()>;

    /// Remembers which run a request is about to start, for [`REMEMBERED`].
    fn remember<'a>(&'a self, request: RequestKey, run: &'a RunId) -> StoreFuture<'a, ()>;

    /// What is remembered of the request with this key.
    fn remembered<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Remembered>>;

    /// The library of plans.
    fn library(&self) -> &dyn Library;

    /// The runs that are not over, oldest first: for a coordinator that has just begun, those that the one before it left.
    /// One of which not even the document can be read is left out and said.
    fn unfinished(&self) -> StoreFuture<'_, Vec<Unfinished>>;

    /// Ends a run that nobody can go on with: what was kept of it is told, and that it is not all.
    fn close<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, ()>;

    /// True if what is kept here outlives this process.
    fn is_durable(&self) -> bool;
}
