//! `volley runs …`: the runs of a coordinator.

use std::io;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::runtime::Builder;
use volley_coordinator::RunDocument;
use volley_coordinator::document::RunSummary;
use volley_plan::link::RunId;

use crate::access::TokenOptions;
use crate::exit::{Exit, Failure};
use crate::format::seconds;
use crate::rest::Rest;
use crate::summary::summary;
use crate::{logging, output};

/// The coordinator where none is named.
pub(crate) const HERE: &str = "http://127.0.0.1:7070";

/// Which coordinator, and what to do.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The coordinator
    #[arg(
        long,
        value_name = "URL",
        env = "VOLLEY_COORDINATOR",
        default_value = HERE,
        global = true
    )]
    coordinator: String,
    #[command(flatten)]
    token: TokenOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them, the newest first
    Ls {
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Print what a run came to, or is at
    Show {
        /// The run
        #[arg(value_parser = run_id)]
        id: RunId,
        /// Print it as one JSON document
        #[arg(long)]
        json: bool,
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
    // An empty variable is what scripts have that set it for none.
    let coordinator = if options.coordinator.is_empty() { HERE } else { &options.coordinator };
    let rest = Rest::new(coordinator, options.token.token()?.as_ref())?;
    let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
    let said = runtime.block_on(ask(&rest, &options.command))?;
    output::print(&said)?;
    Ok(Exit::Passed)
}

/// Asks the coordinator; gives what to print.
async fn ask(rest: &Rest, command: &Command) -> Result<String, Failure> {
    match command {
        Command::Ls { limit } => {
            let Runs { runs } = rest.ask(rest.request(Method::GET, &format!("runs?limit={limit}"))).await?;
            Ok(runs.iter().map(line).collect())
        }
        Command::Show { id, json } => show(rest, id, *json).await,
        Command::Stop { id } => {
            let IgnoredAny = rest.ask(rest.request(Method::POST, &format!("runs/{id}/stop"))).await?;
            Ok(format!("run {id} is to end\n"))
        }
        Command::Adjust { id, to } => {
            let body = match to {
                Level { rate: Some(rate), .. } => json!({ "rate": rate }),
                Level { users, .. } => json!({ "users": users }),
            };
            let request = rest.request(Method::POST, &format!("runs/{id}/adjust"));
            let request = request.header("content-type", "application/json").body(body.to_string());
            let Adjusted { at_s } = rest.ask(request).await?;
            Ok(format!("the load of run {id} changes at {}\n", from_when(at_s)))
        }
    }
}

/// A run time from which on something is so: rounded up, as the run's log has it.
fn from_when(s: f64) -> String {
    seconds((s * 10.0 - 1e-6).ceil() / 10.0)
}

async fn show(rest: &Rest, id: &RunId, as_json: bool) -> Result<String, Failure> {
    let request = rest.request(Method::GET, &format!("runs/{id}"));
    if as_json {
        // As it was sent: a newer coordinator may say more than is known here.
        let document: serde_json::Value = rest.ask(request).await?;
        return Ok(format!("{document:#}\n"));
    }
    let document: RunDocument = rest.ask(request).await?;
    Ok(summary(&document, None, logging::colours(&io::stdout())))
}

#[derive(Deserialize)]
struct Runs {
    runs: Vec<RunSummary>,
}

#[derive(Deserialize)]
struct Adjusted {
    at_s: f64,
}

/// One run of the list.
fn line(run: &RunSummary) -> String {
    let word = run.verdict.map_or(run.state.as_str(), |verdict| verdict.name());
    let (id, begun, name, load) = (&run.id, &run.created_at, &run.name, &run.load);
    format!("{id}  {word:<9}  {begun}  {name}, {load}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Coordinator;

    /// What is printed, or the failure in words with its exit code.
    async fn said(coordinator: &Coordinator, command: Command) -> Result<String, (Exit, String)> {
        let told = ask(&coordinator.rest(), &command).await;
        told.map_err(|failure| (failure.exit, failure.error.to_string()))
    }

    #[tokio::test]
    async fn each_command_says_what_the_coordinator_did() {
        let coordinator = Coordinator::start().await;
        let run = |id: &str| RunId::new(id).unwrap();
        let listed = said(&coordinator, Command::Ls { limit: 5 }).await.unwrap();
        assert!(listed.starts_with("r1  none") && listed.contains("n, 2 users closed"), "{listed}");
        let shown = said(&coordinator, Command::Show { id: run("r1"), json: false }).await.unwrap();
        assert!(shown.contains("Finished: 5 of 5 requests sent"), "{shown}");
        let shown = said(&coordinator, Command::Show { id: run("r1"), json: true }).await.unwrap();
        assert!(shown.starts_with('{') && shown.contains("\"id\": \"r1\""), "{shown}");
        let stopped = said(&coordinator, Command::Stop { id: run("r1") }).await.unwrap();
        assert!(stopped.contains("r1"), "{stopped}");
        let to = Level { rate: Some("500/s".to_owned()), users: None };
        let adjusted = said(&coordinator, Command::Adjust { id: run("r1"), to }).await.unwrap();
        assert!(adjusted.contains("12.4 s"), "as the run's log has it: {adjusted}");
        let to = Level { rate: None, users: Some(7) };
        said(&coordinator, Command::Adjust { id: run("r1"), to }).await.unwrap();
        let asked = coordinator.asked();
        for line in [
            "GET /api/v1/runs?limit=5 ",
            "POST /api/v1/runs/r1/stop ",
            "adjust {\"rate\":\"500/s\"}",
            "adjust {\"users\":7}",
        ] {
            assert!(asked.iter().any(|asked| asked.contains(line)), "{line} in {asked:?}");
        }
    }

    #[tokio::test]
    async fn a_run_that_is_not_there_is_refused() {
        let coordinator = Coordinator::start().await;
        let refused = said(&coordinator, Command::Stop { id: RunId::new("r2").unwrap() }).await;
        assert!(matches!(&refused, Err((Exit::Refused, said)) if said.contains("no run")), "{refused:?}");
    }
}
