//! Holds what is in deploy/, and what the documents tell people to type, against the program: every command, flag, port and
//! path, and the services as they would be started there but for their ports.

mod access;
mod commands;
mod compose;
mod docs;
mod image;
mod kubernetes;
mod stage;
mod systemd;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
