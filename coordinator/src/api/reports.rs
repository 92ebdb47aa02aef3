//! Reports of runs that are over, in the forms that other programs read.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use volley_plan::link::RunId;

use super::{AppState, Problem, RunPath};
use crate::document::RunDocument;

/// Download as JUnit
///
/// A test case for the run, and one for each threshold.
#[utoipa::path(
    get, path = "/runs/{id}/report.junit.xml", tag = "runs", params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = String, content_type = "application/xml"), (status = 404, response = Problem), (status = 409, response = Problem))
)]
pub(super) async fn junit(State(state): State<AppState>, RunPath(run): RunPath) -> Result<Response, Problem> {
    let document = finished(&state, &run).await?;
    let xml = document
        .junit()
        .render()
        .map_err(|error| Problem::new(500, "The report cannot be made", error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/xml; charset=utf-8")], xml).into_response())
}

/// The document of a run that is over; of another, no report can be made yet.
async fn finished(state: &AppState, run: &RunId) -> Result<RunDocument, Problem> {
    let document = state.shared().document(run).await?.ok_or_else(|| Problem::no_run(run))?;
    let is_over = document.progress.over;
    let problem = || {
        Problem::new(
            409,
            "The run is not over",
            "its report is there once it is; ?wait= on the run waits for that",
        )
    };
    if is_over { Ok(document) } else { Err(problem()) }
}
