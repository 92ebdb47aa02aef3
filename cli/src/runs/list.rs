//! `volley runs ls`: the runs that are asked for, page by page.

use clap::Args;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use volley_coordinator::document::RunSummary;

use crate::exit::Failure;
use crate::rest::Rest;

/// Most runs of a page where all of them are asked for.
const PAGE_RUNS: u32 = 1_000;

/// Which runs, and how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley runs ls --state running\n  \
    volley runs ls --plan checkout --label team=shop --all --json")]
pub(super) struct Options {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) limit: u32,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,
    /// Only those in this state: queued, gathering, preparing, running, draining, resuming or finished
    #[arg(long, value_name = "STATE")]
    pub(super) state: Option<String>,
    /// Only those of this plan, by its own name or the library's
    #[arg(long, value_name = "NAME")]
    pub(super) plan: Option<String>,
    /// Only those with this label, as often as needed
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) label: Vec<String>,
    /// Print them as one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Deserialize)]
struct Page {
    runs: Vec<Value>,
    #[serde(default)]
    next_cursor: Option<String>,
}

/// The lines of the list, or its JSON.
pub(super) async fn list(rest: &Rest, options: &Options) -> Result<String, Failure> {
    let runs = gather(rest, options).await?;
    if options.json {
        return Ok(format!("{:#}\n", json!({ "runs": runs })));
    }
    runs.into_iter().map(|run| Rest::known(run).map(|run| line(&run))).collect()
}

/// The runs as they were sent: one page, or all pages.
async fn gather(rest: &Rest, options: &Options) -> Result<Vec<Value>, Failure> {
    let limit = if options.all { PAGE_RUNS } else { options.limit };
    let (mut runs, mut cursor) = (Vec::new(), None);
    loop {
        let query = options.query(limit, cursor.as_deref());
        let page: Page = rest.ask(rest.request_with(Method::GET, "runs", &query)).await?;
        runs.extend(page.runs);
        cursor = page.next_cursor;
        if cursor.is_none() || !options.all {
            return Ok(runs);
        }
    }
}

impl Options {
    /// What stands behind the `?`.
    fn query<'o>(&'o self, limit: u32, cursor: Option<&'o str>) -> Vec<(&'static str, String)> {
        let own = [("state", self.state.as_deref()), ("plan", self.plan.as_deref()), ("cursor", cursor)];
        let own = own.into_iter().filter_map(|(key, value)| Some((key, value?.to_owned())));
        let labels = self.label.iter().map(|label| ("label", label.clone()));
        std::iter::once(("limit", limit.to_string())).chain(own).chain(labels).collect()
    }
}

/// One run of the list.
fn line(run: &RunSummary) -> String {
    let word = run.verdict.map_or(run.state.as_str(), |verdict| verdict.name());
    let (id, begun, name, load) = (&run.id, &run.created_at, &run.name, &run.load);
    format!("{id}  {word:<9}  {begun}  {name}, {load}\n")
}
