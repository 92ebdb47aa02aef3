//! Everything a run's page binds to, as one JSON tree: the snapshot, and what is derived from it and the ticks.
//! `assets/view.js` is the same in script, and a test holds the two together.

use serde_json::{Map, Value, json};

use crate::format::{Format, count, maybe};
use crate::said;
use crate::stream::{LogLine, Snapshot, Tick};

/// Rows that a table by the second lists at most: the latest ones.
pub(crate) const ROWS_MAX: usize = 600;

/// The seconds that are drawn: up to the last that every agent has reported, all of them once the run is over.
pub(crate) fn drawn(over: bool, ticks: &[Tick]) -> &[Tick] {
    let end = if over { ticks.len() } else { ticks.iter().rposition(|t| t.complete).map_or(0, |i| i + 1) };
    ticks.get(..end).unwrap_or_default()
}

/// The tree; a path in a template (`whole/latency_ms/99`) leads into it.
pub(crate) fn view(
    name: &str,
    run: &Snapshot,
    ticks: &[Tick],
    log: &[LogLine],
) -> Result<Value, serde_json::Error> {
    let ticks = drawn(run.over, ticks);
    let word = run.verdict.as_deref().unwrap_or(&run.state);
    let listed = ticks.get(ticks.len().saturating_sub(ROWS_MAX)..).unwrap_or_default();
    let derived = json!({
        "title": format!("{word} · {name} · Volley"),
        "word": word,
        "span": if run.over { "whole run" } else { "last 5 s" },
        "now": if run.over { now_over(run)? } else { serde_json::to_value(&run.last5)? },
        "last": ticks.last(),
        "agents_well": agents_well(run),
        "planned": planned(run),
        "progress": progress(run),
        "iterations": said::iterations(run),
        "requests": said::requests_ended(run),
        "said": { "rate": said::rate(ticks), "latency": said::latency(ticks),
                  "open": said::open(ticks), "errors": said::errors(ticks) },
        "cut": said::cut(ticks, ROWS_MAX),
        "ticks": listed,
        "error_seconds": error_seconds(listed),
        "log": log,
    });
    Ok(merged(serde_json::to_value(run)?, derived))
}

fn merged(base: Value, more: Value) -> Value {
    let mut tree = Map::new();
    for part in [base, more] {
        if let Value::Object(fields) = part {
            tree.extend(fields);
        }
    }
    Value::Object(tree)
}

fn now_over(run: &Snapshot) -> Result<Value, serde_json::Error> {
    let whole = &run.whole;
    Ok(json!({
        "rate": whole.rate,
        "error_rate": whole.error_rate,
        "latency_ms": serde_json::to_value(whole.latency_ms)?,
    }))
}

fn agents_well(run: &Snapshot) -> String {
    format!("{} / {}", run.agents.iter().filter(|a| a.ok).count(), run.agents.len())
}

fn planned(run: &Snapshot) -> String {
    let duration = run.planned_s.map(|s| format!("of {}", maybe(Format::Seconds, Some(s))));
    let requests = run.planned_requests.map(|n| format!("{} of {}", count(run.whole.started), count(n)));
    duration.into_iter().chain(requests).collect::<Vec<_>>().join(" · ")
}

fn progress(run: &Snapshot) -> Option<f64> {
    if run.over {
        return None;
    }
    let time = run.planned_s.filter(|s| *s > 0.0).map(|s| run.elapsed_s / s);
    let requests = run.planned_requests.filter(|n| *n > 0).map(|n| run.whole.started as f64 / n as f64);
    [time, requests].into_iter().flatten().reduce(f64::max).map(|x| x.clamp(0.0, 1.0))
}

fn error_seconds(ticks: &[Tick]) -> Vec<Value> {
    let seen = ticks.iter().flat_map(|t| t.errors.iter().map(move |(kind, n)| (t.second, kind, *n)));
    let rows: Vec<Value> = seen
        .filter(|(_, _, n)| *n > 0)
        .map(|(second, kind, n)| json!({ "second": second, "kind": kind, "count": n }))
        .collect();
    rows.get(rows.len().saturating_sub(ROWS_MAX)..).unwrap_or_default().to_vec()
}
