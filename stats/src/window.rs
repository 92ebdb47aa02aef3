//! What an agent reports of about one second: rows by step, scalars of the whole agent, and how far it is complete.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Addresses, DecodeError, Health, Row, RowKey, SealedWindow};

/// Counts of iterations. Over a whole run `planned = started + missed + unknown`; only the coordinator knows the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Iterations {
    /// Iterations taken up by a user.
    pub started: u64,
    /// Iterations that came to their end, whatever the outcome of their requests.
    pub finished: u64,
    /// Iterations that were due and not sent by anybody.
    pub missed: u64,
}

impl Iterations {
    /// Adds other iterations.
    pub fn merge(&mut self, other: &Self) {
        self.started = self.started.saturating_add(other.started);
        self.finished = self.finished.saturating_add(other.finished);
        self.missed = self.missed.saturating_add(other.missed);
    }
}

/// Scalars of one agent (or, merged, of the fleet) in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Iterations of the measured part: started and missed are filed by the second they were due, finished by the
    /// second of their end.
    pub iterations: Iterations,
    /// The same of the warm-up.
    pub warmup: Iterations,
    /// Users there are.
    pub users: u32,
    /// Requests in flight at the end of the second.
    pub in_flight: u32,
    /// Connections open at the end of the second.
    pub connections: u32,
}

impl Second {
    /// Adds the same second of another worker or agent. Sums of absurd claims stay at the highest number.
    pub fn merge(&mut self, other: &Self) {
        self.iterations.merge(&other.iterations);
        self.warmup.merge(&other.warmup);
        self.users = self.users.saturating_add(other.users);
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.connections = self.connections.saturating_add(other.connections);
    }
}

/// One report of results. It may add to earlier seconds; once sent it is never altered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// Results by span, step and part.
    pub rows: BTreeMap<RowKey, Row>,
    /// Scalars by second.
    pub seconds: BTreeMap<u32, Second>,
    /// How the generator itself was, by second.
    pub health: BTreeMap<u32, Health>,
    /// What went to each of the target's addresses, warm-up included.
    pub addresses: Addresses,
    /// Every second before this one is complete as far as this reporter is concerned.
    pub watermark_s: u32,
    /// Run time of the latest completion, in nanoseconds; 0 without any. The length of a counted run comes from it.
    pub latest_ns: u64,
}

impl Window {
    /// Adds what another reporter says. The watermark becomes the lower of the two.
    pub fn merge(&mut self, other: &Self) {
        for (key, row) in &other.rows {
            self.rows.entry(*key).or_default().merge(row);
        }
        self.merge_by_second(&other.seconds, &other.health);
        self.addresses.merge(&other.addresses);
        self.watermark_s = self.watermark_s.min(other.watermark_s);
        self.latest_ns = self.latest_ns.max(other.latest_ns);
    }

    /// The same of a window in its small form, without opening it.
    ///
    /// # Errors
    /// See [`Row::merge_sealed`]. None of a window that [`SealedWindow::check`] lets through.
    pub fn merge_sealed(&mut self, other: &SealedWindow) -> Result<(), DecodeError> {
        for (key, row) in &other.rows {
            self.rows.entry(*key).or_default().merge_sealed(row)?;
        }
        self.merge_by_second(&other.seconds, &other.health);
        self.addresses.merge(&other.addresses);
        self.watermark_s = self.watermark_s.min(other.watermark_s);
        self.latest_ns = self.latest_ns.max(other.latest_ns);
        Ok(())
    }

    fn merge_by_second(&mut self, seconds: &BTreeMap<u32, Second>, health: &BTreeMap<u32, Health>) {
        for (second, scalars) in seconds {
            self.seconds.entry(*second).or_default().merge(scalars);
        }
        for (second, health) in health {
            self.health.entry(*second).or_default().merge(health);
        }
    }

    /// Measured iterations in this window, in all its seconds.
    #[must_use]
    pub fn iterations(&self) -> Iterations {
        iterations_in(&self.seconds)
    }
}

/// Measured iterations in these seconds.
pub(crate) fn iterations_in(seconds: &BTreeMap<u32, Second>) -> Iterations {
    let mut sum = Iterations::default();
    for second in seconds.values() {
        sum.merge(&second.iterations);
    }
    sum
}
