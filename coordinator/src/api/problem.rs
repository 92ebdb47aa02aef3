//! Errors as problem details (RFC 9457).

use axum::Json;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::{ToResponse, ToSchema};
use volley_lifecycle::CannotAdjust;
use volley_plan::link::{Incarnation, RunId};
use volley_plan::{Fault, Faults};

use crate::coordinator::{AdjustRefused, ChangeError, StartError, StopError, forbids};
use crate::store::StoreError;
use crate::store::library::LibraryError;

/// An answer that says what is wrong, as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema, ToResponse)]
#[response(description = "What is wrong (RFC 9457)", content_type = "application/problem+json")]
pub(crate) struct Problem {
    /// There are no pages about kinds of problem, so title and status say it all (RFC 9457 section 4.2.1).
    #[serde(rename = "type")]
    kind: &'static str,
    /// What kind of problem it is, in words.
    pub(crate) title: &'static str,
    /// The status of the answer.
    pub(crate) status: u16,
    /// What is wrong here.
    pub(crate) detail: String,
    /// All faults of a plan, each with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<PlanFault>, required = false)]
    pub(crate) errors: Vec<Fault>,
    /// When it is worth asking again, in seconds.
    #[serde(skip)]
    retry_after_s: Option<u32>,
}

/// A fault of a plan, as [`Fault`] is written.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands in the description of the API only")]
struct PlanFault {
    /// The field as a JSON pointer (RFC 6901); empty for the plan as a whole.
    pointer: String,
    /// From 1; `null` where it is of a parameter.
    line: Option<u32>,
    /// From 1, in characters.
    column: Option<u32>,
    /// What was found, and what was expected.
    detail: String,
    /// What was most likely meant, or how to write it.
    hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Self {
        let (detail, errors) = (detail.into(), Vec::new());
        Self { kind: "about:blank", title, status, detail, errors, retry_after_s: None }
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(404, "Not found", detail)
    }

    pub(crate) fn no_run(id: &RunId) -> Self {
        Self::not_found(format!("there is no run {id}"))
    }

    pub(crate) fn no_agent(agent: Incarnation) -> Self {
        Self::not_found(format!("there is no agent {agent}"))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(400, "Bad request", detail)
    }

    /// A query that can't be read, by axum's words for it.
    pub(crate) fn bad_query(words: &str) -> Self {
        Self::bad_request(words.trim_start_matches("Failed to deserialize query string: "))
    }

    pub(crate) fn faults(faults: Faults) -> Self {
        let detail = match faults.0.as_slice() {
            [fault] => fault.to_string(),
            many => format!("the plan has {} faults", many.len()),
        };
        Self { errors: faults.0, ..Self::new(422, "The plan cannot be run", detail) }
    }

    fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after_s = self.retry_after_s;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        let detail = error.to_string();
        match error {
            StartError::NoAgents { .. } => Self::new(503, "No agent", detail),
            StartError::Denied(denied) => Self::new(403, "The target is not allowed", forbids(&denied)),
            StartError::TooManyRuns => Self::new(429, "Too many runs", detail).retry_after(10),
            StartError::ShuttingDown => Self::new(503, "Shutting down", detail),
            StartError::Store(error) => Self::from(error),
        }
    }
}

impl From<StopError> for Problem {
    fn from(error: StopError) -> Self {
        match error {
            StopError::NotFound(run) => Self::no_run(&run),
            StopError::Over(_) => Self::new(409, "The run is over", error.to_string()),
        }
    }
}

impl From<AdjustRefused> for Problem {
    fn from(error: AdjustRefused) -> Self {
        let detail = error.to_string();
        match error {
            AdjustRefused::NotFound(run) => Self::no_run(&run),
            AdjustRefused::Over(_) | AdjustRefused::Not(CannotAdjust::Over) => {
                Self::new(409, "The run is over", detail)
            }
            AdjustRefused::Denied(denied) => Self::new(403, "The target is not allowed", forbids(&denied)),
            AdjustRefused::Queued | AdjustRefused::Not(CannotAdjust::NotRunning(_)) => {
                Self::new(409, "The run is not running", detail)
            }
            AdjustRefused::Not(
                CannotAdjust::TooOften | CannotAdjust::FewUsers { .. } | CannotAdjust::Load(_),
            ) => Self::new(422, "The load cannot be adjusted", detail),
        }
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Marks(detail) => Self::new(422, "The run cannot be marked so", detail),
            ChangeError::Store(error) => error.into(),
        }
    }
}

impl From<LibraryError> for Problem {
    fn from(error: LibraryError) -> Self {
        let detail = error.to_string();
        match error {
            LibraryError::Condition(_) => Self::new(412, "Somebody else was first", detail),
            LibraryError::Full => Self::new(409, "The library is full", detail),
            LibraryError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound(run) => return Self::no_run(run),
            StoreError::GoesOn(_) => {
                return Self::new(409, "The run is not over", format!("{error}; it is to be stopped first"));
            }
            _ => {}
        }
        tracing::error!(%error, "the store failed");
        Self::new(500, "The store failed", error.to_string())
    }
}

/// The run that an address names. What cannot be a name is not found.
pub(crate) struct RunPath(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = Path::<String>::from_request_parts(parts, state).await.ok();
        let run = name.and_then(|Path(name)| RunId::new(&name));
        run.map(Self).ok_or_else(|| Problem::not_found("there is no such run"))
    }
}

/// The agent that an address names: 16 hex digits, as JSON has them.
pub(crate) struct AgentPath(pub(crate) Incarnation);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = Path::<String>::from_request_parts(parts, state).await.ok();
        let is_hex = |name: &String| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = name.map(|Path(name)| name).filter(is_hex);
        let number = name.and_then(|name| u64::from_str_radix(&name, 16).ok());
        number
            .map(|number| Self(Incarnation(number)))
            .ok_or_else(|| Problem::not_found("there is no such agent"))
    }
}
