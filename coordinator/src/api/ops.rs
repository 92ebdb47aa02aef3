//! What operators and their probes ask.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use volley_plan::link::PROTOCOL;

use super::{AppState, Problem};
use crate::fleet::VERSION;

/// Is it alive
///
/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Is it ready
///
/// It takes runs, and can keep what they measure.
#[utoipa::path(
    get, path = "/readyz", tag = "operation",
    responses((status = 200, body = String, content_type = "text/plain"), (status = 503, response = Problem))
)]
pub(super) async fn readyz(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if state.shared().is_stopping() {
        return Err(Problem::new(503, "Shutting down", "the coordinator takes no further run"));
    }
    if let Some(reason) = state.shared().write_fault() {
        let detail = format!("nothing can be kept: {reason}");
        return Err(Problem::new(503, "The store fails", detail));
    }
    Ok("ready\n")
}

/// What answers.
#[derive(Serialize, ToSchema)]
pub(super) struct Version {
    /// Of the program.
    version: &'static str,
    /// Of what is spoken with agents.
    protocol: u32,
}

/// Tell the version
#[utoipa::path(get, path = "/version", tag = "operation", responses((status = 200, body = Version)))]
pub(super) async fn version() -> Json<Version> {
    Json(Version { version: VERSION, protocol: PROTOCOL })
}
