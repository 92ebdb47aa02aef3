//! Windows: each list has a bound and each entry its place.

use prost::Message;
use volley_stats::{Health, MAX_ADDRESSES, RowKey, SealedRow, SealedWindow, Second};

use super::rows::wire_row;
use crate::limits::{
    MAX_ADDRESS_BYTES, MAX_COUNT, MAX_CPU_NS, MAX_ENTRY_BYTES, MAX_MESSAGE_BYTES, MAX_OPENED_BYTES, MAX_ROWS,
    MAX_RUN_NS, MAX_SECOND_S, MAX_SECONDS, opened_bytes,
};
use crate::v1;

fn check_window(window: v1::Window, error: &str) {
    let found = SealedWindow::try_from(window).expect_err(error).to_string();
    assert!(found.starts_with(error), "{found} should begin with {error}");
}

fn with_rows(rows: Vec<u8>) -> v1::Window {
    v1::Window { rows, ..v1::Window::default() }
}

fn delimited<M: Message>(messages: impl IntoIterator<Item = M>) -> Vec<u8> {
    messages.into_iter().flat_map(|message| message.encode_length_delimited_to_vec()).collect()
}

fn seconds(n: usize) -> std::ops::Range<u32> {
    0..u32::try_from(n).expect("few")
}

#[test]
fn rows_have_a_bound() {
    let most = with_rows(delimited(seconds(MAX_ROWS).map(empty_row)));
    assert_eq!(SealedWindow::try_from(most).map(|window| window.rows.len()), Ok(MAX_ROWS));
    let rows = delimited(seconds(MAX_ROWS + 1).map(empty_row));
    check_window(with_rows(rows), "Window.rows has more than 10000 entries");
    check_window(with_rows(vec![0; 1 << 20]), "Row.from_s and Row.to_s");
    check_window(with_rows(vec![200, 1]), "Window.rows can't be decoded");
    check_window(with_rows(delimited([wire_row(), wire_row()])), "Window.rows is repeated");
}

#[test]
fn what_rows_take_when_opened_has_a_bound() {
    let most = MAX_OPENED_BYTES / opened_bytes(4, 0, 1);
    let rows = |n| with_rows(delimited(seconds(n).map(full_row)));
    assert_eq!(SealedWindow::try_from(rows(most)).map(|window| window.rows.len()), Ok(most));
    check_window(rows(most + 1), "Window.rows, opened, has 33");
    // What is timed counts as well, empty or not.
    let timed = MAX_OPENED_BYTES / opened_bytes(0, 1, 0) * 2;
    let timing = vec![v1::TimedHistogram::default(); timed];
    check_window(with_rows(delimited([v1::Row { timing, ..empty_row(0) }])), "Window.rows, opened, has");
    // And so do statuses: five bytes each on the wire, sixteen in memory.
    let statuses: Vec<_> = (100..1000).map(|status| v1::StatusCount { status, count: 0 }).collect();
    let counters = v1::Counters { statuses, ..v1::Counters::default() };
    let row = |from_s| v1::Row { counters: Some(counters.clone()), ..empty_row(from_s) };
    let most = MAX_OPENED_BYTES / opened_bytes(0, 0, 900);
    check_window(with_rows(delimited(seconds(most + 1).map(row))), "Window.rows, opened, has 33");
}

/// The message, what becomes of its rows, its seconds, and the one entry that is being read.
#[test]
fn a_message_costs_64_mib_and_an_entry_at_most() {
    let by_second = MAX_SECONDS * (size_of::<(u32, Second)>() + size_of::<(u32, Health)>());
    assert!(MAX_MESSAGE_BYTES + MAX_OPENED_BYTES + by_second <= 64 << 20);
    let entry = MAX_ENTRY_BYTES / 2 * size_of::<v1::TimedHistogram>();
    assert!(entry <= 32 << 20, "{entry}");
}

fn full_row(from_s: u32) -> v1::Row {
    v1::Row { from_s, to_s: MAX_SECOND_S, ..wire_row() }
}

#[test]
fn entries_have_a_size() {
    // Two bytes each on the wire, forty in memory.
    let timing = vec![v1::TimedHistogram::default(); MAX_ENTRY_BYTES / 2];
    let rows = delimited([v1::Row { timing, ..empty_row(0) }]);
    check_window(with_rows(rows), "Window.rows has 104858");
    let health = prost_length(MAX_ENTRY_BYTES + 1);
    check_window(v1::Window { health, ..v1::Window::default() }, "Window.health has 1048577 bytes");
}

/// The length that stands before a message.
fn prost_length(bytes: usize) -> Vec<u8> {
    let mut length = Vec::new();
    prost::encode_length_delimiter(bytes, &mut length).expect("a vector grows");
    length
}

#[test]
fn seconds_and_their_health_have_a_bound_and_are_told_once() {
    let scalars = |n| delimited(seconds(n).map(|second| v1::Second::from((second, Second::default()))));
    let health = |n| delimited(seconds(n).map(|second| v1::Health::from((second, Health::default()))));
    let most =
        v1::Window { seconds: scalars(MAX_SECONDS), health: health(MAX_SECONDS), ..v1::Window::default() };
    let most = SealedWindow::try_from(most).expect("a window at its bounds");
    assert_eq!((most.seconds.len(), most.health.len()), (MAX_SECONDS, MAX_SECONDS));

    let check = |seconds: Vec<u8>, problem| {
        check_window(
            v1::Window { health: seconds.clone(), ..v1::Window::default() },
            &format!("Window.health {problem}"),
        );
        check_window(v1::Window { seconds, ..v1::Window::default() }, &format!("Window.seconds {problem}"));
    };
    // The number of the second has the same place in both.
    check(scalars(MAX_SECONDS + 1), "has more than 10000 entries");
    check(vec![0, 0], "is repeated");
    check(vec![2, 0x08, 3, 2, 0x08, 3], "is repeated");
    check(vec![200, 1], "can't be decoded");
    check(vec![0xff; 20], "can't be decoded");
}

#[test]
fn addresses_have_bounds_and_are_told_once() {
    let counts =
        |address: &str| v1::AddressCounts { address: address.to_owned(), ..v1::AddressCounts::default() };
    let with = |addresses: Vec<v1::AddressCounts>| v1::Window { addresses, ..v1::Window::default() };
    let named = |n: usize| (0..n).map(|n| counts(&format!("10.0.0.{n:03}:80"))).collect::<Vec<_>>();
    let most = MAX_ADDRESSES + 1;
    let told = SealedWindow::try_from(with(named(most))).expect("a window at its bounds");
    assert_eq!(told.addresses.iter().count(), most);
    check_window(with(named(most + 1)), "Window.addresses is 66, allowed is 0 to 65");
    let long = usize::try_from(MAX_ADDRESS_BYTES).expect("it is short");
    SealedWindow::try_from(with(vec![counts(&"x".repeat(long))])).expect("an address at its bound");
    check_window(with(vec![counts(&"x".repeat(long + 1))]), "AddressCounts.address");
    check_window(with(vec![counts("")]), "AddressCounts.address");
    check_window(with(vec![counts("a"), counts("a")]), "AddressCounts.address is repeated or out of order");
    check_window(with(vec![counts("b"), counts("a")]), "AddressCounts.address is repeated or out of order");
    let check = |break_it: &dyn Fn(&mut v1::AddressCounts), field| {
        let mut counts = counts("a");
        break_it(&mut counts);
        check_window(with(vec![counts]), field);
    };
    check(&|counts| counts.connections = MAX_COUNT + 1, "AddressCounts.connections");
    check(&|counts| counts.failures = MAX_COUNT + 1, "AddressCounts.failures");
    check(&|counts| counts.requests = MAX_COUNT + 1, "AddressCounts.requests");
}

#[test]
fn watermark_and_latest_completion_have_bounds() {
    check_window(v1::Window { watermark_s: u32::MAX, ..v1::Window::default() }, "Window.watermark_s");
    check_window(v1::Window { latest_ns: u64::MAX, ..v1::Window::default() }, "Window.latest_ns");
}

fn empty_row(from_s: u32) -> v1::Row {
    let key = RowKey { to_s: MAX_SECOND_S, ..RowKey::second(from_s, 0) };
    (key, SealedRow::default()).into()
}

#[test]
fn gauges_and_seconds_have_bounds() {
    let good = v1::Second::from((7, Second::default()));
    let check = |second: v1::Second, field: &str| {
        let error = <(u32, Second)>::try_from(second).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error}");
    };
    check(v1::Second { second: u32::MAX, ..good }, "Second.second");
    check(v1::Second { users: u32::MAX, ..good }, "Second.users");
    check(v1::Second { in_flight: u32::MAX, ..good }, "Second.in_flight");
    check(v1::Second { connections: u32::MAX, ..good }, "Second.connections");
    check(v1::Second { missed: u64::MAX, ..good }, "Second.missed");
    check(v1::Second { warmup_started: u64::MAX, ..good }, "Second.warmup_started");
    check(v1::Second { warmup_finished: u64::MAX, ..good }, "Second.warmup_finished");
    check(v1::Second { warmup_missed: u64::MAX, ..good }, "Second.warmup_missed");
}

#[test]
fn health_has_bounds() {
    let good = v1::Health::from((7, Health::default()));
    let check = |health: v1::Health, field: &str| {
        let error = <(u32, Health)>::try_from(health).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error}");
    };
    let bad = u64::MAX;
    check(v1::Health { second: MAX_SECOND_S, ..good }, "Health.second");
    check(v1::Health { span_ns: bad, ..good }, "Health.span_ns");
    check(v1::Health { lag_p99_ns: bad, ..good }, "Health.lag_p99_ns");
    check(v1::Health { lag_max_ns: bad, ..good }, "Health.lag_max_ns");
    check(v1::Health { latency_p99_ns: bad, ..good }, "Health.latency_p99_ns");
    check(v1::Health { stall_max_ns: bad, ..good }, "Health.stall_max_ns");
    check(v1::Health { cpu_ns: bad, ..good }, "Health.cpu_ns");
    check(v1::Health { busiest_cpu_ns: bad, ..good }, "Health.busiest_cpu_ns");
    check(v1::Health { waited_ns: bad, ..good }, "Health.waited_ns");
    check(v1::Health { throttled_ns: bad, ..good }, "Health.throttled_ns");
    check(v1::Health { stolen_ns: bad, ..good }, "Health.stolen_ns");
    check(v1::Health { resident_bytes: bad, ..good }, "Health.resident_bytes");
}

#[test]
fn odd_times_of_a_kernel_are_cut_rather_than_refused() {
    let odd =
        Health { stolen_ns: u64::MAX, cpu_ns: u64::MAX, descriptors_limit: u32::MAX, ..Health::default() };
    let (second, told) = v1::Health::from((7, odd)).try_into().expect("what is sent is within the bounds");
    assert_eq!(second, 7);
    assert_eq!(told, Health { stolen_ns: MAX_RUN_NS, cpu_ns: MAX_CPU_NS, ..odd });
}
