//! What is sealed opens as it was and adds up as it would open; what is wrong with a row is named.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::testing::{row, step_row, timing_row};
use crate::{AddressCounts, ErrorKind, TotalRow};

fn windows() -> impl Strategy<Value = Vec<Window>> {
    let key = (0u32..4, 0u16..2).prop_map(|(second, step)| RowKey::second(second, step));
    let seconds = btree_map(0u32..4, 0u64..1_000, 0..3);
    vec((btree_map(key, row(), 0..4), seconds, 0u64..9), 1..5).prop_map(|all| {
        let window = |(rows, seconds, n): (_, BTreeMap<u32, u64>, _)| {
            let mut addresses = Addresses::default();
            addresses.add("127.0.0.1:80", &AddressCounts { requests: n, ..AddressCounts::default() });
            let iterations = |started| Iterations { started, ..Iterations::default() };
            let second = |started| Second { iterations: iterations(started), ..Second::default() };
            let health = |span_ns| Health { span_ns, ..Health::default() };
            Window {
                rows,
                health: seconds.iter().map(|(at, n)| (*at, health(*n))).collect(),
                seconds: seconds.into_iter().map(|(at, n)| (at, second(n))).collect(),
                addresses,
                watermark_s: 7,
                latest_ns: n,
            }
        };
        all.into_iter().map(window).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sealed_windows_open_as_they_were_and_add_up_alike(windows in windows()) {
        let (mut open, mut added) = (Window::default(), Window::default());
        for window in &windows {
            let sealed = SealedWindow::of(window);
            prop_assert_eq!(sealed.open(), Ok(window.clone()));
            prop_assert_eq!(sealed.iterations(), window.iterations());
            open.merge(window);
            added.merge_sealed(&sealed).expect("what was sealed here");
        }
        prop_assert_eq!(added, open);
    }

    #[test]
    fn rows_that_say_the_same_twice_are_let_through(step in step_row(), timing in timing_row()) {
        let rows = [(RowKey::second(0, 0), step.seal()), (RowKey::second(1, 0), timing.seal())];
        prop_assert_eq!(SealedWindow { rows: rows.into(), ..SealedWindow::default() }.check(), Ok(()));
    }

    #[test]
    fn totals_add_up_alike(one in row(), two in row()) {
        let (mut open, mut added) = (TotalRow::default(), TotalRow::default());
        for row in [&one, &two, &two] {
            open.merge(row);
            added.merge_sealed(&row.seal()).expect("what was sealed here");
        }
        prop_assert_eq!(added, open);
    }
}

/// A row of one ok, one failed and one cancelled request of the open model, and what is timed.
fn sealed() -> SealedRow {
    let counters = Counters { started: 3, ok: 1, failed: 1, cancelled: 1, ..Counters::default() };
    let mut row = Row::<u32> { counters, ..Row::default() };
    row.counters.statuses.add(200, 1);
    row.counters.errors.add(ErrorKind::ConnectRefused, 1);
    row.latency.record(1_000_000);
    row.service_time.record(900_000);
    row.failed_latency.record(2_000_000);
    row.cancelled_age.record(3_000_000);
    row.timing.record(Timed::Lag, 1_000);
    row.seal()
}

/// Breaks a good row, and says what must be found wrong with it.
fn check(break_it: impl Fn(&mut SealedRow), fault: &str) {
    let mut row = sealed();
    let mut window =
        SealedWindow { rows: [(RowKey::second(3, 0), row.clone())].into(), ..SealedWindow::default() };
    assert_eq!(window.check(), Ok(()), "it is good before it is broken");
    break_it(&mut row);
    window.rows.insert(RowKey::second(4, 0), row);
    assert_eq!(window.check().expect_err(fault).to_string(), fault);
}

#[test]
fn counters_and_histograms_must_agree() {
    check(|row| row.latency = SealedHistogram::default(), "latency holds 0 values, the counter says 1");
    check(|row| row.counters.ok = 2, "latency holds 1 values, the counter says 2");
    let two = || {
        let mut two = Histogram::<u32>::default();
        [1_000, 2_000].into_iter().for_each(|ns| two.record(ns));
        SealedHistogram::of(&two)
    };
    check(|row| row.service_time = two(), "service_time holds 2 values, the counter says 1");
    check(|row| row.failed_latency = two(), "failed_latency holds 2 values, the counter says 1");
    check(|row| row.counters.cancelled = 0, "cancelled_age holds 1 values, the counter says 0");
}

#[test]
fn the_closed_model_has_no_service_time() {
    let row = SealedRow { service_time: SealedHistogram::default(), ..sealed() };
    assert_eq!(row.check(), Ok(()));
}

#[test]
fn broken_histograms_are_named() {
    check(|row| row.latency.bytes.truncate(20), "latency can't be read");
    check(|row| row.latency.bytes[0] ^= 1, "latency can't be read");
    check(|row| row.latency.max_ns = 5_000_000, "latency can't be read");
    check(|row| row.failed_latency.min_ns = 1, "failed_latency can't be read");
    let payload = |row: &mut SealedRow, bytes: &[u8]| {
        row.cancelled_age.bytes.truncate(40);
        row.cancelled_age.bytes.extend(bytes);
        row.cancelled_age.bytes[7] = u8::try_from(bytes.len()).expect("few");
    };
    // A number that breaks off, a bucket beyond the last, and a count of more than 32 bits.
    check(|row| payload(row, &[0x80]), "cancelled_age can't be read");
    check(|row| payload(row, &[0xff, 0xff, 0x7f, 2]), "cancelled_age can't be read");
    check(|row| payload(row, &[0x80, 0x80, 0x80, 0x80, 0x20]), "cancelled_age can't be read");
    // With the digits of another kind.
    check(|row| row.timing[0].1 = row.latency.clone(), "lag can't be read");
    check(|row| row.latency = row.timing[0].1.clone(), "latency can't be read");
}

#[test]
fn nothing_of_a_broken_histogram_is_added() {
    let mut histogram = Histogram::<u32>::default();
    [5_000, 70_000, 800_000].into_iter().for_each(|ns| histogram.record(ns));
    let mut broken = SealedHistogram::of(&histogram);
    let last = broken.bytes.len() - 1;
    broken.bytes[last] = 0x80;
    let mut sum = histogram.clone();
    assert_eq!(broken.merge_into(&mut sum), Err(DecodeError::Counts));
    assert_eq!(sum, histogram);
}
