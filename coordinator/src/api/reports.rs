//! Reports of runs that are over, in every form.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use volley_plan::link::RunId;

use super::{AppState, Problem, RunPath};
use crate::document::RunDocument;
use crate::report::{Form, RenderError, rendered};

/// A route for each form.
pub(super) fn routes() -> Router<AppState> {
    Form::ALL.iter().fold(Router::new(), |router, &form| {
        let handler = move |state: State<AppState>, run: RunPath| report(form, state, run);
        router.route(&format!("/runs/{{id}}/report.{}", form.name()), get(handler))
    })
}

/// Download a report
///
/// `json` is the run's document, also while the run goes on; the others are there once it is over. `csv` is a table of the
/// whole run and `series.csv` one by the second; `junit.xml` has a test case for the run and one for each threshold; `hgrm`
/// and `hlog` are HdrHistogram's percentile distribution and interval log, `om` is OpenMetrics, `md` is Markdown, and
/// `html` a page in one file.
#[utoipa::path(
    get, path = "/runs/{id}/report.{form}", tag = "runs",
    params(
        ("id" = String, Path, description = "The run"),
        ("form" = String, Path, description = "json, csv, series.csv, junit.xml, hgrm, hlog, om, md or html")
    ),
    responses(
        (status = 200, description = "The report, as a download", content(
            (RunDocument = "application/json"), (String = "text/csv"), (String = "application/xml"),
            (String = "text/plain"), (String = "application/openmetrics-text"), (String = "text/markdown"),
            (String = "text/html")
        )),
        (status = 404, response = Problem), (status = 409, response = Problem)
    )
)]
pub(super) async fn report(
    form: Form,
    State(state): State<AppState>,
    RunPath(run): RunPath,
) -> Result<Response, Problem> {
    let shared = state.shared();
    let document = shared.document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let text = match (form, document.progress.over) {
        (Form::Json, false) => serde_json::to_string_pretty(&document).map_err(RenderError::from),
        (_, false) => return Err(not_over()),
        (form, true) => rendered(form, Arc::new(shared.recording(document).await?)).await,
    };
    let text = text.map_err(|error| failed(&run, &error))?;
    let name = format!("attachment; filename=\"volley-{run}.{}\"", form.name());
    let head = [(header::CONTENT_TYPE, form.media_type().to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((head, text).into_response())
}

fn not_over() -> Problem {
    Problem::new(
        409,
        "The run is not over",
        "its report is there once it is; ?wait= on the run waits for that",
    )
}

fn failed(run: &RunId, error: &RenderError) -> Problem {
    tracing::error!(%run, %error, "a report cannot be made");
    Problem::new(500, "The report cannot be made", error.to_string())
}
