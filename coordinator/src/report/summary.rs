//! A whole run as a table. What a row is of stands in its first column: `total`, `warmup`, `step`, `measure`, `error`,
//! `status`, `address` or `threshold`; cells that don't fit a row are empty.

use volley_stats::{Counters, Histogram, SealedRow, TotalRow};
use volley_web::stream::Percentiles;

use super::table::{Cell, PERCENTILES, csv, percentiles};
use super::{Recording, RenderError};
use crate::document::{RunDocument, latency_ms, ns_to_ms, per_second};

/// Columns before the percentiles.
const HEAD: [&str; 22] = [
    "row",
    "run",
    "scenario",
    "name",
    "count",
    "started",
    "ok",
    "failed",
    "cancelled",
    "missed",
    "unknown",
    "error_rate",
    "rate_per_s",
    "bytes_sent",
    "bytes_received",
    "body_bytes",
    "connections_opened",
    "value",
    "limit",
    "words",
    "min_ms",
    "mean_ms",
];
const COLUMNS: usize = HEAD.len() + PERCENTILES.len();

/// One row; what isn't set is empty.
#[derive(Default)]
struct Row {
    kind: &'static str,
    scenario: Cell,
    name: Cell,
    count: Cell,
    counts: Counts,
    value: Cell,
    limit: Cell,
    words: Cell,
    times: Times,
}

/// What is counted of requests.
#[derive(Default)]
struct Counts {
    started: Cell,
    ok: Cell,
    failed: Cell,
    cancelled: Cell,
    missed: Cell,
    unknown: Cell,
    error_rate: Cell,
    rate_per_s: Cell,
    bytes: [Cell; 3],
    connections_opened: Cell,
}

/// How long something took.
#[derive(Default)]
struct Times {
    min_ms: Cell,
    mean_ms: Cell,
    percentiles: [Cell; 6],
}

/// The table.
pub(super) fn csv_of(recording: &Recording) -> Result<String, RenderError> {
    let names = HEAD.iter().chain(&PERCENTILES);
    let mut head = [""; COLUMNS];
    head.iter_mut().zip(names).for_each(|(cell, name)| *cell = name);
    let run = recording.document.id.as_str();
    csv(head, rows(recording)?.into_iter().map(|row| cells(run, row)))
}

fn rows(recording: &Recording) -> Result<Vec<Row>, RenderError> {
    let document = &recording.document;
    let mut rows = vec![total(recording)];
    rows.extend(warmup(document));
    rows.extend(steps(recording)?);
    rows.extend(measures(&recording.whole));
    rows.extend(phases(document));
    rows.extend(errors(document));
    rows.extend(statuses(document));
    rows.extend(addresses(document));
    rows.extend(thresholds(document));
    Ok(rows)
}

fn cells(run: &str, row: Row) -> [Cell; COLUMNS] {
    let Row { kind, scenario, name, count, counts, value, limit, words, times } = row;
    let Counts { started, ok, failed, cancelled, missed, unknown, .. } = counts;
    let Counts { error_rate, rate_per_s, bytes, connections_opened, .. } = counts;
    let [sent, received, body] = bytes;
    let Times { min_ms, mean_ms, percentiles } = times;
    let mut cells = [
        kind.into(),
        run.into(),
        scenario,
        name,
        count,
        started,
        ok,
        failed,
        cancelled,
        missed,
        unknown,
        error_rate,
        rate_per_s,
        sent,
        received,
        body,
        connections_opened,
        value,
        limit,
        words,
        min_ms,
        mean_ms,
    ]
    .into_iter()
    .chain(percentiles);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

fn total(recording: &Recording) -> Row {
    let document = &recording.document;
    let whole = &document.progress.whole;
    let counts = Counts {
        missed: whole.missed.into(),
        unknown: whole.unknown.into(),
        ..counts(&recording.whole.counters, whole.rate_s)
    };
    Row {
        kind: "total",
        name: document.name.as_str().into(),
        words: document.progress.sentence.as_str().into(),
        counts,
        times: times(&recording.whole.latency),
        ..Row::default()
    }
}

fn counts(of: &Counters, rate_s: f64) -> Counts {
    Counts {
        started: of.started.into(),
        ok: of.ok.into(),
        failed: of.failed.into(),
        cancelled: of.cancelled.into(),
        error_rate: of.error_rate().into(),
        rate_per_s: per_second(of.ok, rate_s).into(),
        bytes: [of.bytes_sent, of.bytes_received, of.body_bytes].map(Cell::from),
        connections_opened: of.connections_opened.into(),
        ..Counts::default()
    }
}

fn times(histogram: &Histogram<u64>) -> Times {
    Times {
        min_ms: histogram.min_ns().map(ns_to_ms).into(),
        mean_ms: histogram.mean_ns().map(|ns| ns / 1e6).into(),
        percentiles: percentiles(&latency_ms(histogram)).map(Cell::from),
    }
}

fn warmup(document: &RunDocument) -> Option<Row> {
    let of = document.progress.warmup.as_ref()?;
    let [started, ok, failed, cancelled, missed] =
        [of.started, of.ok, of.failed, of.cancelled, of.missed].map(Cell::from);
    let counts = Counts { started, ok, failed, cancelled, missed, ..Counts::default() };
    Some(Row { kind: "warmup", counts, ..Row::default() })
}

fn steps(recording: &Recording) -> Result<Vec<Row>, RenderError> {
    let progress = &recording.document.progress;
    let nothing = SealedRow::default();
    let step = |(id, step): (_, &crate::document::StepDocument)| {
        let sealed = recording.steps.get(&id).unwrap_or(&nothing);
        let row: TotalRow = sealed.open()?;
        Ok(Row {
            kind: "step",
            scenario: step.totals.scenario.as_str().into(),
            name: step.totals.name.as_str().into(),
            counts: counts(&row.counters, progress.whole.rate_s),
            times: times(&row.latency),
            ..Row::default()
        })
    };
    (0..).zip(&progress.steps).map(step).collect()
}

/// What else is timed of requests, beside the latency of those that were ok.
fn measures(whole: &TotalRow) -> impl Iterator<Item = Row> {
    let all = [
        ("service_time", &whole.service_time),
        ("failed_latency", &whole.failed_latency),
        ("cancelled_age", &whole.cancelled_age),
    ];
    all.into_iter().map(|(name, histogram)| Row {
        kind: "measure",
        name: name.into(),
        count: histogram.count().into(),
        times: times(histogram),
        ..Row::default()
    })
}

fn phases(document: &RunDocument) -> impl Iterator<Item = Row> {
    let row = |name: &str, count: u64, of: &Percentiles| {
        let times = Times { percentiles: percentiles(of).map(Cell::from), ..Times::default() };
        Row { kind: "measure", name: name.into(), count: count.into(), times, ..Row::default() }
    };
    document.progress.phases.iter().map(move |phase| row(&phase.name, phase.count, &phase.latency_ms))
}

fn errors(document: &RunDocument) -> impl Iterator<Item = Row> {
    document.progress.errors.iter().map(|error| Row {
        kind: "error",
        name: error.kind.as_str().into(),
        count: error.count.into(),
        words: error.words.as_str().into(),
        ..Row::default()
    })
}

fn statuses(document: &RunDocument) -> impl Iterator<Item = Row> {
    document.progress.statuses.iter().map(|status| Row {
        kind: "status",
        name: u64::from(status.status).into(),
        count: status.count.into(),
        ..Row::default()
    })
}

fn addresses(document: &RunDocument) -> impl Iterator<Item = Row> {
    document.progress.addresses.iter().map(|of| Row {
        kind: "address",
        name: of.address.as_str().into(),
        count: of.requests.into(),
        counts: Counts { connections_opened: of.connections.into(), ..Counts::default() },
        ..Row::default()
    })
}

fn thresholds(document: &RunDocument) -> impl Iterator<Item = Row> {
    document.progress.thresholds.iter().map(|of| {
        let over = of.over_s.map(|over_s| format!(" over {over_s} s")).unwrap_or_default();
        Row {
            kind: "threshold",
            name: format!("{}{over}", of.expect).as_str().into(),
            value: of.value.into(),
            limit: of.limit.into(),
            words: of.standing_words.as_str().into(),
            ..Row::default()
        }
    })
}
