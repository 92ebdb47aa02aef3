//! What is asked for by a request that starts a run: which plan, what is said of it, and whether it was asked for before.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use utoipa::IntoParams;
use volley_plan::link::RunId;
use volley_plan::{MAX_PLAN_BYTES, Overrides, Plan};

use super::plans::{plan_name, saved};
use super::{AppState, Problem};
use crate::coordinator::NewRun;
use crate::document::{LibraryPlan, Marks, label};
use crate::store::{Remembered, RequestKey};

/// Most characters of an Idempotency-Key.
const MAX_KEY_CHARS: usize = 200;

/// What can stand behind the `?` of a start.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StartQuery {
    /// A plan of the library, in place of one in the body.
    #[param(value_type = Option<String>)]
    plan: Option<String>,
    /// A version of it [default: the latest].
    #[param(value_type = Option<u32>, minimum = 1)]
    version: Option<u32>,
    /// A note for people.
    #[param(value_type = Option<String>, max_length = 1000)]
    note: Option<String>,
    /// A label as KEY=VALUE; there may be several.
    #[param(value_type = Option<Vec<String>>)]
    label: Vec<String>,
    /// Another rate than the plan says, such as 500/s, where its load has one stage.
    #[param(value_type = Option<String>)]
    rate: Option<String>,
    /// Another number of users, likewise.
    #[param(value_type = Option<String>)]
    users: Option<String>,
    /// Another duration, such as 30s, likewise.
    #[param(value_type = Option<String>)]
    duration: Option<String>,
    /// Another number of iterations.
    #[param(value_type = Option<String>)]
    iterations: Option<String>,
}

impl StartQuery {
    fn marks(&self) -> Result<Marks, Problem> {
        let labels = self.label.iter().map(|text| label(text));
        let labels = labels.collect::<Result<_, _>>().map_err(Problem::bad_request)?;
        Marks { note: self.note.clone(), labels }.checked().map_err(Problem::bad_request)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            rate: self.rate.clone(),
            users: self.users.clone(),
            duration: self.duration.clone(),
            iterations: self.iterations.clone(),
        }
    }

    /// The plan that is asked for, and which of the library it is.
    async fn plan(&self, state: &AppState, body: &[u8]) -> Result<(Plan, Option<LibraryPlan>), Problem> {
        let Some(name) = &self.plan else {
            if self.version.is_some() {
                return Err(Problem::bad_request("version: expected plan beside it"));
            }
            // Bytes that are no text are a fault of the plan like any other.
            let text = std::str::from_utf8(body);
            let plan = match text {
                Ok(text) => self.overrides().parse(text),
                Err(_) => volley_plan::parse_bytes(body),
            };
            return Ok((plan.map_err(Problem::faults)?, None));
        };
        if !body.is_empty() {
            return Err(Problem::bad_request("plan: expected no body beside it"));
        }
        let plan = saved(state, &plan_name(name)?, self.version).await?;
        let of_library = LibraryPlan { name: plan.name.to_string(), version: plan.version };
        let plan = self.overrides().parse(&plan.text).map_err(Problem::faults)?;
        Ok((plan, Some(of_library)))
    }
}

/// Starts the run that is asked for, or finds the one that the same request has started before.
pub(super) async fn asked(
    state: &AppState,
    query: StartQuery,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<RunId, Problem> {
    let body = body.map_err(|rejection| body_problem(&rejection))?;
    let request = request_key(headers, &query, &body)?;
    let Some(request) = request else { return start(state, &query, &body, None).await };
    // One at a time: the second of two at once is to find what the first has started.
    let _turn = state.shared().asking.lock().await;
    if let Some(run) = started_before(state, &request).await? {
        return Ok(run);
    }
    start(state, &query, &body, Some(request)).await
}

async fn start(
    state: &AppState,
    query: &StartQuery,
    body: &[u8],
    request: Option<RequestKey>,
) -> Result<RunId, Problem> {
    let marks = query.marks()?;
    let (plan, library) = query.plan(state, body).await?;
    let new = NewRun { library, marks, request, ..NewRun::of(plan) };
    Ok(state.coordinator.start_run(new).await?)
}

async fn started_before(state: &AppState, request: &RequestKey) -> Result<Option<RunId>, Problem> {
    let shared = state.shared();
    let Some(Remembered { asks, run }) = shared.store.remembered(&request.key).await? else {
        return Ok(None);
    };
    if asks != request.asks {
        let detail = "Idempotency-Key: it was used before, with another plan or other parameters";
        return Err(Problem::new(422, "The key was used for something else", detail));
    }
    // A process that ended before the run was there has left nothing but the key.
    Ok(shared.document(&run).await?.map(|_| run))
}

/// The request's key, where it has one, with a hash of all that it asks for.
fn request_key(headers: &HeaderMap, query: &StartQuery, body: &[u8]) -> Result<Option<RequestKey>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let key = key.to_str().ok().map(|key| key.trim().trim_matches('"')).filter(|key| !key.is_empty());
    let key = key.filter(|key| key.chars().count() <= MAX_KEY_CHARS).ok_or_else(|| {
        Problem::bad_request(format!("Idempotency-Key: expected 1 to {MAX_KEY_CHARS} visible characters"))
    })?;
    let mut hash = Sha256::new();
    hash.update(format!("{query:?}\n"));
    hash.update(body);
    let asks = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(RequestKey { key: key.to_owned(), asks }))
}

pub(super) fn body_problem(rejection: &BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::new(413, "Too large", format!("a plan has at most {MAX_PLAN_BYTES} bytes"));
    }
    Problem::bad_request(rejection.body_text())
}
