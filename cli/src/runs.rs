//! `volley runs …`: the runs of a coordinator.

mod list;
mod marks;

use std::io;
use std::time::Duration;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use volley_coordinator::RunDocument;
use volley_plan::link::RunId;

use crate::at::{At, Said};
use crate::exit::{Exit, Failure};
use crate::format::seconds;
use crate::rest::{ANSWER, Rest};
use crate::summary::summary;
use crate::{logging, run};

/// How long the coordinator is asked to wait for a run's end, at once.
const WAIT: Duration = Duration::from_secs(30);

/// Which coordinator, and what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley runs ls --state running\n  \
    volley runs show 20261130-120000-0a1b2c3d --json\n  \
    volley runs label 20261130-120000-0a1b2c3d team=shop")]
pub(crate) struct Options {
    #[command(flatten)]
    at: At,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them, the newest first
    Ls(list::Options),
    /// Print what a run came to, or is at
    Show {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
        /// Print it as one JSON document
        #[arg(long)]
        json: bool,
        /// Wait for its end, and exit as `volley run` would have
        #[arg(long)]
        wait: bool,
    },
    /// Ask for a run's end: requests in flight have the plan's drain time
    Stop {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
    },
    /// Change the load of a run that goes on, from now to its end
    Adjust {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
        #[command(flatten)]
        to: Level,
    },
    /// Note something about a run, in place of an earlier note
    Note {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
        /// The note; an empty one takes it away
        text: String,
    },
    /// Label a run, or take labels from it
    Label {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
        /// KEY=VALUE gives a label, KEY- takes it away
        #[arg(value_name = "LABEL", required = true, value_parser = marks::label)]
        labels: Vec<marks::Label>,
    },
    /// Remove a run that is over, with its results
    Rm {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Level {
    /// Arrivals a second in all, of the open model; as 500/s, 90/m or 5000/h
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Users in all, of the closed model
    #[arg(long, value_name = "N")]
    users: Option<u32>,
}

/// A run's name.
pub(crate) fn run_id(text: &str) -> Result<RunId, &'static str> {
    RunId::try_from(text.to_owned())
}

/// Does it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    options.at.ask(async |rest| ask(&rest, &options.command).await)
}

/// Asks the coordinator; gives what to print.
async fn ask(rest: &Rest, command: &Command) -> Result<Said, Failure> {
    match command {
        Command::Ls(options) => list::list(rest, options).await.map(Said::from),
        Command::Show { id, json, wait } => show(rest, id, *json, *wait).await,
        Command::Stop { id } => {
            let IgnoredAny = rest.ask(rest.request(Method::POST, &format!("runs/{id}/stop"))).await?;
            Ok(format!("run {id} is to end\n").into())
        }
        Command::Adjust { id, to } => {
            let body = match to {
                Level { rate: Some(rate), .. } => json!({ "rate": rate }),
                Level { users, .. } => json!({ "users": users }),
            };
            let request = rest.request(Method::POST, &format!("runs/{id}/adjust"));
            let Adjusted { at_s } = rest.ask(request.json(&body)).await?;
            Ok(format!("the load of run {id} changes at {}\n", from_when(at_s)).into())
        }
        Command::Note { id, text } => marks::note(rest, id, text).await.map(Said::from),
        Command::Label { id, labels } => marks::set(rest, id, labels).await.map(Said::from),
        Command::Rm { id } => {
            rest.do_it(rest.request(Method::DELETE, &format!("runs/{id}"))).await?;
            Ok(format!("run {id} is removed\n").into())
        }
    }
}

/// A run time from which on something is so: rounded up, as the run's log has it.
fn from_when(s: f64) -> String {
    seconds((s * 10.0 - 1e-6).ceil() / 10.0)
}

async fn show(rest: &Rest, id: &RunId, as_json: bool, wait: bool) -> Result<Said, Failure> {
    // As it was sent: a newer coordinator may say more than is known here.
    let (mut document, mut known) = look(rest, id, wait).await?;
    while wait && !known.progress.over {
        (document, known) = look(rest, id, wait).await?;
    }
    let text = if as_json {
        format!("{document:#}\n")
    } else {
        summary(&known, None, logging::colours(&io::stdout()))
    };
    Ok(Said { text, exit: if wait { run::exit(&known) } else { Exit::Passed } })
}

/// A run's document, at its end or once it was waited for long enough.
async fn look(rest: &Rest, id: &RunId, wait: bool) -> Result<(Value, RunDocument), Failure> {
    let (query, within) =
        if wait { (format!("?wait={}s", WAIT.as_secs()), WAIT + ANSWER) } else { (String::new(), ANSWER) };
    let answer = rest.send(rest.request(Method::GET, &format!("runs/{id}{query}")), within).await?;
    let document: Value = rest.read(answer, None).await?;
    let known = Rest::known(document.clone())?;
    Ok((document, known))
}

#[derive(Deserialize)]
struct Adjusted {
    at_s: f64,
}

#[cfg(test)]
mod tests;
