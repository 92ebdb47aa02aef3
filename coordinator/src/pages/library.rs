//! The pages of the library: all plans, one of them, and what their forms ask for.

use std::sync::Arc;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use volley_web::{Compared, Fault, NewPlan, PlanPage, PlanVersion, PlansPage};

use super::{Page, PageError, by_curl, form_of, query_of, refusal};
use crate::api::{AppState, PlanPath, Problem, plan_name, save_plan, saved_plan};
use crate::coordinator::NewRun;
use crate::document::{LibraryPlan, RunSummary};
use crate::store::library::{Condition, PlanName, SavedPlan};
use crate::store::{self, Wanted};
use crate::view;

/// The latest runs that are looked through for those of the listed plans.
const RUNS_LOOKED_AT: usize = 1_000;
/// Runs that are listed of each.
const RUNS_OF_EACH: usize = 5;
/// Runs that a plan's own page lists.
const RUNS_OF_ONE: usize = 20;

pub(super) async fn list(State(state): State<AppState>, headers: HeaderMap) -> Page {
    Ok(Html(plans_page(&state, &headers).await?.render()?))
}

async fn plans_page(state: &AppState, headers: &HeaderMap) -> Result<PlansPage, PageError> {
    let shared = state.shared();
    let plans = shared.store.library().plans().await?;
    let runs = shared.summaries(&store::Page::newest(RUNS_LOOKED_AT)).await?.runs;
    let row = |plan: SavedPlan| {
        let wanted = Wanted { plan: Some(plan.name.to_string()), ..Wanted::default() };
        let runs = runs.iter().filter(|run| wanted.is(run)).take(RUNS_OF_EACH);
        view::plan_row(plan, runs.map(Arc::as_ref))
    };
    let (token, address) = by_curl(state, headers);
    let save_command = format!("curl {token}-T plan.yaml {address}/api/v1/plans/checkout");
    Ok(PlansPage { plans: plans.into_iter().map(row).collect(), save_command, ..PlansPage::default() })
}

/// What the form for a new plan sends.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewPlanForm {
    name: String,
    text: String,
}

pub(super) async fn create(
    State(state): State<AppState>,
    headers: HeaderMap,
    form: Result<Form<NewPlanForm>, FormRejection>,
) -> Result<Response, PageError> {
    let NewPlanForm { name, text } = form_of(form)?;
    let text = with_plain_ends(&text);
    let saved = match plan_name(name.trim()) {
        Ok(name) => save_plan(&state, name, text.as_bytes(), Condition::Absent).await,
        Err(problem) => Err(problem),
    };
    let (status, faults) = match saved {
        Ok(saved) => return Ok(Redirect::to(&format!("/plans/{}", saved.plan().name)).into_response()),
        Err(problem) if problem.status == 412 => {
            let detail =
                format!("there is a plan {} already; save a new version of it on its page", name.trim());
            (StatusCode::CONFLICT, vec![Fault { place: "name".to_owned(), detail, ..Fault::default() }])
        }
        Err(problem) => refusal(problem),
    };
    let page = PlansPage { form: NewPlan { name, text }, faults, ..plans_page(&state, &headers).await? };
    Ok((status, Html(page.render()?)).into_response())
}

/// Browsers send line ends as CR LF, whatever the text had.
fn with_plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// What can stand behind the `?` of a plan.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanQuery {
    /// A version; the latest where it isn't said.
    version: Option<u32>,
    /// Another version, to be compared with it.
    against: Option<u32>,
}

pub(super) async fn show(
    State(state): State<AppState>,
    plan: Result<PlanPath, Problem>,
    query: Result<Query<PlanQuery>, QueryRejection>,
) -> Page {
    let PlanPath(name) = plan?;
    let PlanQuery { version, against } = query_of(query)?;
    let page = plan_page(&state, &name, version).await?;
    let compared = match against {
        Some(against) => Some(compared(saved_plan(&state, &name, Some(against)).await?, &page)),
        None => None,
    };
    Ok(Html(PlanPage { compared, ..page }.render()?))
}

fn compared(before: SavedPlan, page: &PlanPage) -> Compared {
    let called = |version: u32| format!("version {version}");
    let (from, to) = (called(before.version), called(page.version));
    Compared { from, from_text: before.text, to, to_text: page.text.clone() }
}

async fn plan_page(state: &AppState, name: &PlanName, version: Option<u32>) -> Result<PlanPage, PageError> {
    let shared = state.shared();
    let plan = saved_plan(state, name, version).await?;
    let versions = shared.store.library().versions(name).await?;
    let wanted = Wanted { plan: Some(name.to_string()), ..Wanted::default() };
    let runs = shared.summaries(&store::Page { wanted, ..store::Page::newest(RUNS_OF_ONE) }).await?.runs;
    let parsed = volley_plan::parse(&plan.text).ok();
    Ok(PlanPage {
        name: name.to_string(),
        version: plan.version,
        saved_at: plan.saved_at,
        latest: versions.first().map_or(plan.version, |latest| latest.version),
        load: parsed.as_ref().map(volley_plan::Plan::load_in_words).unwrap_or_default(),
        target: parsed.as_ref().map(volley_plan::Plan::url).unwrap_or_default(),
        text: plan.text,
        versions: versions
            .into_iter()
            .map(|kept| PlanVersion { version: kept.version, saved_at: kept.saved_at })
            .collect(),
        runs: runs.iter().map(|run: &Arc<RunSummary>| view::plan_run(run)).collect(),
        ..PlanPage::default()
    })
}

/// What the editor sends: the text, and the version that whoever typed it had before them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PlanForm {
    text: String,
    version: Option<u32>,
}

/// Only if that version is still the latest one.
async fn unless_overtaken(
    state: &AppState,
    name: &PlanName,
    version: Option<u32>,
) -> Result<Condition, Problem> {
    match version {
        None => Ok(Condition::Present),
        Some(_) => Ok(Condition::Tagged(vec![saved_plan(state, name, version).await?.etag()])),
    }
}

pub(super) async fn save(
    State(state): State<AppState>,
    plan: Result<PlanPath, Problem>,
    form: Result<Form<PlanForm>, FormRejection>,
) -> Result<Response, PageError> {
    let PlanPath(name) = plan?;
    let PlanForm { text, version } = form_of(form)?;
    let text = with_plain_ends(&text);
    let condition = unless_overtaken(&state, &name, version).await?;
    match save_plan(&state, name.clone(), text.as_bytes(), condition).await {
        Ok(_) => Ok(Redirect::to(&format!("/plans/{name}")).into_response()),
        Err(problem) => refused(&state, &name, text, problem).await,
    }
}

/// The page again, with what was typed and why it wasn't taken.
async fn refused(
    state: &AppState,
    name: &PlanName,
    typed: String,
    problem: Problem,
) -> Result<Response, PageError> {
    let page = plan_page(state, name, None).await?;
    let overtaken = problem.status == 412;
    let compared = overtaken.then(|| Compared {
        from: format!("version {}", page.latest),
        from_text: page.text.clone(),
        to: "what you typed".to_owned(),
        to_text: typed.clone(),
    });
    let (status, faults) = refusal(problem);
    let faults = if overtaken { Vec::new() } else { faults };
    let page = PlanPage { text: typed, faults, overtaken, compared, ..page };
    Ok((status, Html(page.render()?)).into_response())
}

/// What buttons send: the version that whoever pressed it had before them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct VersionForm {
    version: Option<u32>,
}

/// Starts a run of a version.
pub(super) async fn run(
    State(state): State<AppState>,
    plan: Result<PlanPath, Problem>,
    form: Result<Form<VersionForm>, FormRejection>,
) -> Result<Response, PageError> {
    let PlanPath(name) = plan?;
    let saved = saved_plan(&state, &name, form_of(form)?.version).await?;
    let library = Some(LibraryPlan { name: name.to_string(), version: saved.version });
    let started = match volley_plan::parse(&saved.text) {
        Ok(plan) => {
            let new = NewRun { library, ..NewRun::of(plan) };
            state.coordinator.start_run(new).await.map_err(Problem::from)
        }
        Err(faults) => Err(Problem::faults(faults)),
    };
    match started {
        Ok(id) => Ok(Redirect::to(&format!("/runs/{id}")).into_response()),
        Err(problem) => {
            let (status, faults) = refusal(problem);
            let page = PlanPage { faults, ..plan_page(&state, &name, Some(saved.version)).await? };
            Ok((status, Html(page.render()?)).into_response())
        }
    }
}

pub(super) async fn delete(
    State(state): State<AppState>,
    plan: Result<PlanPath, Problem>,
    form: Result<Form<VersionForm>, FormRejection>,
) -> Result<Redirect, PageError> {
    let PlanPath(name) = plan?;
    let condition = unless_overtaken(&state, &name, form_of(form)?.version).await?;
    state.shared().store.library().remove(&name, condition).await?;
    Ok(Redirect::to("/plans"))
}
