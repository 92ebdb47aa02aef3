//! Windows, rows, counters and histograms.

use std::collections::BTreeMap;

use volley_stats::{
    Counters, ErrorCounts, Histogram, Iterations, Row, RowKey, SealedHistogram, Second, Statuses, Window,
};

use crate::fields::{delimit, required, undelimit, within, within_u32};
use crate::limits::{
    MAX_COUNT, MAX_COUNTED_BYTES, MAX_GAUGE, MAX_HISTOGRAMS, MAX_ROWS, MAX_RUN_NS, MAX_SECOND_S, MAX_SECONDS,
};
use crate::{WireError, v1};

impl From<Window> for v1::Window {
    fn from(window: Window) -> Self {
        Self {
            rows: delimit(window.rows.into_iter().map(v1::Row::from)),
            seconds: delimit(window.seconds.into_iter().map(v1::Second::from)),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
        }
    }
}

impl TryFrom<v1::Window> for Window {
    type Error = WireError;

    fn try_from(wire: v1::Window) -> Result<Self, WireError> {
        Ok(Self {
            rows: rows(&wire.rows)?,
            seconds: seconds(&wire.seconds)?,
            watermark_s: within_u32(wire.watermark_s, 0, MAX_SECOND_S, "Window.watermark_s")?,
            latest_ns: within(wire.latest_ns, 0, MAX_RUN_NS, "Window.latest_ns")?,
        })
    }
}

fn rows(bytes: &[u8]) -> Result<BTreeMap<RowKey, Row>, WireError> {
    let mut rows = BTreeMap::new();
    let mut histograms = 0;
    for wire in undelimit::<v1::Row>(bytes, MAX_ROWS, "Window.rows") {
        let wire = wire?;
        histograms += usize::from(wire.latency.is_some()) + usize::from(wire.failed_latency.is_some());
        if histograms > MAX_HISTOGRAMS {
            return Err(WireError::TooMany { field: "histograms in Window.rows", most: MAX_HISTOGRAMS });
        }
        let (key, row) = wire.try_into()?;
        if rows.insert(key, row).is_some() {
            return Err(WireError::Repeated { field: "Window.rows" });
        }
    }
    Ok(rows)
}

fn seconds(bytes: &[u8]) -> Result<BTreeMap<u32, Second>, WireError> {
    let mut seconds = BTreeMap::new();
    for wire in undelimit::<v1::Second>(bytes, MAX_SECONDS, "Window.seconds") {
        let (second, scalars) = wire?.try_into()?;
        if seconds.insert(second, scalars).is_some() {
            return Err(WireError::Repeated { field: "Window.seconds" });
        }
    }
    Ok(seconds)
}

impl From<(RowKey, Row)> for v1::Row {
    fn from((key, row): (RowKey, Row)) -> Self {
        Self {
            from_s: key.from_s,
            to_s: key.to_s,
            step: key.step.into(),
            part: v1::Part::from(key.part).into(),
            counters: Some(row.counters.into()),
            latency: sealed(&row.latency),
            failed_latency: sealed(&row.failed_latency),
        }
    }
}

impl TryFrom<v1::Row> for (RowKey, Row) {
    type Error = WireError;

    fn try_from(wire: v1::Row) -> Result<Self, WireError> {
        let key = row_key(&wire)?;
        let counters = Counters::try_from(required(wire.counters, "Row.counters")?)?;
        let latency = histogram(wire.latency, counters.ok, "Row.latency")?;
        let failed_latency = histogram(wire.failed_latency, counters.failed, "Row.failed_latency")?;
        Ok((key, Row { counters, latency, failed_latency }))
    }
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
    let out_of_range =
        |_| WireError::OutOfRange { field: "Row.step", value: step.into(), least: 0, most: u16::MAX.into() };
    let part = v1::Part::try_from(wire.part).ok().and_then(v1::Part::domain);
    Ok(RowKey {
        from_s,
        to_s: within_u32(to_s, 1, MAX_SECOND_S, "Row.to_s")?,
        step: u16::try_from(step).map_err(out_of_range)?,
        part: required(part, "Row.part")?,
    })
}

fn sealed(histogram: &Histogram) -> Option<v1::Histogram> {
    let SealedHistogram { bytes, min_ns, max_ns } = SealedHistogram::of(histogram);
    (!bytes.is_empty()).then_some(v1::Histogram { bytes, min_ns, max_ns })
}

fn histogram(wire: Option<v1::Histogram>, counter: u64, field: &'static str) -> Result<Histogram, WireError> {
    let v1::Histogram { bytes, min_ns, max_ns } = wire.unwrap_or_default();
    let opened = SealedHistogram { bytes, min_ns, max_ns }.open();
    let histogram = opened.map_err(|source| WireError::Histogram { field, source })?;
    if histogram.count() == counter {
        Ok(histogram)
    } else {
        Err(WireError::Disagreement { field, histogram: histogram.count(), counter })
    }
}

impl From<Counters> for v1::Counters {
    fn from(counters: Counters) -> Self {
        let statuses = counters.statuses.sorted().into_iter();
        let errors = counters.errors.iter();
        Self {
            started: counters.started,
            ok: counters.ok,
            failed: counters.failed,
            cancelled: counters.cancelled,
            never_sent: counters.never_sent,
            resent: counters.resent,
            bytes_sent: counters.bytes_sent,
            bytes_received: counters.bytes_received,
            body_bytes: counters.body_bytes,
            connections_opened: counters.connections_opened,
            statuses: statuses
                .map(|(status, count)| v1::StatusCount { status: status.into(), count })
                .collect(),
            errors: errors
                .map(|(kind, count)| v1::ErrorCount { kind: v1::ErrorKind::from(kind).into(), count })
                .collect(),
        }
    }
}

impl TryFrom<v1::Counters> for Counters {
    type Error = WireError;

    fn try_from(wire: v1::Counters) -> Result<Self, WireError> {
        let count = |value, field| within(value, 0, MAX_COUNT, field);
        let bytes = |value, field| within(value, 0, MAX_COUNTED_BYTES, field);
        Ok(Self {
            started: count(wire.started, "Counters.started")?,
            ok: count(wire.ok, "Counters.ok")?,
            failed: count(wire.failed, "Counters.failed")?,
            cancelled: count(wire.cancelled, "Counters.cancelled")?,
            never_sent: count(wire.never_sent, "Counters.never_sent")?,
            resent: count(wire.resent, "Counters.resent")?,
            bytes_sent: bytes(wire.bytes_sent, "Counters.bytes_sent")?,
            bytes_received: bytes(wire.bytes_received, "Counters.bytes_received")?,
            body_bytes: bytes(wire.body_bytes, "Counters.body_bytes")?,
            connections_opened: count(wire.connections_opened, "Counters.connections_opened")?,
            statuses: statuses(&wire.statuses)?,
            errors: errors(&wire.errors)?,
        })
    }
}

/// Ascending, so that none comes twice and there are at most 900.
fn statuses(wire: &[v1::StatusCount]) -> Result<Statuses, WireError> {
    let mut statuses = Statuses::default();
    let mut before = 0;
    for pair in wire {
        let status = within(pair.status.into(), 100, 999, "StatusCount.status")?;
        if status <= before {
            return Err(WireError::Repeated { field: "StatusCount.status" });
        }
        before = status;
        let status = u16::try_from(status).expect("it is at most 999");
        statuses.add(status, within(pair.count, 0, MAX_COUNT, "StatusCount.count")?);
    }
    Ok(statuses)
}

fn errors(wire: &[v1::ErrorCount]) -> Result<ErrorCounts, WireError> {
    let mut errors = ErrorCounts::default();
    let mut before = 0;
    for pair in wire {
        let kind = v1::ErrorKind::try_from(pair.kind).ok().and_then(v1::ErrorKind::domain);
        let kind = required(kind, "ErrorCount.kind")?;
        if pair.kind <= before {
            return Err(WireError::Repeated { field: "ErrorCount.kind" });
        }
        before = pair.kind;
        errors.add(kind, within(pair.count, 0, MAX_COUNT, "ErrorCount.count")?);
    }
    Ok(errors)
}

impl From<(u32, Second)> for v1::Second {
    fn from((second, scalars): (u32, Second)) -> Self {
        let Second { iterations, users, in_flight, connections } = scalars;
        let Iterations { started, finished, missed } = iterations;
        Self { second, started, finished, missed, users, in_flight, connections }
    }
}

impl TryFrom<v1::Second> for (u32, Second) {
    type Error = WireError;

    fn try_from(wire: v1::Second) -> Result<Self, WireError> {
        let count = |value, field| within(value, 0, MAX_COUNT, field);
        let gauge = |value, field| within_u32(value, 0, MAX_GAUGE, field);
        let second = within_u32(wire.second, 0, MAX_SECOND_S - 1, "Second.second")?;
        let scalars = Second {
            iterations: Iterations {
                started: count(wire.started, "Second.started")?,
                finished: count(wire.finished, "Second.finished")?,
                missed: count(wire.missed, "Second.missed")?,
            },
            users: gauge(wire.users, "Second.users")?,
            in_flight: gauge(wire.in_flight, "Second.in_flight")?,
            connections: gauge(wire.connections, "Second.connections")?,
        };
        Ok((second, scalars))
    }
}
