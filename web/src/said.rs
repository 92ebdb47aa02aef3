//! What the charts say in a sentence, of the measured part. `assets/said.js` is the same in script, and a test holds the
//! two together.

use std::collections::BTreeMap;

use crate::format::{Format, count, maybe};
use crate::stream::{Percentiles, Snapshot, Tick};

const NOTHING_YET: &str = "No second has been measured yet.";

/// What the ticks are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Seconds,
    Minutes,
    /// The latest hour by the second, what was before by the minute.
    Both,
}

impl Grain {
    fn of<'a>(ticks: impl IntoIterator<Item = &'a Tick>) -> Self {
        let (minutes, seconds): (Vec<_>, Vec<_>) = ticks.into_iter().partition(|tick| tick.seconds() > 1);
        match (minutes.is_empty(), seconds.is_empty()) {
            (true, _) => Self::Seconds,
            (false, true) => Self::Minutes,
            (false, false) => Self::Both,
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

/// The ticks of the measured part.
pub(crate) fn measured(ticks: &[Tick]) -> Vec<&Tick> {
    ticks.iter().filter(|tick| !tick.warmup).collect()
}

/// Those over all of whose time the load was on, for averages: the second in which the warm-up ended, the one in which the
/// load stopped, and the drain would pull them down.
pub(crate) fn loaded<'a>(run: &Snapshot, ticks: &[&'a Tick]) -> Vec<&'a Tick> {
    let stop_s = run.stop_s.unwrap_or(f64::INFINITY) + 1e-9;
    let is_whole = |t: &Tick| t.warmup || t.second as f64 >= run.warmup_s - 1e-9;
    let is_loaded = |t: &Tick| is_whole(t) && (t.second + t.seconds()) as f64 <= stop_s;
    ticks.iter().copied().filter(|t| is_loaded(t)).collect()
}

/// The measured time that ticks are of: whole seconds, but for the one in which the warm-up ended.
fn measured_s(run: &Snapshot, ticks: &[&Tick]) -> f64 {
    ticks.iter().map(|t| (t.second + t.seconds()) as f64 - run.warmup_s.max(t.second as f64)).sum()
}

/// The sentence of every chart, by its id.
pub(crate) fn charts(run: &Snapshot, ticks: &[Tick]) -> BTreeMap<&'static str, String> {
    let measured = measured(ticks);
    let apart = if run.warmup_s > 0.0 {
        let warmup = maybe(Format::Seconds, Some(run.warmup_s));
        format!(" The warm-up (shaded, {warmup}) is kept apart.")
    } else {
        String::new()
    };
    let sentences = [
        ("rate", rate(run, &measured)),
        ("latency", latency(&measured)),
        ("generator", generator(&measured)),
        ("open", open(&measured)),
        ("errors", errors(&measured)),
    ];
    let apart = sentences.into_iter().map(|(id, sentence)| (id, sentence + &apart));
    apart.chain([("distribution", distribution(&run.whole.latency_ms))]).collect()
}

fn distribution(latency_ms: &Percentiles) -> String {
    let Some(slowest) = latency_ms.max else { return "No request has succeeded.".to_owned() };
    let ms = |x: Option<f64>| maybe(Format::Ms, x);
    let [half, p90, p99, p99_9] = [latency_ms.p50, latency_ms.p90, latency_ms.p99, latency_ms.p99_9].map(ms);
    let slowest = ms(Some(slowest));
    format!(
        "Half of the ok requests took {half} ms at most, 90 % {p90} ms, 99 % {p99} ms and 99.9 % {p99_9} ms; the slowest \
         took {slowest} ms."
    )
}

/// Of a run that is over, time and counts are the whole run's: its ticks are of whole seconds, and it hardly ever is.
/// While it goes on they are those of the ticks, since the totals may be of seconds that some agents have yet to report.
fn rate(run: &Snapshot, measured: &[&Tick]) -> String {
    if measured.is_empty() {
        return NOTHING_YET.to_owned();
    }
    let seconds = if run.over { run.elapsed_s } else { measured_s(run, measured) };
    let ticks = loaded(run, measured);
    let grain = Grain::of(measured.iter().copied());
    let by = if grain == Grain::Seconds { "" } else { &format!(" {}", grain.by().to_lowercase()) };
    let (due, ok) = (due(run, measured), ok(run, &ticks, grain));
    let failed = most(measured, "failed", run.over.then_some(run.whole.failed), |t| t.failed);
    format!("Over {}{by}: {due}{ok}; {failed}.", maybe(Format::Seconds, Some(seconds)))
}

fn due(run: &Snapshot, ticks: &[&Tick]) -> String {
    let planned: Vec<f64> = ticks.iter().filter_map(|t| t.planned).collect();
    if planned.is_empty() {
        return String::new();
    }
    let whole = Some(&run.whole).filter(|_| run.over);
    let planned = whole.and_then(|w| w.planned).map_or_else(|| planned.iter().sum(), |n| n as f64);
    let started = whole.map_or_else(|| ticks.iter().map(|t| t.iterations).sum(), |w| w.iterations);
    let missed = most(ticks, "missed", whole.map(|w| w.missed), |t| t.missed);
    let (started, planned) = (count(started), maybe(Format::Count, Some(planned)));
    format!("{started} of {planned} iterations due were started, {missed}; ")
}

fn ok(run: &Snapshot, ticks: &[&Tick], grain: Grain) -> String {
    if ticks.is_empty() {
        return format!("{} ok requests per second", maybe(Format::Rate, Some(run.whole.rate)));
    }
    let seconds = ticks.iter().map(|t| t.seconds()).sum::<u64>();
    let mean = ticks.iter().map(|t| t.ok).sum::<u64>() as f64 / seconds as f64;
    let rates = || ticks.iter().map(|t| t.ok as f64 / t.seconds() as f64);
    let format = if grain == Grain::Seconds { Format::Count } else { Format::Rate };
    let (low, high) = (maybe(format, rates().reduce(f64::min)), maybe(format, rates().reduce(f64::max)));
    if low == high {
        format!("{high} ok requests per second")
    } else {
        let mean = maybe(Format::Rate, Some(mean));
        format!("{low} to {high} ok requests per second, {mean} on average")
    }
}

/// How many in all, which is `total` or the ticks' sum, and where most of them were.
fn most(ticks: &[&Tick], word: &str, total: Option<u64>, n: impl Fn(&Tick) -> u64) -> String {
    let total = total.unwrap_or_else(|| ticks.iter().map(|t| n(t)).sum());
    // The first of equals, as a reader from the left would name it.
    let worst = ticks.iter().rev().max_by_key(|t| n(t));
    match worst {
        Some(tick) if total > 0 && n(tick) == total => {
            format!("{} {word}, all in {}", count(total), place(tick))
        }
        Some(tick) if total > 0 && n(tick) > 0 => {
            format!("{} {word}, most in {} ({})", count(total), place(tick), count(n(tick)))
        }
        _ if total > 0 => format!("{} {word}", count(total)),
        _ => format!("none {word}"),
    }
}

/// The first tick with the largest value.
fn largest<'a>(ticks: &[&'a Tick], value: impl Fn(&Tick) -> Option<f64>) -> Option<(f64, &'a Tick)> {
    let mut largest: Option<(f64, &Tick)> = None;
    for tick in ticks {
        if let Some(x) = value(tick)
            && largest.is_none_or(|(most, _)| x > most)
        {
            largest = Some((x, tick));
        }
    }
    largest
}

fn latency(ticks: &[&Tick]) -> String {
    let Some((ms, slowest)) = largest(ticks, |t| t.latency_ms.max) else {
        return "No request has succeeded, so there is no latency to show.".to_owned();
    };
    let percentile = |of: fn(&Tick) -> &Percentiles, which: fn(&Percentiles) -> Option<f64>| {
        between(Format::Ms, " ms", ticks.iter().filter_map(|t| which(of(t))))
    };
    let median = percentile(|t| &t.latency_ms, |p| p.p50).unwrap_or_default();
    let p99 = percentile(|t| &t.latency_ms, |p| p.p99).unwrap_or_default();
    let service = percentile(|t| &t.service_ms, |p| p.p99);
    let since = if service.is_some() { " from when they were due" } else { "" };
    let service = service.map(|range| format!("; p99 of the service time was {range}")).unwrap_or_default();
    let (by, ms, place) =
        (Grain::of(ticks.iter().copied()).by(), maybe(Format::Ms, Some(ms)), place(slowest));
    format!(
        "{by}, the median was {median} and p99 {p99}{since}; the slowest request took {ms} ms, in {place}{service}."
    )
}

/// The range of some numbers, nothing where there are none.
fn between(format: Format, unit: &str, values: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let low = maybe(format, Some(values.clone().reduce(f64::min)?));
    let high = maybe(format, values.reduce(f64::max));
    Some(if low == high { format!("{low}{unit}") } else { format!("{low} to {high}{unit}") })
}

fn generator(ticks: &[&Tick]) -> String {
    let lag = largest(ticks, |t| t.lag_max_ms).map(|(ms, tick)| {
        let p99 = between(Format::Ms, " ms", ticks.iter().filter_map(|t| t.lag_p99_ms));
        let p99 = p99.map(|range| format!(", p99 was {range}")).unwrap_or_default();
        format!("Lag was at most {} ms, in {}{p99}", maybe(Format::Ms, Some(ms)), place(tick))
    });
    let cpu = between(Format::Percent, "", ticks.iter().filter_map(|t| t.busiest_cpu));
    let cpu = cpu.map(|range| format!("busiest worker used {range} of its processor"));
    match (lag, cpu) {
        (Some(lag), Some(cpu)) => format!("{lag}; the {cpu}."),
        (Some(lag), None) => format!("{lag}."),
        (None, Some(cpu)) => format!("The {cpu}."),
        (None, None) => "Nothing has been measured of the generator.".to_owned(),
    }
}

fn open(ticks: &[&Tick]) -> String {
    let Some(low) = ticks.iter().map(|t| t.in_flight).min() else {
        return NOTHING_YET.to_owned();
    };
    let high = ticks.iter().map(|t| t.in_flight).max().unwrap_or(low);
    let connections = ticks.iter().map(|t| t.connections).max().unwrap_or(0);
    let range = if low == high { count(low) } else { format!("{} to {}", count(low), count(high)) };
    let ends = match Grain::of(ticks.iter().copied()) {
        Grain::Seconds => "seconds'",
        Grain::Minutes => "minutes'",
        Grain::Both => "seconds' or minutes'",
    };
    format!(
        "At the {ends} ends {range} requests were in flight, on at most {} connections.",
        count(connections)
    )
}

fn errors(ticks: &[&Tick]) -> String {
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
