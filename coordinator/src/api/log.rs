//! The event log of a run.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::{AppState, Problem, RunPath};

/// `GET /runs/{id}/log`: what happened, a line of JSON each, oldest first.
pub(super) async fn show(State(state): State<AppState>, RunPath(run): RunPath) -> Result<Response, Problem> {
    let document = state.shared().document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let mut lines = String::new();
    for line in &document.log {
        let line = serde_json::to_string(line)
            .map_err(|error| Problem::new(500, "The log cannot be told", error.to_string()))?;
        // Writing to a string can't fail.
        let _ = writeln!(lines, "{line}");
    }
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], lines).into_response())
}
