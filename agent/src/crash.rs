//! Points at which a test lets this process die, as if it had been killed just there.
//!
//! The environment variable `VOLLEY_CRASH_AT` names one, and after a colon at which passing of it (the first unless it
//! says otherwise): `window-saved:3`. It is read once, where an agent is put on the network; nothing else arms a point.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable's name.
const VARIABLE: &str = "VOLLEY_CRASH_AT";

static ARMED: OnceLock<Option<CrashPoint>> = OnceLock::new();

/// A point, and how often it is still to be passed.
#[derive(Debug)]
struct CrashPoint {
    name: String,
    passings: AtomicU64,
}

impl CrashPoint {
    /// Reads `name` or `name:n`; an `n` that is no number counts as 1.
    fn read(text: &str) -> Self {
        let (name, passings) = text.split_once(':').unwrap_or((text, "1"));
        Self { name: name.to_owned(), passings: AtomicU64::new(passings.parse().unwrap_or(1)) }
    }

    /// True at the passing that it is about.
    fn is_met(&self, name: &str) -> bool {
        self.name == name && self.passings.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Reads the environment.
pub(crate) fn arm() {
    ARMED.get_or_init(|| {
        let text = std::env::var(VARIABLE).ok()?;
        tracing::warn!(
            "{VARIABLE} is {text:?}: this process is going to kill itself there, which only a test can want"
        );
        Some(CrashPoint::read(&text))
    });
}

/// Ends the process if a test wants it to die here.
pub(crate) fn crash_at(point: &str) {
    if ARMED.get().and_then(Option::as_ref).is_some_and(|armed| armed.is_met(point)) {
        tracing::warn!(point, "this process kills itself here, as it was told to");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of four passings of these points in turn it is met.
    fn check(text: &str, expected: &[(usize, &str)]) {
        let point = CrashPoint::read(text);
        let passings = (1..=4).flat_map(|nth| ["window-saved", "draining"].map(|name| (nth, name)));
        let met: Vec<(usize, &str)> = passings.filter(|(_, name)| point.is_met(name)).collect();
        assert_eq!(met, expected, "{text}");
    }

    #[test]
    fn a_point_is_met_once() {
        check("window-saved", &[(1, "window-saved")]);
        check("draining:3", &[(3, "draining")]);
        check("draining:x", &[(1, "draining")]);
        check("draining:9", &[]);
        check("elsewhere", &[]);
        check("", &[]);
    }
}
