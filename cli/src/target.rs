//! `volley target`: the echo target as a process.

use std::net::SocketAddr;

use anyhow::Context as _;
use clap::Args;
use tokio::runtime::Builder;

use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

/// What the echo target is started with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  volley target --listen 127.0.0.1:7080")]
pub(crate) struct Options {
    /// The address to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

/// Serves until a signal comes.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    // One thread, as one core is what a target may use beside the generator.
    let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(serve(options))?;
    Ok(Exit::Passed)
}

async fn serve(options: &Options) -> anyhow::Result<()> {
    let mut signals = Signals::catch()?;
    let server = volley_echo::Server::bind(volley_echo::Options::new(options.listen)).await?;
    output::say(&format!("echo target on http://{}/", server.local_addr()));
    server
        .serve(async {
            signals.next().await;
        })
        .await;
    Ok(())
}
