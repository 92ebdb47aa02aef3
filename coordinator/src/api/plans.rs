//! The library of plans over REST: list, show, save, remove, versions; and checking a plan without keeping it.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use volley_plan::{Faults, Plan, parse, parse_bytes};

use super::start::body_problem;
use super::{AppState, Problem};
use crate::store::library::{Condition, NewPlan, PlanName, Saved, SavedPlan};

/// The plan that an address names.
pub(crate) struct PlanPath(pub(crate) PlanName);

impl<S: Send + Sync> FromRequestParts<S> for PlanPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = name.map_err(|_| Problem::not_found("there is no such plan"))?;
        plan_name(&name).map(Self)
    }
}

/// A plan's name, or what is wrong with it.
pub(crate) fn plan_name(text: &str) -> Result<PlanName, Problem> {
    PlanName::new(text).ok_or_else(|| {
        let detail = "a plan's name is 1 to 100 letters, digits, dots, underscores and hyphens, and begins with a letter \
                      or a digit";
        Problem::bad_request(detail)
    })
}

/// A version of a plan, or the latest one.
pub(crate) async fn saved(
    state: &AppState,
    name: &PlanName,
    version: Option<u32>,
) -> Result<SavedPlan, Problem> {
    let found = state.shared().store.library().plan(name, version).await?;
    found.ok_or_else(|| match version {
        None => Problem::not_found(format!("there is no plan {name}")),
        Some(version) => Problem::not_found(format!("there is no version {version} of a plan {name}")),
    })
}

/// A plan of the library, without its text.
#[derive(Serialize, ToSchema)]
pub(super) struct PlanEntry {
    /// Its name.
    name: String,
    /// Its latest version, from 1.
    version: u32,
    /// When that was saved.
    #[schema(format = DateTime)]
    saved_at: String,
    /// The load in words; `null` where this version of the coordinator cannot read the plan.
    load: Option<String>,
    /// Where the load goes; likewise.
    target: Option<String>,
}

impl PlanEntry {
    fn of(saved: SavedPlan) -> Self {
        let plan = parse(&saved.text).ok();
        Self {
            name: saved.name.to_string(),
            version: saved.version,
            saved_at: saved.saved_at,
            load: plan.as_ref().map(Plan::load_in_words),
            target: plan.as_ref().map(Plan::url),
        }
    }
}

/// The plans of the library.
#[derive(Serialize, ToSchema)]
pub(super) struct Plans {
    /// By name.
    plans: Vec<PlanEntry>,
}

/// List plans
#[utoipa::path(get, path = "/plans", tag = "plans", responses((status = 200, body = Plans)))]
pub(super) async fn list(State(state): State<AppState>) -> Result<Json<Plans>, Problem> {
    let plans = state.shared().store.library().plans().await?;
    Ok(Json(Plans { plans: plans.into_iter().map(PlanEntry::of).collect() }))
}

/// What can stand behind the `?` of a plan.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct VersionQuery {
    /// A version [default: the latest].
    #[param(minimum = 1)]
    version: Option<u32>,
}

/// Show a plan
///
/// Its text as it was saved, YAML or JSON.
#[utoipa::path(
    get, path = "/plans/{name}", tag = "plans", params(("name" = String, Path, description = "The plan"), VersionQuery),
    responses(
        (status = 200, content((String = "application/yaml"), (serde_json::Value = "application/json")), headers(("ETag" = String, description = "What If-Match takes"))),
        (status = 304, description = "It is what If-None-Match names"),
        (status = 400, response = Problem), (status = 404, response = Problem)
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    PlanPath(name): PlanPath,
    query: Result<Query<VersionQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Query(VersionQuery { version }) =
        query.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    let plan = saved(&state, &name, version).await?;
    let etag = [(header::ETAG, plan.etag())];
    // Compared weakly (RFC 9110 section 13.1.2): what a proxy has compressed is the same plan.
    let is_same = |tag: &String| tag == "*" || tag.trim_start_matches("W/") == plan.etag();
    if tags(&headers, &header::IF_NONE_MATCH).is_some_and(|tags| tags.iter().any(is_same)) {
        return Ok((StatusCode::NOT_MODIFIED, etag).into_response());
    }
    let kind = if is_json(&plan.text) { "application/json" } else { "application/yaml" };
    Ok((etag, [(header::CONTENT_TYPE, kind)], plan.text).into_response())
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Save a plan
///
/// Another text under a name that is there is another version; the same text changes nothing. `If-Match` with the tag of the
/// latest version makes sure that nobody else was faster, `If-None-Match: *` that the name is new.
#[utoipa::path(
    put, path = "/plans/{name}", tag = "plans",
    params(
        ("name" = String, Path, description = "The plan"),
        ("If-Match" = Option<String>, Header, description = "Only if the latest version has this tag"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if there is no plan of this name")
    ),
    request_body(content((String = "application/yaml"), (serde_json::Value = "application/json")), description = "A plan, YAML or JSON"),
    responses(
        (status = 200, body = PlanEntry, headers(("ETag" = String, description = "What If-Match takes"))),
        (status = 201, body = PlanEntry, headers(("ETag" = String, description = "What If-Match takes"), ("Location" = String, description = "The plan"))),
        (status = 400, response = Problem), (status = 409, response = Problem), (status = 412, response = Problem),
        (status = 413, response = Problem), (status = 422, response = Problem)
    )
)]
pub(super) async fn put(
    State(state): State<AppState>,
    PlanPath(name): PlanPath,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let body = body.map_err(|rejection| body_problem(&rejection))?;
    let condition = condition(&headers)?;
    let saved = save(&state, name, &body, condition).await?;
    let location = format!("/api/v1/plans/{}", saved.plan().name);
    let etag = [(header::ETAG, saved.plan().etag())];
    let (is_new, plan) = match saved {
        Saved::Created(plan) => (true, plan),
        Saved::Replaced(plan) | Saved::Unchanged(plan) => (false, plan),
    };
    let entry = Json(PlanEntry::of(plan));
    Ok(if is_new {
        (StatusCode::CREATED, etag, [(header::LOCATION, location)], entry).into_response()
    } else {
        (etag, entry).into_response()
    })
}

/// Saves a plan that can be run.
pub(crate) async fn save(
    state: &AppState,
    name: PlanName,
    text: &[u8],
    condition: Condition,
) -> Result<Saved, Problem> {
    parse_bytes(text).map_err(Problem::faults)?;
    let text = String::from_utf8_lossy(text).into_owned();
    let new = NewPlan { name, text, saved_at: format!("{:.3}", Timestamp::now()), condition };
    Ok(state.shared().store.library().save(new).await?)
}

/// On what the headers let a plan be changed.
fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    let is_any = |tags: &[String]| tags == ["*"];
    match (tags(headers, &header::IF_MATCH), tags(headers, &header::IF_NONE_MATCH)) {
        (None, None) => Ok(Condition::Always),
        (Some(tags), None) if is_any(&tags) => Ok(Condition::Present),
        (Some(tags), None) => Ok(Condition::Tagged(tags)),
        (None, Some(tags)) if is_any(&tags) => Ok(Condition::Absent),
        (None, Some(_)) => Err(Problem::bad_request("If-None-Match: expected *")),
        (Some(_), Some(_)) => Err(Problem::bad_request("If-Match and If-None-Match: expected one of them")),
    }
}

/// The entity tags of a header; `None` where it isn't there.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let tags = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    Some(tags.map(|tag| tag.trim().to_owned()).collect())
}

/// Remove a plan
///
/// With all its versions. Runs of it stay.
#[utoipa::path(
    delete, path = "/plans/{name}", tag = "plans",
    params(
        ("name" = String, Path, description = "The plan"),
        ("If-Match" = Option<String>, Header, description = "Only if the latest version has this tag")
    ),
    responses((status = 204), (status = 400, response = Problem), (status = 404, response = Problem), (status = 412, response = Problem))
)]
pub(super) async fn remove(
    State(state): State<AppState>,
    PlanPath(name): PlanPath,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let condition = condition(&headers)?;
    let removed = state.shared().store.library().remove(&name, condition).await?;
    if removed {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found(format!("there is no plan {name}")))
    }
}

/// A version of a plan.
#[derive(Serialize, ToSchema)]
pub(super) struct PlanVersion {
    /// Its number, from 1.
    version: u32,
    /// When it was saved.
    #[schema(format = DateTime)]
    saved_at: String,
    /// Its entity tag.
    etag: String,
}

/// The versions of a plan.
#[derive(Serialize, ToSchema)]
pub(super) struct Versions {
    /// The latest first; the latest hundred are kept.
    versions: Vec<PlanVersion>,
}

/// List versions
#[utoipa::path(
    get, path = "/plans/{name}/versions", tag = "plans", params(("name" = String, Path, description = "The plan")),
    responses((status = 200, body = Versions), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn versions(
    State(state): State<AppState>,
    PlanPath(name): PlanPath,
) -> Result<Json<Versions>, Problem> {
    let plans = state.shared().store.library().versions(&name).await?;
    if plans.is_empty() {
        return Err(Problem::not_found(format!("there is no plan {name}")));
    }
    let version =
        |plan: SavedPlan| PlanVersion { etag: plan.etag(), version: plan.version, saved_at: plan.saved_at };
    Ok(Json(Versions { versions: plans.into_iter().map(version).collect() }))
}

/// What a plan would do.
#[derive(Serialize, ToSchema)]
pub(super) struct Estimate {
    /// Its name.
    name: String,
    /// Where the load goes.
    target: String,
    /// The load in words.
    load: String,
    /// How long it takes with its warm-up, without the drain, in seconds; `null` where a number ends it.
    duration_s: Option<f64>,
    /// How many iterations it begins, warm-up included, where that is known beforehand; of Poisson arrivals, those that are
    /// to be expected.
    iterations: Option<u64>,
    /// SHA-256 of its canonical form, 64 hex digits.
    plan_hash: String,
}

/// Check a plan
///
/// Says what it would do, or all that is wrong with it; nothing is kept and nothing is sent.
#[utoipa::path(
    post, path = "/plans:validate", tag = "plans",
    request_body(content((String = "application/yaml"), (serde_json::Value = "application/json")), description = "A plan, YAML or JSON"),
    responses((status = 200, body = Estimate), (status = 400, response = Problem), (status = 413, response = Problem), (status = 422, response = Problem))
)]
pub(super) async fn validate(body: Result<Bytes, BytesRejection>) -> Result<Json<Estimate>, Problem> {
    let body = body.map_err(|rejection| body_problem(&rejection))?;
    let plan = parse_bytes(&body).map_err(|faults: Faults| Problem::faults(faults))?;
    Ok(Json(Estimate {
        name: plan.name.clone(),
        target: plan.url(),
        load: plan.load_in_words(),
        duration_s: plan.load.total_ns().map(crate::document::ns_to_s),
        iterations: plan.load.iterations(),
        plan_hash: plan.hash().to_string(),
    }))
}
