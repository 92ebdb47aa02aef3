//! Everything a run's page binds to, as one JSON tree: the snapshot, and what is derived from it and the ticks.
//! `assets/view.js` is the same in script, and a test holds the two together.

use serde_json::{Map, Value, json};

use crate::accounts::accounts;
use crate::format::{Format, count, maybe};
use crate::rows;
use crate::said;
use crate::stream::{LogLine, Snapshot, Tick};
use crate::told::{SpanView, Told};

/// Rows that a table by the second lists at most: the latest ones.
pub(crate) const ROWS_MAX: usize = 600;
/// Ticks of which the latest rates are.
const LATEST: usize = 5;

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
    span: Option<&SpanView>,
) -> Result<Value, serde_json::Error> {
    let ticks = drawn(run.over, ticks);
    let told = Told::of(run, ticks, span);
    let word = run.verdict.as_deref().unwrap_or(&run.state);
    let listed = told.ticks.get(told.ticks.len().saturating_sub(ROWS_MAX)..).unwrap_or_default();
    let derived = json!({
        "title": format!("{word} · {name} · Volley"),
        "word": word,
        "selected": told.selected,
        "span": span_words(&told),
        "columns": { "whole": told.head },
        "now": if told.run.over { now_over(&told.run)? } else { serde_json::to_value(&run.last5)? },
        "units": units(run, ticks),
        "pace": pace(run, ticks, &told),
        "missed_share": missed_share(&told.run),
        "last": told.ticks.last(),
        "agents_well": agents_well(run),
        "planned": planned(run),
        "progress": progress(run),
        "accounts": accounts(&told.run, told.is_span),
        "said": said::charts(&told.run, &told.ticks),
        "cut": said::cut(&told.ticks, ROWS_MAX),
        "has": has(run, ticks, &told),
        "phase": told.run.whole.phases.iter().map(|p| (p.name.clone(), json!(p))).collect::<Map<_, _>>(),
        "handshakes_full": told.run.whole.connections.handshakes_full(),
        "steps": rows::steps(&told.run)?,
        "errors": rows::errors(&told.run)?,
        "agents": rows::agents(run)?,
        "ticks": rows::ticks(listed)?,
        "error_seconds": rows::error_seconds(listed),
        "log": log,
    });
    Ok(merged(serde_json::to_value(&told.shown)?, derived))
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

/// What the strip's figures are of.
fn span_words(told: &Told<'_>) -> String {
    if told.run.over { told.head.clone() } else { "last 5 s".to_owned() }
}

fn now_over(run: &Snapshot) -> Result<Value, serde_json::Error> {
    let whole = &run.whole;
    Ok(json!({
        "rate": whole.rate,
        "error_rate": whole.error_rate,
        "latency_ms": serde_json::to_value(whole.latency_ms)?,
    }))
}

/// What the page has anything to show of.
fn has(run: &Snapshot, ticks: &[Tick], told: &Told<'_>) -> Value {
    let doubts = !run.health_notes.is_empty();
    let checked = run.agents.iter().any(|agent| agent.seconds > 0);
    let whole = &told.run.whole;
    json!({
        "open": is_open(ticks),
        "service": whole.service_ms.max.is_some(),
        "generator": ticks.iter().any(|t| t.lag_max_ms.is_some() || t.busiest_cpu.is_some()),
        "queued": run.state == "queued",
        "running": run.state == "running",
        "doubts": doubts,
        "fit": checked && !doubts,
        "phases": !whole.phases.is_empty(),
        "tls": whole.connections.handshakes.is_some_and(|n| n > 0),
        "addresses": run.addresses.len() > 1 || run.addresses.iter().any(|address| address.failures > 0),
        "health": checked,
        "thresholds": !run.thresholds.is_empty(),
        "distribution": !told.run.distribution.is_empty(),
        // Figures of this moment say nothing beside those of a span that is past.
        "latest": !(run.over && told.is_span),
        "now": !told.run.over,
    })
}

fn is_open(ticks: &[Tick]) -> bool {
    ticks.iter().any(|tick| tick.planned.is_some())
}

/// What the charts count, by their ids.
fn units(run: &Snapshot, ticks: &[Tick]) -> Value {
    let differ = is_open(ticks) && run.steps.len() > 1;
    let rate = if differ { "per second; target, started and missed of iterations" } else { "per second" };
    let has = |of: fn(&Tick) -> bool| ticks.iter().any(of);
    let generator = match (has(|t| t.lag_max_ms.is_some()), has(|t| t.busiest_cpu.is_some())) {
        (true, true) => "ms, logarithmic; right: % of a core",
        (true, false) => "ms, logarithmic",
        (false, _) => "% of a core",
    };
    json!({ "rate": rate, "latency": "ms, logarithmic", "generator": generator,
            "open": "at the second's end", "errors": "per second" })
}

/// Iterations due and started per second. In the strip the open model shows these, and the closed one its ok requests.
fn pace(run: &Snapshot, ticks: &[Tick], told: &Told<'_>) -> Value {
    let last5 = latest_pace(run, ticks);
    let whole = match (is_open(ticks), told.run.over) {
        (false, _) => (None, None),
        (true, true) => whole_pace(&told.run),
        (true, false) => due(&said::loaded(run, &said::measured(ticks))),
    };
    let numbers = &told.run.whole;
    // What the rate of the whole run is over, with the digits that it takes to multiply.
    let over = (told.run.over && !told.is_span && numbers.rate_s > 0.0)
        .then(|| format!("{} s", maybe(Format::Rate, Some(numbers.rate_s))));
    let strip = if is_open(ticks) {
        let (planned, started) = if told.run.over { whole } else { last5 };
        json!({ "name": "Started", "rate": started, "words": format!("of {} /s due", maybe(Format::Rate, planned)) })
    } else if told.run.over {
        let words = over.as_ref().map_or_else(|| span_words(told), |over| format!("over {over}"));
        json!({ "name": "Rate", "rate": numbers.rate, "words": words })
    } else {
        json!({ "name": "Rate", "rate": run.last5.rate, "words": span_words(told) })
    };
    let pair = |(planned, started)| json!({ "planned": planned, "started": started });
    json!({ "strip": strip, "last5": pair(last5), "whole": pair(whole), "over": over })
}

fn latest_pace(run: &Snapshot, ticks: &[Tick]) -> (Option<f64>, Option<f64>) {
    let measured = said::measured(ticks);
    let all = if measured.is_empty() { ticks.iter().collect() } else { measured };
    let loaded = said::loaded(run, &all);
    due(loaded.get(loaded.len().saturating_sub(LATEST)..).unwrap_or_default())
}

/// Iterations due and started per second, in all of a run that is over.
fn whole_pace(run: &Snapshot) -> (Option<f64>, Option<f64>) {
    let per_second = |n: u64| (run.elapsed_s > 0.0).then(|| n as f64 / run.elapsed_s);
    (run.whole.planned.and_then(per_second), per_second(run.whole.iterations))
}

fn due(ticks: &[&Tick]) -> (Option<f64>, Option<f64>) {
    let seconds = ticks.iter().map(|t| t.seconds()).sum::<u64>() as f64;
    if !ticks.iter().any(|t| t.planned.is_some()) {
        return (None, None);
    }
    let planned = ticks.iter().filter_map(|t| t.planned).sum::<f64>();
    let started = ticks.iter().map(|t| t.iterations).sum::<u64>();
    (Some(planned / seconds), Some(started as f64 / seconds))
}

/// How much was missed of what was due. While the run goes on, that is less than what is planned in all.
fn missed_share(run: &Snapshot) -> String {
    let whole = &run.whole;
    let due = whole.planned.filter(|_| run.over).unwrap_or(whole.iterations + whole.missed);
    if due == 0 {
        return "none due yet".to_owned();
    }
    let share = whole.missed as f64 / due as f64;
    format!("{} of those due", maybe(Format::Percent, Some(share)))
}

fn agents_well(run: &Snapshot) -> String {
    format!("{} / {}", run.agents.iter().filter(|a| a.ok).count(), run.agents.len())
}

fn planned(run: &Snapshot) -> String {
    let second = |s: f64| maybe(Format::Seconds, Some(s));
    if !run.over && run.run_s > 0.0 && run.run_s < run.warmup_s {
        return format!("warm-up {} of {}", second(run.run_s.floor()), second(run.warmup_s));
    }
    let duration = run.planned_s.map(|s| format!("of {}", second(s)));
    let iterations = run.planned_requests.map(|n| format!("{} of {}", count(run.whole.iterations), count(n)));
    duration.into_iter().chain(iterations).collect::<Vec<_>>().join(" · ")
}

fn progress(run: &Snapshot) -> Option<f64> {
    if run.over {
        return None;
    }
    let time = run.planned_s.filter(|s| *s > 0.0).map(|s| run.run_s / (run.warmup_s + s));
    let iterations = run.planned_requests.filter(|n| *n > 0).map(|n| run.whole.iterations as f64 / n as f64);
    [time, iterations].into_iter().flatten().reduce(f64::max).map(|x| x.clamp(0.0, 1.0))
}
