//! The request loops: orders in, reports out, over channels. Knows nothing of coordinators and connections to them.
//!
//! An [`Engine`] does one agent's [`Share`](volley_plan::link::Share) of one run. It has a thread for each worker and
//! one that reports:
//!
//! ```text
//!  Command ──> Control <───────── reads ─────────┬──────────────┐
//!                 │ bells                        │              │
//!                 └──────────────────────────> worker 0 ...  worker n     slots, connections, times, results
//!  Event <── reporter <── one window a second ───┴──────────────┘
//! ```
//!
//! What a worker has to do comes to it in *legs*: these stripes from this run time on, until the next leg (`pace`). The
//! first comes with the start; a change of share is dealt to the workers (`deal`) and laid out for them (`control`).
//! Ownership is decided by due times alone: a leg takes what is due before the next one's beginning, however late the loop
//! comes to it. A lease that ran out makes misses: once it is renewed, what was due before and not taken up is sent by
//! nobody; while it isn't, nothing is decided that might have become another agent's.
//!
//! Nothing that a request touches is shared between threads but times that workers only read. Within a worker, three
//! values meet in the one loop of `slot`: the *limit* says whether an iteration may start (`limit`, `pace::users`), the
//! *pace* when (`pace`: at once, by a cycle, in a user's time, or when an arrival is due), and the *driver* does one
//! exchange (`exchange`, over the codec in [`http1`]). A worker's `keeper` has the one timer that all of them hang on.

mod alarms;
mod answer;
mod api;
mod checkup;
mod clock;
mod connection;
mod control;
mod deadlines;
mod deal;
mod decode;
mod dial;
mod engine;
mod exchange;
mod failure;
mod files;
mod health;
pub mod http1;
mod limit;
mod listener;
mod merger;
mod pace;
mod prepare;
mod prepared_step;
mod recorder;
mod reporter;
mod script;
mod slot;
mod spin;
mod timer;
mod turn;
#[cfg(test)]
mod virtual_time;
mod worker;

use std::error::Error;
use std::time::Duration;

pub use api::{Command, Event, Setup};
pub use clock::Clock;
pub use engine::Engine;
pub use listener::{HEARD_BYTES, Heard, HeardAnswer, HeardEnd, HeardTls, Listener, Listening};
pub use spin::{Spin, SpinError};

/// A duration in nanoseconds; 584 years at most.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// An error and what is behind it, in one sentence.
fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
