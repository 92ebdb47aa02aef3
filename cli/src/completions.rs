//! `volley completions`: what shells complete.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};
use crate::output;

/// For which shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley completions bash > ~/.local/share/bash-completion/completions/volley\n  \
    volley completions zsh > ~/.zfunc/_volley\n  \
    volley completions fish > ~/.config/fish/completions/volley.fish")]
pub(crate) struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints them.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "volley", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Passed)
}
