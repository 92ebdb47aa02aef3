//! REST under `/api/v1`, and the checks that every request passes, pages included.
//!
//! Errors are problem details ([`problem`]); nothing changes by GET; what a browser can be made to ask is decided in
//! [`guard`], and who may ask at all in [`crate::access`].
#![expect(unused_qualifications, reason = "what stands in a utoipa attribute is qualified by it")]

mod adjust;
mod agents;
mod guard;
mod health;
mod log;
mod metrics;
mod openapi;
mod ops;
mod parameters;
mod plans;
mod problem;
mod reports;
mod runs;
mod spans;
mod start;
mod stream;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Router, middleware};
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};
use volley_plan::MAX_PLAN_BYTES;

use crate::access::{self, Gate};
use crate::coordinator::{Coordinator, Shared};
use crate::pages::PageError;
use guard::Hosts;
use parameters::Parameters;

pub(crate) use adjust::Asked;
pub(crate) use plans::{PlanPath, plan_name, save as save_plan, saved as saved_plan};
pub(crate) use problem::{AgentPath, Problem, RunPath};
pub(crate) use spans::{SpanDocument, span_document};

/// Where REST stands.
const V1: &str = "/api/v1";

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
    let (v1, document) = openapi::routes();
    let text = document.to_pretty_json().unwrap_or_default();
    let parameters = Arc::new(Parameters::of(&document, V1));
    let v1 = v1.route_layer(middleware::from_fn_with_state(parameters, parameters::known));
    // Probes look at the root by custom; the same answers stand with the rest, so that one address leads to all.
    let ops = Router::new()
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .route("/version", get(ops::version))
        .route("/metrics", get(metrics::show))
        .route("/openapi.json", get(|| async move { ([(header::CONTENT_TYPE, "application/json")], text) }));
    Router::new().nest(V1, v1).merge(ops)
}

/// All routes with the checks and headers that go with each of them.
pub(crate) fn guarded(router: Router<AppState>, state: AppState, gate: Arc<Gate>) -> Router {
    let hosts = if gate.is_open() { Hosts::Loopback } else { Hosts::Any };
    router
        .merge(access::router(gate.clone()))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(MAX_PLAN_BYTES))
        .layer(middleware::from_fn_with_state(gate, access::admit))
        .layer(middleware::from_fn_with_state(hosts, guard::guard))
        .with_state(state)
}

/// What a small body says, which is JSON whatever its content type says; `like` is an example.
fn json_body<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>, like: &str) -> Result<T, Problem> {
    let body = body.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    serde_json::from_slice(&body)
        .map_err(|error| Problem::new(422, "The body cannot be read", format!("{error}; expected {like}")))
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
