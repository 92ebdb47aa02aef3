//! Tells the log of those who were turned away. However many they are, it is one line in ten seconds: the log must not be
//! what they can fill.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far lines are apart at least.
const QUIET: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// Since the last line.
    count: u64,
    said: Option<Instant>,
}

impl Counted {
    /// Counts one more; gives their number if it is time to tell it.
    fn one_more(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        if self.said.is_some_and(|said| now.duration_since(said) < QUIET) {
            return None;
        }
        self.said = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

impl Refusals {
    /// Somebody was turned away at `place`.
    pub(super) fn note(&self, place: &'static str) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).one_more(Instant::now());
        if let Some(count) = told {
            tracing::warn!(place, count, "turned away: no token, or a wrong one");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_told_in_one_line() {
        let (mut counted, begun) = (Counted::default(), Instant::now());
        let mut at_ms = |ms| counted.one_more(begun + Duration::from_millis(ms));
        assert_eq!(at_ms(0), Some(1));
        assert_eq!([at_ms(1), at_ms(2), at_ms(9_999)], [None; 3]);
        assert_eq!([at_ms(10_000), at_ms(10_001), at_ms(20_000)], [Some(4), None, Some(2)]);
    }
}
