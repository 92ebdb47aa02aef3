//! Whole-system tests: real processes on port 0, real nginx, a real browser, a scripted target.
//!
//! This library is the harness; the tests are in `tests/`, the cases that they cite in `CASES.md`. Everything that is
//! started here ends when its handle is dropped.

mod api;
mod command;
mod fleet;
mod network;
mod nginx;
mod numbers;
mod place;
mod process;
mod readers;
mod report;
mod server;
pub mod zoo;

pub use api::Api;
pub use command::{Outcome, ab, volley, volley_run, volley_with};
pub use fleet::{Agent, Coordinator, CoordinatorOptions, Environment, Fleet, Target};
pub use network::{HUB, Network};
pub use nginx::{Logged, Nginx};
pub use numbers::{NUMBER_HEADER, Numbers};
pub use place::Place;
pub use process::{Process, binary};
pub use readers::{Samples, of_python, read_reports};
pub use report::{Report, check_invariants};
pub use server::{Reply, Request, Server, Then, closed_port};
