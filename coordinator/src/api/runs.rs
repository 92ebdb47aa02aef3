//! Runs over REST: start, list, show (with a long poll), stop.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use volley_plan::link::RunId;
use volley_plan::units::parse_duration;
use volley_plan::{MAX_PLAN_BYTES, parse_bytes};

use super::{AppState, Problem, RunPath};
use crate::coordinator::NewRun;
use crate::document::{RunDocument, RunSummary};
use crate::store::{Listed, Page};

/// Runs of one page of the list, where nothing else is said; and the most.
const PAGE_RUNS: usize = 100;
const MAX_PAGE_RUNS: usize = 10_000;
/// The longest a request waits for a run's end.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Most characters of a note.
const MAX_NOTE_CHARS: usize = 1_000;

/// What can stand behind the `?` of a start.
#[derive(Deserialize)]
pub(super) struct CreateQuery {
    note: Option<String>,
}

/// `POST /runs`: the body is a plan, YAML or JSON; which, is told from itself, whatever its content type says.
pub(super) async fn create(
    State(state): State<AppState>,
    query: Result<Query<CreateQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let Query(CreateQuery { note }) =
        query.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    if note.as_ref().is_some_and(|note| note.chars().count() > MAX_NOTE_CHARS) {
        return Err(Problem::bad_request(format!("note: at most {MAX_NOTE_CHARS} characters")));
    }
    let body = body.map_err(|rejection| body_problem(&rejection))?;
    let plan = parse_bytes(&body).map_err(Problem::faults)?;
    let new = NewRun { plan, note, wait_for_agents: Duration::ZERO };
    let run = state.coordinator.start_run(new).await?;
    let location = format!("/api/v1/runs/{run}");
    let document = existing(&state, &run).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(document)).into_response())
}

fn body_problem(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::new(413, "Too large", format!("a plan has at most {MAX_PLAN_BYTES} bytes"));
    }
    Problem::bad_request(rejection.body_text())
}

/// What can stand behind the `?` of a list.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    /// Most runs of this page.
    limit: Option<usize>,
    /// The name of the last run of the page before.
    cursor: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Runs {
    runs: Vec<Arc<RunSummary>>,
    /// Runs in all.
    total: usize,
    /// What leads to the next page; `null` on the last one.
    next_cursor: Option<RunId>,
}

/// `GET /runs`: newest first, by pages; where there is another page, `Link` leads to it (RFC 8288).
pub(super) async fn list(
    State(state): State<AppState>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(ListQuery { limit, cursor }) =
        query.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    let most = limit.unwrap_or(PAGE_RUNS);
    if !(1..=MAX_PAGE_RUNS).contains(&most) {
        return Err(Problem::bad_request(format!("limit: expected 1 to {MAX_PAGE_RUNS}")));
    }
    let no_run = || Problem::bad_request("cursor: expected the next_cursor of another page");
    let before = cursor.map(|name| RunId::new(&name).ok_or_else(no_run)).transpose()?;
    let Listed { runs, next, in_all } = state.shared().summaries(&Page { before, most }).await?;
    let link = next.as_ref().map(|run| format!("</api/v1/runs?limit={most}&cursor={run}>; rel=\"next\""));
    let link = link.map(|link| [(header::LINK, link)]);
    Ok((link, Json(Runs { runs, total: in_all, next_cursor: next })).into_response())
}

/// What can stand behind the `?` of a run.
#[derive(Deserialize)]
pub(super) struct ShowQuery {
    wait: Option<String>,
}

/// `GET /runs/{id}`: its document; with `?wait=`, once it is over or that time has passed.
pub(super) async fn show(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    query: Result<Query<ShowQuery>, QueryRejection>,
) -> Result<Json<RunDocument>, Problem> {
    let Query(ShowQuery { wait }) = query.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    if let Some(wait) = wait {
        let up_to = parse_duration(&wait).map_err(|error| {
            let hint = error.hint(&wait).map(|hint| format!(" ({hint})")).unwrap_or_default();
            Problem::bad_request(format!("wait: found {error}, expected a duration like 60s{hint}"))
        })?;
        let mut closing = state.closing.clone();
        tokio::select! {
            _ = state.coordinator.wait(&run, up_to.min(MAX_WAIT)) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }
    existing(&state, &run).await.map(Json)
}

/// `POST /runs/{id}/stop`: asks for its end.
pub(super) async fn stop(
    State(state): State<AppState>,
    RunPath(run): RunPath,
) -> Result<(StatusCode, Json<RunDocument>), Problem> {
    state.coordinator.stop(&run).await?;
    Ok((StatusCode::ACCEPTED, Json(existing(&state, &run).await?)))
}

async fn existing(state: &AppState, run: &RunId) -> Result<RunDocument, Problem> {
    state.shared().document(run).await?.ok_or_else(|| Problem::no_run(run))
}
