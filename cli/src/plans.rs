//! `volley plans …`: the library of plans of a coordinator.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reqwest::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde::Deserialize;

use crate::at::{At, Said};
use crate::exit::{Exit, Failure};
use crate::plan;
use crate::rest::{ANSWER, Rest};

/// Which coordinator, and what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley plans put checkout plan.yaml\n  \
    volley plans show checkout --version 3 > plan.yaml")]
pub(crate) struct Options {
    #[command(flatten)]
    at: At,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List them by name, with the latest version of each
    Ls,
    /// Print a plan, as it was saved
    Show {
        /// The plan's name
        name: String,
        /// A version of it [default: the latest]
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
    /// Save a plan under a name; another text is another version of it
    Put {
        /// The plan's name
        name: String,
        /// A plan in YAML or JSON
        file: PathBuf,
        /// Only if the latest version has this entity tag, as `volley plans versions` tells it
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// Only if there is no plan of this name
        #[arg(long, conflicts_with = "if_match")]
        new: bool,
    },
    /// Remove a plan with all its versions; runs of it stay
    Rm {
        /// The plan's name
        name: String,
    },
    /// List the versions of a plan, the latest first, with their entity tags
    Versions {
        /// The plan's name
        name: String,
    },
}

/// Does it.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    options.at.ask(async |rest| ask(&rest, &options.command).await.map(Said::from))
}

/// Asks the coordinator; gives what to print.
async fn ask(rest: &Rest, command: &Command) -> Result<String, Failure> {
    match command {
        Command::Ls => {
            let Plans { plans } = rest.ask(rest.request(Method::GET, "plans")).await?;
            Ok(plans.iter().map(Entry::line).collect())
        }
        Command::Show { name, version } => {
            let query: Vec<_> = version.iter().map(|version| ("version", version.to_string())).collect();
            rest.text(rest.request_with(Method::GET, &path(name, "")?, &query), None).await
        }
        Command::Put { .. } => put(rest, command).await,
        Command::Rm { name } => {
            rest.do_it(rest.request(Method::DELETE, &path(name, "")?)).await?;
            Ok(format!("plan {name} is removed\n"))
        }
        Command::Versions { name } => {
            let Versions { versions } =
                rest.ask(rest.request(Method::GET, &path(name, "/versions")?)).await?;
            Ok(versions.iter().map(Version::line).collect())
        }
    }
}

async fn put(rest: &Rest, command: &Command) -> Result<String, Failure> {
    let Command::Put { name, file, if_match, new } = command else { return Ok(String::new()) };
    let bytes = plan::read(file)?;
    let json = file.extension().is_some_and(|extension| extension == "json");
    let kind = if json { "application/json" } else { "application/yaml" };
    let mut request = rest.request(Method::PUT, &path(name, "")?).header(CONTENT_TYPE, kind).body(bytes);
    if let Some(tag) = if_match {
        request = request.header(IF_MATCH, tag);
    }
    if *new {
        request = request.header(IF_NONE_MATCH, "*");
    }
    let answer = rest.send(request, ANSWER).await?;
    let done = if answer.status() == StatusCode::CREATED { "is new" } else { "is saved" };
    let Entry { version, .. } = rest.read(answer, Some(file)).await?;
    Ok(format!("plan {name} {done}, version {version}\n"))
}

/// The address of a plan. What no name of a plan has could mean another address.
fn path(name: &str, more: &str) -> Result<String, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
        let sentence = "a plan's name has letters, digits, dots, underscores and hyphens, and begins with a letter or a \
                        digit";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    Ok(format!("plans/{name}{more}"))
}

#[derive(Deserialize)]
struct Plans {
    plans: Vec<Entry>,
}

/// What is read of a plan of the library.
#[derive(Deserialize)]
struct Entry {
    name: String,
    version: u32,
    saved_at: String,
    load: Option<String>,
    target: Option<String>,
}

impl Entry {
    fn line(&self) -> String {
        let Self { name, version, saved_at, .. } = self;
        let load = self.load.as_deref().unwrap_or("a plan that this coordinator can't read");
        let target = self.target.as_ref().map(|target| format!(", at {target}")).unwrap_or_default();
        format!("{name}  version {version}  {saved_at}  {load}{target}\n")
    }
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
    saved_at: String,
    etag: String,
}

impl Version {
    fn line(&self) -> String {
        let Self { version, saved_at, etag } = self;
        format!("version {version}  {saved_at}  {etag}\n")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::testing::Coordinator;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        command: Command,
    }

    /// What the words print, or the refusal with its exit code; and what was asked for it.
    async fn check(words: &str, expected: Result<&str, (Exit, &str)>, asked: &str) {
        let coordinator = Coordinator::start().await;
        let line = Line::try_parse_from(std::iter::once("plans").chain(words.split(' '))).unwrap();
        match (ask(&coordinator.rest(), &line.command).await, expected) {
            (Ok(text), Ok(known)) => assert_eq!(text, known, "{words}"),
            (Err(failure), Err((exit, part))) => {
                let said = failure.error.to_string();
                assert!(failure.exit == exit && said.contains(part), "{words}: {said}");
            }
            (found, _) => panic!("{words}: {:?}", found.map_err(|failure| failure.error)),
        }
        let all = coordinator.asked().join("\n");
        assert!(all.starts_with(asked) && all.is_empty() == asked.is_empty(), "{words}: {all}");
    }

    #[tokio::test]
    async fn plans_are_listed_shown_saved_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.yaml");
        fs::write(&file, "target: x\n").unwrap();
        let file = file.to_str().unwrap();
        check("ls", Ok("a  version 2  T  5 users closed, at http://h/\n"), "GET /api/v1/plans ").await;
        check("show a", Ok("target: http://h/\n"), "GET /api/v1/plans/a ").await;
        check("show a --version 1", Ok("target: http://h/\n"), "GET /api/v1/plans/a?version=1 ").await;
        check("versions a", Ok("version 2  T  \"e\"\n"), "GET /api/v1/plans/a/versions ").await;
        check("rm a", Ok("plan a is removed\n"), "DELETE /api/v1/plans/a ").await;
        let put = |name: &str, more: &str| format!("put {name} {file}{more}");
        check(&put("a", ""), Ok("plan a is saved, version 2\n"), "PUT /api/v1/plans/a target: x").await;
        check(&put("b", " --new"), Ok("plan b is new, version 1\n"), "PUT /api/v1/plans/b target: x").await;
        let raced = Err((Exit::Refused, "412"));
        check(&put("a", " --if-match old"), raced, "PUT /api/v1/plans/a target: x").await;
        let faulty = format!("{file}:1:9: target: wrong (right)");
        check(&put("faulty", ""), Err((Exit::Usage, &faulty)), "PUT /api/v1/plans/faulty").await;
        check("rm c", Err((Exit::Refused, "404")), "DELETE /api/v1/plans/c ").await;
        check("show ../runs", Err((Exit::Usage, "a plan's name")), "").await;
        check("show ..", Err((Exit::Usage, "a plan's name")), "").await;
    }
}
