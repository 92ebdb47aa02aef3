//! What a run came to, for people: the text that is printed at its end, whether it ran here or on a coordinator.

use std::fmt::Write as _;

use volley_coordinator::RunDocument;
use volley_coordinator::document::{Percentiles, PhaseTotals, Whole};
use volley_plan::Verdict;
use volley_stats::ErrorKind;

use crate::format::{bytes, count, milliseconds, percent, rate, seconds, span};
use crate::processor::CpuTime;

/// How wide the column of names is.
const NAMES: usize = 13;

/// The summary of a run that is over. `cpu` is the generator's own time, where it was this process.
pub(crate) fn summary(document: &RunDocument, cpu: Option<CpuTime>, colours: bool) -> String {
    let progress = &document.progress;
    let whole = &progress.whole;
    let mut text = format!("\n{}\n\n", opening(document, colours));
    row(&mut text, "target", &document.target);
    row(&mut text, "load", &document.load);
    row(&mut text, "requests", &requests(whole));
    for line in lost(document) {
        row(&mut text, "", &line);
    }
    if let Some(warmup) = &progress.warmup {
        // A run that was stopped in its warm-up had no more of it.
        let warmup_s = progress.warmup_s.min(progress.run_s);
        let of = (count(warmup.started), count(warmup.ok), count(warmup.failed), seconds(warmup_s));
        row(
            &mut text,
            "warm-up",
            &format!("{} started, {} ok, {} failed in {}, kept apart", of.0, of.1, of.2, of.3),
        );
    }
    row(&mut text, "error rate", &percent(whole.error_rate));
    // Coordinators that don't say what it is over divided by little else than the time of the load.
    let rate_s = if whole.rate_s > 0.0 { whole.rate_s } else { progress.elapsed_s };
    row(&mut text, "rate", &format!("{} over {}", rate(whole.rate), span(rate_s)));
    latency(&mut text, whole);
    list(&mut text, "phases", phases(&progress.phases));
    list(
        &mut text,
        "statuses",
        progress.statuses.iter().map(|s| format!("{}: {}", s.status, count(s.count))),
    );
    list(
        &mut text,
        "errors",
        progress.errors.iter().map(|e| format!("{} × {}", count(e.count), words(&e.kind))),
    );
    row(&mut text, "bytes", &transferred(whole));
    row(&mut text, "connections", &format!("{} opened", count(whole.connections_opened)));
    if let Some(cpu) = cpu {
        row(&mut text, "CPU", &processor(cpu));
    }
    list(&mut text, "generator", progress.health_notes.iter().cloned());
    list(&mut text, "faults", progress.account_faults.iter().cloned());
    text
}

/// The sentence that the run's page opens with, and whether the run is complete.
fn opening(document: &RunDocument, colours: bool) -> String {
    let colour = match document.progress.verdict {
        Some(Verdict::Passed) => "32",
        Some(Verdict::Failed) => "31",
        Some(Verdict::Invalid) => "33",
        Some(Verdict::None) | None => "1",
    };
    let sentence = &document.progress.sentence;
    let verdict = match document.progress.verdict {
        Some(verdict @ (Verdict::Passed | Verdict::Failed)) => format!("{}: ", verdict.name()),
        Some(Verdict::Invalid | Verdict::None) | None => String::new(),
    };
    if colours { format!("\x1b[{colour}m{verdict}{sentence}\x1b[0m") } else { format!("{verdict}{sentence}") }
}

fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "{name:<NAMES$}{value}");
}

/// A row for each value, the name before the first; nothing without values.
fn list(text: &mut String, name: &str, values: impl Iterator<Item = String>) {
    for (index, value) in values.enumerate() {
        row(text, if index == 0 { name } else { "" }, &value);
    }
}

fn requests(whole: &Whole) -> String {
    let mut text = format!(
        "{} started = {} ok + {} failed + {} cancelled",
        count(whole.started),
        count(whole.ok),
        count(whole.failed),
        count(whole.cancelled)
    );
    if whole.unresolved > 0 {
        let _ = write!(text, " + {} unresolved (with a lost agent)", count(whole.unresolved));
    }
    text
}

/// What was not sent, or may have been: shown where there is any, and where the run says that it is incomplete.
fn lost(document: &RunDocument) -> Vec<String> {
    let whole = &document.progress.whole;
    let mut lines = Vec::new();
    if whole.missed > 0 || whole.unknown != Some(0) || document.progress.incomplete {
        let unknown =
            whole.unknown.map_or_else(|| "an unknown number".to_owned(), |n| format!("{} unknown", count(n)));
        let missed = count(whole.missed);
        lines.push(format!("{missed} missed (sent by nobody), {unknown} (permitted to a lost agent)"));
    }
    if whole.resent > 0 {
        lines.push(format!("{} sent again after an idle connection had been closed", count(whole.resent)));
    }
    let late = document.progress.delivered_late.windows;
    if late > 0 {
        lines.push(format!("{} reports came after the end and are in no total", count(late)));
    }
    lines
}

/// Latency, and beside it the service time where the two differ.
fn latency(text: &mut String, whole: &Whole) {
    let both = by_percentile(&whole.latency_ms).into_iter().zip(by_percentile(&whole.service_ms));
    let has_service = whole.service_ms.max.is_some();
    list(
        text,
        "latency",
        both.map(|((name, latency), (_, service))| {
            let latency = format!("{name:<6}{:>10}", milliseconds(latency));
            if has_service {
                format!("{latency}   service time {:>10}", milliseconds(service))
            } else {
                latency
            }
        }),
    );
    if let Some(age) = whole.cancelled_age_ms.max {
        row(
            text,
            "cut off",
            &format!("{} cancelled, up to {} old", count(whole.cancelled), milliseconds(Some(age))),
        );
    }
}

fn by_percentile(of: &Percentiles) -> [(&'static str, Option<f64>); 6] {
    [("p50", of.p50), ("p90", of.p90), ("p95", of.p95), ("p99", of.p99), ("p99.9", of.p99_9), ("max", of.max)]
}

/// Lag of what was started, and phases of what was answered: the median, the 99th percentile and the longest of each.
fn phases(phases: &[PhaseTotals]) -> impl Iterator<Item = String> {
    phases.iter().map(|phase| {
        let of = &phase.latency_ms;
        let name = phase.name.replace('_', " ");
        let (p50, p99, max) = (milliseconds(of.p50), milliseconds(of.p99), milliseconds(of.max));
        format!("{name:<12}p50 {p50:>10}   p99 {p99:>10}   max {max:>10}")
    })
}

fn words(kind: &str) -> String {
    ErrorKind::from_name(kind).map_or_else(|| kind.to_owned(), |kind| kind.words().to_owned())
}

fn transferred(whole: &Whole) -> String {
    let (received, bodies, sent) =
        (bytes(whole.bytes_received), bytes(whole.body_bytes), bytes(whole.bytes_sent));
    format!("{received} received ({bodies} of bodies), {sent} sent")
}

fn processor(cpu: CpuTime) -> String {
    let (user, system) = (cpu.user.as_secs_f64(), cpu.system.as_secs_f64());
    format!("{:.2} s ({user:.2} user + {system:.2} system) of this process", user + system)
}

#[cfg(test)]
pub(crate) mod tests;
