//! How long to wait before the next attempt to connect.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(2);

/// Waits that double from 100 ms to 2 s.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait. `jitter`, 0 to 1, takes away up to half of it, so that a fleet doesn't come back in one burst.
    pub(crate) fn next(&mut self, jitter: f64) -> Duration {
        let whole = FIRST.saturating_mul(1 << self.failures.min(10)).min(MOST);
        self.failures = self.failures.saturating_add(1);
        whole.mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// A connection was held for so long. If that is longer than any wait, the next wait is the first again; one that
    /// breaks at once, time after time, is no better than none.
    pub(crate) fn held(&mut self, time: Duration) {
        if time >= MOST {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_begin_anew() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..7).map(|_| backoff.next(0.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 2000, 2000]);
        backoff.failures = u32::MAX;
        assert_eq!(backoff.next(1.0), Duration::from_secs(1));
        backoff.held(Duration::from_millis(1999));
        assert_eq!(backoff.next(0.0), Duration::from_secs(2));
        backoff.held(Duration::from_secs(2));
        assert_eq!(backoff.next(0.5), Duration::from_millis(75));
    }
}
