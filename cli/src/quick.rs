//! `volley URL`: a run from flags that people know from hey and oha.

use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use volley_agent::Spin;
use volley_plan::{Model, Plan, QuickPlan};

use crate::access::AllowOptions;
use crate::exit::{Exit, Failure, OrExit as _};
use crate::run::EngineOptions;
use crate::{output, run};

/// The flags.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The URL to load
    url: Option<String>,
    /// Connections. Without a rate each sends its next request once it has its answer [default: 50]; with one it is the
    /// most that are open, and requests wait for one
    #[arg(short, value_name = "N")]
    connections: Option<NonZeroU64>,
    /// Requests a second in all, sent when they are due whether or not answers come; also as 90/m or 5000/h
    #[arg(short = 'q', long, value_name = "RATE")]
    rate: Option<String>,
    /// Requests to send, exactly
    #[arg(short = 'n', value_name = "N")]
    requests: Option<NonZeroU64>,
    /// How long to send; requests in flight at its end are cut off and counted so [default: 10s without -n]
    #[arg(short = 'z', value_name = "DURATION")]
    duration: Option<String>,
    /// How long to send before measuring begins; its requests are counted apart
    #[arg(long, value_name = "DURATION")]
    warmup: Option<String>,
    /// How requests of a rate follow each other: uniform or poisson [default: uniform]
    #[arg(long, value_name = "KIND", requires = "rate")]
    arrivals: Option<String>,
    /// Requests of a rate that may be in flight; those that are due beyond are missed [default: by rate and time-out]
    #[arg(long, value_name = "N", requires = "rate")]
    max_in_flight: Option<NonZeroU64>,
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
    /// Whether to keep a processor awake while few requests are in flight: auto, on or off
    #[arg(long, value_name = "WHEN", default_value_t)]
    spin: Spin,
    #[command(flatten)]
    allow: AllowOptions,
    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs it in this process.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let (engine, json) = (EngineOptions { workers: options.workers, spin: options.spin }, options.json);
    let allow = options.allow.list_here()?;
    let plan = plan(options)?;
    let model = match plan.load.model {
        Model::Closed(_) => "each user sends again once it has its answer",
        Model::Open(_) => "requests are sent when they are due, and latency counts from then",
    };
    output::say(&format!("{}, at {}: {model}", plan.load_in_words(), plan.url()));
    run::in_this_process(plan, engine, allow, json)
}

fn plan(options: Options) -> Result<Plan, Failure> {
    let url =
        options.url.ok_or_else(|| Failure::new(Exit::Usage, "there is no URL; `volley --help` shows how"))?;
    let body = match &options.body_file {
        Some(file) => Some(text(file)?),
        None => options.body,
    };
    let content_type = options.content_type.map(|kind| format!("content-type: {kind}"));
    let connections = options.connections.map(NonZeroU64::get);
    let quick = QuickPlan {
        url,
        users: connections.filter(|_| options.rate.is_none()),
        connections: connections.filter(|_| options.rate.is_some()),
        rate: options.rate.map(|rate| with_unit(rate, "/s")),
        warmup: options.warmup.map(|text| with_unit(text, "s")),
        arrivals: options.arrivals,
        max_in_flight: options.max_in_flight.map(NonZeroU64::get),
        requests: options.requests.map(NonZeroU64::get),
        duration: options.duration.map(|text| with_unit(text, "s")),
        method: options.method,
        headers: options.headers.into_iter().chain(content_type).collect(),
        body,
        keep_alive: options.no_keep_alive.then_some(false),
        timeout: options.timeout.map(|text| with_unit(text, "s")),
        ..QuickPlan::default()
    };
    quick.into_plan().map_err(|faults| Failure::new(Exit::Usage, faults.to_string()))
}

/// hey takes `-t 20` as seconds and oha `-q 100` as requests a second, and so do people's scripts.
fn with_unit(text: String, unit: &str) -> String {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare { text + unit } else { text }
}

fn text(file: &PathBuf) -> Result<String, Failure> {
    fs::read_to_string(file)
        .with_context(|| format!("the body {} can't be read", file.display()))
        .or_exit(Exit::Usage)
}
