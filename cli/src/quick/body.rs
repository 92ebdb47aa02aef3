//! The flags of what a request sends.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::files;
use crate::exit::{Exit, Failure, OrExit as _};

/// The body.
#[derive(Debug, Args)]
#[command(next_help_heading = super::REQUEST)]
pub(super) struct BodyOptions {
    /// The body, sent as it stands (in wrk the duration, which is -z here)
    #[arg(short = 'd', value_name = "TEXT", conflicts_with_all = ["body_file", "body_size"])]
    pub(super) body: Option<String>,
    /// The body, from a file, streamed for each request
    #[arg(short = 'D', value_name = "FILE", conflicts_with = "body_size")]
    body_file: Option<PathBuf>,
    /// A body of so many bytes, each an x, such as 10MiB
    #[arg(long, value_name = "SIZE")]
    body_size: Option<String>,
    /// Send the body once the target says so (Expect: 100-continue), or after so long [default: 1s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) ask_first: Option<String>,
}

/// The body as a plan has it: a text, the name of a file below the root, or a size.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct QuickBody {
    pub(super) text: Option<String>,
    pub(super) file: Option<String>,
    pub(super) size: Option<String>,
}

impl BodyOptions {
    pub(super) fn quick(self) -> Result<QuickBody, Failure> {
        let body = QuickBody { text: self.body, file: None, size: self.body_size };
        match self.body_file {
            None => Ok(body),
            // Pipes can be read once only.
            Some(file) if fs::metadata(&file).is_ok_and(|facts| !facts.is_file()) => {
                Ok(QuickBody { text: Some(text(&file)?), ..body })
            }
            Some(file) => Ok(QuickBody { file: Some(files::name(&file)?), ..body }),
        }
    }
}

fn text(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file)
        .with_context(|| format!("the body {} can't be read", file.display()))
        .or_exit(Exit::Usage)
}
