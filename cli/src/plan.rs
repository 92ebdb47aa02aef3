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
    /// Say what is wrong with plans, with file, line and column
    ///
    /// All faults of all files are told at once. A plan that has none is told in one line.
    #[command(after_help = "Examples:\n  \
        volley plan check plan.yaml\n  \
        volley plan check perf/*.yaml      # exit code 2 if one of them has a fault")]
    Check {
        /// Plans in YAML or JSON
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Say in plain words what a plan will do
    ///
    /// Whom it asks and how, how hard and how long, how many requests that makes, what must hold for it to pass, and what
    /// would make it invalid. Nothing is sent.
    #[command(after_help = "Examples:\n  volley plan explain plan.yaml")]
    Explain {
        /// A plan in YAML or JSON
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the JSON Schema of plans (draft-07), for editors
    ///
    /// An editor with a YAML server completes keys and marks faults in a plan whose first line is
    /// `# yaml-language-server: $schema=plan.schema.json`.
    #[command(after_help = "Examples:\n  volley plan schema > plan.schema.json")]
    Schema,
}

/// Does it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    match &options.command {
        Command::Check { files } => check(files),
        Command::Explain { file } => {
            output::print(&parse(file, &read(file)?)?.explained())?;
            Ok(Exit::Passed)
        }
        Command::Schema => {
            output::print(&volley_plan::schema::text())?;
            Ok(Exit::Passed)
        }
    }
}

/// Checks all files, also those behind one that has faults.
fn check(files: &[PathBuf]) -> Result<Exit, Failure> {
    let mut exit = Exit::Passed;
    for file in files {
        match read(file).and_then(|bytes| parse(file, &bytes)) {
            Ok(plan) => {
                output::print(&format!("{}: {}, {}\n", file.display(), plan.name, plan.load_in_words()))?;
            }
            Err(failure) => exit = failure.report(),
        }
    }
    Ok(exit)
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
