//! Named places at which a test can let this process die, as if it had been killed just there.
//!
//! `VOLLEY_CRASH_AT=window-stored` ends it the first time that it comes by, `VOLLEY_CRASH_AT=window-stored:3` the third
//! time. The variable is read once; without it, coming by costs one look.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What names the place.
const VARIABLE: &str = "VOLLEY_CRASH_AT";

/// Where to die.
#[derive(Debug)]
struct Crash {
    at: String,
    /// How often it is still passed; at 0 it isn't.
    left: AtomicU64,
}

impl Crash {
    /// What the variable says: a name, and the how-manieth time where that isn't the first.
    fn parse(text: &str) -> Self {
        let (at, times) = text.split_once(':').unwrap_or((text, "1"));
        let times = times.parse().unwrap_or(1_u64).max(1);
        Self { at: at.to_owned(), left: AtomicU64::new(times - 1) }
    }

    /// True if this is the place and the time.
    fn is_now(&self, point: &str) -> bool {
        let pass = |left: u64| left.checked_sub(1);
        self.at == point && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass).is_err()
    }
}

fn wanted() -> Option<&'static Crash> {
    static CRASH: OnceLock<Option<Crash>> = OnceLock::new();
    CRASH.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| Crash::parse(&text))).as_ref()
}

/// Warns of what is going to happen.
pub(crate) fn announce() {
    if let Some(Crash { at, left }) = wanted() {
        let times = left.load(Ordering::Relaxed) + 1;
        tracing::warn!(
            "{VARIABLE} is set: THIS PROCESS WILL CRASH at {at}, time {times}; it is for tests alone"
        );
    }
}

/// Ends the process here, if a test wants that.
pub(crate) fn crash_at(point: &str) {
    if wanted().is_some_and(|crash| crash.is_now(point)) {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: [bool; 4]) {
        let crash = Crash::parse(text);
        let said = ["here", "there", "here", "here"].map(|point| crash.is_now(point));
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn a_place_is_passed_until_its_time() {
        check("here", [true, false, true, true]);
        check("here:1", [true, false, true, true]);
        check("here:2", [false, false, true, true]);
        check("here:3", [false, false, false, true]);
        check("here:0", [true, false, true, true]);
        check("here:soon", [true, false, true, true]);
        check("nowhere", [false; 4]);
        check("", [false; 4]);
    }
}
