//! `volley coordinator`: REST, pages and the agents' link as a service.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use volley_coordinator::{Coordinator, MemoryStore, Settings, serve};

use crate::exit::{Exit, Failure, OrExit as _};
use crate::output;
use crate::signals::Signals;

/// What a coordinator is started with.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where REST and the pages are served; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    http: SocketAddr,
    /// Where agents dial in; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7071")]
    agents: SocketAddr,
}

/// Serves until a signal comes, then ends the runs that go on.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(work(options))?;
    // A name look-up or a slow reader must not hold up the end.
    runtime.shutdown_background();
    Ok(Exit::Passed)
}

async fn work(options: &Options) -> Result<(), Failure> {
    let mut signals = Signals::catch()?;
    let (http, agents) = (listen("--http", options.http).await?, listen("--agents", options.agents).await?);
    let address = |listener: &TcpListener| listener.local_addr().context("a listener without an address");
    output::say(&format!("http://{}", address(&http)?));
    output::say(&format!("agents on {}", address(&agents)?));
    let coordinator = Coordinator::new(Arc::new(MemoryStore::default()), Settings::default());
    serve(coordinator, http, agents, async move { signals.next().await }).await.or_exit(Exit::CouldNot)
}

/// No address but loopback: there is neither a token nor TLS yet.
async fn listen(flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    volley_coordinator::check_bind(address).with_context(|| flag.to_owned()).or_exit(Exit::Usage)?;
    TcpListener::bind(address).await.with_context(|| format!("{flag} {address}")).or_exit(Exit::CouldNot)
}
