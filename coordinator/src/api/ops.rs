//! The fleet, and what operators and their probes ask.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use volley_plan::link::{Incarnation, PROTOCOL, RunId};

use super::{AppState, Problem};
use crate::fleet::{AgentView, VERSION};

#[derive(Serialize)]
pub(super) struct Agents {
    agents: Vec<AgentDocument>,
    /// The command that adds one.
    add_agent_command: String,
}

/// One agent of the fleet.
#[derive(Serialize)]
struct AgentDocument {
    name: String,
    incarnation: Incarnation,
    version: String,
    workers: u32,
    /// `idle`, `busy`, `silent` or `gone`.
    state: &'static str,
    /// The run that it takes part in.
    run: Option<RunId>,
    /// The best of its latest round trips.
    round_trip_ms: Option<f64>,
    last_seen_s: f64,
}

impl From<AgentView> for AgentDocument {
    fn from(view: AgentView) -> Self {
        Self {
            round_trip_ms: view.round_trip_ms(),
            last_seen_s: view.heard_ago_s(),
            name: view.facts.name,
            incarnation: view.facts.incarnation,
            version: view.facts.version,
            workers: view.facts.workers,
            state: view.state,
            run: view.run,
        }
    }
}

/// `GET /agents`.
pub(super) async fn agents(State(state): State<AppState>) -> Json<Agents> {
    let agents = state.shared().agents().into_iter().map(AgentDocument::from).collect();
    Json(Agents { agents, add_agent_command: state.shared().add_agent_command() })
}

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: it takes runs.
pub(super) async fn readyz(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if state.shared().is_stopping() {
        return Err(Problem::new(503, "Shutting down", "the coordinator takes no further run"));
    }
    Ok("ready\n")
}

#[derive(Serialize)]
pub(super) struct Version {
    version: &'static str,
    protocol: u32,
}

/// `GET /version`.
pub(super) async fn version() -> Json<Version> {
    Json(Version { version: VERSION, protocol: PROTOCOL })
}
