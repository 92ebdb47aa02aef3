//! Rows. Their histograms stay as they are: whoever opens or adds them checks what only that can find.

use volley_stats::{ALL_STEPS, Counters, RowKey, SealedHistogram, SealedRow, StepId, Timed};

use crate::fields::{required, within_u32};
use crate::limits::{self, MAX_SECOND_S};
use crate::{WireError, v1};

impl From<(RowKey, SealedRow)> for v1::Row {
    fn from((key, row): (RowKey, SealedRow)) -> Self {
        Self {
            from_s: key.from_s,
            to_s: key.to_s,
            step: key.step.into(),
            part: v1::Part::from(key.part).into(),
            latency: to_wire(row.latency),
            failed_latency: to_wire(row.failed_latency),
            service_time: to_wire(row.service_time),
            cancelled_age: to_wire(row.cancelled_age),
            timing: row.timing.into_iter().map(timed_histogram).collect(),
            counters: Some(row.counters.into()),
        }
    }
}

impl TryFrom<v1::Row> for (RowKey, SealedRow) {
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
        let row = SealedRow {
            latency: from_wire(wire.latency),
            service_time: from_wire(wire.service_time),
            failed_latency: from_wire(wire.failed_latency),
            cancelled_age: from_wire(wire.cancelled_age),
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

fn to_wire(sealed: SealedHistogram) -> Option<v1::Histogram> {
    let SealedHistogram { bytes, min_ns, max_ns } = sealed;
    (!bytes.is_empty()).then_some(v1::Histogram { bytes, min_ns, max_ns })
}

fn from_wire(wire: Option<v1::Histogram>) -> SealedHistogram {
    let v1::Histogram { bytes, min_ns, max_ns } = wire.unwrap_or_default();
    if bytes.is_empty() { SealedHistogram::default() } else { SealedHistogram { bytes, min_ns, max_ns } }
}

fn timed_histogram((timed, sealed): (Timed, SealedHistogram)) -> v1::TimedHistogram {
    v1::TimedHistogram { timed: timed as u32, histogram: to_wire(sealed) }
}

/// Ascending, so that none comes twice.
fn timing(wire: Vec<v1::TimedHistogram>) -> Result<Vec<(Timed, SealedHistogram)>, WireError> {
    let mut timing = Vec::new();
    let mut least = 0;
    for v1::TimedHistogram { timed: number, histogram } in wire {
        let last = Timed::ALL.len() as u32 - 1;
        let index = within_u32(number, 0, last, "TimedHistogram.timed")?;
        if index < least {
            return Err(WireError::Repeated { field: "TimedHistogram.timed" });
        }
        least = index + 1;
        let histogram = required(histogram, "TimedHistogram.histogram")?;
        timing.push((Timed::ALL[index as usize], from_wire(Some(histogram))));
    }
    Ok(timing)
}
