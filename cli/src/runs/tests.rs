//! What the commands ask, and what they say.

use clap::Parser;

use super::*;
use crate::testing::Coordinator;

#[derive(Debug, Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

/// What the words of a command line come to: text and exit code, or the failure in words with its exit code.
async fn said(coordinator: &Coordinator, words: &str) -> Result<(String, Exit), (Exit, String)> {
    let line = Line::try_parse_from(std::iter::once("runs").chain(words.split(' '))).unwrap();
    let told = ask(&coordinator.rest(), &line.command).await;
    told.map(|said| (said.text, said.exit)).map_err(|failure| (failure.exit, failure.error.to_string()))
}

/// The command prints a text with this part in it, having asked this.
async fn check(words: &str, part: &str, asked: &str) {
    let coordinator = Coordinator::start().await;
    let (text, exit) = said(&coordinator, words).await.unwrap();
    assert!(text.contains(part) && exit == Exit::Passed, "{words}: {text}");
    let all = coordinator.asked();
    assert!(all.iter().any(|one| one.contains(asked)), "{words}: {asked} in {all:?}");
}

#[tokio::test]
async fn each_command_says_what_the_coordinator_did() {
    check("ls --limit 5", "r1  none", "GET /api/v1/runs?limit=5 ").await;
    check("ls", "n, 2 users closed", "GET /api/v1/runs?limit=20 ").await;
    check("ls --state running --plan a&b", "r1", "?limit=20&state=running&plan=a%26b ").await;
    check("ls --label a=b --label c=d", "r1", "&label=a%3Db&label=c%3Dd ").await;
    check("ls --json", "\"runs\": [", "GET /api/v1/runs").await;
    check("show r1", "Finished: 5 of 5 requests sent", "GET /api/v1/runs/r1 ").await;
    check("show r1 --json", "\"id\": \"r1\"", "GET /api/v1/runs/r1 ").await;
    check("show r1 --wait", "Finished: 5 of 5", "GET /api/v1/runs/r1?wait=30s ").await;
    check("stop r1", "run r1", "POST /api/v1/runs/r1/stop ").await;
    // As the run's log has it.
    check("adjust r1 --rate 500/s", "12.4 s", "adjust {\"rate\":\"500/s\"}").await;
    check("adjust r1 --users 7", "12.4 s", "adjust {\"users\":7}").await;
    check("note r1 better", "a note", "PATCH /api/v1/runs/r1 {\"note\":\"better\"}").await;
    check("note r1 ", "no note", "PATCH /api/v1/runs/r1 {\"note\":null}").await;
    let labels = "PATCH /api/v1/runs/r1 {\"labels\":{\"gone\":null,\"team\":\"shop\"}}";
    check("label r1 team=shop gone-", "labels", labels).await;
    check("rm r1", "removed", "DELETE /api/v1/runs/r1 ").await;
}

#[tokio::test]
async fn all_pages_are_gone_through() {
    let coordinator = Coordinator::start().await;
    let (text, _) = said(&coordinator, "ls --all --plan paged").await.unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(coordinator.asked().last().unwrap().contains("plan=paged&cursor=r1"));
}

#[tokio::test]
async fn a_run_that_is_not_there_is_refused() {
    let coordinator = Coordinator::start().await;
    let refused = said(&coordinator, "stop r2").await;
    assert!(matches!(&refused, Err((Exit::Refused, said)) if said.contains("no run")), "{refused:?}");
}
