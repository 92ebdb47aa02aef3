//! Both models against raw sockets: what the engine reports is held against what the target counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic where it stands")]

mod answers;
mod bodies;
mod changes;
mod checks;
mod connections;
mod counts;
mod destinations;
mod listening;
mod open;
mod proxies;
mod reuse;
mod run;
mod target;
mod times;
mod tls;
mod tls_target;
