//! What goes into an engine and what comes out of it.

use std::path::PathBuf;
use std::sync::Arc;

use volley_plan::allow::AllowList;
use volley_plan::link::Share;
use volley_plan::{Adjust, Level, Plan};
use volley_stats::Window;

use crate::{Clock, Listening, Spin};

/// What an engine is to do: fixed when it is launched.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The whole plan.
    pub plan: Arc<Plan>,
    /// The part of it that is this agent's, until a [`Command::Change`] says otherwise.
    pub share: Share,
    /// How the load was adjusted so far, in this order: only in a run that went on before this engine came to it.
    pub adjusted: Vec<Adjust>,
    /// What may be sent to: each address that a destination has is held against it, and only those that it permits are
    /// connected to.
    pub allow: Arc<AllowList>,
    /// Worker threads, at least 1; never more are started than the whole plan could keep busy.
    pub workers: usize,
    /// The seed of everything random in the run.
    pub seed: u64,
    /// The agent's clock.
    pub clock: Clock,
    /// Whether workers poll for a moment before they sleep.
    pub spin: Spin,
    /// The folder on this machine for files that the plan names; nothing leads out of it. Without one such a plan is refused.
    pub files: Option<PathBuf>,
    /// Who is told of each request, if somebody is.
    pub listener: Option<Listening>,
}

/// What an engine is told. Each takes effect at once, whichever thread it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run time 0. The first one counts, later ones are ignored.
    Start {
        /// When, on the agent's clock; it may lie in the future, and in the past for an engine that joins a run which goes
        /// on.
        at_ns: u64,
        /// The share is this engine's for what is due from this run time on: 0 but for one that joins later. What it
        /// reports begins with this run time's second.
        from_ns: u64,
        /// The first lease, in run time.
        lease_until_ns: u64,
    },
    /// The share is another one for what is due at or after `at_ns`; what is due before belongs to the one before. Changes come
    /// in the order of their times. One may come late: no lease reached beyond it then, and what is due up to now of either
    /// share is missed once that is certain to be this engine's.
    ///
    /// Users of the closed model whose stripe stays go on undisturbed, those whose stripe is given away finish their current
    /// request and end, and those that are new begin evenly over `over_ns`.
    ///
    /// A change that is none of the plan's, or that the list of what may be loaded forbids, ends the share at `at_ns`, as a
    /// stop with the plan's drain does.
    Change {
        /// From when on, in run time.
        at_ns: u64,
        /// The whole share from then on.
        share: Share,
        /// The load changes as well: to this.
        to: Option<Level>,
        /// Over how long users that are new here begin, in nanoseconds from `at_ns` on.
        over_ns: u64,
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
    /// Leave to send until then, in run time. A lease never gets shorter. Where the one before had run out, what was due by
    /// now and was not taken up is missed: there is no burst.
    Lease {
        /// The bound, exclusive.
        until_ns: u64,
    },
    /// Start no iteration that is due at or after `at_ns`, finish requests until `drain_ns` later, cancel the rest. Of
    /// several, and of the plan's own end, the earliest counts. Before the start it ends the run at once.
    ///
    /// What was due before is this engine's, whether or not it had a lease. Without this word an engine whose lease ran out
    /// doesn't know whose that became, and doesn't come to an end before it is told or gets a lease.
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
    /// A change can't be made here: what there is to do ends where it would have begun.
    Vetoed {
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
