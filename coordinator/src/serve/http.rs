//! The connections of pages and REST. Whoever connects and says nothing, or says it byte by byte, is cut off in time.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::closed;
use super::timed::{Timed, TimedListener};

/// How long the head of a request may take from the connection's start, or from the end of the answer before it; so it
/// bounds idle connections too. A browser dials again.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Most bytes of a request that are held before they are taken up, so of its head too: anybody can send one. A body of more
/// is read piece by piece.
const BUFFER_BYTES: usize = 64 * 1024;

/// Serves until `closing` says so; then no connection is taken any more, and those that are there end with the answer at
/// hand.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    closing: watch::Receiver<bool>,
) {
    let mut listener = TimedListener::new(listener, most);
    let mut connections = JoinSet::new();
    let mut end = std::pin::pin!(closed(closing.clone()));
    loop {
        tokio::select! {
            () = &mut end => break,
            stream = listener.accept() => {
                connections.spawn(converse(stream, router.clone(), closing.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse(stream: Timed<TcpStream>, router: Router, closing: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(BUFFER_BYTES);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closed(closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
