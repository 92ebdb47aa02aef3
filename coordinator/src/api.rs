//! REST under `/api/v1`, and the checks that every request passes, pages included.
//!
//! Errors are problem details ([`problem`]); nothing changes by GET; who may ask at all is decided in [`guard`].

mod guard;
mod health;
mod ops;
mod problem;
mod runs;
mod stream;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::sync::{Semaphore, watch};
use volley_plan::MAX_PLAN_BYTES;

use crate::coordinator::{Coordinator, Shared};
use crate::pages::PageError;

pub(crate) use problem::{Problem, RunPath};

/// What handlers are given.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) coordinator: Coordinator,
    /// Becomes true when connections are to end.
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) streams: Arc<Semaphore>,
}

impl AppState {
    /// `streams` is how many event streams may be read at the same time.
    pub(crate) fn new(coordinator: Coordinator, closing: watch::Receiver<bool>, streams: usize) -> Self {
        Self { coordinator, closing, streams: Arc::new(Semaphore::new(streams)) }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.coordinator.shared
    }
}

/// The routes of REST.
pub(crate) fn router() -> Router<AppState> {
    // Probes look at the root by custom; the same answers stand with the rest, so that one address leads to all.
    let ops = || {
        Router::new()
            .route("/healthz", get(ops::healthz))
            .route("/readyz", get(ops::readyz))
            .route("/version", get(ops::version))
    };
    let v1 = Router::new()
        .route("/runs", post(runs::create).get(runs::list))
        .route("/runs/{id}", get(runs::show))
        .route("/runs/{id}/stop", post(runs::stop))
        .route("/runs/{id}/stream", get(stream::stream))
        .route("/runs/{id}/health", get(health::show))
        .route("/agents", get(ops::agents))
        .merge(ops());
    Router::new().nest("/api/v1", v1).merge(ops())
}

/// All routes with the checks and headers that go with each of them.
pub(crate) fn guarded(router: Router<AppState>, state: AppState) -> Router {
    router
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(MAX_PLAN_BYTES))
        .layer(middleware::from_fn(guard::guard))
        .with_state(state)
}

/// A person who follows a wrong link gets a page, a program gets problem details.
async fn not_found(uri: Uri, headers: HeaderMap) -> Response {
    let problem = Problem::not_found(format!("there is nothing at {}", uri.path()));
    let accepted = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/html") && !uri.path().starts_with("/api/") {
        return PageError::from(problem).into_response();
    }
    problem.into_response()
}

async fn not_allowed(method: Method, uri: Uri) -> Response {
    Problem::new(405, "Method not allowed", format!("{} does not take {method}", uri.path())).into_response()
}

#[cfg(test)]
mod tests;
