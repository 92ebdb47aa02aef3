//! Puts the sockets around a coordinator: REST and pages on one, the agents' gRPC on the other; and takes them away
//! again.

mod descriptors;
mod http;
mod link;
mod timed;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::transport::Server;

use crate::access::Gate;
use crate::bind::{BindRefused, check_bind};
use crate::coordinator::Coordinator;
use crate::grpc::FleetService;
use crate::store::StoreError;
use crate::{api, pages};
use descriptors::Bounds;

pub(crate) use link::Presence;

/// How often the HTTP/2 connection of an agent is probed, and how long its answer may take.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(10));
/// How much of one message may be on the way before the coordinator has read it.
const WINDOW_BYTES: u32 = 1 << 20;
/// Most connections to a small router.
const ROUTER_CONNECTIONS: usize = 64;
/// How long connections may take to end once all runs are over.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Why a coordinator could not go on serving.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A listener is bound where it must not be.
    #[error(transparent)]
    Bind(#[from] BindRefused),
    /// A listener's address cannot be told.
    #[error("the address of a listener cannot be told")]
    Address(#[source] io::Error),
    /// What the last coordinator left unfinished cannot be read or closed.
    #[error("the runs that were left unfinished cannot be gone on with")]
    Resume(#[source] StoreError),
    /// The agents' service ended.
    #[error("the agents' service ended")]
    Agents(#[source] tonic::transport::Error),
    /// A task broke off.
    #[error("a service broke off")]
    Task(#[from] tokio::task::JoinError),
}

/// What becomes of the runs that go on when a coordinator is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// They are stopped, and waited for as long as the settings say.
    StopRuns,
    /// They are left as they are, for the next process on the same store: their agents go on until their leases end, and
    /// again when that process is there. Where the store ends with this process, they are stopped.
    LeaveRuns,
}

/// Goes on with the runs that the last process on the same store left unfinished, and serves until `shutdown` resolves;
/// then takes no further run, does with those that go on what it says, and closes all connections. The listeners are bound
/// by the caller, who knows their ports.
///
/// # Errors
/// [`ServeError`] if a listener isn't bound to loopback and there is no token, or a service ends by itself.
pub async fn serve(
    coordinator: Coordinator,
    http: TcpListener,
    agents: TcpListener,
    shutdown: impl Future<Output = Ending> + Send,
) -> Result<(), ServeError> {
    let token = coordinator.shared.settings.token.clone();
    for listener in [&http, &agents] {
        check_bind(listener.local_addr().map_err(ServeError::Address)?, token.is_some())?;
    }
    let gate = Arc::new(Gate::new(token));
    let agents_address = agents.local_addr().map_err(ServeError::Address)?;
    coordinator.shared.set_agents_address(reachable(agents_address));
    coordinator.shared.resume().await.map_err(ServeError::Resume)?;
    let bounds = Bounds::within(descriptors::raise());
    let closing = watch::Sender::new(false);
    // Dropped with this future, and with it everything that is served.
    let mut services = JoinSet::new();
    services.spawn(serve_http(&coordinator, &gate, http, bounds, &closing));
    services.spawn(serve_agents(&coordinator, &gate, agents, bounds, &closing));
    coordinator.shared.set_served();
    let ending = tokio::select! {
        ending = shutdown => ending,
        Some(ended) = services.join_next() => return ended?,
    };
    tracing::info!("shutting down");
    coordinator.shared.wind_down(ending).await;
    closing.send_replace(true);
    if tokio::time::timeout(CLOSE_WITHIN, services.join_all()).await.is_err() {
        tracing::debug!("connections were cut at the end");
    }
    Ok(())
}

/// Serves a small router of another role's, with the bounds that REST has: few connections, each of which must say what it
/// wants in time. It goes on until it is dropped, and all connections end with it.
pub async fn serve_router(listener: TcpListener, router: Router) {
    let (_stays, closing) = watch::channel(false);
    http::serve(listener, router, ROUTER_CONNECTIONS, closing).await;
}

/// The address as agents on other hosts would dial it: where every address of this host is listened on, by its name.
fn reachable(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let uname = rustix::system::uname();
    let host = uname.nodename().to_string_lossy();
    format!("{host}:{}", address.port())
}

fn serve_http(
    coordinator: &Coordinator,
    gate: &Arc<Gate>,
    listener: TcpListener,
    bounds: Bounds,
    closing: &watch::Sender<bool>,
) -> impl Future<Output = Result<(), ServeError>> + use<> {
    let state = api::AppState::new(coordinator.clone(), closing.subscribe(), bounds.streams);
    let router = api::guarded(api::router().merge(pages::router()), state, gate.clone());
    let closing = closing.subscribe();
    async move {
        http::serve(listener, router, bounds.http, closing).await;
        Ok(())
    }
}

fn serve_agents(
    coordinator: &Coordinator,
    gate: &Arc<Gate>,
    listener: TcpListener,
    bounds: Bounds,
    closing: &watch::Sender<bool>,
) -> impl Future<Output = Result<(), ServeError>> + use<> {
    let service = volley_proto::server(FleetService::new(coordinator.clone(), gate.clone()));
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE.0))
        .http2_keepalive_timeout(Some(KEEPALIVE.1))
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_concurrent_streams(4)
        .add_service(service);
    let incoming = link::incoming(listener, bounds.agents);
    let closed = closed(closing.subscribe());
    async move { server.serve_with_incoming_shutdown(incoming, closed).await.map_err(ServeError::Agents) }
}

async fn closed(mut closing: watch::Receiver<bool>) {
    // An error means that `serve` is gone, which is as good a reason to close.
    let _ = closing.wait_for(|closing| *closing).await;
}

#[cfg(test)]
mod tests;
