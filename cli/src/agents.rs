//! `volley agents …`: the agents of a coordinator.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::at::{At, Said};
use crate::exit::{Exit, Failure};
use crate::format::milliseconds;
use crate::rest::Rest;

/// Which coordinator, and what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley agents ls\n  \
    volley agents drain agent-1    # give its number where two have the name")]
pub(crate) struct Options {
    #[command(flatten)]
    at: At,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them: number, state, name, workers, labels, and the run that each takes part in
    Ls {
        /// Print them as one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Give an agent no further run; from one that goes on, its share goes to the others
    Drain {
        /// Its name, or its number
        agent: String,
    },
    /// Give an agent runs again
    Undrain {
        /// Its name, or its number
        agent: String,
    },
}

/// What is read of an agent.
#[derive(Debug, Deserialize)]
struct Agent {
    name: String,
    /// Sixteen hex digits.
    incarnation: String,
    version: String,
    workers: u32,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    state: String,
    run: Option<String>,
    drift_ms: Option<f64>,
    outlier: Option<String>,
}

/// Does it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    options.at.ask(async |rest| ask(&rest, &options.command).await.map(Said::from))
}

/// Asks the coordinator; gives what to print.
async fn ask(rest: &Rest, command: &Command) -> Result<String, Failure> {
    match command {
        Command::Ls { json: true } => {
            let document: Value = rest.ask(rest.request(Method::GET, "agents")).await?;
            Ok(format!("{document:#}\n"))
        }
        Command::Ls { json: false } => {
            let (agents, add) = all(rest).await?;
            if agents.is_empty() {
                return Ok(format!("there are no agents; this adds one: {add}\n"));
            }
            Ok(agents.iter().map(line).collect())
        }
        Command::Drain { agent } => change(rest, agent, true).await,
        Command::Undrain { agent } => change(rest, agent, false).await,
    }
}

#[derive(Deserialize)]
struct Agents {
    agents: Vec<Agent>,
    add_agent_command: String,
}

async fn all(rest: &Rest) -> Result<(Vec<Agent>, String), Failure> {
    let Agents { agents, add_agent_command } = rest.ask(rest.request(Method::GET, "agents")).await?;
    Ok((agents, add_agent_command))
}

async fn change(rest: &Rest, named: &str, drain: bool) -> Result<String, Failure> {
    let (agents, _) = all(rest).await?;
    let number = chosen(&agents, named)?;
    let request = rest.request(Method::PATCH, &format!("agents/{number}")).json(&json!({ "drain": drain }));
    let agent: Agent = rest.ask(request).await?;
    let name = &agent.name;
    Ok(match (drain, &agent.run) {
        (true, Some(run)) => {
            format!("{name} gets no further run, and its share of run {run} goes to the others\n")
        }
        (true, None) => format!("{name} gets no further run\n"),
        (false, _) => format!("{name} gets runs again\n"),
    })
}

/// The number of the agent that is meant.
fn chosen<'a>(agents: &'a [Agent], named: &str) -> Result<&'a str, Failure> {
    let is_meant = |agent: &&Agent| agent.incarnation == named;
    if let Some(agent) = agents.iter().find(is_meant) {
        return Ok(&agent.incarnation);
    }
    let of_name: Vec<_> = agents.iter().filter(|agent| agent.name == named).collect();
    match of_name.as_slice() {
        [agent] => Ok(&agent.incarnation),
        [] => Err(Failure::new(Exit::Refused, format!("there is no agent {named}"))),
        several => {
            let numbers: Vec<_> = several.iter().map(|agent| agent.incarnation.as_str()).collect();
            let numbers = numbers.join(", ");
            Err(Failure::new(
                Exit::Refused,
                format!("several agents are called {named}; say which: {numbers}"),
            ))
        }
    }
}

/// One agent of the list.
fn line(agent: &Agent) -> String {
    let Agent { incarnation, state, name, version, workers, .. } = agent;
    let mut text = format!("{incarnation}  {state:<8}  {name}, {version}, {workers} workers");
    for (label, value) in &agent.labels {
        text += &format!(", {label}={value}");
    }
    if let Some(drift) = agent.drift_ms {
        text += &format!(", clock drifted by {}", milliseconds(Some(drift)));
    }
    if let Some(run) = &agent.run {
        text += &format!(", at run {run}");
    }
    if let Some(outlier) = &agent.outlier {
        text += &format!(", {outlier}");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::testing::Coordinator;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        command: Command,
    }

    /// What the words of a command line print, or a part of the refusal; and the last that was asked.
    async fn check(words: &str, expected: Result<&str, &str>, asked: &str) {
        let coordinator = Coordinator::start().await;
        let line = Line::try_parse_from(std::iter::once("agents").chain(words.split(' '))).unwrap();
        match (ask(&coordinator.rest(), &line.command).await, expected) {
            (Ok(text), Ok(part)) => assert!(text.contains(part), "{words}: {text}"),
            (Err(failure), Err(part)) => {
                let said = failure.error.to_string();
                assert!(failure.exit == Exit::Refused && said.contains(part), "{words}: {said}");
            }
            (found, _) => panic!("{words}: {:?}", found.map_err(|failure| failure.error)),
        }
        let all = coordinator.asked();
        assert!(all.last().unwrap().contains(asked), "{words}: {all:?}");
    }

    #[tokio::test]
    async fn agents_are_listed_and_drained() {
        let first = "00000000000000a1  busy      one, 1.2.3, 2 workers, zone=eu, at run r1\n";
        check("ls", Ok(first), "GET /api/v1/agents ").await;
        check("ls --json", Ok("\"add_agent_command\""), "GET /api/v1/agents ").await;
        check("drain one", Ok("its share of run r1"), "agents/00000000000000a1 {\"drain\":true}").await;
        check("undrain 00000000000000a1", Ok("gets runs again"), "agents/00000000000000a1 {\"drain\":false}")
            .await;
        check("drain two", Err("00000000000000a2, 00000000000000a3"), "GET /api/v1/agents ").await;
        check("drain three", Err("no agent three"), "GET /api/v1/agents ").await;
    }
}
