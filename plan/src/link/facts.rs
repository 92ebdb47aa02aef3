//! What of a window decides about a run.

use serde::{Deserialize, Serialize};
use volley_stats::{ErrorKind, Iterations, Part, SealedWindow, Second};

use crate::health::HealthSum;
use crate::model::Load;

/// The scalars of a window that decide about a run; the histograms don't. All are of the measured part.
///
/// Their sum over an agent's windows is stored beside these, so that a coordinator that is started again knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowFacts {
    /// See [`Report::Window`](super::Report::Window).
    pub sequence: u64,
    /// Iterations in the window.
    pub iterations: Iterations,
    /// Requests started in the window.
    pub started: u64,
    /// Requests that ended ok.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were cut off.
    pub cancelled: u64,
    /// Those of the failed ones for which the generator had no local port left.
    pub without_port: u64,
    /// Those of the failed ones for which it had no descriptor left.
    pub without_descriptor: u64,
    /// How the generator was in the seconds in which anything was due.
    pub health: HealthSum,
    /// Seconds before this one are complete.
    pub watermark_s: u32,
    /// Run time of the latest completion, in nanoseconds; 0 without any.
    pub latest_ns: u64,
    /// See [`Report::Window`](super::Report::Window).
    pub last: bool,
}

impl WindowFacts {
    /// The facts of a reported window, of a run with this load.
    #[must_use]
    pub fn of(sequence: u64, window: &SealedWindow, last: bool, load: &Load) -> Self {
        let mut facts = Self { sequence, last, ..Self::counted(window) };
        let measured_from_s =
            u32::try_from(load.warmup_ns().div_ceil(volley_stats::SECOND_NS)).unwrap_or(u32::MAX);
        for (second, health) in window.health.range(measured_from_s..) {
            let begun = window.seconds.get(second).map_or(0, iterations_begun);
            facts.health.add(health, load.has_due_times(), begun);
        }
        facts
    }

    /// What can be said of a window whatever the load is: all but how the generator was.
    #[must_use]
    pub fn counted(window: &SealedWindow) -> Self {
        let mut facts = Self {
            iterations: window.iterations(),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
            ..Self::default()
        };
        // An agent's claims are not trusted to be small: an absurd sum shows in the account, a panic would hide it.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        for (_, row) in window.rows.iter().filter(|(key, _)| key.part == Part::Measured) {
            add(&mut facts.started, row.counters.started);
            add(&mut facts.ok, row.counters.ok);
            add(&mut facts.failed, row.counters.failed);
            add(&mut facts.cancelled, row.counters.cancelled);
            add(&mut facts.without_port, row.counters.errors.get(ErrorKind::LocalPorts));
            add(&mut facts.without_descriptor, row.counters.errors.get(ErrorKind::Descriptors));
        }
        facts
    }

    /// Adds what a later window of the same agent says.
    pub fn merge(&mut self, later: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.sequence = later.sequence;
        self.iterations.merge(&later.iterations);
        add(&mut self.started, later.started);
        add(&mut self.ok, later.ok);
        add(&mut self.failed, later.failed);
        add(&mut self.cancelled, later.cancelled);
        add(&mut self.without_port, later.without_port);
        add(&mut self.without_descriptor, later.without_descriptor);
        self.health.merge(&later.health);
        self.watermark_s = self.watermark_s.max(later.watermark_s);
        self.latest_ns = self.latest_ns.max(later.latest_ns);
        self.last |= later.last;
    }
}

/// Iterations of either part that were due in a second and taken up, then or later, or missed.
fn iterations_begun(second: &Second) -> u64 {
    let Second { iterations, warmup, .. } = second;
    [iterations.started, iterations.missed, warmup.started, warmup.missed]
        .into_iter()
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_stats::{Health, SECOND_NS};

    /// Checks which seconds count, and which of them are late, where in each of five seconds there was something: an
    /// iteration, one of the warm-up, a missed one, nothing, and nothing but a lag and a stall of 200 ms.
    fn check(load: &str, expected: (u64, u64)) {
        let plan = crate::parse(&format!("target: http://h/\n{load}")).unwrap();
        let one = |started, missed| Iterations { started, finished: started, missed };
        let mut window = SealedWindow::default();
        for (second, iterations, warmup) in [
            (2, one(1, 0), one(0, 0)),
            (3, one(0, 0), one(1, 0)),
            (4, one(0, 1), one(0, 0)),
            (5, one(0, 0), one(0, 0)),
            (6, one(0, 0), one(0, 0)),
        ] {
            window.seconds.insert(second, Second { iterations, warmup, users: 3, ..Second::default() });
            window.health.insert(second, Health { span_ns: SECOND_NS, ..Health::default() });
        }
        let late_ns = 200_000_000;
        let late = window.health.get_mut(&6).unwrap();
        (late.lag_p99_ns, late.lag_max_ns, late.stall_max_ns) = (late_ns, late_ns, late_ns);
        let facts = WindowFacts::of(7, &window, true, &plan.load);
        assert_eq!((facts.health.seconds, facts.health.late_seconds), expected, "{load}");
        assert_eq!((facts.sequence, facts.last, facts.iterations), (7, true, one(1, 1)));
        let written = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<WindowFacts>(&written).unwrap(), facts);
        let counted = WindowFacts { sequence: 7, last: true, ..WindowFacts::counted(&window) };
        assert_eq!(counted, WindowFacts { health: HealthSum::default(), ..facts });
    }

    #[test]
    fn facts_that_were_written_with_fewer_fields_can_be_read() {
        let facts: WindowFacts = serde_json::from_str(r#"{"sequence":3,"health":{"seconds":2}}"#).unwrap();
        let health = HealthSum { seconds: 2, ..HealthSum::default() };
        assert_eq!(facts, WindowFacts { sequence: 3, health, ..WindowFacts::default() });
    }

    #[test]
    fn seconds_without_anything_due_are_in_no_count() {
        check("rate: 1/s\nduration: 9s", (4, 1));
        check("users: 3\nduration: 9s", (4, 1));
        check("rate: 1/s\nwarmup: 2500ms\nduration: 9s", (3, 1));
        check("users: 3\npacing: 1s\nduration: 9s", (4, 1));
    }
}
