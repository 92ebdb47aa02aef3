//! What the accounting says: what was planned and what became of it. `assets/accounts.js` is the same in script, and a
//! test holds the two together.

use serde_json::{Value, json};

use crate::format::{Format, count, maybe};
use crate::stream::{Snapshot, WarmupTotals};

/// What stands where nobody can say how many.
pub(crate) const UNKNOWN_NUMBER: &str = "unknown number";

/// Every line of the accounting; empty ones aren't shown. In a span some requests end that began before it, so nothing
/// balances there.
pub(crate) fn accounts(run: &Snapshot, is_span: bool) -> Value {
    json!({
        "iterations": iterations(run),
        "requests": if is_span { requests_of_span(run) } else { requests(run) },
        "cancelled": cancelled(run),
        "warmup": run.warmup.as_ref().map(warmup).unwrap_or_default(),
    })
}

/// Iterations: planned = started + missed + unknown, with what is wrong where it isn't so.
fn iterations(run: &Snapshot) -> String {
    let whole = &run.whole;
    let mut terms = terms(
        " + ",
        &[(whole.iterations, "started")],
        &[(whole.missed, "missed"), (whole.unknown.unwrap_or(0), "unknown")],
    );
    if whole.unknown.is_none() {
        terms += &format!(" + {UNKNOWN_NUMBER} by a lost agent");
    }
    match (whole.planned.or(run.planned_requests), whole.unknown) {
        (None, _) => terms,
        (Some(planned), Some(unknown)) if run.over => {
            balance(&count(planned), planned, whole.iterations + whole.missed + unknown, &terms)
        }
        (Some(planned), _) => {
            format!("{} planned: {terms}{}", count(planned), if run.over { "" } else { " so far" })
        }
    }
}

/// Requests: started = ok + failed + cancelled + unresolved; while the run goes on, the rest is in flight.
fn requests(run: &Snapshot) -> String {
    let whole = &run.whole;
    let ended = whole.ok + whole.failed + whole.cancelled + whole.unresolved;
    let flying = if run.over { 0 } else { whole.started.saturating_sub(ended) };
    let terms = terms(
        " + ",
        &[(whole.ok, "ok"), (whole.failed, "failed")],
        &[(whole.cancelled, "cancelled"), (whole.unresolved, "unresolved"), (flying, "in flight")],
    );
    balance(&format!("{} started", count(whole.started)), whole.started, ended + flying, &terms)
}

fn requests_of_span(run: &Snapshot) -> String {
    let whole = &run.whole;
    let ended =
        terms(" + ", &[(whole.ok, "ok"), (whole.failed, "failed")], &[(whole.cancelled, "cancelled")]);
    format!("{} started; ended: {ended}", count(whole.started))
}

/// Requests that the end cut off, and how old they were.
fn cancelled(run: &Snapshot) -> String {
    let age = &run.whole.cancelled_age_ms;
    match (run.whole.cancelled, age.p50, age.max) {
        (0, ..) => String::new(),
        (n, Some(p50), Some(max)) => {
            let [p50, max] = [p50, max].map(|ms| maybe(Format::Ms, Some(ms)));
            format!("{} cut off at the end, {p50} ms old at the median, {max} ms at most", count(n))
        }
        (n, ..) => format!("{} cut off at the end", count(n)),
    }
}

fn warmup(warmup: &WarmupTotals) -> String {
    let ended = terms(
        ", ",
        &[(warmup.ok, "ok"), (warmup.failed, "failed")],
        &[(warmup.cancelled, "cancelled"), (warmup.missed, "missed")],
    );
    format!("{} started: {ended}", count(warmup.started))
}

fn terms(glue: &str, always: &[(u64, &str)], unless_zero: &[(u64, &str)]) -> String {
    let shown = always.iter().chain(unless_zero.iter().filter(|(n, _)| *n > 0));
    shown.map(|(n, word)| format!("{} {word}", count(*n))).collect::<Vec<_>>().join(glue)
}

fn balance(left: &str, is: u64, sum: u64, terms: &str) -> String {
    if is == sum {
        format!("{left} = {terms}")
    } else {
        format!("{left} ≠ {terms} (off by {})", count(is.abs_diff(sum)))
    }
}
