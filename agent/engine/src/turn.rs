//! One iteration that a slot is to run, and what a slot is told that asks for one.

use volley_stats::Part;

/// An iteration that was taken up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Its number, which decides over its scenario and its pauses.
    pub(crate) n: u64,
    /// From when the latency of its first request counts, on the agent's clock: in the open model when it was due, in
    /// the closed one when it was taken up.
    pub(crate) due_ns: u64,
    /// What it and all its requests belong to.
    pub(crate) part: Part,
    /// When it was taken up, on the agent's clock.
    pub(crate) taken_ns: u64,
    /// Whether it had to wait for a slot then.
    pub(crate) is_queued: bool,
}

/// The answer to a slot that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Run this.
    Turn(Turn),
    /// Nothing yet. Whom to wake is noted; ask again then.
    Wait,
    /// There will be nothing more.
    Over,
}
