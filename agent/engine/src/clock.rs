//! The agent's own monotonic clock, in nanoseconds.

use std::time::Instant;

use volley_stats::SECOND_NS;

/// The agent's own monotonic clock: nanoseconds since an epoch taken at process start. Wall time never enters, so a
/// step of it can't disturb a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock whose epoch is now. One process takes one, and passes copies around.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        let since = self.epoch.elapsed();
        since.as_secs() * SECOND_NS + u64::from(since.subsec_nanos())
    }
}
