//! A seeded simulation of a whole fleet: the real decider (`volley-lifecycle`) and the real agent's session with its
//! journal (`volley-agent`), in a made-up world of clocks that are off, ways that are slow and break, disks that are full,
//! agents that hang, die, leave and come late, and a coordinator that is killed between any two of its steps. Only the
//! engine and the driver are models, since the real ones do nothing but wait and do I/O. There is no thread, no socket and
//! no real time in it, so thousands of runs go by in a second, and each is the same whenever it is played again.
//!
//! ```text
//!   seed ──▶ Scenario ──▶ world ──┬── coordinator: Run (real) · driver, store, fleet (models)
//!                                 ├── hosts: Session, Runs, journal (real) · engine, disk (models)
//!                                 └── books: what was ordered, what the target got ──▶ what must hold
//! ```
//!
//! After every event (`books`): no iteration is sent twice, none without a lease or by another than the one whose it is; a
//! stripe is in one hand at any time; grants are disjoint; no lease goes beyond a change that its agent may not know of; no
//! count but unknown falls; finished is final. At the end (`checks`): the run has ended, its account adds up, each window
//! is kept once, nobody sent more than is reported started or unknown, and where little went wrong nothing is missing, or
//! the rate is back in time.
//!
//! A scenario that fails is made smaller while it fails, and kept in `seeds/`, where a test plays it again.

mod books;
mod checks;
mod clock;
mod coordinator;
mod engine;
mod host;
mod link;
mod play;
mod queue;
mod random;
mod scenario;
mod store;
mod tally;
mod totals;
mod trace;
mod world;

pub use play::{Failure, keep, kept, play, play_seeds, survey};
pub use scenario::{Disk, Happens, Host, Scenario, Timed};
pub use tally::Tally;
