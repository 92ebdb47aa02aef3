//! The real link, with its sockets, over a network that is slow and breaks: a coordinator that serves, agents that dial,
//! and between them relays that drop connections, delay, and let bytes through in a trickle. Whatever the link does, each
//! request that the target got is reported once, and none is missing.

mod relay;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use volley_agent::{AgentOptions, DialOptions, Shutdown, Spin, Status, dial};
use volley_coordinator::{Coordinator, Ending, MemoryStore, NewRun, RunDocument, Settings, serve};
use volley_echo::{Options, Server};
use volley_plan::parse;

use relay::{Fault, Relay};

/// Everything is over by then, or something hangs.
const PATIENCE: Duration = Duration::from_secs(50);
/// How long the load takes.
const LOAD_S: u64 = 10;

/// A run of 120 arrivals a second on an agent behind each of these links.
async fn check(faults: &[Fault]) {
    let target = Server::bind(Options::default()).await.expect("loopback has a free port");
    let (address, stats) = (target.local_addr(), target.stats());
    let target = tokio::spawn(target.serve(std::future::pending()));
    let coordinator = Coordinator::new(Arc::new(MemoryStore::default()), Settings::default());
    let http = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let agents = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let dialled = agents.local_addr().expect("it is bound");
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move {
        drop(stopped.await);
        Ending::StopRuns
    };
    let served = tokio::spawn(serve(coordinator.clone(), http, agents, shutdown));

    let mut relays = Vec::new();
    let mut dialling = Vec::new();
    for (number, &fault) in faults.iter().enumerate() {
        let relay = Relay::start(dialled, fault).await;
        dialling.push(tokio::spawn(dial(
            options(number, &relay),
            Shutdown::never(),
            watch::Sender::new(Status::default()),
        )));
        relays.push(relay);
    }
    let document = run(&coordinator, &address.to_string(), faults.len()).await;

    let accounts = document.progress.accounts;
    let story = format!("{accounts:?} {:?} {:?}", document.progress.sentence, document.log);
    assert_eq!(accounts.fault(), None, "{story}");
    // The verdict may be that the generator was late: these tests share their processors.
    assert!(!document.progress.incomplete, "{story}");
    assert_eq!((accounts.missed, accounts.unknown), (0, 0), "{story}");
    assert_eq!(accounts.planned, Some(120 * LOAD_S), "{story}");
    // A window that was lost or doubled would show here.
    assert_eq!(accounts.requests_started, stats.snapshot().requests, "{story}");
    for (relay, fault) in relays.iter().zip(faults) {
        let dropped = relay.dropped();
        assert!(dropped >= fault.least_dropped(), "{fault:?} dropped {dropped} connections only");
    }
    drop(stop);
    timeout(PATIENCE, served).await.expect("it ends").expect("no panic").expect("it served");
    dialling.iter().for_each(tokio::task::JoinHandle::abort);
    target.abort();
}

fn options(number: usize, relay: &Relay) -> DialOptions {
    let agent = AgentOptions {
        name: Some(format!("agent-{number}")),
        workers: Some(1),
        spin: Spin::Off,
        ..AgentOptions::default()
    };
    DialOptions { coordinator: relay.address().to_string(), agent, token: None }
}

async fn run(coordinator: &Coordinator, target: &str, agents: usize) -> RunDocument {
    let text = format!(
        "target: http://{target}/\nrate: 120/s\nduration: {LOAD_S}s\nagents: {{ min: {agents}, wait: 20s }}\n"
    );
    let plan = parse(&text).expect("a plan");
    let new = NewRun { wait_for_agents: Duration::from_secs(10), ..NewRun::of(plan) };
    let id = coordinator.start_run(new).await.expect("it starts");
    let document = coordinator.wait(&id, PATIENCE).await.expect("it is there");
    assert!(document.progress.over, "{document:?}");
    document
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_is_lost_or_doubled_by_a_link_that_drops_delays_or_trickles() {
    check(&[Fault::Drops, Fault::Delays, Fault::Trickles]).await;
}
