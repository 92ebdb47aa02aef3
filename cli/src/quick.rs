//! `volley URL`: a run from flags that people know from hey and oha.

use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use volley_plan::{Plan, QuickPlan};

use crate::exit::{Exit, Failure, OrExit as _};
use crate::{output, run};

/// The flags.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The URL to load
    url: Option<String>,
    /// Connections; each sends its next request once it has its answer [default: 50]
    #[arg(short, value_name = "N")]
    connections: Option<NonZeroU64>,
    /// Requests to send, exactly
    #[arg(short = 'n', value_name = "N")]
    requests: Option<NonZeroU64>,
    /// How long to send; requests in flight at its end are cut off and counted so [default: 10s without -n]
    #[arg(short = 'z', value_name = "DURATION")]
    duration: Option<String>,
    /// The request method
    #[arg(short, visible_short_alias = 'X', value_name = "METHOD")]
    method: Option<String>,
    /// A header line, as often as needed
    #[arg(short = 'H', value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The body
    #[arg(short = 'd', value_name = "TEXT", conflicts_with = "body_file")]
    body: Option<String>,
    /// The body, from a file
    #[arg(short = 'D', value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// The body's content type
    #[arg(short = 'T', value_name = "TYPE")]
    content_type: Option<String>,
    /// The most that a request may take; a bare number is seconds [default: 10s]
    #[arg(short, value_name = "DURATION")]
    timeout: Option<String>,
    /// A connection for each request
    #[arg(long, visible_alias = "disable-keepalive")]
    no_keep_alive: bool,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs it in this process.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let (workers, json) = (options.workers, options.json);
    let plan = plan(options)?;
    let load = plan.load_in_words();
    output::say(&format!("{load}, at {}: each user sends again once it has its answer", plan.target));
    run::in_this_process(plan, workers, json)
}

fn plan(options: Options) -> Result<Plan, Failure> {
    let url =
        options.url.ok_or_else(|| Failure::new(Exit::Usage, "there is no URL; `volley --help` shows how"))?;
    let body = match &options.body_file {
        Some(file) => Some(text(file)?),
        None => options.body,
    };
    let content_type = options.content_type.map(|kind| format!("content-type: {kind}"));
    let quick = QuickPlan {
        url,
        users: options.connections.map(NonZeroU64::get),
        requests: options.requests.map(NonZeroU64::get),
        duration: options.duration.map(with_unit),
        method: options.method,
        headers: options.headers.into_iter().chain(content_type).collect(),
        body,
        keep_alive: options.no_keep_alive.then_some(false),
        timeout: options.timeout.map(with_unit),
        drain: None,
    };
    quick.into_plan().map_err(|faults| Failure::new(Exit::Usage, faults.to_string()))
}

/// hey takes `-t 20` as seconds, and so do people's scripts.
fn with_unit(duration: String) -> String {
    let bare = !duration.is_empty() && duration.bytes().all(|byte| byte.is_ascii_digit());
    if bare { duration + "s" } else { duration }
}

fn text(file: &PathBuf) -> Result<String, Failure> {
    fs::read_to_string(file)
        .with_context(|| format!("the body {} can't be read", file.display()))
        .or_exit(Exit::Usage)
}
