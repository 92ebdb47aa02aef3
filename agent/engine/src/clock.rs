//! The agent's own monotonic clock, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};
use volley_stats::SECOND_NS;

#[cfg(test)]
use std::sync::atomic::{AtomicU64, Ordering};

/// What the clock reads when it is started: 36 years. An agent that joins a run which goes on has its run time 0 before
/// its own start, and that must have a reading too.
const STARTS_AT_NS: u64 = 1 << 60;

/// The agent's own monotonic clock, started with the process. Wall time never enters, so a step of it can't disturb a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The kernel's `CLOCK_MONOTONIC` and so much more.
    Kernel { ahead_ns: u64 },
    /// A number that a test sets.
    #[cfg(test)]
    Virtual(&'static AtomicU64),
}

impl Clock {
    /// A clock that starts now. One process takes one, and passes copies around.
    #[must_use]
    pub fn start() -> Self {
        Self { source: Source::Kernel { ahead_ns: STARTS_AT_NS.saturating_sub(kernel_ns()) } }
    }

    /// A clock that shows what a test sets.
    #[cfg(test)]
    pub(crate) fn of_test(now_ns: &'static AtomicU64) -> Self {
        Self { source: Source::Virtual(now_ns) }
    }

    /// What it reads.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match self.source {
            Source::Kernel { ahead_ns } => kernel_ns() + ahead_ns,
            #[cfg(test)]
            Source::Virtual(now_ns) => now_ns.load(Ordering::Relaxed),
        }
    }

    /// A time of this clock as the kernel's `CLOCK_MONOTONIC` says it: 1 at least, since 0 turns a timer off.
    pub(crate) fn kernel_ns(&self, at_ns: u64) -> u64 {
        match self.source {
            Source::Kernel { ahead_ns } => at_ns.saturating_sub(ahead_ns).max(1),
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
