//! The decider: a pure state machine of one run, `(now, event) -> actions`. No tokio, no clock, no I/O, no log.
//!
//! ```text
//!             enough agents          all ready            stop, duration over,         nothing owed,
//!                                                         or nobody left               or patience over
//!  gathering ───────────────▶ preparing ──────▶ running ────────────────▶ draining ────────────────▶ finished
//!      │ too few in time          │ refused, silent, asked to stop          ▲                            ▲
//!      └──────────────────────────┴─────────────────────────────────────────┼────────────────────────────┘
//!                                                all agents done (a counted run) ───────────────────────┘
//! ```
//!
//! An agent is *lost* when its last lease has run out and nothing was heard of it for as long. What it had leave to do
//! and did not report is *unknown*: nobody else is given it, and when it comes back before the end and delivers, unknown
//! falls. No other count ever falls, and *finished* is final.

mod agent;
mod decide;
mod finish;
mod run;
mod state;
#[cfg(test)]
mod tests;

pub use agent::{AgentShare, AgentState};
pub use run::{Action, Event, Level, Note, Run, Settings};
pub use state::{AgentFacts, Outcome, State, StopReason};
