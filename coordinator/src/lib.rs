//! The coordinator: REST, pages, the agents link, the run driver, the fleet and the store.
//!
//! [`Coordinator`] is the whole of it without sockets: agents are attached by a pair of channels, runs are started,
//! waited for and read. [`serve`] puts REST, pages and the gRPC service around it; a run within one process uses it
//! as it is.
//!
//! The way of a result: `grpc` turns it from wire form, `attach` brings it to the `driver` of its run, which asks
//! the decider (the lifecycle crate), keeps it in the `store`, acknowledges it, and lets `publish` tell the run's
//! `feed`, which pages and streams read.

mod api;
mod attach;
mod bind;
mod clock;
mod coordinator;
pub mod document;
mod driver;
mod feed;
mod fleet;
mod grpc;
mod live;
mod offset;
mod pages;
mod past;
mod publish;
mod serve;
mod settings;
pub mod store;
mod timeline;
mod view;
mod words;

pub use bind::{BindRefused, check_bind};
pub use coordinator::{Coordinator, NewRun, StartError, StopError};
pub use document::RunDocument;
pub use serve::{ServeError, serve};
pub use settings::Settings;
pub use store::{MemoryStore, SqliteStore, Store};

#[cfg(test)]
mod testing;
