//! What goes into an engine and what comes out of it.

use std::sync::Arc;

use volley_plan::Plan;
use volley_plan::link::Share;
use volley_stats::Window;

use crate::{Clock, Spin};

/// What an engine is to do: fixed when it is launched.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The whole plan.
    pub plan: Arc<Plan>,
    /// The part of it that is this agent's.
    pub share: Share,
    /// Worker threads, at least 1; never more are started than the share keeps busy.
    pub workers: usize,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// The agent's clock.
    pub clock: Clock,
    /// Whether workers poll for a moment before they sleep.
    pub spin: Spin,
}

/// What an engine is told. Each takes effect at once, whichever thread it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run time 0. The first one counts, later ones are ignored.
    Start {
        /// When, on the agent's clock; it may lie in the future.
        at_ns: u64,
        /// The first lease, in run time.
        lease_until_ns: u64,
    },
    /// Leave to start the iterations numbered `from` to `to` (exclusive), in a closed run with a number of iterations in
    /// all. A repeated one is ignored.
    Grant {
        /// The first iteration.
        from: u64,
        /// The one after the last.
        to: u64,
        /// No further grant will come.
        last: bool,
    },
    /// Leave to send until then, in run time. A lease never gets shorter.
    Lease {
        /// The bound, exclusive.
        until_ns: u64,
    },
    /// Start no iteration that is due at or after `at_ns`, finish requests until `drain_ns` later, cancel the rest. Of
    /// several, and of the plan's own end, the earliest counts. Before the start it ends the run at once.
    Stop {
        /// When, in run time.
        at_ns: u64,
        /// How long requests in flight are waited for, in nanoseconds.
        drain_ns: u64,
    },
}

/// What an engine tells. `Ready` or `Refused` comes first, a last window ends the list.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Names are resolved, descriptors are enough, workers stand by.
    Ready,
    /// The share can't be done here. Nothing else follows.
    Refused {
        /// Why, in a sentence.
        reason: String,
    },
    /// The iterations at hand are half used up. Said once for each grant.
    GrantWanted {
        /// The end of the last grant taken, or 0.
        taken: u64,
        /// Iterations wished for: about one second of work, at least two for each user.
        iterations: u64,
    },
    /// Results, about once a second.
    Window {
        /// The results.
        window: Window,
        /// Nothing is in flight and nothing more will be sent.
        last: bool,
    },
}
