//! A run that is over as OpenMetrics: for archives of metrics, and for CI systems that hold one run's against another's.

use volley_stats::{Buckets, Counters, Histogram, Timed, TotalRow};
use volley_web::stream::Percentiles;

use super::{Recording, RenderError};
use crate::document::{RunDocument, Standing, StepDocument};
use crate::exposition::{Exposition, Labels, Of};
use crate::fleet::VERSION;

/// Most steps that are told apart; the rest are one, named `other`.
const MAX_STEPS: usize = 200;
const OTHER: &str = "other";

/// All figures.
pub(super) fn exposition(recording: &Recording) -> Result<Exposition, RenderError> {
    let document = &recording.document;
    let mut all = Exposition::default();
    about(document, &mut all);
    requests(recording, &mut all);
    iterations(document, &mut all);
    counted(&recording.whole.counters, document, &mut all);
    timed(&recording.whole, &mut all);
    quantiles(document, &mut all);
    thresholds(document, &mut all);
    Ok(all)
}

fn label(name: &'static str, value: impl Into<String>) -> (&'static str, String) {
    (name, value.into())
}

fn about(document: &RunDocument, all: &mut Exposition) {
    let progress = &document.progress;
    let verdict = progress.verdict.map_or("", |verdict| verdict.name());
    let labels = vec![
        label("run", document.id.as_str()),
        label("name", document.name.as_str()),
        label("plan_hash", document.plan_hash.as_str()),
        label("verdict", verdict),
        label("version", VERSION),
    ];
    all.info("volley_run", "The run.", labels);
    let seconds = |s: f64| vec![(Vec::new(), s)];
    let help = "Length of the measured part.";
    all.gauge("volley_run_duration", Of::Seconds, help, seconds(progress.elapsed_s));
    let help = "Ok requests a second.";
    all.gauge("volley_run_ok_per_second", Of::Things, help, seconds(progress.whole.rate));
}

/// Requests by step and outcome.
fn requests(recording: &Recording, all: &mut Exposition) {
    let steps = &recording.document.progress.steps;
    let nothing = Counters::default();
    let counters = |id| recording.steps.get(&id).map_or(&nothing, |row| &row.counters);
    let mut samples = Vec::new();
    let mut other = [0_u64; 3];
    for (place, step) in steps.iter().enumerate() {
        let of = u16::try_from(place).map_or(&nothing, counters);
        let counts = [of.ok, of.failed, of.cancelled];
        if place < MAX_STEPS {
            samples.extend(outcomes(&names(step), counts));
        } else {
            other.iter_mut().zip(counts).for_each(|(sum, n)| *sum = sum.saturating_add(n));
        }
    }
    if steps.len() > MAX_STEPS {
        samples.extend(outcomes(&vec![label("scenario", OTHER), label("step", OTHER)], other));
    }
    all.counter("volley_requests", Of::Things, "Requests that came to an end, by step and outcome.", samples);
}

fn names(step: &StepDocument) -> Labels {
    vec![label("scenario", step.totals.scenario.as_str()), label("step", step.totals.name.as_str())]
}

fn outcomes(names: &Labels, counts: [u64; 3]) -> impl Iterator<Item = (Labels, u64)> {
    ["ok", "failed", "cancelled"].into_iter().zip(counts).map(|(outcome, n)| {
        let labels = names.iter().cloned().chain([label("outcome", outcome)]);
        (labels.collect(), n)
    })
}

fn iterations(document: &RunDocument, all: &mut Exposition) {
    let accounts = &document.progress.accounts;
    let one = |n: u64| vec![(Vec::new(), n)];
    all.counter("volley_iterations", Of::Things, "Iterations started.", one(accounts.started));
    let help = "Iterations that were due and sent by nobody.";
    all.counter("volley_missed_arrivals", Of::Things, help, one(accounts.missed));
    if let Some(unknown) = document.progress.whole.unknown {
        let help = "Iterations permitted to an agent that was lost before it reported them.";
        all.counter("volley_unknown_arrivals", Of::Things, help, one(unknown));
    }
}

/// Errors, answers, bytes and connections.
fn counted(of: &Counters, document: &RunDocument, all: &mut Exposition) {
    let one = |n: u64| vec![(Vec::new(), n)];
    let errors = of
        .errors
        .iter()
        .map(|(kind, n)| (vec![label("kind", kind.name()), label("phase", kind.phase().name())], n));
    all.counter("volley_errors", Of::Things, "Failed requests by kind.", errors.collect());
    let answers = document.progress.statuses.iter();
    let answers = answers.map(|of| (vec![label("status", of.status.to_string())], of.count)).collect();
    all.counter("volley_answers", Of::Things, "Final answers by status.", answers);
    all.counter("volley_sent", Of::Bytes, "Bytes written to connections.", one(of.bytes_sent));
    all.counter("volley_received", Of::Bytes, "Bytes read from connections.", one(of.bytes_received));
    all.counter("volley_connections_opened", Of::Things, "Connections opened.", one(of.connections_opened));
    all.counter("volley_handshakes", Of::Things, "TLS handshakes.", one(of.handshakes));
}

fn buckets<const D: u8>(histogram: &Histogram<u64, D>) -> Buckets {
    let mut buckets = Buckets::default();
    buckets.add(histogram);
    buckets
}

/// Histograms.
fn timed(whole: &TotalRow, all: &mut Exposition) {
    let by_outcome = [("ok", &whole.latency), ("failed", &whole.failed_latency)];
    let latency = by_outcome.map(|(outcome, of)| (vec![label("outcome", outcome)], buckets(of)));
    let help = "Latency of requests, from when they were due.";
    all.histogram("volley_request_duration", help, latency.into());
    if !whole.service_time.is_empty() {
        let help = "Time of ok requests from when they were taken up.";
        all.histogram("volley_service_time", help, vec![(Vec::new(), buckets(&whole.service_time))]);
    }
    let lag = whole.timing.of(Timed::Lag);
    let help = "How late iterations were taken up.";
    all.histogram("volley_schedule_lag", help, vec![(Vec::new(), buckets(lag))]);
    let phases = whole.timing.iter().filter(|(timed, _)| *timed != Timed::Lag);
    let phases = phases.map(|(timed, of)| (vec![label("phase", timed.name())], buckets(of))).collect();
    all.histogram("volley_phase_duration", "Phases of requests that were answered.", phases);
}

/// Exact percentiles, which no buckets tell.
fn quantiles(document: &RunDocument, all: &mut Exposition) {
    let nothing = Labels::new();
    let whole = of_list(&nothing, &document.progress.whole.latency_ms);
    let help = "Percentiles of the latency of ok requests.";
    all.gauge("volley_request_duration_quantile", Of::Seconds, help, whole.collect());
    let steps = document.progress.steps.iter().take(MAX_STEPS);
    let steps = steps.flat_map(|step| of_list(&names(step), &step.totals.latency_ms).collect::<Vec<_>>());
    let help = "Percentiles of the latency of ok requests by step.";
    all.gauge("volley_step_duration_quantile", Of::Seconds, help, steps.collect());
}

fn of_list(names: &Labels, of: &Percentiles) -> impl Iterator<Item = (Labels, f64)> {
    let list = [("0.5", of.p50), ("0.9", of.p90), ("0.95", of.p95), ("0.99", of.p99), ("0.999", of.p99_9)];
    list.into_iter().chain([("1", of.max)]).filter_map(|(quantile, ms)| {
        // The label `quantile` is a summary's own.
        let labels = names.iter().cloned().chain([label("q", quantile)]);
        Some((labels.collect(), ms? / 1e3))
    })
}

fn thresholds(document: &RunDocument, all: &mut Exposition) {
    let list = &document.progress.thresholds;
    // Two of them may demand the same of different stretches.
    let labels = |of: &crate::document::ThresholdTotals| {
        vec![label("threshold", of.expect.as_str()), label("over", of.scope.as_str())]
    };
    let holds = list.iter().map(|of| (labels(of), f64::from(u8::from(of.standing == Standing::Holds))));
    all.gauge("volley_threshold_holds", Of::Things, "Whether a threshold held.", unique(holds));
}

/// The first of each set of labels: a plan may say a thing twice, a scrape may not.
fn unique(samples: impl Iterator<Item = (Labels, f64)>) -> Vec<(Labels, f64)> {
    let mut all: Vec<(Labels, f64)> = Vec::new();
    for sample in samples {
        if all.iter().all(|(labels, _)| *labels != sample.0) {
            all.push(sample);
        }
    }
    all
}
