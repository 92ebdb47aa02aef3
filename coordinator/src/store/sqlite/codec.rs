//! The stored forms of windows, rows, totals and health: bytes with a form number beside them, so that what an older
//! version wrote stays readable.
//!
//! Form 1 is the wire form of the proto crate, whose fields are only ever added to: what an older version didn't write is
//! nothing, or zero. It is read here without that crate's bounds: they are for what strangers send, and sums over a fleet
//! and a long run may well lie above them.

use std::collections::BTreeMap;
use std::error::Error;

use prost::Message as _;
use thiserror::Error;
use volley_proto::v1;
use volley_stats::{
    AddressCounts, Counters, DecodeError, ErrorCounts, ErrorKind, Health, Iterations, Part, Row, RowKey,
    SealedHistogram, SealedRow, SealedWindow, Second, Statuses, Timed, TotalRow,
};

use crate::document::Marks;

/// The form that is written.
pub(super) const FORM: i64 = 1;

/// Why stored bytes cannot be read.
#[derive(Debug, Error)]
pub(super) enum CodecError {
    /// They are of a form that a later version has.
    #[error("form {0} is not known to this version, which knows those up to {FORM}")]
    Form(i64),
    /// They are no message.
    #[error("not a message of its form")]
    Message(#[from] prost::DecodeError),
    /// A part is missing, or out of its range.
    #[error("{0} is missing or out of its range")]
    Field(&'static str),
    /// A histogram cannot be read.
    #[error("a histogram cannot be read")]
    Histogram(#[from] DecodeError),
    /// A text is not the JSON that it should be.
    #[error("not the JSON that it should be")]
    Json(#[from] serde_json::Error),
}

/// What [`super::StoreError::Damaged`] takes.
pub(super) type Cause = Box<dyn Error + Send + Sync>;

/// Lets only forms through that this version can read.
pub(super) fn check_form(form: i64) -> Result<(), CodecError> {
    if form == FORM { Ok(()) } else { Err(CodecError::Form(form)) }
}

/// What people say of a run, as it was written.
pub(super) fn decode_marks(form: i64, text: &str) -> Result<Marks, CodecError> {
    check_form(form)?;
    Ok(serde_json::from_str(text)?)
}

/// A window.
pub(super) fn encode_window(window: &SealedWindow) -> Vec<u8> {
    v1::Window::from(window.clone()).encode_to_vec()
}

/// What [`encode_window`] wrote.
pub(super) fn decode_window(form: i64, bytes: &[u8]) -> Result<SealedWindow, CodecError> {
    check_form(form)?;
    let wire = v1::Window::decode(bytes)?;
    let mut window = SealedWindow {
        health: healths(&wire.health)?,
        watermark_s: wire.watermark_s,
        latest_ns: wire.latest_ns,
        ..SealedWindow::default()
    };
    for v1::AddressCounts { address, connections, failures, requests } in wire.addresses {
        window.addresses.add(&address, &AddressCounts { connections, failures, requests });
    }
    let mut rest = wire.rows.as_slice();
    while !rest.is_empty() {
        let row = v1::Row::decode_length_delimited(&mut rest)?;
        window.rows.insert(row_key(&row)?, sealed_row(row)?);
    }
    let mut rest = wire.seconds.as_slice();
    while !rest.is_empty() {
        let (second, scalars) = scalars(v1::Second::decode_length_delimited(&mut rest)?);
        window.seconds.insert(second, scalars);
    }
    Ok(window)
}

/// The health in a window that [`encode_window`] wrote, and nothing else of it.
pub(super) fn decode_health_of_window(form: i64, bytes: &[u8]) -> Result<BTreeMap<u32, Health>, CodecError> {
    check_form(form)?;
    healths(&v1::Window::decode(bytes)?.health)
}

fn healths(mut rest: &[u8]) -> Result<BTreeMap<u32, Health>, CodecError> {
    let mut healths = BTreeMap::new();
    while !rest.is_empty() {
        let wire = v1::Health::decode_length_delimited(&mut rest)?;
        healths.insert(wire.second, health(&wire));
    }
    Ok(healths)
}

/// How an agent was in one second. Which, and who, stands in its columns.
pub(super) fn encode_health(health: &Health) -> Vec<u8> {
    v1::Health::from((0, *health)).encode_to_vec()
}

/// What [`encode_health`] wrote.
pub(super) fn decode_health(form: i64, bytes: &[u8]) -> Result<Health, CodecError> {
    check_form(form)?;
    Ok(health(&v1::Health::decode(bytes)?))
}

fn health(wire: &v1::Health) -> Health {
    Health {
        span_ns: wire.span_ns,
        lag_p99_ns: wire.lag_p99_ns,
        lag_max_ns: wire.lag_max_ns,
        latency_p99_ns: wire.latency_p99_ns,
        stall_max_ns: wire.stall_max_ns,
        cpu_ns: wire.cpu_ns,
        busiest_cpu_ns: wire.busiest_cpu_ns,
        waited_ns: wire.waited_ns,
        throttled_ns: wire.throttled_ns,
        stolen_ns: wire.stolen_ns,
        resident_bytes: wire.resident_bytes,
        descriptors: wire.descriptors,
        descriptors_limit: wire.descriptors_limit,
        local_ports: wire.local_ports,
    }
}

/// A merged row. What it is of stands in its columns.
pub(super) fn encode_row(row: &SealedRow) -> Vec<u8> {
    wire_row(row.clone()).encode_to_vec()
}

/// What [`encode_row`] wrote.
pub(super) fn decode_row(form: i64, bytes: &[u8]) -> Result<SealedRow, CodecError> {
    check_form(form)?;
    sealed_row(v1::Row::decode(bytes)?)
}

/// Totals, whose counts have 64 bits.
pub(super) fn encode_total(total: &TotalRow) -> Vec<u8> {
    wire_row(total.seal()).encode_to_vec()
}

/// What [`encode_total`] wrote.
pub(super) fn decode_total(form: i64, bytes: &[u8]) -> Result<TotalRow, CodecError> {
    Ok(decode_row(form, bytes)?.open()?)
}

fn wire_row(row: SealedRow) -> v1::Row {
    let v1::Row { counters, latency, failed_latency, service_time, cancelled_age, timing, .. } =
        v1::Row::from((RowKey::second(0, 0), row));
    v1::Row { counters, latency, failed_latency, service_time, cancelled_age, timing, ..v1::Row::default() }
}

fn row_key(wire: &v1::Row) -> Result<RowKey, CodecError> {
    let part = match v1::Part::try_from(wire.part) {
        Ok(v1::Part::Warmup) => Part::Warmup,
        Ok(v1::Part::Measured) => Part::Measured,
        Ok(v1::Part::Unspecified) | Err(_) => return Err(CodecError::Field("Row.part")),
    };
    let step = wire.step.try_into().map_err(|_| CodecError::Field("Row.step"))?;
    Ok(RowKey { from_s: wire.from_s, to_s: wire.to_s, step, part })
}

fn sealed_row(wire: v1::Row) -> Result<SealedRow, CodecError> {
    let counters = counters(wire.counters.ok_or(CodecError::Field("Row.counters"))?)?;
    let timing = wire.timing.into_iter().map(|wire| {
        let timed = Timed::ALL.get(wire.timed as usize).ok_or(CodecError::Field("TimedHistogram.timed"))?;
        Ok((*timed, sealed_histogram(wire.histogram)))
    });
    Ok(SealedRow {
        counters,
        latency: sealed_histogram(wire.latency),
        service_time: sealed_histogram(wire.service_time),
        failed_latency: sealed_histogram(wire.failed_latency),
        cancelled_age: sealed_histogram(wire.cancelled_age),
        timing: timing.collect::<Result<_, CodecError>>()?,
    })
}

fn sealed_histogram(wire: Option<v1::Histogram>) -> SealedHistogram {
    let v1::Histogram { bytes, min_ns, max_ns } = wire.unwrap_or_default();
    SealedHistogram { bytes, min_ns, max_ns }
}

fn counters(wire: v1::Counters) -> Result<Counters, CodecError> {
    let mut statuses = Statuses::default();
    for pair in wire.statuses {
        let status = pair.status.try_into().map_err(|_| CodecError::Field("StatusCount.status"))?;
        statuses.add(status, pair.count);
    }
    let mut errors = ErrorCounts::default();
    for pair in wire.errors {
        errors.add(error_kind(pair.kind)?, pair.count);
    }
    Ok(Counters {
        started: wire.started,
        ok: wire.ok,
        failed: wire.failed,
        cancelled: wire.cancelled,
        never_sent: wire.never_sent,
        resent: wire.resent,
        bytes_sent: wire.bytes_sent,
        bytes_received: wire.bytes_received,
        body_bytes: wire.body_bytes,
        connections_opened: wire.connections_opened,
        connections_reused: wire.connections_reused,
        connections_closed: wire.connections_closed,
        handshakes: wire.handshakes,
        handshakes_resumed: wire.handshakes_resumed,
        statuses,
        errors,
    })
}

fn error_kind(number: i32) -> Result<ErrorKind, CodecError> {
    let mut kinds = ErrorKind::ALL.iter().copied();
    let kind = kinds.find(|&kind| i32::from(v1::ErrorKind::from(kind)) == number);
    kind.ok_or(CodecError::Field("ErrorCount.kind"))
}

fn scalars(wire: v1::Second) -> (u32, Second) {
    let v1::Second { second, started, finished, missed, users, in_flight, connections, .. } = wire;
    let iterations = Iterations { started, finished, missed };
    let warmup = Iterations {
        started: wire.warmup_started,
        finished: wire.warmup_finished,
        missed: wire.warmup_missed,
    };
    (second, Second { iterations, warmup, users, in_flight, connections })
}

/// A sealed row, opened; for those that need the values.
pub(super) fn open_row(form: i64, bytes: &[u8]) -> Result<Row, CodecError> {
    Ok(decode_row(form, bytes)?.open()?)
}

#[cfg(test)]
mod tests;
