//! Both models against raw sockets: what the engine reports is held against what the target counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

mod answers;
mod changes;
mod connections;
mod counts;
mod open;
mod run;
mod target;
mod times;
