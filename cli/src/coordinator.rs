//! `volley coordinator`: REST, pages and the agents' link as a service.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use volley_coordinator::store::{MemoryStore, Retention, SqliteStore, Store};
use volley_coordinator::{Coordinator, Ending, Settings, check_bind, is_loopback, serve};

use crate::access::{AllowOptions, TokenOptions};
use crate::exit::{Exit, Failure, OrExit as _};
use crate::signals::{Ask, Signals};
use crate::{notify, output, state};

/// What a coordinator is started with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    volley coordinator\n  \
    volley coordinator --http 0.0.0.0:7070 --agents 0.0.0.0:7071 \\\n    \
    --token-file volley.token --allow 10.0.0.0/8")]
pub(crate) struct Options {
    /// Where REST and the pages are served; port 0 takes any free one. Beyond loopback it takes a token
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7070")]
    http: SocketAddr,
    /// Where agents dial in; port 0 takes any free one. Beyond loopback it takes a token
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7071")]
    agents: SocketAddr,
    /// The file that runs are kept in, made where it is missing; `memory` keeps them as long as this process lives.
    /// Default: volley.db in $STATE_DIRECTORY, else in $XDG_STATE_HOME/volley, else in ~/.local/state/volley
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    allow: AllowOptions,
}

/// What `--store` says for runs that are not to outlive the process.
const MEMORY: &str = "memory";
/// The name of the file where only the folder is known.
const FILE: &str = "volley.db";

/// Serves until a signal comes.
pub(crate) fn main(options: &Options) -> Result<Exit, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    let ended = runtime.block_on(work(options));
    // A name look-up or a slow reader must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn work(options: &Options) -> Result<Exit, Failure> {
    let mut signals = Signals::catch()?;
    let token = options.token.token()?;
    let is_all_loopback = is_loopback(options.http) && is_loopback(options.agents);
    let allow = options.allow.list(is_all_loopback)?;
    let (http, agents) = (
        listen("--http", options.http, token.is_some()).await?,
        listen("--agents", options.agents, token.is_some()).await?,
    );
    let store = open(options.store.as_deref())?;
    let address = |listener: &TcpListener| listener.local_addr().context("a listener without an address");
    output::say(&format!("http://{}", address(&http)?));
    output::say(&format!("agents on {}", address(&agents)?));
    let coordinator = Coordinator::new(store, Settings { token, allow, ..Settings::default() });
    let ready = tell_when_ready(coordinator.clone());
    let (end, asked) = oneshot::channel();
    // Where the sender is gone without a word, so is this future.
    let shutdown = async { asked.await.unwrap_or(Ending::StopRuns) };
    let mut served = pin!(serve(coordinator, http, agents, shutdown));
    let ask = tokio::select! {
        ended = &mut served => return ended.map(|()| Exit::Passed).or_exit(Exit::CouldNot),
        ask = signals.next() => ask,
        never = ready => match never {},
    };
    notify::stopping();
    // If nobody takes it, the service has ended by itself, and says so below.
    let _ = end.send(ending(ask));
    tokio::select! {
        ended = served => ended.map(|()| Exit::Passed).or_exit(Exit::CouldNot),
        _ = signals.next() => Ok(Exit::Interrupted),
    }
}

/// Whoever waits for this service waits until the runs of the process before are taken up.
async fn tell_when_ready(coordinator: Coordinator) -> Infallible {
    coordinator.served().await;
    notify::ready();
    std::future::pending().await
}

/// A person who presses Ctrl-C wants an end of everything; what keeps services most likely starts this one again.
fn ending(ask: Ask) -> Ending {
    match ask {
        Ask::Interrupt => Ending::StopRuns,
        Ask::Terminate => Ending::LeaveRuns,
    }
}

/// The store that was asked for, or the one that is always used.
fn open(asked: Option<&Path>) -> Result<Arc<dyn Store>, Failure> {
    if asked == Some(Path::new(MEMORY)) {
        output::say("store: in memory, gone with this process");
        return Ok(Arc::new(MemoryStore::default()));
    }
    let file = match asked {
        Some(file) => file.to_owned(),
        None => state::folder()
            .context("no folder for the store: give it with --store FILE, or set HOME")
            .or_exit(Exit::Usage)?
            .join(FILE),
    };
    let store = SqliteStore::open(&file, Retention::default()).context("no store").or_exit(Exit::CouldNot)?;
    output::say(&format!("store: {}", store.path().display()));
    Ok(Arc::new(store))
}

async fn listen(flag: &str, address: SocketAddr, has_token: bool) -> Result<TcpListener, Failure> {
    check_bind(address, has_token).with_context(|| flag.to_owned()).or_exit(Exit::Usage)?;
    TcpListener::bind(address).await.with_context(|| format!("{flag} {address}")).or_exit(Exit::CouldNot)
}
