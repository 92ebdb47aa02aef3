//! What the charts and the accounting say in a sentence. `assets/said.js` is the same in script, and a test
//! holds the two together.

use std::collections::BTreeMap;

use crate::format::{Format, count, maybe};
use crate::stream::{Snapshot, Tick};

/// What the ticks are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Seconds,
    Minutes,
    /// The latest hour by the second, what was before by the minute.
    Both,
}

impl Grain {
    fn of(ticks: &[Tick]) -> Self {
        match ticks.iter().filter(|tick| tick.seconds() > 1).count() {
            0 => Self::Seconds,
            minutes if minutes == ticks.len() => Self::Minutes,
            _ => Self::Both,
        }
    }

    fn by(self) -> &'static str {
        match self {
            Self::Seconds => "By the second",
            Self::Minutes => "By the minute",
            Self::Both => "By the second in the latest hour and by the minute before",
        }
    }
}

/// Where a tick lies.
fn place(tick: &Tick) -> String {
    let second = count(tick.second);
    if tick.seconds() == 1 { format!("second {second}") } else { format!("the minute from second {second}") }
}

/// Which rows a table by the second leaves out, and what its rows are of where they aren't seconds.
pub(crate) fn cut(ticks: &[Tick], rows_max: usize) -> String {
    let grain = match Grain::of(ticks) {
        Grain::Seconds => None,
        Grain::Minutes => Some("Each row is of a minute.".to_owned()),
        Grain::Both => Some("Rows of more than an hour ago are of a minute each.".to_owned()),
    };
    let rows = if grain.is_none() { "seconds" } else { "rows" };
    let left_out = (ticks.len() > rows_max)
        .then(|| format!("Only the last {rows_max} of {} {rows} are listed.", count(ticks.len() as u64)));
    grain.into_iter().chain(left_out).collect::<Vec<_>>().join(" ")
}

/// Requests per second.
pub(crate) fn rate(ticks: &[Tick]) -> String {
    if ticks.is_empty() {
        return "No second has been measured yet.".to_owned();
    }
    let seconds = ticks.iter().map(Tick::seconds).sum::<u64>();
    let mean = ticks.iter().map(|t| t.ok).sum::<u64>() as f64 / seconds as f64;
    let rates = || ticks.iter().map(|t| t.ok as f64 / t.seconds() as f64);
    let grain = Grain::of(ticks);
    let format = if grain == Grain::Seconds { Format::Count } else { Format::Rate };
    let (low, high) = (maybe(format, rates().reduce(f64::min)), maybe(format, rates().reduce(f64::max)));
    let ok = if low == high {
        format!("{high} ok requests per second")
    } else {
        let mean = maybe(Format::Rate, Some(mean));
        format!("{low} to {high} ok requests per second, {mean} on average")
    };
    let by = if grain == Grain::Seconds { "" } else { &format!(" {}", grain.by().to_lowercase()) };
    format!("Over {}{by}: {ok}; {}.", maybe(Format::Seconds, Some(seconds as f64)), failed(ticks))
}

fn failed(ticks: &[Tick]) -> String {
    let total = ticks.iter().map(|t| t.failed).sum::<u64>();
    // The first of equals, as a reader from the left would name it.
    let worst = ticks.iter().rev().max_by_key(|t| t.failed);
    match worst {
        Some(tick) if total > 0 => {
            format!("{} failed, most in {} ({})", count(total), place(tick), count(tick.failed))
        }
        _ => "none failed".to_owned(),
    }
}

/// Latency percentiles.
pub(crate) fn latency(ticks: &[Tick]) -> String {
    let mut slowest: Option<(f64, &Tick)> = None;
    for tick in ticks {
        if let Some(max) = tick.latency_ms.max
            && slowest.is_none_or(|(ms, _)| max > ms)
        {
            slowest = Some((max, tick));
        }
    }
    let Some((ms, slowest)) = slowest else {
        return "No request has succeeded, so there is no latency to show.".to_owned();
    };
    let median = between(ticks.iter().filter_map(|t| t.latency_ms.p50));
    let p99 = between(ticks.iter().filter_map(|t| t.latency_ms.p99));
    let ms = maybe(Format::Ms, Some(ms));
    let by = Grain::of(ticks).by();
    format!(
        "{by}, the median was {median} and p99 {p99}; the slowest request took {ms} ms, in {}.",
        place(slowest)
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
    let ends = match Grain::of(ticks) {
        Grain::Seconds => "seconds'",
        Grain::Minutes => "minutes'",
        Grain::Both => "seconds' or minutes'",
    };
    format!(
        "At the {ends} ends {range} requests were in flight, on at most {} connections.",
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
