//! The list of runs, and the form that starts one.

use std::sync::Arc;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use volley_plan::AgentsWanted;
use volley_plan::link::RunId;
use volley_web::{HomePage, RunFilter};

use super::form::RunForm;
use super::{Page, PageError, by_curl, form_of, query_of, refusal};
use crate::api::{AppState, Problem};
use crate::coordinator::NewRun;
use crate::document::label;
use crate::store::{self, Listed, Wanted};
use crate::view;

/// Runs of one page of the list.
const PAGE_RUNS: usize = 100;

/// What can stand behind the `?` of the list of runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HomeQuery {
    /// The run that the page before ended with.
    before: String,
    state: String,
    plan: String,
    label: String,
}

impl HomeQuery {
    /// Which part of the list that is, or what is wrong with the label.
    fn page(&self) -> Result<store::Page, String> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let labels = given(&self.label).map(|text| label(&text)).transpose()?.into_iter().collect();
        let wanted = Wanted { state: given(&self.state), plan: given(&self.plan), labels };
        Ok(store::Page { before: RunId::new(&self.before), wanted, ..store::Page::newest(PAGE_RUNS) })
    }

    fn as_typed(&self, fault: String) -> RunFilter {
        let Self { state, plan, label, .. } = self.clone();
        RunFilter { state, plan, label, fault }
    }
}

pub(super) async fn show(
    State(state): State<AppState>,
    query: Result<Query<HomeQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Page {
    let query = query_of(query)?;
    Ok(Html(home_page(&state, &headers, &query).await?.render()?))
}

async fn home_page(state: &AppState, headers: &HeaderMap, query: &HomeQuery) -> Result<HomePage, PageError> {
    let shared = state.shared();
    let (listed, fault) = match query.page() {
        Ok(page) => (shared.summaries(&page).await?, String::new()),
        Err(fault) => (Listed::default(), fault),
    };
    let strength = shared.strength(&AgentsWanted::default());
    let (token, address) = by_curl(state, headers);
    Ok(HomePage {
        runs: listed.runs.into_iter().map(|run| view::run_row(Arc::unwrap_or_clone(run))).collect(),
        runs_in_all: listed.in_all as u64,
        filter: query.as_typed(fault),
        before: query.before.clone(),
        older: listed.next.map(|run| run.to_string()).unwrap_or_default(),
        agents_ready: strength.idle as u64,
        agents_busy: strength.busy as u64,
        add_agent_command: shared.add_agent_command(),
        first_run_command: format!("curl {token}--data-binary @plan.yaml {address}/api/v1/runs"),
        ..HomePage::default()
    })
}

pub(super) async fn create(
    State(state): State<AppState>,
    headers: HeaderMap,
    form: Result<Form<RunForm>, FormRejection>,
) -> Result<Response, PageError> {
    let form = form_of(form)?;
    let (status, faults) = match form.plan() {
        Ok(plan) => match state.coordinator.start_run(NewRun::of(plan)).await {
            Ok(id) => return Ok(Redirect::to(&format!("/runs/{id}")).into_response()),
            Err(error) => refusal(Problem::from(error)),
        },
        Err(faults) => (StatusCode::UNPROCESSABLE_ENTITY, faults),
    };
    let page = home_page(&state, &headers, &HomeQuery::default()).await?;
    let page = HomePage { form: form.as_typed(), faults, ..page };
    Ok((status, Html(page.render()?)).into_response())
}
