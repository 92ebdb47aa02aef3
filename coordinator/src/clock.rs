//! The coordinator's monotonic clock, in nanoseconds. All times that the lifecycle, the fleet and the link speak of are on
//! it; the wall clock is only ever used to date a run.

use std::time::Duration;

use tokio::time::Instant;

/// What the clock reads when it is started: 36 years. Runs that the coordinator before this one began have their run time
/// 0 before this one's start, and that must have a reading too.
const STARTS_AT_NS: u64 = 1 << 60;

/// The clock. Tests pause it through tokio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// What it reads; enough for 548 years.
    pub(crate) fn now_ns(self) -> u64 {
        let since_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        since_ns.saturating_add(STARTS_AT_NS)
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
        assert_eq!(clock.now_ns(), STARTS_AT_NS + 5_000_000_000);
        tokio::time::sleep_until(clock.instant(STARTS_AT_NS + 7_000_000_000)).await;
        assert_eq!(clock.now_ns(), STARTS_AT_NS + 7_000_000_000);
        assert_eq!(clock.instant(1), Instant::now());
        assert!(clock.instant(u64::MAX) > Instant::now());
    }
}
