//! The merged results of one run, which a store adds to while others read.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use volley_stats::{DecodeError, SealedWindow, Series, Window};

/// Merged results that a store adds to while others read.
///
/// What is added is summed up by second and step first, and goes into the series when somebody looks: a fleet adds a
/// thousand windows a second, and a row that is added to a total costs six times what it costs to add it to a row.
#[derive(Clone, Debug, Default)]
pub struct SharedSeries(Arc<Mutex<Summed>>);

#[derive(Debug, Default)]
struct Summed {
    series: Series,
    /// Added, and not in the series yet.
    pending: Option<Window>,
}

impl SharedSeries {
    /// Results that were read from somewhere.
    pub(crate) fn of(series: Series) -> Self {
        Self(Arc::new(Mutex::new(Summed { series, pending: None })))
    }

    /// Adds a window. A repeated one must be kept out by the caller.
    ///
    /// # Errors
    /// Where a histogram can't be read: what stands before it is added. None of a window that was checked.
    pub(crate) fn add(&self, window: &SealedWindow) -> Result<(), DecodeError> {
        self.summed().pending.get_or_insert_default().merge_sealed(window)
    }

    /// The results, locked: to be read at once and let go.
    #[must_use]
    pub fn lock(&self) -> Results<'_> {
        let mut summed = self.summed();
        if let Some(pending) = summed.pending.take() {
            // Only a second in memory that is damaged can't be added to; what is on disk is right.
            if let Err(error) = summed.series.add(&pending) {
                tracing::error!(%error, "results in memory are damaged");
            }
        }
        Results(summed)
    }

    fn summed(&self) -> MutexGuard<'_, Summed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results of a run while they are locked.
#[derive(Debug)]
pub struct Results<'a>(MutexGuard<'a, Summed>);

impl Deref for Results<'_> {
    type Target = Series;

    fn deref(&self) -> &Series {
        &self.0.series
    }
}

impl DerefMut for Results<'_> {
    fn deref_mut(&mut self) -> &mut Series {
        &mut self.0.series
    }
}
