//! `volley agent`: the request loops of one host, for a coordinator.

mod health;
mod measure;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::pin::pin;

use anyhow::Context as _;
use axum::Router;
use clap::Args;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use volley_agent::{AgentOptions, DialError, DialOptions, Shutdown, Spin, Status, dial};
use volley_coordinator::{Token, check_bind, serve_router};
use volley_plan::{MAX_LABEL_CHARS, MAX_LABELS, is_label};

use crate::access::{AllowOptions, TokenOptions};
use crate::exit::{Exit, Failure, OrExit as _};
use crate::run::EngineOptions;
use crate::signals::Signals;
use crate::{notify, output, state};

/// What an agent is started with.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The coordinator's address for agents, such as 127.0.0.1:7071
    #[arg(long, value_name = "ADDR")]
    coordinator: String,
    /// Its name for people [default: the host's, and four digits]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What plans may ask for with `agents: { labels: … }`, such as zone=eu; as often as needed
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// How much of a load it gets beside others [default: its workers]
    #[arg(long, value_name = "N")]
    weight: Option<NonZeroU32>,
    /// Measure at the start what this host is capable of, for plans that share by capacity; takes half a second
    #[arg(long)]
    measure: bool,
    /// The folder for results until the coordinator has them, made where it is missing [default: $STATE_DIRECTORY, else
    /// $XDG_STATE_HOME/volley, else ~/.local/state/volley]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The folder for files that plans name, such as bodies and certificates; nothing beside it is read
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Keep results in memory only
    #[arg(long, conflicts_with = "state")]
    no_state: bool,
    /// Where to serve /healthz, /readyz and /metrics; without it no port is open. Beyond loopback it takes a token
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    allow: AllowOptions,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    /// Whether to keep a processor awake while few requests are in flight: auto, on or off
    #[arg(long, value_name = "WHEN", default_value_t)]
    spin: Spin,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as zone=eu")?;
    if !is_label(name) || !is_label(value) {
        return Err(format!(
            "both sides of NAME=VALUE are 1 to {MAX_LABEL_CHARS} letters, digits, and . _ - /"
        ));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// How many words to end may wait: the first asks, the second tells.
const WORDS: usize = 2;

/// Works until a signal comes, or the coordinator refuses this agent.
pub(crate) fn main(options: Options) -> Result<Exit, Failure> {
    let token = options.token.token()?;
    let capacity = options.measure.then(|| measure::capacity(options.engine())).transpose()?;
    if let Some(capacity) = capacity {
        output::say(&format!("capacity: {} requests a second", crate::format::count(u64::from(capacity))));
    }
    let runtime = Builder::new_current_thread().enable_all().build().context("no runtime")?;
    runtime.block_on(work(options, token, capacity))
}

async fn work(options: Options, token: Option<Token>, capacity: Option<u32>) -> Result<Exit, Failure> {
    let mut signals = Signals::catch()?;
    let listener = listen(options.http, token.is_some()).await?;
    let (tell, status) = watch::channel(Status::default());
    let health = health::router(status, token.clone());
    let agent = options.agent(capacity)?;
    output::say(&format!("agent of the coordinator at {}", options.coordinator));
    let (words, heard) = mpsc::channel(WORDS);
    let dialled = DialOptions { coordinator: options.coordinator, agent, token };
    let mut ended = pin!(dial(dialled, Shutdown::on(ReceiverStream::new(heard)), tell));
    let mut served = pin!(serve(listener, health));
    notify::ready();
    loop {
        tokio::select! {
            ended = &mut ended => return exit(ended),
            never = &mut served => match never {},
            _ = signals.next() => {
                notify::stopping();
                output::say("leaving once the run at hand permits it; a second signal ends at once");
                // More than two say nothing new.
                let _ = words.try_send(());
            }
        }
    }
}

/// Answers probes, where that was asked for, for as long as it is not dropped.
async fn serve(listener: Option<TcpListener>, health: Router) -> Infallible {
    if let Some(listener) = listener {
        serve_router(listener, health).await;
    }
    pending().await
}

fn exit(ended: Result<(), DialError>) -> Result<Exit, Failure> {
    match ended {
        Ok(()) => Ok(Exit::Passed),
        Err(error @ DialError::Address(_)) => Err(error).or_exit(Exit::Usage),
        Err(error @ DialError::Refused { .. }) => Err(error).or_exit(Exit::Refused),
        Err(error) => Err(error).or_exit(Exit::CouldNot),
    }
}

impl Options {
    fn engine(&self) -> EngineOptions {
        EngineOptions { workers: self.workers, spin: self.spin, ..EngineOptions::default() }
    }

    /// The agent that these make.
    fn agent(&self, capacity: Option<u32>) -> Result<AgentOptions, Failure> {
        let labels: BTreeMap<_, _> = self.labels.iter().cloned().collect();
        if labels.len() < self.labels.len() {
            return Err(Failure::new(Exit::Usage, "--label gives two values to the same name"));
        }
        if labels.len() > MAX_LABELS {
            return Err(Failure::new(Exit::Usage, format!("an agent has at most {MAX_LABELS} labels")));
        }
        Ok(AgentOptions {
            name: self.name.clone(),
            workers: self.workers.map(NonZeroUsize::get),
            spin: self.spin,
            labels,
            weight: self.weight.map(NonZeroU32::get),
            capacity,
            allow: self.allow.list(is_loopback(&self.coordinator))?,
            files: self.files.clone(),
            state: self.state.clone().or_else(state::folder).filter(|_| !self.no_state),
            listener: None,
        })
    }
}

async fn listen(address: Option<SocketAddr>, has_token: bool) -> Result<Option<TcpListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    check_bind(address, has_token).context("--http").or_exit(Exit::Usage)?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("--http {address}"));
    let listener = listener.or_exit(Exit::CouldNot)?;
    output::say(&format!("http://{}", listener.local_addr().context("a listener without an address")?));
    Ok(Some(listener))
}

/// Whether a coordinator's address is of this host, as far as the address itself tells.
fn is_loopback(coordinator: &str) -> bool {
    let host = coordinator.rsplit_once(':').map_or(coordinator, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinators_of_this_host_are_known() {
        let check = |address: &str, expected: bool| assert_eq!(is_loopback(address), expected, "{address}");
        check("127.0.0.1:7071", true);
        check("127.9.9.9:1", true);
        check("localhost:7071", true);
        check("LOCALHOST:7071", true);
        check("[::1]:7071", true);
        check("[::ffff:127.0.0.1]:7071", true);
        check("10.0.0.1:7071", false);
        check("[2001:db8::1]:7071", false);
        check("localhost.example.org:7071", false);
        check("coordinator:7071", false);
    }

    #[test]
    fn labels_are_plain_words() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(label(text).ok(), expected, "{text}");
        };
        check("zone=eu", Some(("zone", "eu")));
        check("example.org/disk=ssd_1", Some(("example.org/disk", "ssd_1")));
        check("zone", None);
        check("zone=", None);
        check("=eu", None);
        check("zone=e u", None);
        check("zone=eu=west", None);
        check(&format!("zone={}", "x".repeat(64)), None);
    }
}
