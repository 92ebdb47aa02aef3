//! `volley man`: manual pages, one for the program and one for each subcommand.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use crate::arguments::Arguments;
use crate::exit::{Exit, Failure};
use crate::output;

/// Where they go.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley man | man -l -\n  \
    volley man ~/.local/share/man/man1")]
pub(crate) struct Options {
    /// The folder to write all pages to, made where it is missing; without it the program's own page is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints the program's page, or writes all of them.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    // `help` shows what the pages say.
    let program = Arguments::command().disable_help_subcommand(true);
    match &options.folder {
        None => {
            let mut page = Vec::new();
            Man::new(program).render(&mut page).context("the page can't be made")?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
        Some(folder) => fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(program, folder))
            .with_context(|| format!("the pages can't be written to {}", folder.display()))?,
    }
    Ok(Exit::Passed)
}
