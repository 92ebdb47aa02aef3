//! The pages: fills the web crate's views, and takes what their forms send.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use volley_plan::AgentsWanted;
use volley_plan::link::RunId;
use volley_web::{
    ASSET_CACHE_CONTROL, AgentsPage, Asset, HomePage, MessagePage, RenderError, RunPage, assets,
};

use crate::api::{AgentPath, AppState, Asked, Problem, RunPath};
use crate::coordinator::{NewRun, StartError};
use crate::feed::Feed;
use crate::store::{self, Listed};
use crate::view;

mod form;

use form::RunForm;

/// Runs of one page of the list.
const PAGE_RUNS: usize = 100;

/// The routes of pages and of what they load.
pub(crate) fn router() -> Router<AppState> {
    let pages = Router::new()
        .route("/", get(home))
        .route("/runs", post(create))
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/stop", post(stop))
        .route("/runs/{id}/adjust", post(adjust))
        .route("/agents", get(agents))
        .route("/agents/{incarnation}/drain", post(drain));
    assets().iter().fold(pages, |router, asset| {
        router.route(asset.path, get(move |headers: HeaderMap| async move { serve_asset(asset, &headers) }))
    })
}

/// Why there is no page: shown as a page itself.
pub(crate) struct PageError(Problem);

impl<P: Into<Problem>> From<P> for PageError {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl From<RenderError> for Problem {
    fn from(error: RenderError) -> Self {
        tracing::error!(%error, "a page could not be rendered");
        Self::new(500, "The page failed", error.to_string())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Problem { status, title, detail, .. } = self.0.clone();
        let page = MessagePage { status, title: title.to_owned(), detail, command: String::new() };
        match page.render() {
            Ok(html) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                (status, Html(html)).into_response()
            }
            Err(_) => self.0.into_response(),
        }
    }
}

type Page = Result<Html<String>, PageError>;

/// What can stand behind the `?` of the list of runs.
#[derive(Deserialize)]
struct HomeQuery {
    /// The run that the page before ended with.
    before: Option<String>,
}

async fn home(
    State(state): State<AppState>,
    query: Result<Query<HomeQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Page {
    let Query(HomeQuery { before }) =
        query.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    let before = before.as_deref().and_then(RunId::new);
    Ok(Html(home_page(&state, &headers, before).await?.render()?))
}

async fn home_page(
    state: &AppState,
    headers: &HeaderMap,
    before: Option<RunId>,
) -> Result<HomePage, PageError> {
    let shared = state.shared();
    let Listed { runs, next, in_all } =
        shared.summaries(&store::Page { before, ..store::Page::newest(PAGE_RUNS) }).await?;
    let strength = shared.strength(&AgentsWanted::default());
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7070");
    let token = match shared.settings.token {
        Some(_) => "-H \"authorization: Bearer $VOLLEY_TOKEN\" ",
        None => "",
    };
    Ok(HomePage {
        runs: runs.into_iter().map(|run| view::run_row(Arc::unwrap_or_clone(run))).collect(),
        runs_in_all: in_all as u64,
        older: next.map(|run| run.to_string()).unwrap_or_default(),
        agents_ready: strength.idle as u64,
        agents_busy: strength.busy as u64,
        add_agent_command: shared.add_agent_command(),
        first_run_command: format!("curl {token}--data-binary @plan.yaml http://{host}/api/v1/runs"),
        ..HomePage::default()
    })
}

async fn create(
    State(state): State<AppState>,
    headers: HeaderMap,
    form: Result<Form<RunForm>, FormRejection>,
) -> Result<Response, PageError> {
    let form = form_of(form)?;
    let (status, faults) = match form.plan() {
        Ok(plan) => {
            let new = NewRun::of(plan);
            match state.coordinator.start_run(new).await {
                Ok(id) => return Ok(Redirect::to(&format!("/runs/{id}")).into_response()),
                Err(error) => refusal(error),
            }
        }
        Err(faults) => (StatusCode::UNPROCESSABLE_ENTITY, faults),
    };
    let page = HomePage { form: form.as_typed(), faults, ..home_page(&state, &headers, None).await? };
    Ok((status, Html(page.render()?)).into_response())
}

fn refusal(error: StartError) -> (StatusCode, Vec<volley_web::Fault>) {
    let Problem { status, detail, .. } = error.into();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, vec![volley_web::Fault { detail, ..volley_web::Fault::default() }])
}

/// What can stand behind the `?` of a run.
#[derive(Deserialize)]
struct RunQuery {
    /// Anything: without script, the page is not to load itself again.
    still: Option<String>,
}

async fn run(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
    query: Result<Query<RunQuery>, QueryRejection>,
) -> Page {
    let RunPath(run) = run?;
    let Query(RunQuery { still }) = query.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    let document = state.shared().document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let feed = state.shared().feed(&run).await?;
    let ticks = feed.map(|feed| feed.read(Feed::ticks)).unwrap_or_default();
    let ticks = ticks.iter().map(|tick| (**tick).clone()).collect();
    let page = RunPage { still: still.is_some(), ..view::run_page(document, ticks) };
    Ok(Html(page.render()?))
}

async fn stop(State(state): State<AppState>, run: Result<RunPath, Problem>) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    match state.coordinator.stop(&run, false).await {
        // Whoever wanted a run to be over that is over already sees that it is.
        Ok(()) | Err(crate::StopError::Over(_)) => Ok(Redirect::to(&format!("/runs/{run}"))),
        Err(error) => Err(error.into()),
    }
}

/// What the form sends: the field of the run's model.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AdjustForm {
    rate: String,
    users: String,
}

async fn adjust(
    State(state): State<AppState>,
    run: Result<RunPath, Problem>,
    form: Result<Form<AdjustForm>, FormRejection>,
) -> Result<Redirect, PageError> {
    let RunPath(run) = run?;
    let AdjustForm { rate, users } = form_of(form)?;
    let to = Asked::of_form(&rate, &users)?.level()?;
    state.coordinator.adjust_run(&run, to).await?;
    Ok(Redirect::to(&format!("/runs/{run}")))
}

/// What the button sends.
#[derive(Deserialize)]
struct DrainForm {
    drain: bool,
}

async fn drain(
    State(state): State<AppState>,
    agent: Result<AgentPath, Problem>,
    form: Result<Form<DrainForm>, FormRejection>,
) -> Result<Redirect, PageError> {
    let AgentPath(agent) = agent?;
    let DrainForm { drain } = form_of(form)?;
    state.shared().drain(agent, drain).await.ok_or_else(|| Problem::no_agent(agent))?;
    Ok(Redirect::to("/agents"))
}

fn form_of<T>(form: Result<Form<T>, FormRejection>) -> Result<T, Problem> {
    form.map(|Form(form)| form).map_err(|rejection| {
        Problem::new(rejection.status().as_u16(), "The form cannot be read", rejection.body_text())
    })
}

async fn agents(State(state): State<AppState>) -> Page {
    let shared = state.shared();
    let agents = shared.agents();
    let at_work = shared.at_work(&agents);
    let agents = agents.into_iter().zip(at_work).map(|(agent, at_work)| {
        let name = agent.run.as_ref().and_then(|run| shared.plan_name(run));
        view::agent_row(agent, at_work, name)
    });
    let page = AgentsPage { agents: agents.collect(), add_agent_command: shared.add_agent_command() };
    Ok(Html(page.render()?))
}

fn serve_asset(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|tag| matches!(tag.trim(), "*") || tag.trim() == asset.etag);
    let caching = [(header::ETAG, asset.etag), (header::CACHE_CONTROL, ASSET_CACHE_CONTROL)]
        .map(|(name, value)| (name, HeaderValue::from_static(value)));
    if is_known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, asset.content_type)], asset.bytes).into_response()
}
