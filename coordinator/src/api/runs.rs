//! Runs over REST: start, list, show (with a long poll), mark, stop, remove.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum_extra::extract::{Query, QueryRejection as ListRejection};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use volley_plan::link::RunId;
use volley_plan::units::parse_duration;

use super::start::asked;
use super::{AppState, Problem, RunPath, json_body};
use crate::document::{MarksPatch, RunDocument, RunSummary, label};
use crate::store::{Listed, Page, Wanted};

/// Runs of one page of the list, where nothing else is said; and the most.
const PAGE_RUNS: usize = 100;
const MAX_PAGE_RUNS: usize = 10_000;
/// The longest a request waits for a run's end.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What can stand behind the `?` of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Most runs of this page [default: 100].
    #[param(minimum = 1, maximum = 10_000, value_type = Option<usize>)]
    limit: Option<usize>,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<String>,
    /// Only runs in this state: `queued`, `gathering`, `preparing`, `running`, `draining`, `resuming` or `finished`.
    #[param(value_type = Option<RunState>, inline)]
    state: Option<String>,
    /// Only runs of this plan: its own name, or the library's.
    plan: Option<String>,
    /// Only runs with this label, as KEY=VALUE; several mean all of them.
    #[param(value_type = Option<Vec<String>>)]
    label: Vec<String>,
}

/// A run's state.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands in the description of the API only")]
enum RunState {
    Queued,
    Gathering,
    Preparing,
    Running,
    Draining,
    Resuming,
    Finished,
}

/// The states that a run can be in, as [`crate::document::Progress::state`] says them.
const STATES: [&str; 7] = ["queued", "gathering", "preparing", "running", "draining", "resuming", "finished"];

impl ListQuery {
    /// The part of the list that is meant, and the state that its runs are to be in.
    pub(crate) fn page(&self, default_most: usize) -> Result<Page, Problem> {
        let most = self.limit.unwrap_or(default_most);
        if !(1..=MAX_PAGE_RUNS).contains(&most) {
            return Err(Problem::bad_request(format!("limit: expected 1 to {MAX_PAGE_RUNS}")));
        }
        let no_run = || Problem::bad_request("cursor: expected the next_cursor of another page");
        let cursor = self.cursor.as_deref();
        let before = cursor.map(|name| RunId::new(name).ok_or_else(no_run)).transpose()?;
        let labels = self.label.iter().filter(|label| !label.is_empty()).map(|text| label(text));
        let labels = labels.collect::<Result<_, _>>().map_err(Problem::bad_request)?;
        let state = self.state.clone().filter(|state| !state.is_empty());
        if state.as_deref().is_some_and(|state| !STATES.contains(&state)) {
            return Err(Problem::bad_request(format!("state: expected one of {}", STATES.join(", "))));
        }
        let plan = self.plan.clone().filter(|plan| !plan.is_empty());
        Ok(Page { before, most, wanted: Wanted { state, plan, labels } })
    }

    /// The query of the page that follows, without its `?`.
    pub(crate) fn next(&self, most: usize, cursor: &RunId) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &most.to_string()).append_pair("cursor", cursor.as_str());
        for (name, value) in [("state", &self.state), ("plan", &self.plan)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.extend_pairs(self.label.iter().map(|label| ("label", label)));
        query.finish()
    }
}

/// Some runs.
#[derive(Serialize, ToSchema)]
pub(super) struct Runs {
    /// The newest first.
    #[schema(value_type = Vec<RunSummary>)]
    runs: Vec<Arc<RunSummary>>,
    /// Runs in all, whatever the query wants.
    total: usize,
    /// What leads to the next page; `null` on the last one.
    next_cursor: Option<RunId>,
}

/// List runs
///
/// Newest first, by pages; where there is another page, `Link` leads to it (RFC 8288).
#[utoipa::path(
    get, path = "/runs", tag = "runs", params(ListQuery),
    responses((status = 200, body = Runs), (status = 400, response = Problem))
)]
pub(super) async fn list(
    State(state): State<AppState>,
    query: Result<Query<ListQuery>, ListRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|rejection| Problem::bad_query(&rejection.to_string()))?;
    let page = query.page(PAGE_RUNS)?;
    let Listed { runs, next, in_all } = state.shared().summaries(&page).await?;
    let link = next.as_ref().map(|run| {
        let link = format!("</api/v1/runs?{}>; rel=\"next\"", query.next(page.most, run));
        [(header::LINK, link)]
    });
    Ok((link, Json(Runs { runs, total: in_all, next_cursor: next })).into_response())
}

/// Start a run
///
/// Of the plan in the body, YAML or JSON (which, is told from itself, whatever its content type says), or of one of the
/// library. With an Idempotency-Key, the same request starts one run however often it is sent within a day.
#[utoipa::path(
    post, path = "/runs", tag = "runs",
    params(
        super::start::StartQuery,
        ("Idempotency-Key" = Option<String>, Header, max_length = 200, description = "A name for this request")
    ),
    request_body(content((String = "application/yaml"), (serde_json::Value = "application/json")), description = "A plan; nothing with ?plan="),
    responses(
        (status = 201, body = RunDocument, headers(("Location" = String, description = "The run"))),
        (status = 400, response = Problem), (status = 403, response = Problem), (status = 404, response = Problem),
        (status = 409, response = Problem), (status = 413, response = Problem), (status = 422, response = Problem),
        (status = 429, response = Problem), (status = 503, response = Problem)
    )
)]
pub(super) async fn create(
    State(state): State<AppState>,
    query: Result<Query<super::start::StartQuery>, ListRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|rejection| Problem::bad_query(&rejection.to_string()))?;
    let run = asked(&state, query, &headers, body).await?;
    let location = format!("/api/v1/runs/{run}");
    let document = existing(&state, &run).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(document)).into_response())
}

/// What can stand behind the `?` of a run.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ShowQuery {
    /// Answer once the run is over, or this time has passed: a duration such as `60s`, of which no more than 60 s are waited.
    wait: Option<String>,
}

/// Show a run
///
/// Its document: all that is known of it but its seconds.
#[utoipa::path(
    get, path = "/runs/{id}", tag = "runs", params(("id" = String, Path, description = "The run"), ShowQuery),
    responses((status = 200, body = RunDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn show(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    query: Result<axum::extract::Query<ShowQuery>, QueryRejection>,
) -> Result<Json<RunDocument>, Problem> {
    let axum::extract::Query(ShowQuery { wait }) =
        query.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
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

/// What can stand behind the `?` of a stop.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StopQuery {
    /// Requests in flight are cut off at once.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    force: bool,
}

/// Stop a run
///
/// No new iterations; requests in flight have the plan's drain time. With `force` they are cut off at once.
#[utoipa::path(
    post, path = "/runs/{id}/stop", tag = "runs", params(("id" = String, Path, description = "The run"), StopQuery),
    responses((status = 202, body = RunDocument), (status = 400, response = Problem), (status = 404, response = Problem), (status = 409, response = Problem))
)]
pub(super) async fn stop(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    query: Result<axum::extract::Query<StopQuery>, QueryRejection>,
) -> Result<(StatusCode, Json<RunDocument>), Problem> {
    let axum::extract::Query(StopQuery { force }) =
        query.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    state.coordinator.stop(&run, force).await?;
    Ok((StatusCode::ACCEPTED, Json(existing(&state, &run).await?)))
}

/// Say something of a run
///
/// Its note and labels, by JSON merge patch (RFC 7396). They may change at any time, its end included.
#[utoipa::path(
    patch, path = "/runs/{id}", tag = "runs", params(("id" = String, Path, description = "The run")),
    request_body(content = MarksPatch),
    responses((status = 200, body = RunDocument), (status = 400, response = Problem), (status = 404, response = Problem), (status = 422, response = Problem))
)]
pub(super) async fn mark(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<RunDocument>, Problem> {
    let patch: MarksPatch = json_body(body, r#"{"note": "…", "labels": {"key": "value", "gone": null}}"#)?;
    state.shared().mark(&run, patch).await?;
    existing(&state, &run).await.map(Json)
}

/// Remove a run
///
/// For good, with all its results. One that goes on is to be stopped first.
#[utoipa::path(
    delete, path = "/runs/{id}", tag = "runs", params(("id" = String, Path, description = "The run")),
    responses((status = 204), (status = 404, response = Problem), (status = 409, response = Problem))
)]
pub(super) async fn remove(
    State(state): State<AppState>,
    RunPath(run): RunPath,
) -> Result<StatusCode, Problem> {
    state.shared().remove(&run).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn existing(state: &AppState, run: &RunId) -> Result<RunDocument, Problem> {
    state.shared().document(run).await?.ok_or_else(|| Problem::no_run(run))
}
