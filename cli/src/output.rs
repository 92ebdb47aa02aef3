//! Writes to stdout and stderr that survive a reader who has gone (`volley … | head -1`).
//!
//! `println!` panics there. What was written for a reader who left is lost, and nothing else changes: the run goes on
//! and the exit code is that of the run.

use std::io::{self, Write};

/// Writes results: to stdout.
pub(crate) fn print(text: &str) {
    write(&mut io::stdout().lock(), text);
}

/// Writes a line of what is going on: to stderr.
pub(crate) fn say(line: &str) {
    write(&mut io::stderr().lock(), &format!("{line}\n"));
}

/// Writes to stderr as it is, for terminals.
pub(crate) fn draw(text: &str) {
    write(&mut io::stderr().lock(), text);
}

fn write(to: &mut impl Write, text: &str) {
    // There is nobody left to tell.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
