//! The times that the decider works with.

/// The times that the decider works with, in nanoseconds. How long a lease lasts is the plan's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// From "all ready" to run time 0, and from the decision over a change of shares to the change itself at least, so
    /// that the order reaches everybody in time.
    pub lead_ns: u64,
    /// How long agents may take to get ready.
    pub prepare_ns: u64,
    /// How long reports that are owed are waited for, after the drain and after an agent's loss.
    pub owed_ns: u64,
    /// How long agents are waited for that have not been heard of since the coordinator was started again in mid-run; one
    /// lease at least.
    pub absent_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lead_ns: 200_000_000,
            prepare_ns: 30_000_000_000,
            owed_ns: 10_000_000_000,
            absent_ns: 10_000_000_000,
        }
    }
}
