//! What there is of one worker at the moment.

use std::cell::Cell;

use super::Tallies;

/// A number of things that there are at the moment.
#[derive(Debug, Default)]
pub(crate) struct Gauge(Cell<u32>);

impl Gauge {
    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.get()
    }

    #[inline]
    pub(crate) fn up(&self) {
        self.0.set(self.0.get() + 1);
    }

    #[inline]
    pub(crate) fn down(&self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What there is of one worker at the moment.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    /// Users whose time it is.
    pub(crate) users: Gauge,
    /// Requests that were begun and are not over. What waits for a connection is not among them.
    pub(crate) in_flight: Gauge,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// What was counted of each address since the last second was handed over.
    pub(crate) tallies: Tallies,
}
