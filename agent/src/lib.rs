//! One agent: a session with a coordinator around the engine. It joins, pings, obeys numbered orders, keeps a journal of
//! what it measured until that is acknowledged, and goes on with its run while the link is down.
//!
//! [`Agent::converse`] knows no transport: in-memory channels serve a run in one process. [`dial`] puts it on gRPC.
//!
//! Inside: [`session`] says what to say over one connection, `runs` holds the run at hand and the past ones, `run` is one
//! run's state, `journal` has the windows of this process and `leftovers` those of earlier ones, both in an `outbox` for
//! each run; all of them are plain code without clock or I/O. `agent` drives them, with `leaving` for its end; `disk` keeps
//! windows beyond the process.

mod agent;
mod backoff;
mod crash;
mod dial;
mod disk;
mod journal;
mod launch;
mod leaving;
mod leftovers;
mod options;
mod outbox;
mod permit;
mod priority;
mod run;
mod runs;
mod sealed;
pub mod session;
mod status;

pub use agent::{Agent, LinkEnd};
pub use dial::{DialError, DialOptions, dial};
pub use leaving::Shutdown;
pub use options::AgentOptions;
pub use status::Status;
pub use volley_engine::{Heard, HeardAnswer, HeardEnd, HeardTls, Listener, Listening, Spin};

#[cfg(test)]
mod testing;
