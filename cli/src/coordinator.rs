//! `volley coordinator`: REST, pages and the agents' link as a service.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use volley_coordinator::store::{MemoryStore, Retention, SqliteStore, Store};
use volley_coordinator::{Coordinator, Settings, serve};

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
    /// The file that runs are kept in, made where it is missing; `memory` keeps them as long as this process lives.
    /// Default: volley.db in $STATE_DIRECTORY, else in $XDG_STATE_HOME/volley, else in ~/.local/state/volley
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// What `--store` says for runs that are not to outlive the process.
const MEMORY: &str = "memory";
/// The name of the file where only the folder is known.
const FILE: &str = "volley.db";

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
    let store = open(options.store.as_deref())?;
    let address = |listener: &TcpListener| listener.local_addr().context("a listener without an address");
    output::say(&format!("http://{}", address(&http)?));
    output::say(&format!("agents on {}", address(&agents)?));
    let coordinator = Coordinator::new(store, Settings::default());
    serve(coordinator, http, agents, async move { signals.next().await }).await.or_exit(Exit::CouldNot)
}

/// The store that was asked for, or the one that is always used.
fn open(asked: Option<&Path>) -> Result<Arc<dyn Store>, Failure> {
    if asked == Some(Path::new(MEMORY)) {
        output::say("store: in memory, gone with this process");
        return Ok(Arc::new(MemoryStore::default()));
    }
    let file = match asked {
        Some(file) => file.to_owned(),
        None => default_file(|name| std::env::var_os(name))
            .context("no folder for the store: give it with --store FILE, or set HOME")
            .or_exit(Exit::Usage)?,
    };
    let store = SqliteStore::open(&file, Retention::default()).context("no store").or_exit(Exit::CouldNot)?;
    output::say(&format!("store: {}", store.path().display()));
    Ok(Arc::new(store))
}

/// Where runs are kept if nothing is said: what systemd gives a service, else what the XDG base directory specification
/// says of state. A relative folder is not taken, as that specification wants it.
fn default_file(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    // Where a service has several, they are separated by colons (systemd.exec, RuntimeDirectory=).
    let first = |text: OsString| text.to_str().and_then(|text| text.split(':').next().map(PathBuf::from));
    let state_directory = variable("STATE_DIRECTORY").and_then(first).filter(|folder| folder.is_absolute());
    let folder = state_directory
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("volley")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/volley")))?;
    Some(folder.join(FILE))
}

/// No address but loopback: there is neither a token nor TLS yet.
async fn listen(flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    volley_coordinator::check_bind(address).with_context(|| flag.to_owned()).or_exit(Exit::Usage)?;
    TcpListener::bind(address).await.with_context(|| format!("{flag} {address}")).or_exit(Exit::CouldNot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file with these variables set.
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(*value))
        };
        assert_eq!(default_file(variable), expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn the_store_has_its_place() {
        let home = ("HOME", "/home/u");
        let state = ("XDG_STATE_HOME", "/state");
        check(&[home], Some("/home/u/.local/state/volley/volley.db"));
        check(&[home, state], Some("/state/volley/volley.db"));
        check(&[home, state, ("STATE_DIRECTORY", "/var/lib/v")], Some("/var/lib/v/volley.db"));
        check(&[("STATE_DIRECTORY", "/var/lib/v:/var/lib/w")], Some("/var/lib/v/volley.db"));
        check(
            &[home, ("XDG_STATE_HOME", "state"), ("STATE_DIRECTORY", "")],
            Some("/home/u/.local/state/volley/volley.db"),
        );
        check(&[("HOME", "")], None);
        check(&[], None);
    }
}
