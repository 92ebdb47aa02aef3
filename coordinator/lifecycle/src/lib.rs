//! The decider: a pure state machine of one run, `(now, event) -> actions`. No tokio, no clock, no I/O, no log.
//!
//! ```text
//!             enough agents          all ready            stop, duration over,         nothing owed,
//!                                                         or nobody left               or patience over
//!  gathering ───────────────▶ preparing ──────▶ running ────────────────▶ draining ────────────────▶ finished
//!      │ too few in time          │ too few left,    ▲ │                    ▲ ▲ │                        ▲
//!      │                          │ asked to stop    │ ▼ started again      │ │ ▼ started again          │
//!      │                          │                  resuming ─────────────┘ resuming                    │
//!      └──────────────────────────┴──────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Where nothing can be kept any more, a run is finished at once, from every state: agents stop, and what they have not
//! delivered is unknown and stays with them.
//!
//! # Whose is what
//!
//! Everything is by stripes: arrival n of the open model, or user n of the closed one, belongs to stripe n mod 2520. They
//! are dealt when agents prepare, by weight, capacity or evenly, and so that everybody has something to do; agents for whom
//! nothing is left are set free. One that refuses, or falls silent before the start, ends the run, unless the plan says
//! that fewer agents (`min`, two or more) are enough: then they are dealt anew among those that are left. While the run goes on they change hands only at a run time T that is said to all whom it
//! concerns: what is due before T belongs to who had it, the rest to who gets it. An agent's [`Leg`]s say what it has when.
//!
//! | what happens | who gets what | T |
//! |---|---|---|
//! | an agent is lost | the others its part, and lose nothing | beyond the lost one's last lease |
//! | an agent leaves in order | the same | beyond all leases |
//! | an agent joins (`elastic`) | it gets its part, of which as little as can be is moved | beyond all leases |
//! | the load is adjusted | what agents that have ended had | beyond all leases |
//!
//! A lease is never renewed beyond a stop or a change that the agent has not acknowledged. So an order that is lost makes
//! misses, never doubles. Nothing is handed over where each user has a number of iterations, in the drain, and where all
//! iterations are granted.
//!
//! An agent is *lost* when its last lease has run out and nothing was heard of it for as long. What it had leave to do
//! and did not report is *unknown*: nobody else is given it, and when it comes back before the end and delivers, unknown
//! falls. No other count ever falls, and *finished* is final. An agent that *leaves* finishes what it has begun and
//! delivers; then nothing of it is unknown, and what it was granted and did not begin is granted to others.
//!
//! # The account
//!
//! What leave is, and so the account of the measured part, depends on the load:
//!
//! | load | planned | leave, which is unknown if it is lost with its agent | missed beyond what agents report |
//! |---|---|---|---|
//! | closed, a number of iterations in all | the number | what was granted | what was never granted, or left undone by agents that came to their end |
//! | closed, a number for each user | users × number | the number for each of its users | what agents that came to their end left undone |
//! | closed, by time | users × time | unknown without a number; the lost users' time is what counts, and half of the time over which they begin anew on others | – |
//! | open | arrivals due before the stop | arrivals of its legs due before its last lease's end | a lost agent's arrivals due from there to T, or to the stop where nobody takes them over |
//!
//! An agent that hears late of a stop goes on as long as its lease lasts: what it starts is planned as well, what it turns
//! away is not. A stop that is asked for while the run drains cuts off what is in flight.
//!
//! At the end of every run `planned = started + missed + unknown`. Agents end by themselves once what was granted is done
//! and nothing more will come, once each user has done its number, or once their arrivals are used up; an agent that ends
//! though it has work and time left counts as lost.
//!
//! # Restart
//!
//! With every order the [run's record](RunRecord) and [those of the agents](AgentRecord) that it is for are saved.
//! [`Run::resumed`] goes on from them in a new process: it learns from the agents when run time 0 was, gives no part away
//! that a lease of its predecessor may still cover, and counts those as lost that don't come back.
//!
//! Times: run time 0 is the start of the warm-up. Counts and verdict are of the measured part, and so are the seconds of
//! an agent's health that can make a run invalid.

mod accounts;
mod adjust;
mod agent;
mod arrivals;
mod change;
mod deal;
mod event;
mod finish;
mod gather;
mod grants;
mod join;
mod leave;
mod legs;
mod loss;
mod orders;
mod outcome;
mod planned;
mod record;
mod report;
mod resume;
mod run;
mod settings;
mod state;
mod stop;
#[cfg(test)]
mod tests;
mod user_time;
mod without;

pub use adjust::CannotAdjust;
pub use agent::{AgentShare, AgentState};
pub use arrivals::Gap;
pub use event::{Action, Event, Level, Note, ToKeep};
pub use legs::Leg;
pub use record::{AgentRecord, RunRecord};
pub use run::Run;
pub use settings::Settings;
pub use state::{AgentFacts, Outcome, State, StopReason, Stopped};
