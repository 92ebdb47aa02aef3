//! Where a program runs: on this host, or on another one that a test made of a network namespace.

use std::path::Path;
use std::process::Command;

/// A host, as far as a program can tell.
#[derive(Clone, Debug, Default)]
pub enum Place {
    /// The one that the test itself is on.
    #[default]
    Here,
    /// Another one.
    Host {
        /// Its network namespace.
        namespace: String,
        /// By how many seconds its monotonic clock is ahead of ours: in a time namespace, where it isn't 0.
        ahead_s: u32,
    },
}

impl Place {
    /// The same host with its monotonic clock so far ahead.
    #[must_use]
    pub fn ahead(self, ahead_s: u32) -> Self {
        match self {
            Self::Here => Self::Here,
            Self::Host { namespace, .. } => Self::Host { namespace, ahead_s },
        }
    }

    /// The command that runs a program here. The process it makes is the program itself, so signals reach it.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let Self::Host { namespace, ahead_s } = self else { return Command::new(program) };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]);
        if *ahead_s > 0 {
            let ahead_s = ahead_s.to_string();
            command.args(["unshare", "--time", "--monotonic", &ahead_s, "--boottime", &ahead_s, "--"]);
        }
        command.arg(program);
        command
    }
}
