//! What a run came to, for people: the text that is printed at its end, whether it ran here or on a coordinator.

use std::fmt::Write as _;

use volley_coordinator::RunDocument;
use volley_coordinator::document::{
    AddressTotals, ConnectionTotals, ErrorCount, NOT_VERIFIED, Percentiles, PhaseTotals, Standing,
    ThresholdTotals, Whole,
};
use volley_plan::Verdict;
use volley_plan::words::counted;
use volley_stats::ErrorKind;

use crate::format::{bytes, count, milliseconds, percent, rate, seconds, span};
use crate::processor::CpuTime;

/// How wide the column of names is.
const NAMES: usize = 13;
/// Columns of a terminal: what is longer goes on in a further line, where it can be parted.
const COLUMNS: usize = 80;
/// Most addresses that are listed.
const MAX_ADDRESSES: usize = 16;

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
    list(&mut text, "thresholds", progress.thresholds.iter().map(threshold));
    list(&mut text, "phases", phases(&progress.phases));
    list(
        &mut text,
        "statuses",
        progress.statuses.iter().map(|s| format!("{}: {}", s.status, count(s.count))),
    );
    list(&mut text, "errors", progress.errors.iter().map(error));
    list(&mut text, "", advice(&progress.errors).into_iter());
    row(&mut text, "bytes", &transferred(whole));
    row(&mut text, "connections", &connections(&whole.connections));
    list(&mut text, "TLS", tls(document).into_iter());
    list(&mut text, "addresses", addresses(&progress.addresses).into_iter());
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
    if colours { format!("\x1b[{colour}m{sentence}\x1b[0m") } else { sentence.clone() }
}

fn row(text: &mut String, name: &str, value: &str) {
    for (index, line) in lines(value).iter().enumerate() {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{:<NAMES$}{line}", if index == 0 { name } else { "" });
    }
}

/// A value in lines that fit beside the names, parted at spaces; a word that is longer than that stays whole.
fn lines(value: &str) -> Vec<&str> {
    const WIDTH: usize = COLUMNS - NAMES;
    let mut lines = Vec::new();
    let mut rest = value;
    while rest.chars().count() > WIDTH {
        let end = rest.char_indices().nth(WIDTH).map_or(rest.len(), |(end, _)| end);
        let fitting = rest.get(..=end).unwrap_or(rest).rfind(' ');
        let Some(space) = fitting.or_else(|| rest.find(' ')) else { break };
        let (line, more) = rest.split_at(space);
        lines.push(line.trim_end());
        rest = more.trim_start();
    }
    lines.push(rest);
    lines
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
        let _ = write!(text, " + {} unresolved", count(whole.unresolved));
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
        lines.push(format!("{} missed (sent by nobody)", count(whole.missed)));
        lines.push(format!("{unknown} (permitted to a lost agent)"));
    }
    if whole.unresolved > 0 {
        lines.push(format!("{} unresolved (a lost agent did not report their end)", count(whole.unresolved)));
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

/// `✓ p99 < 300ms: 120 ms`, and how much of the limit is left.
fn threshold(of: &ThresholdTotals) -> String {
    let mark = if of.standing == Standing::Holds { '✓' } else { '✗' };
    let over = of.over_s.map(|over_s| format!(" over {over_s} s")).unwrap_or_default();
    let value = if of.value_words.is_empty() { String::new() } else { format!(": {}", of.value_words) };
    let told = match (of.standing, of.margin) {
        (Standing::Holds, Some(left)) => format!(", {} of the limit left", percent(Some(left))),
        (Standing::Holds, None) => String::new(),
        (Standing::Broken | Standing::NoData, _) => format!(" ({})", of.standing_words),
    };
    format!("{mark} {}{over}{value}{told}", of.expect)
}

/// Lag of what was started, and phases of what was answered: the median, the 99th percentile and the longest of each.
fn phases(phases: &[PhaseTotals]) -> impl Iterator<Item = String> {
    phases.iter().map(|phase| {
        let of = &phase.latency_ms;
        let name = phase_words(&phase.name);
        let (p50, p99, max) = (milliseconds(of.p50), milliseconds(of.p99), milliseconds(of.max));
        format!("{name:<12}p50 {p50:>10}   p99 {p99:>10}   max {max:>10}")
    })
}

/// `7 × connection refused (connect)`. Coordinators that don't send words send a kind all the same.
fn error(error: &ErrorCount) -> String {
    let ErrorCount { kind, phase, words, .. } = error;
    let by_kind = || ErrorKind::from_name(kind).map_or(kind.as_str(), |kind| kind.words());
    let words = if words.is_empty() { by_kind() } else { words };
    format!("{} × {words} ({})", count(error.count), phase_words(phase))
}

/// What to do about errors that have a cure here.
fn advice(errors: &[ErrorCount]) -> Option<String> {
    let is_distrust = |error: &ErrorCount| error.kind == ErrorKind::TlsCertificate.name();
    errors.iter().any(is_distrust).then(|| {
        "a certificate of one's own is trusted with --cacert FILE (tls: { ca } in a plan), any at all with -k (insecure)"
            .to_owned()
    })
}

fn phase_words(name: &str) -> String {
    if name == "tls" { "TLS".to_owned() } else { name.replace('_', " ") }
}

/// What was counted of connections; earlier coordinators count only how many were opened.
fn connections(of: &ConnectionTotals) -> String {
    let some = |n: Option<u64>, words: &str| n.map(|n| format!(", {} {words}", count(n))).unwrap_or_default();
    let reused = some(of.connections_reused, "re-used");
    let closed = some(of.connections_closed, "closed by the target");
    format!("{} opened{reused}{closed}", count(of.connections_opened))
}

/// The handshakes, where there were any or the plan wants them; and that certificates were not verified, if so.
fn tls(document: &RunDocument) -> Option<String> {
    let ConnectionTotals { handshakes, handshakes_resumed, .. } = document.progress.whole.connections;
    let tls = document.parsed_plan().filter(|plan| plan.target.is_tls()).map(|plan| plan.http.tls);
    let handshakes = handshakes.filter(|n| *n > 0 || tls.is_some())?;
    let resumed = handshakes_resumed.unwrap_or(0);
    let doubt = if tls.is_some_and(|tls| tls.insecure) { format!("; {NOT_VERIFIED}") } else { String::new() };
    Some(format!("{}, {} of them resumed{doubt}", counted(handshakes, "handshake"), count(resumed)))
}

/// The addresses, where there are several or one could not be connected to.
fn addresses(addresses: &[AddressTotals]) -> Vec<String> {
    if addresses.len() < 2 && addresses.iter().all(|address| address.failures == 0) {
        return Vec::new();
    }
    let mut lines: Vec<_> = addresses.iter().take(MAX_ADDRESSES).map(address).collect();
    let more = addresses.len().saturating_sub(MAX_ADDRESSES) as u64;
    if more > 0 {
        lines.push(format!("and {} more of them", count(more)));
    }
    lines
}

fn address(of: &AddressTotals) -> String {
    let (requests, connections) = (counted(of.requests, "request"), counted(of.connections, "connection"));
    let failed = match of.failures {
        0 => String::new(),
        n => format!(", {}", counted(n, "failed attempt")),
    };
    format!("{}: {requests}, {connections}{failed}", of.address)
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
