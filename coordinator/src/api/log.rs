//! The event log of a run.

use std::fmt::Write as _;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use volley_web::stream::LogLine;

use super::{AppState, Problem, RunPath};

/// Which lines.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// From this run time on, in seconds [default: the beginning].
    from: Option<f64>,
    /// Up to this run time, exclusive [default: the end].
    to: Option<f64>,
}

impl LogQuery {
    fn is_wanted(&self, line: &LogLine) -> bool {
        self.from.is_none_or(|from| line.at_s >= from) && self.to.is_none_or(|to| line.at_s < to)
    }
}

/// Read the event log
///
/// What happened, a line of JSON each, oldest first.
#[utoipa::path(
    get, path = "/runs/{id}/log", tag = "runs", params(("id" = String, Path, description = "The run"), LogQuery),
    responses(
        (status = 200, body = String, content_type = "application/x-ndjson"), (status = 400, response = Problem),
        (status = 404, response = Problem)
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    query: Result<Query<LogQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    let document = state.shared().document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let mut lines = String::new();
    for line in document.log.iter().filter(|line| query.is_wanted(line)) {
        let line = serde_json::to_string(line)
            .map_err(|error| Problem::new(500, "The log cannot be told", error.to_string()))?;
        // Writing to a string can't fail.
        let _ = writeln!(lines, "{line}");
    }
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], lines).into_response())
}
