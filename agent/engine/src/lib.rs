//! The request loops: orders in, reports out, over channels. Knows nothing of coordinators and connections to them.
//!
//! An [`Engine`] does one agent's [`Share`](volley_plan::link::Share) of one run. It has a thread for each worker and
//! one that reports:
//!
//! ```text
//!  Command ──> Control <───────── reads ─────────┬──────────────┐
//!                 │ bells                        │              │
//!                 └──────────────────────────> worker 0 ...  worker n     users, connections, deadlines, results
//!  Event <── reporter <── one window a second ───┴──────────────┘
//! ```
//!
//! Nothing that a request touches is shared between threads but times that workers only read. Three values meet in the
//! one loop of `user`: the *limit* says whether an iteration may start (`limit`), the *pace* when (the closed
//! model's is "at once", so it needs no value of its own), and the *driver* does one exchange (`connection`, over the
//! codec in [`http1`]).

mod api;
mod clock;
mod connection;
mod control;
mod deadlines;
mod engine;
mod failure;
pub mod http1;
mod limit;
mod merger;
mod prepare;
mod recorder;
mod reporter;
mod timer;
mod user;
mod worker;

use std::time::Duration;

pub use api::{Command, Event, Setup};
pub use clock::Clock;
pub use engine::Engine;
use volley_plan::{ClosedLoad, Load, Plan};

fn planned_load(plan: &Plan) -> &ClosedLoad {
    match &plan.load {
        Load::Closed(load) => load,
    }
}

/// A duration in nanoseconds; 584 years at most.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
