//! One-shot uses of the program: what it printed and how it ended.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{PATIENCE, Process, binary};

/// How a command ended.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
}

impl Outcome {
    /// The document that `--json` prints.
    ///
    /// # Panics
    /// If stdout is not exactly one JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The same, once the exit code was checked.
    ///
    /// # Panics
    /// If the exit code is another one.
    #[must_use]
    pub fn exited(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// Runs `volley` with these arguments to its end.
pub fn volley(arguments: &[&str]) -> Outcome {
    volley_with(arguments, |_| {})
}

/// Runs a plan in one process to its end. The folder is where it is written to, and where the files lie that it names.
///
/// # Panics
/// If the folder can't be written to.
pub fn volley_run(plan: &str, folder: &Path) -> Outcome {
    let file = folder.join("plan.yaml");
    fs::write(&file, plan).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    volley(&["run", &file.display().to_string(), "--json"])
}

/// Runs the real `ab`, ApacheBench, with these arguments to its end.
///
/// # Panics
/// If it is missing.
pub fn ab(arguments: &[&str]) -> Outcome {
    run(Command::new("ab"), arguments)
}

/// Runs `volley` to its end, once `prepare` has changed the command.
pub fn volley_with(arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Outcome {
    let mut command = Command::new(binary());
    command.env_remove("VOLLEY_COORDINATOR").env_remove("VOLLEY_TOKEN");
    // What a run tells a CI system is asked for by tests of just that.
    command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
    prepare(&mut command);
    run(command, arguments)
}

fn run(mut command: Command, arguments: &[&str]) -> Outcome {
    command.args(arguments);
    let begun = Instant::now();
    let (status, stdout, stderr) = Process::start(&mut command).wait(PATIENCE);
    let stdout = String::from_utf8(stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    Outcome { code: status.code(), stdout, stderr, took: begun.elapsed() }
}
