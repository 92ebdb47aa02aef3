//! `volley probe`: asks a service how it is, for health checks in containers that have no other program.

use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use reqwest::{Client, Url};
use tokio::runtime::Builder;

use crate::exit::{Exit, Failure, OrExit as _};

/// How long the answer may take.
const WITHIN: Duration = Duration::from_secs(5);
/// Most characters of an answer that are shown.
const SHOWN_CHARS: usize = 200;

/// Whom to ask.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  volley probe http://127.0.0.1:7070/readyz")]
pub(crate) struct Options {
    /// The address, such as http://127.0.0.1:7070/healthz
    url: Url,
}

/// Ends with 0 where the answer is a success, with 1 where it is another, with 3 where there is none.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(async {
        let client = Client::builder().timeout(WITHIN).build().context("no HTTP client")?;
        let answer = client.get(options.url).send().await.or_exit(Exit::Unreachable)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Exit::Passed);
        }
        let said: String = answer.text().await.unwrap_or_default().trim().chars().take(SHOWN_CHARS).collect();
        Err(Failure::new(Exit::CouldNot, format!("{status}: {said}")))
    })
}
