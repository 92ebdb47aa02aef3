//! The coordinator's monotonic clock: nanoseconds since this coordinator was made. All times that the lifecycle, the
//! fleet and the link speak of are on it; the wall clock is only ever used to date a run.

use std::time::Duration;

use tokio::time::Instant;

/// The clock. Tests pause it through tokio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock that reads 0 now.
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Nanoseconds since the epoch; enough for 584 years.
    pub(crate) fn now_ns(self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The moment at which the clock reads `ns`: now where that has passed, a year from now where it lies further away.
    pub(crate) fn instant(self, ns: u64) -> Instant {
        const YEAR: Duration = Duration::from_secs(365 * 86_400);
        Instant::now() + Duration::from_nanos(ns.saturating_sub(self.now_ns())).min(YEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn moments_and_readings_belong_together() {
        let clock = Clock::start();
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.now_ns(), 5_000_000_000);
        tokio::time::sleep_until(clock.instant(7_000_000_000)).await;
        assert_eq!(clock.now_ns(), 7_000_000_000);
        assert_eq!(clock.instant(1), Instant::now());
        assert!(clock.instant(u64::MAX) > Instant::now());
    }
}
