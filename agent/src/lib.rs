//! One agent: a session with a coordinator around the engine. It joins, pings, obeys numbered orders, keeps a journal of
//! what it measured until that is acknowledged, and goes on with its run while the link is down.
//!
//! [`Agent::converse`] knows no transport: in-memory channels serve a run in one process. [`dial`] puts it on gRPC.
//!
//! Inside: `session` says what to say over one connection, `runs` holds the run at hand and the past ones, `run` is one
//! run's state, `journal` keeps windows; all of them are plain code without clock or I/O. `agent` drives them.

mod agent;
mod backoff;
mod dial;
mod journal;
mod priority;
mod run;
mod runs;
mod sealed;
mod session;

pub use agent::{Agent, AgentOptions, LinkEnd};
pub use dial::{DialError, DialOptions, dial};
pub use volley_engine::Spin;

#[cfg(test)]
mod testing;
