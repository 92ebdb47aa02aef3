//! The fleet over REST: who is there and how, and who is to get no further run.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use volley_plan::link::{Incarnation, RunId};

use super::{AgentPath, AppState, Problem, json_body};
use crate::at_work::AtWork;
use crate::fleet::AgentView;

/// The fleet.
#[derive(Serialize, ToSchema)]
pub(super) struct Agents {
    /// By name.
    agents: Vec<AgentDocument>,
    /// The command that adds one.
    add_agent_command: String,
}

/// One agent of the fleet.
#[derive(Serialize, ToSchema)]
#[schema(as = FleetAgent)]
pub(super) struct AgentDocument {
    /// The name for people.
    name: String,
    /// The process.
    incarnation: Incarnation,
    /// Its version.
    version: String,
    /// Worker threads.
    workers: u32,
    /// What it was started with.
    labels: BTreeMap<String, String>,
    /// How much of a load it gets beside others; `null` where its workers say it.
    weight: Option<u32>,
    /// Requests a second that it was measured to be capable of.
    capacity: Option<u32>,
    /// `idle`, `busy`, `draining`, `silent` or `gone`.
    state: &'static str,
    /// It is to get no further run, since somebody here said so.
    drain: bool,
    /// It is to get no further run, since it is about to end.
    leaving: bool,
    /// The run that it takes part in.
    run: Option<RunId>,
    /// The best of its latest round trips.
    round_trip_ms: Option<f64>,
    /// By how much its clock has run fast since it joined.
    drift_ms: Option<f64>,
    /// How long ago it was heard.
    last_seen_s: f64,
    #[serde(flatten)]
    at_work: AtWork,
}

impl AgentDocument {
    fn of(view: AgentView, at_work: AtWork) -> Self {
        Self {
            round_trip_ms: view.round_trip_ms(),
            drift_ms: view.drift_ms(),
            last_seen_s: view.heard_ago_s(),
            name: view.facts.name,
            incarnation: view.facts.incarnation,
            version: view.facts.version,
            workers: view.facts.workers,
            labels: view.facts.labels,
            weight: view.facts.weight,
            capacity: view.facts.capacity,
            state: view.state,
            drain: view.draining,
            leaving: view.leaving,
            run: view.run,
            at_work,
        }
    }
}

/// List agents
#[utoipa::path(get, path = "/agents", tag = "agents", responses((status = 200, body = Agents)))]
pub(super) async fn list(State(state): State<AppState>) -> Json<Agents> {
    let shared = state.shared();
    let agents = shared.agents();
    let at_work = shared.at_work(&agents);
    let documents = agents.into_iter().zip(at_work).map(|(view, at_work)| AgentDocument::of(view, at_work));
    let agents = documents.collect();
    Json(Agents { agents, add_agent_command: shared.add_agent_command() })
}

/// What of an agent can be changed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentChange)]
pub(super) struct Change {
    /// It is to get no further run, and to be relieved in the one that it works for.
    drain: bool,
}

/// Drain an agent
///
/// 202 where its run has yet to relieve it.
#[utoipa::path(
    patch, path = "/agents/{incarnation}", tag = "agents",
    params(("incarnation" = String, Path, description = "The agent's process")), request_body(content = Change),
    responses(
        (status = 200, body = AgentDocument), (status = 202, body = AgentDocument), (status = 400, response = Problem),
        (status = 404, response = Problem), (status = 422, response = Problem)
    )
)]
pub(super) async fn change(
    State(state): State<AppState>,
    AgentPath(agent): AgentPath,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<AgentDocument>), Problem> {
    let Change { drain } = json_body(body, r#"{"drain": true}"#)?;
    let view = state.shared().drain(agent, drain).await.ok_or_else(|| Problem::no_agent(agent))?;
    let is_at_work = drain && view.run.is_some();
    let status = if is_at_work { StatusCode::ACCEPTED } else { StatusCode::OK };
    let at_work = state.shared().at_work(std::slice::from_ref(&view)).pop().unwrap_or_default();
    Ok((status, Json(AgentDocument::of(view, at_work))))
}
