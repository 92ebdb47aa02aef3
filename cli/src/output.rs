//! Writes to stdout and stderr that survive a reader who has gone (`volley … | head -1`).
//!
//! `println!` panics there. What was written for a reader who left is lost, and nothing else changes: the run goes on
//! and the exit code is that of the run. Results that could not be written for another reason (a full disk) are an
//! error, since whoever reads them later would take a piece for the whole.

use std::io::{self, Write};

use crate::exit::{Exit, Failure};

/// Writes results: to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match write(&mut io::stdout().lock(), text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::CouldNot, format!("the results could not be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line of what is going on: to stderr.
pub(crate) fn say(line: &str) {
    // There is nobody left to tell.
    let _ = write(&mut io::stderr().lock(), &format!("{line}\n"));
}

/// Writes to stderr as it is, for terminals.
pub(crate) fn draw(text: &str) {
    let _ = write(&mut io::stderr().lock(), text);
}

fn write(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}
