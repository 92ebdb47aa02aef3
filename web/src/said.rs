//! What the charts and the accounting say in a sentence. `assets/said.js` is the same in script, and a test
//! holds the two together.

use std::collections::BTreeMap;

use crate::format::{Format, count, maybe};
use crate::stream::{Snapshot, Tick};

/// Requests per second.
pub(crate) fn rate(ticks: &[Tick]) -> String {
    let (Some(low), Some(high)) = (ticks.iter().map(|t| t.ok).min(), ticks.iter().map(|t| t.ok).max()) else {
        return "No second has been measured yet.".to_owned();
    };
    let mean = ticks.iter().map(|t| t.ok).sum::<u64>() as f64 / ticks.len() as f64;
    let ok = if low == high {
        format!("{} ok requests per second", count(high))
    } else {
        let mean = maybe(Format::Rate, Some(mean));
        format!("{} to {} ok requests per second, {mean} on average", count(low), count(high))
    };
    format!("Over {}: {ok}; {}.", maybe(Format::Seconds, Some(ticks.len() as f64)), failed(ticks))
}

fn failed(ticks: &[Tick]) -> String {
    let total = ticks.iter().map(|t| t.failed).sum::<u64>();
    // The first of equals, as a reader from the left would name it.
    let worst = ticks.iter().rev().max_by_key(|t| t.failed);
    match worst {
        Some(tick) if total > 0 => {
            format!("{} failed, most in second {} ({})", count(total), count(tick.second), count(tick.failed))
        }
        _ => "none failed".to_owned(),
    }
}

/// Latency percentiles.
pub(crate) fn latency(ticks: &[Tick]) -> String {
    let mut slowest: Option<(f64, u64)> = None;
    for tick in ticks {
        if let Some(max) = tick.latency_ms.max
            && slowest.is_none_or(|(ms, _)| max > ms)
        {
            slowest = Some((max, tick.second));
        }
    }
    let Some((ms, second)) = slowest else {
        return "No request has succeeded, so there is no latency to show.".to_owned();
    };
    let median = between(ticks.iter().filter_map(|t| t.latency_ms.p50));
    let p99 = between(ticks.iter().filter_map(|t| t.latency_ms.p99));
    let ms = maybe(Format::Ms, Some(ms));
    format!(
        "By the second, the median was {median} and p99 {p99}; the slowest request took {ms} ms, in second {}.",
        count(second)
    )
}

fn between(values: impl Iterator<Item = f64> + Clone) -> String {
    let low = maybe(Format::Ms, values.clone().reduce(f64::min));
    let high = maybe(Format::Ms, values.reduce(f64::max));
    if low == high { format!("{low} ms") } else { format!("{low} to {high} ms") }
}

/// Requests in flight and connections.
pub(crate) fn open(ticks: &[Tick]) -> String {
    let Some(low) = ticks.iter().map(|t| t.in_flight).min() else {
        return "No second has been measured yet.".to_owned();
    };
    let high = ticks.iter().map(|t| t.in_flight).max().unwrap_or(low);
    let connections = ticks.iter().map(|t| t.connections).max().unwrap_or(0);
    let range = if low == high { count(low) } else { format!("{} to {}", count(low), count(high)) };
    format!(
        "At the seconds' ends {range} requests were in flight, on at most {} connections.",
        count(connections)
    )
}

/// Errors by kind.
pub(crate) fn errors(ticks: &[Tick]) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, n) in ticks.iter().flat_map(|t| &t.errors) {
        *kinds.entry(kind).or_default() += n;
    }
    kinds.retain(|_, n| *n > 0);
    let total = kinds.values().sum::<u64>();
    let top = kinds.iter().rev().max_by_key(|(_, n)| **n);
    match (top, kinds.len()) {
        (None, _) => "No request failed.".to_owned(),
        (Some((kind, _)), 1) => format!("{} failed, all of kind {kind}.", requests(total)),
        (Some((kind, n)), kinds) => {
            format!("{} failed, of {kinds} kinds; most were {kind} ({}).", requests(total), count(*n))
        }
    }
}

fn requests(n: u64) -> String {
    if n == 1 { "1 request".to_owned() } else { format!("{} requests", count(n)) }
}

/// Iterations: planned = started + missed + unknown, with what is wrong where it isn't so.
pub(crate) fn iterations(run: &Snapshot) -> String {
    let whole = &run.whole;
    let terms = terms(&[(whole.started, "started")], &[(whole.missed, "missed"), (whole.unknown, "unknown")]);
    match run.planned_requests {
        None => terms,
        Some(planned) if run.over => {
            balance(&count(planned), planned, whole.started + whole.missed + whole.unknown, &terms)
        }
        Some(planned) => format!("{} planned: {terms} so far", count(planned)),
    }
}

/// Requests: started = ok + failed + cancelled + unresolved; while the run goes on, the rest is in flight.
pub(crate) fn requests_ended(run: &Snapshot) -> String {
    let whole = &run.whole;
    let ended = whole.ok + whole.failed + whole.cancelled + whole.unresolved;
    let flying = if run.over { 0 } else { whole.started.saturating_sub(ended) };
    let terms = terms(
        &[(whole.ok, "ok"), (whole.failed, "failed")],
        &[(whole.cancelled, "cancelled"), (whole.unresolved, "unresolved"), (flying, "in flight")],
    );
    balance(&format!("{} started", count(whole.started)), whole.started, ended + flying, &terms)
}

fn terms(always: &[(u64, &str)], unless_zero: &[(u64, &str)]) -> String {
    let shown = always.iter().chain(unless_zero.iter().filter(|(n, _)| *n > 0));
    shown.map(|(n, word)| format!("{} {word}", count(*n))).collect::<Vec<_>>().join(" + ")
}

fn balance(left: &str, is: u64, sum: u64, terms: &str) -> String {
    if is == sum {
        format!("{left} = {terms}")
    } else {
        format!("{left} ≠ {terms} (off by {})", count(is.abs_diff(sum)))
    }
}
