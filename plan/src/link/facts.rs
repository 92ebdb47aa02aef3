//! What of a window decides about a run.

use volley_stats::{ErrorKind, Iterations, Part, Window};

use crate::health::HealthSum;

/// The scalars of a window that decide about a run; the histograms don't. All are of the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowFacts {
    /// See [`Report::Window`].
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
    /// How the generator was.
    pub health: HealthSum,
    /// Seconds before this one are complete.
    pub watermark_s: u32,
    /// Run time of the latest completion, in nanoseconds; 0 without any.
    pub latest_ns: u64,
    /// See [`Report::Window`].
    pub last: bool,
}

impl WindowFacts {
    /// The facts of a reported window, of a run whose warm-up takes `warmup_ns`.
    #[must_use]
    pub fn of(sequence: u64, window: &Window, last: bool, warmup_ns: u64) -> Self {
        let mut facts = Self {
            sequence,
            iterations: window.iterations(),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
            last,
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
        let measured_from_s = u32::try_from(warmup_ns.div_ceil(volley_stats::SECOND_NS)).unwrap_or(u32::MAX);
        for (_, health) in window.health.range(measured_from_s..) {
            facts.health.add(health);
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
