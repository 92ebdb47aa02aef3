//! The pages: fills the web crate's views, and takes what their forms send.

use axum::Router;
use axum::extract::State;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use volley_web::{ASSET_CACHE_CONTROL, AgentsPage, Asset, MessagePage, RenderError, assets};

use crate::api::{AgentPath, AppState, Problem};
use crate::view;

mod form;
mod home;
mod library;
mod run;

/// The routes of pages and of what they load.
pub(crate) fn router() -> Router<AppState> {
    let pages = Router::new()
        .route("/", get(home::show))
        .route("/runs", post(home::create))
        .route("/runs/{id}", get(run::show))
        .route("/runs/{id}/stop", post(run::stop))
        .route("/runs/{id}/adjust", post(run::adjust))
        .route("/runs/{id}/note", post(run::note))
        .route("/runs/{id}/again", post(run::again))
        .route("/runs/{id}/delete", post(run::delete))
        .route("/plans", get(library::list).post(library::create))
        .route("/plans/{name}", get(library::show).post(library::save))
        .route("/plans/{name}/run", post(library::run))
        .route("/plans/{name}/delete", post(library::delete))
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

fn query_of<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|rejection| Problem::bad_query(&rejection.body_text()))
}

/// How to reach this coordinator from a shell, as whoever asks has reached it: what comes behind `curl`, and its address.
fn by_curl(state: &AppState, headers: &HeaderMap) -> (&'static str, String) {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7070");
    let token = match state.shared().settings.token {
        Some(_) => "-H \"authorization: Bearer $VOLLEY_TOKEN\" ",
        None => "",
    };
    (token, format!("http://{host}"))
}

/// What a form is refused for: all faults of the plan, or the one thing that stands against it.
fn refusal(problem: Problem) -> (StatusCode, Vec<volley_web::Fault>) {
    let Problem { status, detail, errors, .. } = problem;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if errors.is_empty() {
        return (status, vec![volley_web::Fault { detail, ..volley_web::Fault::default() }]);
    }
    (status, errors.iter().map(view::fault).collect())
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
