//! What stays the same all through a run, and when it was asked for; and what people say of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use volley_plan::Plan;
use volley_plan::link::RunId;

use crate::document::{DOCUMENT_VERSION, LibraryPlan, Marks, Progress, RunDocument};

/// What stays the same all through a run.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    /// Which plan of the library it is.
    library: Option<LibraryPlan>,
    /// What people say of it, which changes.
    marks: Arc<Mutex<Marks>>,
    /// When it was asked for, by the wall clock.
    created_at: Timestamp,
    /// Run time 0, where an earlier process has told it.
    pub(super) started_at: Option<String>,
    /// A moment by the wall clock and by the coordinator's.
    dated: (Timestamp, u64),
}

impl Head {
    /// Of a run that is asked for at this moment, by both clocks.
    pub(crate) fn new(
        id: RunId,
        plan: Arc<Plan>,
        library: Option<LibraryPlan>,
        marks: Marks,
        (created_at, created_ns): (Timestamp, u64),
    ) -> Self {
        let marks = Arc::new(Mutex::new(marks));
        Self { id, plan, library, marks, created_at, started_at: None, dated: (created_at, created_ns) }
    }

    /// Of a run that was asked for before this coordinator was started; `dated` is any moment by both clocks.
    pub(crate) fn recalled(document: &RunDocument, plan: Arc<Plan>, dated: (Timestamp, u64)) -> Self {
        Self {
            id: document.id.clone(),
            plan,
            library: document.library.clone(),
            marks: Arc::new(Mutex::new(document.marks())),
            created_at: document.created_at.parse().unwrap_or(dated.0),
            started_at: document.started_at.clone(),
            dated,
        }
    }

    /// The document of a run that has only been asked for.
    pub(crate) fn document(&self, progress: Progress) -> RunDocument {
        let Marks { note, labels } = self.marks().clone();
        RunDocument {
            volley: DOCUMENT_VERSION,
            id: self.id.clone(),
            name: self.plan.name.clone(),
            note,
            labels,
            library: self.library.clone(),
            created_at: to_the_millisecond(self.created_at),
            started_at: self.started_at.clone(),
            load: self.plan.load_in_words(),
            target: self.plan.url(),
            plan: self.plan.canonical_json(),
            plan_hash: self.plan.hash().to_string(),
            progress,
            log: Vec::new(),
            log_lines_dropped: 0,
        }
    }

    /// What people say of it: locked, to be read or changed at once.
    pub(crate) fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment of the coordinator's clock by the wall clock, dated from one that is known by both: a step of the wall
    /// clock in mid-run doesn't move it.
    pub(super) fn at(&self, clock_ns: u64) -> Option<String> {
        let (known, known_ns) = self.dated;
        let after_ns = i64::try_from(i128::from(clock_ns) - i128::from(known_ns)).ok()?;
        let moment = known.checked_add(SignedDuration::from_nanos(after_ns)).ok()?;
        Some(to_the_millisecond(moment))
    }
}

fn to_the_millisecond(moment: Timestamp) -> String {
    format!("{moment:.3}")
}
