//! `volley agent`: the request loops of one host, for a coordinator.

use std::num::NonZeroUsize;

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::Builder;
use volley_agent::{AgentOptions, DialError, DialOptions, Spin, dial};

use crate::exit::{Exit, Failure, OrExit as _};
use crate::output;
use crate::signals::Signals;

/// What an agent is started with.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The coordinator's address for agents, such as 127.0.0.1:7071
    #[arg(long, value_name = "ADDR")]
    coordinator: String,
    /// Its name for people [default: the host's, and four digits]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Whether to keep a processor awake while few requests are in flight: auto, on or off
    #[arg(long, value_name = "WHEN", default_value_t)]
    spin: Spin,
}

/// Works until a signal comes, or the coordinator refuses this agent.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(work(options))
}

async fn work(options: Options) -> Result<Exit, Failure> {
    let mut signals = Signals::catch()?;
    let Options { coordinator, name, workers, spin } = options;
    output::say(&format!("agent of the coordinator at {coordinator}"));
    let agent = AgentOptions { name, workers: workers.map(NonZeroUsize::get), spin };
    let ended = dial(DialOptions { coordinator, agent }, async move { signals.next().await }).await;
    match ended {
        Ok(()) => Ok(Exit::Passed),
        Err(error @ DialError::Address(_)) => Err(error).or_exit(Exit::Usage),
        Err(error @ DialError::Refused { .. }) => Err(error).or_exit(Exit::Refused),
        Err(error) => Err(error).or_exit(Exit::CouldNot),
    }
}
