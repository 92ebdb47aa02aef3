//! How the program ends: the exit codes that scripts rely on, and the one place that prints an error.

use std::process::ExitCode;

use crate::output;

/// The exit codes. They are part of what users are promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The run passed, or nothing was demanded of it; or the command did what it should.
    Passed = 0,
    /// The command could not do its work, or the measurement is invalid, or somebody else stopped the run before it began.
    CouldNot = 1,
    /// A flag or the plan is wrong. Argument errors that clap finds end with the same code.
    Usage = 2,
    /// The coordinator can't be reached, or it has no agent.
    Unreachable = 3,
    /// The coordinator refused.
    Refused = 4,
    /// A threshold was broken.
    Broken = 99,
    /// Ended by Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// What `main` returns.
    pub(crate) fn code(self) -> ExitCode {
        // The greatest of them is 130.
        ExitCode::from(self as u8)
    }
}

/// Why a command failed, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    /// A failure told in a sentence.
    pub(crate) fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, error: anyhow::Error::msg(sentence.into()) }
    }

    /// Prints the chain of causes, and gives the exit code.
    pub(crate) fn report(&self) -> Exit {
        output::say(&format!("volley: {:#}", self.error));
        self.exit
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { exit: Exit::CouldNot, error }
    }
}

/// Gives an error its exit code.
pub(crate) trait OrExit<T> {
    /// The value, or a failure with this exit code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure { exit, error: error.into() })
    }
}
