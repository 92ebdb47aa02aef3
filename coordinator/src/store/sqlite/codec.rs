//! The stored forms of windows, rows and totals: bytes with a form number beside them, so that what an older version
//! wrote stays readable.
//!
//! Form 1 is the wire form of the proto crate. It is read here without that crate's bounds: they are for what strangers
//! send, and sums over a fleet and a long run may well lie above them.

use std::error::Error;

use prost::Message as _;
use thiserror::Error;
use volley_proto::v1;
use volley_stats::{
    Counters, DecodeError, ErrorCounts, ErrorKind, Histogram, Iterations, Part, Row, RowKey, SealedHistogram,
    SealedRow, Second, Statuses, TotalRow, Window,
};

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

/// A window.
pub(super) fn encode_window(window: &Window) -> Vec<u8> {
    let mut rows = Vec::new();
    for (key, row) in &window.rows {
        delimit(&wire_row(Some(*key), &row.seal()), &mut rows);
    }
    let mut seconds = Vec::new();
    for (second, scalars) in &window.seconds {
        delimit(&v1::Second::from((*second, *scalars)), &mut seconds);
    }
    let Window { watermark_s, latest_ns, .. } = *window;
    v1::Window { rows, seconds, watermark_s, latest_ns }.encode_to_vec()
}

fn delimit(message: &impl prost::Message, bytes: &mut Vec<u8>) {
    message.encode_length_delimited(bytes).expect("a vector grows as far as it must");
}

/// What [`encode_window`] wrote.
pub(super) fn decode_window(form: i64, bytes: &[u8]) -> Result<Window, CodecError> {
    check_form(form)?;
    let wire = v1::Window::decode(bytes)?;
    let mut window = Window { watermark_s: wire.watermark_s, latest_ns: wire.latest_ns, ..Window::default() };
    let mut rest = wire.rows.as_slice();
    while !rest.is_empty() {
        let row = v1::Row::decode_length_delimited(&mut rest)?;
        window.rows.insert(row_key(&row)?, sealed_row(row)?.open()?);
    }
    let mut rest = wire.seconds.as_slice();
    while !rest.is_empty() {
        let (second, scalars) = scalars(v1::Second::decode_length_delimited(&mut rest)?);
        window.seconds.insert(second, scalars);
    }
    Ok(window)
}

/// A merged row. What it is of stands in its columns.
pub(super) fn encode_row(row: &SealedRow) -> Vec<u8> {
    wire_row(None, row).encode_to_vec()
}

/// What [`encode_row`] wrote.
pub(super) fn decode_row(form: i64, bytes: &[u8]) -> Result<SealedRow, CodecError> {
    check_form(form)?;
    sealed_row(v1::Row::decode(bytes)?)
}

/// Totals, whose counts have 64 bits.
pub(super) fn encode_total(total: &TotalRow) -> Vec<u8> {
    let sealed = SealedRow {
        counters: total.counters.clone(),
        latency: sealed_total(&total.latency),
        failed_latency: sealed_total(&total.failed_latency),
    };
    encode_row(&sealed)
}

fn sealed_total(total: &Histogram<u64>) -> SealedHistogram {
    let (min_ns, max_ns) = (total.min_ns().unwrap_or(0), total.max_ns().unwrap_or(0));
    SealedHistogram { bytes: total.to_bytes(), min_ns, max_ns }
}

/// What [`encode_total`] wrote.
pub(super) fn decode_total(form: i64, bytes: &[u8]) -> Result<TotalRow, CodecError> {
    let SealedRow { counters, latency, failed_latency } = decode_row(form, bytes)?;
    let open = |sealed: SealedHistogram| Histogram::from_bytes(&sealed.bytes, sealed.min_ns, sealed.max_ns);
    Ok(TotalRow { counters, latency: open(latency)?, failed_latency: open(failed_latency)? })
}

fn wire_row(key: Option<RowKey>, row: &SealedRow) -> v1::Row {
    let (from_s, to_s, step, part) = match key {
        Some(RowKey { from_s, to_s, step, part }) => (from_s, to_s, step.into(), v1::Part::from(part)),
        None => (0, 0, 0, v1::Part::Unspecified),
    };
    v1::Row {
        from_s,
        to_s,
        step,
        part: part.into(),
        counters: Some(row.counters.clone().into()),
        latency: wire_histogram(&row.latency),
        failed_latency: wire_histogram(&row.failed_latency),
    }
}

fn wire_histogram(sealed: &SealedHistogram) -> Option<v1::Histogram> {
    let SealedHistogram { bytes, min_ns, max_ns } = sealed.clone();
    (!bytes.is_empty()).then_some(v1::Histogram { bytes, min_ns, max_ns })
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
    let sealed = |wire: Option<v1::Histogram>| {
        let v1::Histogram { bytes, min_ns, max_ns } = wire.unwrap_or_default();
        SealedHistogram { bytes, min_ns, max_ns }
    };
    Ok(SealedRow { counters, latency: sealed(wire.latency), failed_latency: sealed(wire.failed_latency) })
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
    let v1::Second { second, started, finished, missed, users, in_flight, connections } = wire;
    let iterations = Iterations { started, finished, missed };
    (second, Second { iterations, users, in_flight, connections })
}

/// A sealed row, opened; for those that need the values.
pub(super) fn open_row(form: i64, bytes: &[u8]) -> Result<Row, CodecError> {
    Ok(decode_row(form, bytes)?.open()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn row(ok: u64, failed: u64) -> Row {
        let mut row = Row::default();
        for n in 0..ok {
            row.latency.record(1_000_000 + n * 31_000);
        }
        for n in 0..failed {
            row.failed_latency.record(5_000 + n);
        }
        let counters = &mut row.counters;
        (counters.started, counters.ok, counters.failed, counters.cancelled) =
            (ok + failed + 1, ok, failed, 1);
        (counters.bytes_sent, counters.bytes_received, counters.body_bytes) = (1, 2, 3);
        (counters.never_sent, counters.resent, counters.connections_opened) = (4, 5, 6);
        counters.statuses.add(200, ok);
        counters.statuses.add(404, 1);
        for (n, kind) in (0..).zip(ErrorKind::ALL) {
            counters.errors.add(*kind, n);
        }
        row
    }

    #[test]
    fn windows_lead_back() {
        let iterations = Iterations { started: 5, finished: 4, missed: 3 };
        let warmup = RowKey { from_s: 0, to_s: 9, step: 65_535, part: Part::Warmup };
        let window = Window {
            rows: BTreeMap::from([
                (warmup, row(0, 3)),
                (RowKey::second(7, 0), row(1000, 0)),
                (RowKey::second(7, 1), Row::default()),
            ]),
            seconds: BTreeMap::from([
                (6, Second::default()),
                (7, Second { iterations, users: 1, in_flight: 2, connections: 3 }),
            ]),
            watermark_s: 7,
            latest_ns: 7_900_000_000,
        };
        let bytes = encode_window(&window);
        assert_eq!(decode_window(FORM, &bytes).unwrap(), window);
        assert!(matches!(decode_window(FORM + 1, &bytes), Err(CodecError::Form(form)) if form == FORM + 1));
        assert_eq!(decode_window(FORM, &encode_window(&Window::default())).unwrap(), Window::default());
        // It is the wire form, so the proto crate reads it too where it keeps its bounds.
        let simple = Window { rows: BTreeMap::from([(RowKey::second(7, 0), simple_row())]), ..window };
        let wire = v1::Window::decode(encode_window(&simple).as_slice()).unwrap();
        assert_eq!(Window::try_from(wire).unwrap(), simple);
    }

    fn simple_row() -> Row {
        let mut row = Row::default();
        row.latency.record(5_000);
        (row.counters.started, row.counters.ok) = (1, 1);
        row
    }

    #[test]
    fn rows_and_totals_lead_back_however_large() {
        let sealed = row(500, 2).seal();
        assert_eq!(decode_row(FORM, &encode_row(&sealed)).unwrap(), sealed);
        let mut total = TotalRow::default();
        total.add(&row(500, 2));
        // Twice as much forty times over: sums that no 32 bits and no bound of the wire hold.
        for _ in 0..40 {
            let half = total.clone();
            total.merge(&half);
        }
        assert_eq!(total.latency.count(), 500 << 40);
        assert_eq!(decode_total(FORM, &encode_total(&total)).unwrap(), total);
        assert_eq!(decode_total(FORM, &encode_total(&TotalRow::default())).unwrap(), TotalRow::default());
    }

    #[test]
    fn damaged_bytes_are_errors_and_never_a_panic() {
        let bytes = encode_window(&Window {
            rows: BTreeMap::from([(RowKey::second(1, 0), row(20, 1))]),
            ..Window::default()
        });
        let mut unreadable = 0;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x5a;
            unreadable += u32::from(decode_window(FORM, &damaged).is_err());
            unreadable += u32::from(decode_window(FORM, &bytes[..at]).is_err());
        }
        assert!(unreadable > 100, "{unreadable} of {}", bytes.len());
    }
}
