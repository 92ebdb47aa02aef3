//! The coordinator: REST, pages, the agents link, the run driver, the fleet and the store.
//!
//! [`Coordinator`] is the whole of it without sockets: agents are attached by a pair of channels, runs are started,
//! waited for and read. [`serve`] puts REST, pages and the gRPC service around it; a run within one process uses it
//! as it is.
//!
//! The way of a run: it waits for its turn in the `queue`, gets agents of the `fleet`, and from then on its `driver` carries
//! out what the decider (the lifecycle crate) says.
//!
//! The way of a result: `grpc` turns it from wire form, `attach` brings it to the `driver` of its run, which asks
//! the decider, keeps it in the `store`, acknowledges it, and lets `publish` tell the run's
//! `feed`, which pages and streams read.

mod access;
mod api;
mod at_work;
mod attach;
mod bind;
mod clock;
mod coordinator;
mod crash;
pub mod document;
mod driver;
pub mod exposition;
mod feed;
mod fleet;
mod grpc;
mod live;
pub mod metrics;
mod offset;
mod outliers;
mod pages;
mod past;
mod publish;
mod queue;
pub mod report;
mod serve;
mod settings;
pub mod store;
mod thresholds;
mod timeline;
mod view;
mod words;

pub use bind::{BindRefused, check_bind, is_loopback};
pub use coordinator::{AdjustRefused, Coordinator, NewRun, StartError, StopError};
pub use document::RunDocument;
pub use serve::{Ending, ServeError, serve, serve_router};
pub use settings::Settings;
pub use store::{MemoryStore, SqliteStore, Store};
pub use volley_proto::{Token, TokenError};

#[cfg(test)]
mod testing;
