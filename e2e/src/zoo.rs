//! A zoo of misbehaving servers: each animal does one thing to its visitors, byte by byte, and says what a run against it
//! must come to and what curl makes of it.
//!
//! An animal's server is started anew for each visit, so that what it counted is one visitor's: A, the connections that it
//! accepted, and R, the requests whose head came whole. `CASES.md` tells how to add one.

mod animal;
mod cage;
mod certificates;
mod curl;
mod expected;
mod talk;
mod tls;
mod visit;

pub use animal::{Animal, Habitat, animal, answers, closes};
pub use cage::{Cage, Counts};
pub use certificates::Certificate;
pub use talk::Talk;
pub use tls::TlsOptions;
pub use visit::{Disagreement, visit_all};
