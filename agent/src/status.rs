//! What an agent tells of itself to its own host: probes and metrics.

use std::sync::Arc;

use volley_plan::link::RunId;
use volley_stats::{Second, Tally};

/// How an agent is at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// It has joined a coordinator, over a connection that is there.
    pub is_joined: bool,
    /// It was told to end.
    pub is_leaving: bool,
    /// The run at hand.
    pub run: Option<RunId>,
    /// Windows that the coordinator has not acknowledged.
    pub owed_windows: usize,
    /// Runs of earlier processes on this host that are not delivered whole.
    pub leftovers: usize,
    /// All that this process has sent, as far as its engines have told.
    pub sent: Arc<Tally>,
    /// Users, requests in flight and connections at the end of the latest second of the run at hand.
    pub latest: Second,
}

impl Status {
    /// Whether it can take a run, or why not, in a word.
    ///
    /// # Errors
    /// The word for people.
    pub fn readiness(&self) -> Result<(), &'static str> {
        match self {
            Self { is_leaving: true, .. } => Err("leaving"),
            Self { is_joined: false, .. } => Err("not joined"),
            _ => Ok(()),
        }
    }
}
