//! The agent's own monotonic clock, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};
use volley_stats::SECOND_NS;

#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

/// The agent's own monotonic clock: nanoseconds since an epoch taken at process start. Wall time never enters, so a
/// step of it can't disturb a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The kernel's `CLOCK_MONOTONIC`, less what it said at the epoch.
    Kernel { epoch_ns: u64 },
    /// A number that a test sets.
    #[cfg(test)]
    Virtual(&'static AtomicU64),
}

impl Clock {
    /// A clock whose epoch is now. One process takes one, and passes copies around.
    #[must_use]
    pub fn start() -> Self {
        Self { source: Source::Kernel { epoch_ns: kernel_ns() } }
    }

    /// A clock that shows what a test sets.
    #[cfg(test)]
    pub(crate) fn of_test(now_ns: &'static AtomicU64) -> Self {
        Self { source: Source::Virtual(now_ns) }
    }

    /// Nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match self.source {
            Source::Kernel { epoch_ns } => kernel_ns() - epoch_ns,
            #[cfg(test)]
            Source::Virtual(now_ns) => now_ns.load(Ordering::Relaxed),
        }
    }

    /// A time of this clock as the kernel's `CLOCK_MONOTONIC` says it.
    pub(crate) fn kernel_ns(&self, at_ns: u64) -> u64 {
        match self.source {
            Source::Kernel { epoch_ns } => at_ns.saturating_add(epoch_ns),
            #[cfg(test)]
            Source::Virtual(_) => at_ns,
        }
    }
}

#[inline]
#[expect(clippy::cast_sign_loss, reason = "the time since boot is never negative")]
fn kernel_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}
