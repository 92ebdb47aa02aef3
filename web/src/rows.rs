//! Rows of the run page's tables, where they say more than the stream does. `assets/rows.js` is the same in script, and a
//! test holds the two together.

use serde_json::{Value, json};

use crate::accounts::UNKNOWN_NUMBER;
use crate::format::count;
use crate::stream::{AgentShare, ErrorCount, Snapshot, Tick};
use crate::tables::PHASES;
use crate::view::ROWS_MAX;

type Rows = Result<Vec<Value>, serde_json::Error>;

/// A value as JSON, with more fields.
fn with(value: impl serde::Serialize, more: Value) -> Result<Value, serde_json::Error> {
    let mut row = serde_json::to_value(value)?;
    if let (Value::Object(fields), Value::Object(more)) = (&mut row, more) {
        fields.extend(more);
    }
    Ok(row)
}

/// Steps, named with their scenario where there are several scenarios.
pub(crate) fn steps(run: &Snapshot) -> Rows {
    let many = run.steps.iter().any(|step| step.scenario != run.steps[0].scenario);
    let label =
        |scenario: &str, name: &str| if many { format!("{scenario} › {name}") } else { name.to_owned() };
    run.steps.iter().map(|step| with(step, json!({ "label": label(&step.scenario, &step.name) }))).collect()
}

/// Failures by kind, with what happened and in which phase as people read it.
pub(crate) fn errors(run: &Snapshot) -> Rows {
    let row = |error: &ErrorCount| {
        let label = if error.words.is_empty() { &error.kind } else { &error.words };
        with(error, json!({ "label": label, "within": phase_label(&error.phase) }))
    };
    run.errors.iter().map(row).collect()
}

/// Phases of errors are named like those of requests, but for the one that only errors have: `answer`.
fn phase_label(name: &str) -> &str {
    PHASES.iter().find(|phase| phase.name == name).map_or(name, |phase| phase.label)
}

/// Agents, with what is said of them in two numbers or words.
pub(crate) fn agents(run: &Snapshot) -> Rows {
    run.agents.iter().map(agent).collect()
}

fn agent(agent: &AgentShare) -> Result<Value, serde_json::Error> {
    let late =
        (agent.seconds > 0).then(|| format!("{} of {}", count(agent.late_seconds), count(agent.seconds)));
    let unknown = agent.unknown.map_or(json!(UNKNOWN_NUMBER), |n| json!(n));
    let files = match (agent.descriptors, agent.descriptors_limit) {
        (Some(used), Some(limit)) => Some(format!("{} of {}", count(used), count(limit))),
        (Some(used), None) => Some(count(used)),
        (None, _) => None,
    };
    let standing = match &agent.outlier {
        Some(_) => format!("{} · outlier", agent.state),
        None => agent.state.clone(),
    };
    with(agent, json!({ "late": late, "unknown": unknown, "files": files, "standing": standing }))
}

/// Seconds, with the part of the run that they are of.
pub(crate) fn ticks(ticks: &[Tick]) -> Rows {
    let part = |warmup| if warmup { "warm-up" } else { "" };
    ticks.iter().map(|tick| with(tick, json!({ "part": part(tick.warmup) }))).collect()
}

/// Failures by second and kind.
pub(crate) fn error_seconds(ticks: &[Tick]) -> Vec<Value> {
    let seen = ticks.iter().flat_map(|t| t.errors.iter().map(move |(kind, n)| (t.second, kind, *n)));
    let rows: Vec<Value> = seen
        .filter(|(_, _, n)| *n > 0)
        .map(|(second, kind, n)| json!({ "second": second, "kind": kind, "count": n }))
        .collect();
    rows.get(rows.len().saturating_sub(ROWS_MAX)..).unwrap_or_default().to_vec()
}
