//! `volley token`: makes a token.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::output;

/// Nothing to say.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  (umask 077 && volley token > volley.token)")]
pub(crate) struct Options {}

/// Prints 256 random bits from the system's generator as hex digits: nobody guesses them.
pub(crate) fn main() -> Result<Exit, Failure> {
    let bits: [u8; 32] = rand::random();
    let token: String = bits.iter().map(|byte| format!("{byte:02x}")).collect();
    output::print(&format!("{token}\n"))?;
    Ok(Exit::Passed)
}
