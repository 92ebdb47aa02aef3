//! What is written leads back, and what is damaged is an error.

use std::collections::BTreeMap;

use volley_stats::{ALL_STEPS, Addresses, Window};

use super::*;

fn row(ok: u64, failed: u64) -> Row {
    let mut row = Row::default();
    for n in 0..ok {
        row.latency.record(1_000_000 + n * 31_000);
        row.service_time.record(900_000 + n * 30_000);
    }
    row.cancelled_age.record(77_000);
    for n in 0..failed {
        row.failed_latency.record(5_000 + n);
    }
    let counters = &mut row.counters;
    (counters.started, counters.ok, counters.failed, counters.cancelled) = (ok + failed + 1, ok, failed, 1);
    (counters.bytes_sent, counters.bytes_received, counters.body_bytes) = (1, 2, 3);
    (counters.never_sent, counters.resent, counters.connections_opened) = (4, 5, 6);
    (counters.connections_reused, counters.connections_closed) = (7, 8);
    (counters.handshakes, counters.handshakes_resumed) = (9, 10);
    counters.statuses.add(200, ok);
    counters.statuses.add(404, 1);
    for (n, kind) in (0..).zip(ErrorKind::ALL) {
        counters.errors.add(*kind, n);
    }
    row
}

/// A row of all steps together.
fn timing() -> Row {
    let mut row = Row::default();
    for (n, timed) in (1..).zip(Timed::ALL) {
        (0..n).for_each(|n| row.timing.record(*timed, 1_000 + n));
    }
    row
}

fn some_health() -> Health {
    Health {
        span_ns: 1,
        lag_p99_ns: 2,
        lag_max_ns: 3,
        latency_p99_ns: 4,
        stall_max_ns: 5,
        cpu_ns: 6,
        busiest_cpu_ns: 7,
        waited_ns: 8,
        throttled_ns: 9,
        stolen_ns: 10,
        resident_bytes: 11,
        descriptors: 12,
        descriptors_limit: 13,
        local_ports: 14,
    }
}

fn some_addresses() -> Addresses {
    let mut addresses = Addresses::default();
    addresses.add("[::1]:80", &AddressCounts { connections: 1, failures: 2, requests: 3 });
    addresses.add("other", &AddressCounts { connections: u64::MAX, failures: 0, requests: 7 });
    addresses
}

#[test]
fn windows_lead_back() {
    let iterations = Iterations { started: 5, finished: 4, missed: 3 };
    let earlier = Iterations { started: 8, finished: 7, missed: 6 };
    let warmup = RowKey { from_s: 0, to_s: 9, step: 65_535, part: Part::Warmup };
    let window = Window {
        rows: BTreeMap::from([
            (warmup, row(0, 3)),
            (RowKey::second(7, 0), row(1000, 0)),
            (RowKey::second(7, 1), Row::default()),
            (RowKey::second(7, ALL_STEPS), timing()),
        ]),
        seconds: BTreeMap::from([
            (6, Second::default()),
            (7, Second { iterations, warmup: earlier, users: 1, in_flight: 2, connections: 3 }),
        ]),
        health: BTreeMap::from([(6, Health::default()), (7, some_health())]),
        addresses: some_addresses(),
        watermark_s: 7,
        latest_ns: 7_900_000_000,
    };
    let sealed = SealedWindow::of(&window);
    let bytes = encode_window(&sealed);
    assert_eq!(decode_window(FORM, &bytes).unwrap(), sealed);
    assert_eq!(sealed.open().unwrap(), window);
    assert_eq!(decode_health_of_window(FORM, &bytes).unwrap(), window.health);
    assert!(matches!(decode_window(FORM + 1, &bytes), Err(CodecError::Form(form)) if form == FORM + 1));
    let nothing = SealedWindow::default();
    assert_eq!(decode_window(FORM, &encode_window(&nothing)).unwrap(), nothing);
    // It is the wire form, so the proto crate reads it too where it keeps its bounds.
    let rows = BTreeMap::from([(RowKey::second(7, 0), simple_row())]);
    let simple = Window { rows, addresses: Addresses::default(), ..window };
    let simple = SealedWindow::of(&simple);
    let wire = v1::Window::decode(encode_window(&simple).as_slice()).unwrap();
    assert_eq!(SealedWindow::try_from(wire).unwrap(), simple);
}

fn simple_row() -> Row {
    let mut row = Row::default();
    row.latency.record(5_000);
    (row.counters.started, row.counters.ok) = (1, 1);
    row
}

#[test]
fn health_leads_back() {
    for health in [Health::default(), some_health()] {
        assert_eq!(decode_health(FORM, &encode_health(&health)).unwrap(), health);
    }
    assert!(matches!(decode_health(FORM + 1, &[]), Err(CodecError::Form(_))));
}

#[test]
fn rows_and_totals_lead_back_however_large() {
    let mut whole = row(500, 2);
    whole.merge(&timing());
    let sealed = whole.seal();
    assert_eq!(decode_row(FORM, &encode_row(&sealed)).unwrap(), sealed);
    let mut total = TotalRow::default();
    total.merge(&whole);
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
    let bytes = encode_window(&SealedWindow {
        rows: BTreeMap::from([(RowKey::second(1, 0), row(20, 1).seal())]),
        ..SealedWindow::default()
    });
    let is_unreadable = |bytes: &[u8]| match decode_window(FORM, bytes) {
        Ok(window) => Window::default().merge_sealed(&window).is_err(),
        Err(_) => true,
    };
    let mut unreadable = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x5a;
        unreadable += u32::from(is_unreadable(&damaged));
        unreadable += u32::from(is_unreadable(&bytes[..at]));
    }
    assert!(unreadable > 100, "{unreadable} of {}", bytes.len());
}
