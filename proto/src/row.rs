//! Rows and their histograms.

use volley_stats::{
    ALL_STEPS, COARSE_DIGITS, Counters, Histogram, Row, RowKey, SealedHistogram, StepId, Timed, Timing,
};

use crate::fields::{required, within_u32};
use crate::limits::{self, MAX_SECOND_S};
use crate::{WireError, v1};

impl From<(RowKey, Row)> for v1::Row {
    fn from((key, row): (RowKey, Row)) -> Self {
        Self {
            from_s: key.from_s,
            to_s: key.to_s,
            step: key.step.into(),
            part: v1::Part::from(key.part).into(),
            latency: sealed(&row.latency),
            failed_latency: sealed(&row.failed_latency),
            service_time: sealed(&row.service_time),
            cancelled_age: sealed(&row.cancelled_age),
            timing: row.timing.iter().map(timed_histogram).collect(),
            counters: Some(row.counters.into()),
        }
    }
}

impl TryFrom<v1::Row> for (RowKey, Row) {
    type Error = WireError;

    fn try_from(wire: v1::Row) -> Result<Self, WireError> {
        let key = row_key(&wire)?;
        let counters = Counters::try_from(required(wire.counters, "Row.counters")?)?;
        let is_of_all_steps = key.step == ALL_STEPS;
        if is_of_all_steps && counters != Counters::default() {
            return Err(WireError::Misplaced { field: "Row.counters" });
        }
        if !is_of_all_steps && !wire.timing.is_empty() {
            return Err(WireError::Misplaced { field: "Row.timing" });
        }
        let row = Row {
            latency: histogram(wire.latency, counters.ok, "Row.latency")?,
            service_time: service_time(wire.service_time, counters.ok)?,
            failed_latency: histogram(wire.failed_latency, counters.failed, "Row.failed_latency")?,
            cancelled_age: histogram(wire.cancelled_age, counters.cancelled, "Row.cancelled_age")?,
            timing: timing(wire.timing)?,
            counters,
        };
        Ok((key, row))
    }
}

/// The memory that a row takes when it is opened.
pub(crate) fn opened_bytes(wire: &v1::Row) -> usize {
    let of_step = [&wire.latency, &wire.failed_latency, &wire.service_time, &wire.cancelled_age];
    let statuses = wire.counters.as_ref().map_or(0, |counters| counters.statuses.len());
    limits::opened_bytes(of_step.into_iter().flatten().count(), wire.timing.len(), statuses)
}

fn row_key(wire: &v1::Row) -> Result<RowKey, WireError> {
    let &v1::Row { from_s, to_s, step, .. } = wire;
    if from_s >= to_s {
        return Err(WireError::Span {
            field: "Row.from_s and Row.to_s",
            from: from_s.into(),
            to: to_s.into(),
        });
    }
    let out_of_range = |_| WireError::OutOfRange {
        field: "Row.step",
        value: step.into(),
        least: 0,
        most: StepId::MAX.into(),
    };
    let part = v1::Part::try_from(wire.part).ok().and_then(v1::Part::domain);
    Ok(RowKey {
        from_s,
        to_s: within_u32(to_s, 1, MAX_SECOND_S, "Row.to_s")?,
        step: StepId::try_from(step).map_err(out_of_range)?,
        part: required(part, "Row.part")?,
    })
}

fn sealed<const D: u8>(histogram: &Histogram<u32, D>) -> Option<v1::Histogram> {
    let SealedHistogram { bytes, min_ns, max_ns } = SealedHistogram::of(histogram);
    (!bytes.is_empty()).then_some(v1::Histogram { bytes, min_ns, max_ns })
}

fn opened<const D: u8>(wire: v1::Histogram, field: &'static str) -> Result<Histogram<u32, D>, WireError> {
    let v1::Histogram { bytes, min_ns, max_ns } = wire;
    let sealed = SealedHistogram { bytes, min_ns, max_ns };
    sealed.open().map_err(|source| WireError::Histogram { field, source })
}

/// A histogram that holds as many values as the counter says.
fn histogram(wire: Option<v1::Histogram>, counter: u64, field: &'static str) -> Result<Histogram, WireError> {
    let histogram = opened(wire.unwrap_or_default(), field)?;
    if histogram.count() == counter {
        Ok(histogram)
    } else {
        Err(WireError::Disagreement { field, histogram: histogram.count(), counter })
    }
}

/// The service time, which the closed model doesn't have: there it is the latency.
fn service_time(wire: Option<v1::Histogram>, ok: u64) -> Result<Histogram, WireError> {
    match wire {
        None => Ok(Histogram::default()),
        some => histogram(some, ok, "Row.service_time"),
    }
}

fn timed_histogram((timed, histogram): (Timed, &Histogram<u32, COARSE_DIGITS>)) -> v1::TimedHistogram {
    v1::TimedHistogram { timed: timed as u32, histogram: sealed(histogram) }
}

/// Ascending, so that none comes twice.
fn timing(wire: Vec<v1::TimedHistogram>) -> Result<Timing, WireError> {
    let mut timing = Timing::default();
    let mut least = 0;
    for v1::TimedHistogram { timed: number, histogram } in wire {
        let last = Timed::ALL.len() as u32 - 1;
        let index = within_u32(number, 0, last, "TimedHistogram.timed")?;
        if index < least {
            return Err(WireError::Repeated { field: "TimedHistogram.timed" });
        }
        least = index + 1;
        let histogram = required(histogram, "TimedHistogram.histogram")?;
        timing.put(Timed::ALL[index as usize], opened(histogram, "TimedHistogram.histogram")?);
    }
    Ok(timing)
}
