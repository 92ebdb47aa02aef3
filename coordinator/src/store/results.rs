//! The merged results of one run, which a store adds to while others read.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use volley_stats::{Series, Window};

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
    pending: Window,
}

impl SharedSeries {
    /// Results that were read from somewhere.
    pub(crate) fn of(series: Series) -> Self {
        Self(Arc::new(Mutex::new(Summed { series, pending: Window::default() })))
    }

    /// Adds a window. A repeated one must be kept out by the caller.
    pub(crate) fn add(&self, window: &Window) {
        self.summed().pending.merge(window);
    }

    /// The results, locked: to be read at once and let go.
    #[must_use]
    pub fn lock(&self) -> Results<'_> {
        let mut summed = self.summed();
        let Summed { series, pending } = &mut *summed;
        if !pending.rows.is_empty() || !pending.seconds.is_empty() {
            // Only a second in memory that is damaged can't be added to; what is on disk is right.
            if let Err(error) = series.add(&std::mem::take(pending)) {
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
