//! Every message goes there and back unchanged; whatever else arrives is an error that names the field.

mod arbitrary;

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use volley_plan::link::{FromAgent, Hello, Incarnation, Order, Report, RunId, Share, ToAgent};
use volley_stats::{Counters, ErrorKind, Row, RowKey, Second, Window};

use crate::limits::{MAX_COUNT, MAX_HISTOGRAMS, MAX_REASON_BYTES, MAX_ROWS, MAX_SECOND_S, MAX_SECONDS};
use crate::{WireError, v1};

fn there_and_back_agent(message: FromAgent) -> Result<FromAgent, WireError> {
    let bytes = v1::FromAgent::from(message).encode_to_vec();
    v1::FromAgent::decode(bytes.as_slice()).expect("what was encoded is decoded").try_into()
}

fn there_and_back_coordinator(message: ToAgent) -> Result<ToAgent, WireError> {
    let bytes = v1::ToAgent::from(message).encode_to_vec();
    v1::ToAgent::decode(bytes.as_slice()).expect("what was encoded is decoded").try_into()
}

proptest! {
    #[test]
    fn what_an_agent_says_comes_back(message in arbitrary::from_agent()) {
        prop_assert_eq!(there_and_back_agent(message.clone()), Ok(message));
    }

    #[test]
    fn what_a_coordinator_says_comes_back(message in arbitrary::to_agent()) {
        prop_assert_eq!(there_and_back_coordinator(message.clone()), Ok(message));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = v1::FromAgent::decode(bytes.as_slice()).map(FromAgent::try_from);
        let _ = v1::ToAgent::decode(bytes.as_slice()).map(ToAgent::try_from);
    }

    #[test]
    fn damaged_messages_never_panic(
        message in arbitrary::from_agent(), at in any::<prop::sample::Index>(), byte: u8, cut in 0usize..40,
    ) {
        let mut bytes = v1::FromAgent::from(message).encode_to_vec();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        let _ = v1::FromAgent::decode(bytes.as_slice()).map(FromAgent::try_from);
    }
}

/// A row of one ok and one failed request, as it goes over the wire.
fn wire_row() -> v1::Row {
    let counters = Counters { started: 2, ok: 1, failed: 1, ..Counters::default() };
    let mut row = Row { counters, ..Row::default() };
    row.counters.statuses.add(200, 1);
    row.counters.errors.add(ErrorKind::ConnectRefused, 1);
    row.latency.record(1_000_000);
    row.failed_latency.record(2_000_000);
    (RowKey::second(3, 0), row).into()
}

/// Breaks a good row and says what must be found wrong with it.
fn check_row(break_it: impl Fn(&mut v1::Row), field: &str) {
    let mut row = wire_row();
    <(RowKey, Row)>::try_from(row.clone()).expect("the row is good before it is broken");
    break_it(&mut row);
    let error = <(RowKey, Row)>::try_from(row).expect_err(field);
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
    check_row(|row| row.latency = None, "Row.latency holds 0 values, the counter says 1");
    check_row(|row| row.failed_latency = None, "Row.failed_latency");
    check_row(|row| counters(row).ok = 2, "Row.latency");
    check_row(|row| counters(row).failed = 0, "Row.failed_latency");
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
    let rows = [wire_row(), wire_row()].iter().flat_map(Message::encode_length_delimited_to_vec).collect();
    check_window(v1::Window { rows, ..v1::Window::default() }, "Window.rows is repeated");
    let seconds = [0, 0, 2, 0].to_vec();
    check_window(v1::Window { seconds, ..v1::Window::default() }, "Window.seconds");
}

#[test]
fn broken_histograms_are_refused() {
    let histogram = |row: &mut v1::Row, change: fn(&mut v1::Histogram)| {
        change(row.latency.as_mut().expect("a good row has a latency"));
    };
    check_row(|row| histogram(row, |h| h.bytes.truncate(20)), "Row.latency");
    check_row(|row| histogram(row, |h| h.bytes[0] ^= 1), "Row.latency");
    check_row(|row| histogram(row, |h| h.max_ns = 5_000_000), "Row.latency");
    check_row(|row| histogram(row, |h| h.bytes.clear()), "Row.latency");
}

fn check_window(window: v1::Window, error: &str) {
    let found = Window::try_from(window).expect_err(error).to_string();
    assert!(found.starts_with(error), "{found} should begin with {error}");
}

#[test]
fn windows_without_bound_are_refused() {
    let row = |from_s: u32| v1::Row { latency: None, failed_latency: None, ..empty_row(from_s) };
    let many = |n: usize| (0..n).map(|i| row(u32::try_from(i).expect("few"))).collect::<Vec<_>>();
    let encode = |rows: &[v1::Row]| rows.iter().flat_map(Message::encode_length_delimited_to_vec).collect();
    let most = v1::Window { rows: encode(&many(MAX_ROWS)), ..v1::Window::default() };
    assert_eq!(Window::try_from(most).map(|window| window.rows.len()), Ok(MAX_ROWS));
    let rows = encode(&many(MAX_ROWS + 1));
    check_window(v1::Window { rows, ..v1::Window::default() }, "Window.rows has more than 10000 entries");

    let full: Vec<_> = (0..=MAX_HISTOGRAMS / 2)
        .map(|i| v1::Row { from_s: u32::try_from(i).expect("few"), to_s: MAX_SECOND_S, ..wire_row() })
        .collect();
    check_window(v1::Window { rows: encode(&full), ..v1::Window::default() }, "histograms in Window.rows");

    let second = |second| v1::Second::from((second, Second::default()));
    let many = (0..=u32::try_from(MAX_SECONDS).expect("few")).map(second);
    let seconds = many.flat_map(|second| second.encode_length_delimited_to_vec()).collect();
    check_window(v1::Window { seconds, ..v1::Window::default() }, "Window.seconds has more than");

    let empty_messages = vec![0; 1 << 20];
    check_window(v1::Window { rows: empty_messages, ..v1::Window::default() }, "Row.from_s and Row.to_s");
    check_window(v1::Window { rows: vec![200, 1], ..v1::Window::default() }, "Window.rows can't be decoded");
    check_window(v1::Window { watermark_s: u32::MAX, ..v1::Window::default() }, "Window.watermark_s");
    check_window(v1::Window { latest_ns: u64::MAX, ..v1::Window::default() }, "Window.latest_ns");
}

fn empty_row(from_s: u32) -> v1::Row {
    let key = RowKey { to_s: MAX_SECOND_S, ..RowKey::second(from_s, 0) };
    (key, Row::default()).into()
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
}

fn check_from_agent(message: Option<v1::from_agent::Message>, field: &str) {
    let error = FromAgent::try_from(v1::FromAgent { message }).expect_err(field).to_string();
    assert!(error.starts_with(field), "{error} should begin with {field}");
}

fn hello() -> v1::Hello {
    let hello = Hello {
        protocol: 7,
        version: "9.9.9".to_owned(),
        incarnation: Incarnation(1),
        name: "a".to_owned(),
        workers: 1,
    };
    hello.into()
}

#[test]
fn broken_messages_of_an_agent_are_refused_by_field() {
    use v1::from_agent::Message as M;
    check_from_agent(None, "FromAgent.message");
    check_from_agent(Some(M::Join(v1::Hello { name: "a\nb".to_owned(), ..hello() })), "Hello.name");
    check_from_agent(Some(M::Join(v1::Hello { name: "x".repeat(256), ..hello() })), "Hello.name");
    check_from_agent(Some(M::Join(v1::Hello { version: String::new(), ..hello() })), "Hello.version");
    check_from_agent(Some(M::Join(v1::Hello { workers: 0, ..hello() })), "Hello.workers");
    let progress = Some(v1::Progress { run: "a/b".to_owned(), acknowledged: 1 });
    check_from_agent(Some(M::Ping(v1::Ping { progress, ..v1::Ping::default() })), "Progress.run");

    let report = |report| Some(M::Report(v1::Report { run: "r".to_owned(), report }));
    check_from_agent(Some(M::Report(v1::Report::default())), "Report.run");
    check_from_agent(report(None), "Report.report");
    let refused = v1::Refused { reason: "x".repeat(MAX_REASON_BYTES + 1) };
    check_from_agent(report(Some(v1::report::Report::Refused(refused))), "Refused.reason");
    let window = |sequence, window| v1::NumberedWindow { sequence, window, last: false };
    let zero = window(0, Some(v1::Window::default()));
    check_from_agent(report(Some(v1::report::Report::Window(zero))), "NumberedWindow.sequence");
    check_from_agent(report(Some(v1::report::Report::Window(window(1, None)))), "NumberedWindow.window");
}

#[test]
fn broken_messages_of_a_coordinator_are_refused_by_field() {
    use v1::numbered_order::Order as O;
    use v1::to_agent::Message as M;
    let check = |message: Option<M>, field: &str| {
        let error = ToAgent::try_from(v1::ToAgent { message }).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error} should begin with {field}");
    };
    let order = |number, order| Some(M::Order(v1::NumberedOrder { run: "r".to_owned(), number, order }));
    check(None, "ToAgent.message");
    check(order(0, Some(O::Release(v1::Release {}))), "NumberedOrder.number");
    check(order(1, None), "NumberedOrder.order");
    check(order(1, Some(O::Grant(v1::Grant { from: 2, to: 1, last: false }))), "Grant.from and Grant.to");
    check(order(1, Some(O::Prepare(v1::Prepare::default()))), "Prepare.share");
    let share = Some(v1::Share { users: u32::MAX, first_user: 1 });
    check(order(1, Some(O::Prepare(v1::Prepare { share, ..v1::Prepare::default() }))), "Prepare.share");
    let share = Some(v1::Share { users: 1, first_user: 0 });
    let long = v1::Prepare { share, plan: "x".repeat((1 << 20) + 1), ..v1::Prepare::default() };
    check(order(1, Some(O::Prepare(long))), "Prepare.plan");
    let lease = Some(v1::Lease { run: String::new(), until_ns: 1 });
    check(Some(M::Pong(v1::Pong { lease, ..v1::Pong::default() })), "Lease.run");
    check(Some(M::Acknowledge(v1::Acknowledge::default())), "Acknowledge.run");
}

#[test]
fn an_agent_of_another_version_can_still_be_read() {
    let wire = v1::FromAgent { message: Some(v1::from_agent::Message::Join(hello())) };
    let Ok(FromAgent::Join(hello)) = FromAgent::try_from(wire) else {
        panic!("another protocol is no fault here")
    };
    assert_eq!((hello.protocol, hello.version.as_str()), (7, "9.9.9"));
}

#[test]
fn a_long_reason_is_cut_at_a_character() {
    let report = Report::Refused { reason: "ä".repeat(MAX_REASON_BYTES) };
    let run = RunId::new("r").expect("a run's name");
    let Ok(FromAgent::Report { report: Report::Refused { reason }, .. }) =
        there_and_back_agent(FromAgent::Report { run, report })
    else {
        panic!("a refusal comes back as one")
    };
    assert_eq!(reason, "ä".repeat(MAX_REASON_BYTES / 2));
}

/// Numbers on the wire may never change, or an old agent's errors would be counted as others.
#[test]
fn error_kinds_have_fixed_numbers() {
    let numbers: BTreeMap<&str, i32> =
        ErrorKind::ALL.iter().map(|&kind| (kind.name(), v1::ErrorKind::from(kind).into())).collect();
    let fixed = BTreeMap::from([
        ("resolve", 1),
        ("connect_refused", 2),
        ("connect_timeout", 3),
        ("connect_unreachable", 4),
        ("local_ports", 5),
        ("descriptors", 6),
        ("tls", 7),
        ("write", 8),
        ("closed_early", 9),
        ("first_byte_timeout", 10),
        ("truncated", 11),
        ("reset", 12),
        ("protocol", 13),
        ("total_timeout", 14),
        ("decode", 15),
        ("redirect_limit", 16),
        ("status", 17),
        ("check", 18),
    ]);
    assert_eq!(numbers, fixed);
}

#[test]
fn a_share_up_to_the_last_user_is_taken() {
    let share = Share { users: 1, first_user: u32::MAX - 1 };
    let order = Order::Prepare { plan: String::new(), hash: String::new(), share, seed: u64::MAX };
    let run = RunId::new("r").expect("a run's name");
    let message = ToAgent::Order { run, number: u64::MAX, order };
    assert_eq!(there_and_back_coordinator(message.clone()), Ok(message));
}
