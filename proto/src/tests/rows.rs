//! Rows: what is wrong with a broken one is named by its field.

use volley_stats::{ALL_STEPS, Counters, ErrorKind, Row, RowKey, SealedHistogram, SealedRow, StepId, Timed};

use crate::limits::{MAX_COUNT, MAX_SECOND_S};
use crate::v1;

/// A row of one ok, one failed and one cancelled request of the open model, as it goes over the wire.
pub(super) fn wire_row() -> v1::Row {
    let counters = Counters { started: 3, ok: 1, failed: 1, cancelled: 1, ..Counters::default() };
    let mut row = Row::<u32> { counters, ..Row::default() };
    row.counters.statuses.add(200, 1);
    row.counters.errors.add(ErrorKind::ConnectRefused, 1);
    row.latency.record(1_000_000);
    row.service_time.record(900_000);
    row.failed_latency.record(2_000_000);
    row.cancelled_age.record(3_000_000);
    (RowKey::second(3, 0), row.seal()).into()
}

/// A row of what is timed of all steps together.
fn wire_timing() -> v1::Row {
    let mut row = Row::<u32>::default();
    row.timing.record(Timed::Lag, 1_000);
    row.timing.record(Timed::Receive, 70_000);
    (RowKey::second(3, ALL_STEPS), row.seal()).into()
}

/// Breaks a good row of a step and says what must be found wrong with it.
fn check_row(break_it: impl Fn(&mut v1::Row), field: &str) {
    check_broken(wire_row(), break_it, field);
}

/// The same with a row of all steps together.
fn check_timing(break_it: impl Fn(&mut v1::Row), field: &str) {
    check_broken(wire_timing(), break_it, field);
}

fn check_broken(mut row: v1::Row, break_it: impl Fn(&mut v1::Row), field: &str) {
    <(RowKey, SealedRow)>::try_from(row.clone()).expect("the row is good before it is broken");
    break_it(&mut row);
    let error = <(RowKey, SealedRow)>::try_from(row).expect_err(field);
    assert!(error.to_string().starts_with(field), "{error} should begin with {field}");
}

fn counters(row: &mut v1::Row) -> &mut v1::Counters {
    row.counters.as_mut().expect("a good row has counters")
}

#[test]
fn broken_rows_are_refused_by_field() {
    check_row(|row| row.to_s = row.from_s, "Row.from_s and Row.to_s");
    check_row(|row| row.to_s = MAX_SECOND_S + 1, "Row.to_s");
    check_row(|row| row.step = 65_536, "Row.step");
    check_row(|row| row.part = 0, "Row.part");
    check_row(|row| row.part = 99, "Row.part");
    check_row(|row| row.counters = None, "Row.counters");
    check_row(|row| counters(row).started = MAX_COUNT + 1, "Counters.started");
    check_row(|row| counters(row).bytes_received = u64::MAX, "Counters.bytes_received");
    check_row(|row| counters(row).statuses[0].status = 99, "StatusCount.status");
    check_row(|row| counters(row).statuses[0].status = 1000, "StatusCount.status");
    check_row(|row| counters(row).errors[0].kind = 0, "ErrorCount.kind");
    check_row(|row| counters(row).errors[0].kind = 1000, "ErrorCount.kind");
    check_row(|row| counters(row).errors[0].count = u64::MAX, "ErrorCount.count");
}

#[test]
fn doubled_entries_are_refused() {
    check_row(
        |row| {
            let first = counters(row).statuses[0];
            counters(row).statuses.push(first);
        },
        "StatusCount.status",
    );
    check_row(
        |row| {
            let first = counters(row).errors[0];
            counters(row).errors.push(first);
        },
        "ErrorCount.kind",
    );
}

/// Whether they can be opened, and hold what the counters say, is for whoever adds them to others.
#[test]
fn histograms_stay_as_they_are() {
    let mut wire = wire_row();
    wire.latency = Some(v1::Histogram { bytes: vec![7; 9], min_ns: 3, max_ns: 2 });
    let empty = Some(v1::Histogram { bytes: Vec::new(), min_ns: 3, max_ns: 2 });
    (wire.service_time, wire.cancelled_age) = (empty, None);
    let (key, row) = <(RowKey, SealedRow)>::try_from(wire).expect("the bytes are not looked at");
    assert_eq!(row.latency, SealedHistogram { bytes: vec![7; 9], min_ns: 3, max_ns: 2 });
    assert_eq!([&row.service_time, &row.cancelled_age], [&SealedHistogram::default(); 2]);
    assert!(row.check().is_err());
    let (_, good) = <(RowKey, SealedRow)>::try_from(wire_row()).expect("a good row");
    assert_eq!((key, good.check()), (RowKey::second(3, 0), Ok(())));
}

#[test]
fn steps_count_and_all_steps_together_time() {
    check_row(|row| row.timing = wire_timing().timing, "Row.timing doesn't belong");
    check_row(|row| row.step = ALL_STEPS.into(), "Row.counters doesn't belong");
    check_timing(|row| row.step = u32::from(ALL_STEPS) - 1, "Row.timing doesn't belong");
    check_timing(|row| counters(row).bytes_sent = 1, "Row.counters doesn't belong");
    check_timing(|row| row.counters = None, "Row.counters is missing");
}

#[test]
fn broken_timing_is_refused() {
    check_timing(|row| row.timing[1].timed = 8, "TimedHistogram.timed is 8, allowed is 0 to 7");
    check_timing(|row| row.timing[1].timed = 0, "TimedHistogram.timed is repeated or out of order");
    check_timing(|row| row.timing.reverse(), "TimedHistogram.timed is repeated or out of order");
    check_timing(|row| row.timing[0].histogram = None, "TimedHistogram.histogram is missing");
}

#[test]
fn a_row_of_all_steps_needs_no_timing() {
    let row = v1::Row { timing: vec![], ..wire_timing() };
    let (key, row) = <(RowKey, SealedRow)>::try_from(row).expect("a row in which nothing was timed");
    assert_eq!((key.step, row), (StepId::MAX, SealedRow::default()));
}
