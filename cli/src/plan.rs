//! `volley plan …`: plans as files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use volley_plan::Plan;

use crate::exit::{Exit, Failure, OrExit as _};
use crate::output;

/// What to do with a plan.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what is wrong with a plan, with line and column, or what it would do
    Check {
        /// A file in YAML or JSON
        file: PathBuf,
    },
}

/// Does it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let Command::Check { file } = &options.command;
    let plan = parse(file, &read(file)?)?;
    output::print(&format!("{}: {}, {}\n", file.display(), plan.name, plan.load_in_words()))?;
    Ok(Exit::Passed)
}

/// The bytes of a plan's file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).with_context(|| format!("{} can't be read", file.display())).or_exit(Exit::Usage)
}

/// The folder that a plan lies in, in which the files that it names are looked up.
pub(crate) fn folder(plan: &Path) -> PathBuf {
    match plan.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The plan in a file's bytes; the failure has a line for each fault.
pub(crate) fn parse(file: &Path, bytes: &[u8]) -> Result<Plan, Failure> {
    volley_plan::parse_bytes(bytes).map_err(|faults| {
        let count = faults.0.len();
        let plural = if count == 1 { "" } else { "s" };
        let lines = faults.in_file(&file.display().to_string());
        Failure::new(Exit::Usage, format!("{count} fault{plural} in the plan\n{lines}"))
    })
}
