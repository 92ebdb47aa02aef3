//! The decider: a pure state machine of one run, `(now, event) -> actions`. No tokio, no clock, no I/O, no log.
//!
//! ```text
//!             enough agents          all ready            stop, duration over,         nothing owed,
//!                                                         or nobody left               or patience over
//!  gathering ───────────────▶ preparing ──────▶ running ────────────────▶ draining ────────────────▶ finished
//!      │ too few in time          │ refused, silent, asked to stop          ▲                            ▲
//!      └──────────────────────────┴─────────────────────────────────────────┼────────────────────────────┘
//!                                                all agents done before that ───────────────────────────┘
//! ```
//!
//! Which part of the load is whose is settled when agents prepare: users of the closed model and stripes of the open one
//! are dealt like cards, `max_in_flight` and `connections` are split so that they add up, and an agent for whom nothing is
//! left is set free.
//!
//! An agent is *lost* when its last lease has run out and nothing was heard of it for as long. What it had leave to do
//! and did not report is *unknown*: nobody else is given it, and when it comes back before the end and delivers, unknown
//! falls. No other count ever falls, and *finished* is final.
//!
//! What leave is, and so the account of the measured part, depends on the load:
//!
//! | load | planned | leave, which is unknown if it is lost with its agent | missed beyond what agents report |
//! |---|---|---|---|
//! | closed, a number of iterations in all | the number | what was granted | what was never granted, or left undone by agents that came to their end |
//! | closed, a number for each user | users × number | the number for each of its users | what agents that came to their end left undone |
//! | closed, by time | users × time | unknown without a number; the lost users' time is what counts | – |
//! | open | arrivals due before the stop | arrivals of its stripes due before its last lease's end | a lost agent's arrivals due from there to the stop |
//!
//! An agent that hears late of a stop goes on as long as its lease lasts: what it starts is planned as well, what it turns
//! away is not. A stop that is asked for while the run drains cuts off what is in flight.
//!
//! At the end of every run `planned = started + missed + unknown`. Agents end by themselves once what was granted is done
//! and nothing more will come, once each user has done its number, or once their arrivals are used up; an agent that ends
//! though it has work and time left counts as lost.
//!
//! Times: run time 0 is the start of the warm-up. Counts and verdict are of the measured part, and so are the seconds of
//! an agent's health that can make a run invalid.

mod accounts;
mod agent;
mod arrivals;
mod deal;
mod decide;
mod event;
mod finish;
mod outcome;
mod planned;
mod run;
mod state;
#[cfg(test)]
mod tests;
mod user_time;

pub use agent::{AgentShare, AgentState};
pub use arrivals::Gap;
pub use event::{Action, Event, Level, Note};
pub use run::{Run, Settings};
pub use state::{AgentFacts, Outcome, State, StopReason};
