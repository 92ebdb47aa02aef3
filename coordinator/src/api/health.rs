//! How the agents of a run were, second by second.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use volley_plan::link::{Incarnation, RunId};
use volley_stats::Health;

use super::{AppState, Problem, RunPath};
use crate::fleet::MAX_AGENTS;
use crate::store::HealthBySecond;

/// Most reports (an agent's second each) of one answer; the rest is in the next one.
const MAX_REPORTS: usize = 20_000;
const _: () = assert!(MAX_REPORTS > MAX_AGENTS, "a second of all agents is in one answer");

/// A number of an agent's health, and what it is called.
type Column = (&'static str, fn(&Health) -> u64);

/// All of them, by the names and in the units that [`Health`] has: nanoseconds, bytes, and counts.
const COLUMNS: [Column; 14] = [
    ("span_ns", |health| health.span_ns),
    ("lag_p99_ns", |health| health.lag_p99_ns),
    ("lag_max_ns", |health| health.lag_max_ns),
    ("latency_p99_ns", |health| health.latency_p99_ns),
    ("stall_max_ns", |health| health.stall_max_ns),
    ("cpu_ns", |health| health.cpu_ns),
    ("busiest_cpu_ns", |health| health.busiest_cpu_ns),
    ("waited_ns", |health| health.waited_ns),
    ("throttled_ns", |health| health.throttled_ns),
    ("stolen_ns", |health| health.stolen_ns),
    ("resident_bytes", |health| health.resident_bytes),
    ("descriptors", |health| health.descriptors.into()),
    ("descriptors_limit", |health| health.descriptors_limit.into()),
    ("local_ports", |health| health.local_ports.into()),
];

/// What can stand behind the `?`.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HealthQuery {
    /// The first second.
    from: Option<u32>,
}

/// The answer.
#[derive(Serialize, ToSchema)]
pub(super) struct HealthDocument {
    /// The run.
    run: RunId,
    /// By agent.
    agents: Vec<AgentColumns>,
    /// The second that the next answer is to begin with; `null` in the last one.
    next_from: Option<u32>,
}

/// One agent's seconds. All columns are of one length; what can't be read on its machine is 0.
#[derive(Default, Serialize, ToSchema)]
struct AgentColumns {
    /// The process.
    incarnation: String,
    /// The name for people.
    name: String,
    /// Seconds of run time.
    second: Vec<u32>,
    /// The numbers, each under its name.
    #[serde(flatten)]
    #[schema(value_type = BTreeMap<String, Vec<u64>>)]
    columns: BTreeMap<&'static str, Vec<u64>>,
}

impl AgentColumns {
    fn push(&mut self, second: u32, health: &Health) {
        self.second.push(second);
        for (name, number) in COLUMNS {
            self.columns.entry(name).or_default().push(number(health));
        }
    }
}

/// Show how agents were
///
/// Of each agent a column for each number, with a row for each second that it has reported.
/// Where there is more, `Link` leads to it (RFC 8288). Seconds are kept as long as those of the results.
#[utoipa::path(
    get, path = "/runs/{id}/health", tag = "runs", params(("id" = String, Path, description = "The run"), HealthQuery),
    responses((status = 200, body = HealthDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn show(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    query: Result<Query<HealthQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(HealthQuery { from }) =
        query.map_err(|rejection| Problem::bad_query(&rejection.body_text()))?;
    let shared = state.shared();
    let document = shared.document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let names = document.progress.agents.into_iter().map(|agent| (agent.incarnation, agent.name)).collect();
    let health = shared.store.health(&run, from.unwrap_or(0), MAX_REPORTS).await?;
    let next = health.next_s;
    let link = next.map(|next| format!("</api/v1/runs/{run}/health?from={next}>; rel=\"next\""));
    let link = link.map(|link| [(header::LINK, link)]);
    let agents = columns(&names, &health);
    Ok((link, Json(HealthDocument { run, agents, next_from: next })).into_response())
}

fn columns(names: &BTreeMap<Incarnation, String>, health: &HealthBySecond) -> Vec<AgentColumns> {
    let mut agents: BTreeMap<Incarnation, AgentColumns> = BTreeMap::new();
    for ((second, incarnation), of_second) in &health.reports {
        let agent = agents.entry(*incarnation).or_insert_with(|| AgentColumns {
            incarnation: incarnation.to_string(),
            name: names.get(incarnation).cloned().unwrap_or_default(),
            ..AgentColumns::default()
        });
        agent.push(*second, of_second);
    }
    agents.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_number_of_an_agents_health_is_a_column_under_its_own_name() {
        let numbered: Value = COLUMNS.iter().zip(1..).map(|((name, _), n)| (*name, n)).collect();
        // Names that `Health` doesn't know would read back as nothing.
        let health: Health = serde_json::from_value(numbered.clone()).unwrap();
        assert_eq!(serde_json::to_value(health).unwrap(), numbered);
        let (one, other) = (Incarnation(1), Incarnation(0xab));
        let reports = BTreeMap::from([((3, one), health), ((3, other), health), ((5, one), health)]);
        let names = BTreeMap::from([(one, "a".to_owned())]);
        let said = columns(&names, &HealthBySecond { reports, next_s: None });
        let said = serde_json::to_value(said).unwrap();
        let gist = |index: usize| {
            let agent = &said[index];
            json!([
                agent["incarnation"],
                agent["name"],
                agent["second"],
                agent["lag_max_ns"],
                agent["local_ports"]
            ])
        };
        assert_eq!(gist(0), json!(["0000000000000001", "a", [3, 5], [3, 3], [14, 14]]));
        assert_eq!(gist(1), json!(["00000000000000ab", "", [3], [3], [14]]));
    }
}
