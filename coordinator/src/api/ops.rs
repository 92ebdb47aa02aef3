//! What operators and their probes ask.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use volley_plan::link::PROTOCOL;

use super::{AppState, Problem};
use crate::fleet::VERSION;

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: it takes runs, and can keep what they measure.
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

#[derive(Serialize)]
pub(super) struct Version {
    version: &'static str,
    protocol: u32,
}

/// `GET /version`.
pub(super) async fn version() -> Json<Version> {
    Json(Version { version: VERSION, protocol: PROTOCOL })
}
