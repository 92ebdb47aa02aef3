//! Parts of a run's results over REST: numbers of some seconds, series, histograms and errors.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use volley_plan::link::RunId;
use volley_plan::units::parse_duration;
use volley_stats::{
    COARSE_DIGITS, Count, DecodeError, Histogram, MergedSecond, Part, Row, RowKey, SealedRow, Timed, TotalRow,
};
use volley_web::stream::{ErrorCount, Percentiles, Snapshot, StatusCount, Tick};

use super::{AppState, Problem, RunPath};
use crate::coordinator::Cut;
use crate::document;
use crate::document::{Excerpt, StepDocument, end_s, latency_ms, ns_to_ms, warmup_s};
use crate::past::Past;
use crate::store::{Grain, Span, StoreError, Strain, extend};
use crate::view;

/// Points of a series where their length isn't said, at most.
const POINTS: u32 = 3_600;
/// Most points of a series.
const MAX_POINTS: u32 = 20_000;

/// Which seconds of a run.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SpanQuery {
    /// The first second, in run time [default: 0].
    from: Option<u32>,
    /// The second after the last [default: the end].
    to: Option<u32>,
}

/// Which steps of a run.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StepQuery {
    /// Only steps of this name.
    step: Option<String>,
    /// Only steps of this scenario.
    scenario: Option<String>,
}

/// The numbers of some seconds of a run.
#[derive(Serialize, ToSchema)]
pub(crate) struct SpanDocument {
    /// The first second.
    pub(crate) from_s: u32,
    /// The second after the last.
    pub(crate) to_s: u32,
    /// The run as its stream tells it, with the numbers of the span in the place of those of the whole run. What belongs
    /// to the run as a whole stays: state, verdict, thresholds, agents, addresses.
    pub(crate) run: Snapshot,
}

/// A run's numbers over time.
#[derive(Serialize, ToSchema)]
pub(super) struct SeriesDocument {
    /// The first second.
    from_s: u32,
    /// The second after the last.
    to_s: u32,
    /// The length of a point. One is shorter where the run or its warm-up ends within it, which its `span_s` says.
    every_s: u32,
    /// Ascending; those in which nothing is known are left out.
    points: Vec<Tick>,
}

/// A histogram.
#[derive(Serialize, ToSchema)]
pub(super) struct HistogramDocument {
    /// The first second.
    from_s: u32,
    /// The second after the last.
    to_s: u32,
    /// What was timed.
    of: String,
    /// How many were.
    count: u64,
    /// The shortest.
    min_ms: Option<f64>,
    /// The longest.
    max_ms: Option<f64>,
    /// The mean.
    mean_ms: Option<f64>,
    /// The one list of percentiles.
    percentiles: Percentiles,
    /// HdrHistogram's V2 form (not compressed) in base64, of nanoseconds from 16 to one hour; empty where there is nothing.
    hdr: String,
}

/// What went wrong.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorsDocument {
    /// The first second.
    from_s: u32,
    /// The second after the last.
    to_s: u32,
    /// By kind, most frequent first.
    errors: Vec<ErrorCount>,
    /// Final answers by status, ascending.
    statuses: Vec<StatusCount>,
}

fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|rejection| Problem::bad_query(&rejection.body_text()))
}

/// What the queries cut out of a run.
async fn cut(state: &AppState, run: &RunId, span: &SpanQuery, of: &StepQuery) -> Result<Cut, Problem> {
    let from_s = span.from.unwrap_or(0);
    if span.to.is_some_and(|to_s| to_s <= from_s) {
        return Err(Problem::bad_request("to: expected a second after from"));
    }
    let cut = Cut { from_s, to_s: span.to, steps: None };
    let document = state.shared().document(run).await?.ok_or_else(|| Problem::no_run(run))?;
    let end_s = end_s(&document.progress);
    if from_s > 0 && from_s >= end_s {
        let verb = if document.progress.over { "was over" } else { "is" };
        return Err(Problem::bad_request(format!("from: the run {verb} at {end_s} s")));
    }
    if of.step.is_none() && of.scenario.is_none() {
        return Ok(cut);
    }
    let is_meant = |step: &StepDocument| {
        of.step.as_ref().is_none_or(|name| step.totals.name == *name)
            && of.scenario.as_ref().is_none_or(|name| step.totals.scenario == *name)
    };
    let steps = (0..).zip(&document.progress.steps).filter(|(_, step)| is_meant(step)).map(|(id, _)| id);
    let steps: BTreeSet<_> = steps.collect();
    if steps.is_empty() {
        let names = [of.step.as_deref(), of.scenario.as_deref()];
        let names: Vec<_> = names.into_iter().flatten().collect();
        return Err(Problem::not_found(format!("the run has no step {}", names.join(" of "))));
    }
    Ok(Cut { steps: Some(steps), ..cut })
}

async fn excerpt(
    state: &AppState,
    run: &RunId,
    span: &SpanQuery,
    of: &StepQuery,
) -> Result<Excerpt, Problem> {
    let cut = cut(state, run, span, of).await?;
    state.shared().excerpt(run, cut).await?.ok_or_else(|| Problem::no_run(run))
}

/// Merging thousands of histograms takes a while.
async fn merging<T: Send + 'static>(
    run: RunId,
    work: impl FnOnce() -> Result<T, DecodeError> + Send + 'static,
) -> Result<T, Problem> {
    let merged = tokio::task::spawn_blocking(work).await;
    let merged = merged.map_err(|error| StoreError::Failed(format!("reading broke off: {error}")))?;
    Ok(merged.map_err(|error| StoreError::Damaged { run, source: error.into() })?)
}

/// Numbers of some seconds
///
/// Percentiles are of the merged histograms of those seconds. Where the seconds are gone by age, whole minutes are told.
#[utoipa::path(
    get, path = "/runs/{id}/span", tag = "runs", params(("id" = String, Path, description = "The run"), SpanQuery),
    responses((status = 200, body = SpanDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn span(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    span: Result<Query<SpanQuery>, QueryRejection>,
) -> Result<Json<SpanDocument>, Problem> {
    let SpanQuery { from, to } = query(span)?;
    span_document(&state, &run, from, to).await.map(Json)
}

/// The numbers of some seconds of a run, from a first one up to another: those of its begin and end where they aren't said.
pub(crate) async fn span_document(
    state: &AppState,
    run: &RunId,
    from: Option<u32>,
    to: Option<u32>,
) -> Result<SpanDocument, Problem> {
    let excerpt = excerpt(state, run, &SpanQuery { from, to }, &StepQuery::default()).await?;
    merging(run.clone(), move || told(&excerpt)).await
}

/// The numbers of an excerpt.
fn told(excerpt: &Excerpt) -> Result<SpanDocument, DecodeError> {
    let run = view::span_snapshot(excerpt)?;
    Ok(SpanDocument { from_s: excerpt.from_s, to_s: excerpt.to_s, run })
}

/// What can stand behind the `?` of a series.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SeriesQuery {
    /// The length of a point, such as 10s: whole seconds [default: as many that there are no more than 3,600 points].
    every: Option<String>,
}

impl SeriesQuery {
    /// The length of a point in seconds, for so many seconds.
    fn every_s(&self, length_s: u32) -> Result<u32, Problem> {
        let Some(every) = &self.every else {
            let least = length_s.div_ceil(POINTS).max(1);
            return Ok([1, 2, 5, 10, 30, 60]
                .into_iter()
                .find(|s| *s >= least)
                .unwrap_or(least.next_multiple_of(60)));
        };
        let expected = || Problem::bad_request("every: expected whole seconds, such as 10s");
        let length = parse_duration(every).map_err(|_| expected())?;
        let every_s = u32::try_from(length.as_secs()).ok().filter(|s| *s > 0 && length.subsec_nanos() == 0);
        let every_s = every_s.ok_or_else(expected)?;
        if length_s.div_ceil(every_s) > MAX_POINTS {
            return Err(Problem::bad_request(format!("every: that would be more than {MAX_POINTS} points")));
        }
        Ok(every_s)
    }
}

/// Numbers over time
///
/// Of one step, what is only known of all together (users, connections, lag, what was due) is null or 0.
#[utoipa::path(
    get, path = "/runs/{id}/series", tag = "runs",
    params(("id" = String, Path, description = "The run"), SpanQuery, StepQuery, SeriesQuery),
    responses((status = 200, body = SeriesDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn series(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    span: Result<Query<SpanQuery>, QueryRejection>,
    of: Result<Query<StepQuery>, QueryRejection>,
    every: Result<Query<SeriesQuery>, QueryRejection>,
) -> Result<Json<SeriesDocument>, Problem> {
    let (span, of, every) = (query(span)?, query(of)?, query(every)?);
    let cut = cut(&state, &run, &span, &of).await?;
    let shared = state.shared();
    let document = shared.document(&run).await?.ok_or_else(|| Problem::no_run(&run))?;
    let end_s = end_s(&document.progress);
    let to_s = cut.to_s.unwrap_or(end_s).max(cut.from_s);
    let every_s = every.every_s(to_s.min(end_s).saturating_sub(cut.from_s))?;
    let warmup_s = warmup_s(&document.progress);
    // A minute that has the warm-up's end in it tells nothing of the warm-up.
    let by_minute = [every_s, cut.from_s, warmup_s].iter().all(|s| s % 60 == 0);
    let grain = if by_minute { Grain::Minute } else { Grain::Second };
    let past = Past::of(&document);
    let spans = match cut.steps {
        None => shared.store.spans(&run, grain, cut.from_s, to_s).await?,
        Some(_) => {
            let rows = shared.store.rows(&run, grain, cut.from_s, to_s, cut.only_step()).await?;
            // What began in the warm-up and ended after it is no part of the seconds after it.
            let timeline = past.timeline();
            let is_told = |key: &RowKey| (key.part == Part::Warmup) == timeline.is_warmup(key.to_s);
            rows_as_spans(rows.into_iter().filter(|(key, _)| cut.has(key) && is_told(key)))
        }
    };
    let of_steps = cut.steps.is_some();
    let grid = Grid { from_s: cut.from_s, every_s, warmup_s, end_s: to_s.min(end_s) };
    let points = merging(run, move || points(&past, &spans, &grid, of_steps)).await?;
    Ok(Json(SeriesDocument { from_s: cut.from_s, to_s, every_s, points }))
}

/// The rows of some steps as spans without what is known of the fleet alone.
fn rows_as_spans(rows: impl Iterator<Item = (RowKey, SealedRow)>) -> Vec<Span> {
    let span =
        |(key, row): (RowKey, SealedRow)| Span { from_s: key.from_s, to_s: key.to_s, row, ..Span::default() };
    rows.map(span).collect()
}

/// Where points begin and end. None is of both the warm-up and what comes after it.
struct Grid {
    from_s: u32,
    every_s: u32,
    warmup_s: u32,
    end_s: u32,
}

impl Grid {
    /// The seconds of a point, by its number.
    fn seconds(&self, number: u32, is_warmup: bool) -> (u32, u32) {
        let begin_s = self.from_s.saturating_add(number.saturating_mul(self.every_s));
        let to_s = begin_s.saturating_add(self.every_s);
        if is_warmup {
            (begin_s, to_s.min(self.warmup_s))
        } else {
            (begin_s.max(self.warmup_s), to_s.min(self.end_s).max(begin_s + 1))
        }
    }
}

/// The spans in points.
fn points(past: &Past, spans: &[Span], grid: &Grid, of_steps: bool) -> Result<Vec<Tick>, DecodeError> {
    let timeline = past.timeline();
    let mut buckets: BTreeMap<(u32, bool), Vec<&Span>> = BTreeMap::new();
    for span in spans {
        let number = span.from_s.saturating_sub(grid.from_s) / grid.every_s;
        buckets.entry((number, !timeline.is_warmup(span.to_s))).or_default().push(span);
    }
    let point = |((number, is_measured), spans): ((u32, bool), Vec<&Span>)| {
        let (begin_s, to_s) = grid.seconds(number, !is_measured);
        let mut merged = MergedSecond::default();
        let mut strain = Strain::default();
        for span in spans {
            extend(&mut merged.scalars, &span.scalars);
            strain.merge(span.strain);
            merged.row.merge_sealed(&span.row)?;
        }
        let tick = Tick { elapsed_s: to_s.into(), ..view::tick((begin_s, to_s), &merged, strain, &timeline) };
        Ok(if of_steps { Tick { planned: None, missed: 0, unknown: 0, ..tick } } else { tick })
    };
    buckets.into_iter().map(point).collect()
}

/// What can stand behind the `?` of a histogram.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistogramQuery {
    /// What was timed: latency, service_time, failed_latency, cancelled_age, lag, or a phase such as connect
    /// [default: latency].
    of: Option<String>,
}

/// A histogram
///
/// Lag and phases are timed with two digits, the rest with three; lag is of all steps together.
#[utoipa::path(
    get, path = "/runs/{id}/histogram", tag = "runs",
    params(("id" = String, Path, description = "The run"), SpanQuery, StepQuery, HistogramQuery),
    responses((status = 200, body = HistogramDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn histogram(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    span: Result<Query<SpanQuery>, QueryRejection>,
    steps: Result<Query<StepQuery>, QueryRejection>,
    of: Result<Query<HistogramQuery>, QueryRejection>,
) -> Result<Json<HistogramDocument>, Problem> {
    let HistogramQuery { of } = query(of)?;
    let excerpt = excerpt(&state, &run, &query(span)?, &query(steps)?).await?;
    let of = of.unwrap_or_else(|| "latency".to_owned());
    let made = merging(run, move || Ok(histogram_of(&excerpt, excerpt.total()?, of))).await?;
    made.map(Json).ok_or_else(|| {
        let timed: Vec<_> = Timed::ALL.iter().map(|timed| timed.name()).collect();
        let known = format!("latency, service_time, failed_latency, cancelled_age, {}", timed.join(", "));
        Problem::bad_request(format!("of: expected one of {known}"))
    })
}

fn histogram_of(excerpt: &Excerpt, total: TotalRow, of: String) -> Option<HistogramDocument> {
    let Row { latency, service_time, failed_latency, cancelled_age, timing, .. } = total;
    match of.as_str() {
        "latency" => Some(document_of(excerpt, &latency, of)),
        "service_time" => Some(document_of(excerpt, &service_time, of)),
        "failed_latency" => Some(document_of(excerpt, &failed_latency, of)),
        "cancelled_age" => Some(document_of(excerpt, &cancelled_age, of)),
        name => {
            let timed = Timed::ALL.iter().find(|timed| timed.name() == name)?;
            let histogram: &Histogram<u64, COARSE_DIGITS> = timing.of(*timed);
            Some(document_of(excerpt, histogram, of))
        }
    }
}

fn document_of<C: Count, const D: u8>(
    excerpt: &Excerpt,
    histogram: &Histogram<C, D>,
    of: String,
) -> HistogramDocument {
    HistogramDocument {
        from_s: excerpt.from_s,
        to_s: excerpt.to_s,
        of,
        count: histogram.count(),
        min_ms: histogram.min_ns().map(ns_to_ms),
        max_ms: histogram.max_ns().map(ns_to_ms),
        mean_ms: histogram.mean_ns().map(|ns| ns / 1e6),
        percentiles: latency_ms(histogram),
        hdr: BASE64.encode(histogram.to_bytes()),
    }
}

/// Errors and statuses
#[utoipa::path(
    get, path = "/runs/{id}/errors", tag = "runs",
    params(("id" = String, Path, description = "The run"), SpanQuery, StepQuery),
    responses((status = 200, body = ErrorsDocument), (status = 400, response = Problem), (status = 404, response = Problem))
)]
pub(super) async fn errors(
    State(state): State<AppState>,
    RunPath(run): RunPath,
    span: Result<Query<SpanQuery>, QueryRejection>,
    steps: Result<Query<StepQuery>, QueryRejection>,
) -> Result<Json<ErrorsDocument>, Problem> {
    let excerpt = excerpt(&state, &run, &query(span)?, &query(steps)?).await?;
    let work = move || {
        let total = excerpt.total()?;
        let errors = document::errors(&total.counters, &excerpt.seen());
        let statuses = document::statuses(&total.counters);
        Ok(ErrorsDocument { from_s: excerpt.from_s, to_s: excerpt.to_s, errors, statuses })
    };
    merging(run, work).await.map(Json)
}
