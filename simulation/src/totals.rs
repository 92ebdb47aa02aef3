//! Sums of what windows say, of both parts.

use std::collections::BTreeMap;

use volley_stats::{Part, SealedWindow};

/// Counts of one agent, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Iterations started, by the second in which they were due.
    pub(crate) started: BTreeMap<u32, u64>,
    pub(crate) missed: u64,
    pub(crate) finished: u64,
    pub(crate) requests: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
    /// Of the measured part: iterations started, and requests started, ok, failed and cancelled.
    pub(crate) measured: [u64; 5],
}

impl Totals {
    pub(crate) fn add(&mut self, window: &SealedWindow) {
        for (&second, scalars) in &window.seconds {
            for iterations in [scalars.iterations, scalars.warmup] {
                if iterations.started > 0 {
                    *self.started.entry(second).or_default() += iterations.started;
                }
                self.missed += iterations.missed;
                self.finished += iterations.finished;
            }
        }
        self.measured[0] += window.iterations().started;
        for (key, row) in &window.rows {
            let counters = &row.counters;
            self.requests += counters.started;
            self.ok += counters.ok;
            self.failed += counters.failed;
            self.cancelled += counters.cancelled;
            if key.part == Part::Measured {
                let counts = [counters.started, counters.ok, counters.failed, counters.cancelled];
                self.measured.iter_mut().skip(1).zip(counts).for_each(|(sum, more)| *sum += more);
            }
        }
    }

    /// Adds the measured counts of another agent.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.measured.iter_mut().zip(other.measured).for_each(|(sum, more)| *sum += more);
    }

    /// How many iterations were started in all.
    pub(crate) fn all_started(&self) -> u64 {
        self.started.values().sum()
    }

    /// The counts without the seconds, which may have been made coarser on their way.
    pub(crate) fn counts(&self) -> [u64; 7] {
        let Self { missed, finished, requests, ok, failed, cancelled, .. } = *self;
        [self.all_started(), missed, finished, requests, ok, failed, cancelled]
    }
}
