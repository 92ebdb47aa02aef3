//! Messages of every kind, for property tests.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use volley_plan::link::{
    FromAgent, Hello, Incarnation, Lease, Order, Progress, Report, RoundTrip, RunId, Share, ToAgent,
};
use volley_stats::{Counters, ErrorKind, Iterations, Part, Row, RowKey, Second, Window};

use crate::limits::{MAX_COUNT, MAX_COUNTED_BYTES, MAX_GAUGE, MAX_RUN_NS, MAX_SECOND_S};

fn run() -> impl Strategy<Value = RunId> {
    "[a-zA-Z0-9-]{1,64}".prop_map(|name| RunId::new(&name).expect("the pattern is that of a run's name"))
}

fn round_trip() -> impl Strategy<Value = RoundTrip> {
    any::<[u64; 4]>().prop_map(|[sent_ns, received_ns, answered_ns, returned_ns]| RoundTrip {
        sent_ns,
        received_ns,
        answered_ns,
        returned_ns,
    })
}

fn hello() -> impl Strategy<Value = Hello> {
    (any::<u32>(), "[0-9.a-z-]{1,20}", any::<u64>(), "[^\\pC]{1,60}", 1u32..1000).prop_map(
        |(protocol, version, incarnation, name, workers)| Hello {
            protocol,
            version,
            incarnation: Incarnation(incarnation),
            name,
            workers,
        },
    )
}

pub(super) fn from_agent() -> impl Strategy<Value = FromAgent> {
    let progress = (run(), any::<u64>()).prop_map(|(run, acknowledged)| Progress { run, acknowledged });
    let ping = (any::<u64>(), option::of(round_trip()), option::of(progress))
        .prop_map(|(sent_ns, round_trip, progress)| FromAgent::Ping { sent_ns, round_trip, progress });
    let report = (run(), report()).prop_map(|(run, report)| FromAgent::Report { run, report });
    prop_oneof![hello().prop_map(FromAgent::Join), ping, report]
}

fn report() -> impl Strategy<Value = Report> {
    let wanted =
        any::<(u64, u64)>().prop_map(|(taken, iterations)| Report::GrantWanted { taken, iterations });
    let window = (1u64.., window(), any::<bool>()).prop_map(|(sequence, window, last)| Report::Window {
        sequence,
        window,
        last,
    });
    prop_oneof![Just(Report::Ready), ".{0,100}".prop_map(|reason| Report::Refused { reason }), wanted, window]
}

fn window() -> impl Strategy<Value = Window> {
    let rows = btree_map(row_key(), row(), 0..4);
    let seconds = btree_map(0..MAX_SECOND_S, second(), 0..4);
    (rows, seconds, 0..=MAX_SECOND_S, 0..=MAX_RUN_NS)
        .prop_map(|(rows, seconds, watermark_s, latest_ns)| Window { rows, seconds, watermark_s, latest_ns })
}

fn row_key() -> impl Strategy<Value = RowKey> {
    (0..MAX_SECOND_S - 100, 1u32..=100, any::<u16>(), any::<bool>()).prop_map(
        |(from_s, length, step, warm)| {
            let part = if warm { Part::Warmup } else { Part::Measured };
            RowKey { from_s, to_s: from_s + length, step, part }
        },
    )
}

fn row() -> impl Strategy<Value = Row> {
    let latencies = || vec(0u64..100_000_000_000, 0..20);
    (counters(), latencies(), latencies()).prop_map(|(counters, ok, failed)| {
        let mut row = Row { counters, ..Row::default() };
        (row.counters.ok, row.counters.failed) = (ok.len() as u64, failed.len() as u64);
        ok.into_iter().for_each(|ns| row.latency.record(ns));
        failed.into_iter().for_each(|ns| row.failed_latency.record(ns));
        row
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    let counts = || 0..=MAX_COUNT;
    let bytes = || 0..=MAX_COUNTED_BYTES;
    let statuses = btree_map(100u16..=999, counts(), 0..4);
    let errors = btree_map(prop::sample::select(ErrorKind::ALL), counts(), 0..4);
    let scalars = (counts(), counts(), counts(), counts(), counts());
    (scalars, (bytes(), bytes(), bytes()), statuses, errors).prop_map(|(scalars, bytes, statuses, errors)| {
        let (started, cancelled, never_sent, resent, connections_opened) = scalars;
        let (bytes_sent, bytes_received, body_bytes) = bytes;
        let mut counters = Counters {
            started,
            cancelled,
            never_sent,
            resent,
            connections_opened,
            bytes_sent,
            bytes_received,
            body_bytes,
            ..Counters::default()
        };
        statuses.into_iter().for_each(|(status, n)| counters.statuses.add(status, n));
        errors.into_iter().for_each(|(kind, n)| counters.errors.add(kind, n));
        counters
    })
}

fn second() -> impl Strategy<Value = Second> {
    let counts = || 0..=MAX_COUNT;
    let gauges = || 0..=MAX_GAUGE;
    (counts(), counts(), counts(), gauges(), gauges(), gauges()).prop_map(
        |(started, finished, missed, users, in_flight, connections)| Second {
            iterations: Iterations { started, finished, missed },
            users,
            in_flight,
            connections,
        },
    )
}

pub(super) fn to_agent() -> impl Strategy<Value = ToAgent> {
    let lease = (run(), any::<u64>()).prop_map(|(run, until_ns)| Lease { run, until_ns });
    let pong =
        (any::<[u64; 3]>(), option::of(lease)).prop_map(|([sent_ns, received_ns, answered_ns], lease)| {
            ToAgent::Pong { sent_ns, received_ns, answered_ns, lease }
        });
    let order =
        (run(), 1u64.., order()).prop_map(|(run, number, order)| ToAgent::Order { run, number, order });
    let acknowledge =
        (run(), any::<u64>()).prop_map(|(run, sequence)| ToAgent::Acknowledge { run, sequence });
    let refused = ".{0,100}".prop_map(|reason| ToAgent::Refused { reason });
    prop_oneof![Just(ToAgent::Welcome), refused, pong, order, acknowledge]
}

fn order() -> impl Strategy<Value = Order> {
    let prepare = (".{0,200}", "[0-9a-f]{64}", any::<(u16, u32)>(), any::<u64>()).prop_map(
        |(plan, hash, share, seed)| {
            let share = Share { users: share.0.into(), first_user: share.1 / 2 };
            Order::Prepare { plan, hash, share, seed }
        },
    );
    let start =
        any::<(u64, u64)>().prop_map(|(at_ns, lease_until_ns)| Order::Start { at_ns, lease_until_ns });
    let grant = any::<(u64, u64, bool)>().prop_map(|(one, two, last)| Order::Grant {
        from: one.min(two),
        to: one.max(two),
        last,
    });
    let stop = any::<(u64, u64)>().prop_map(|(at_ns, drain_ns)| Order::Stop { at_ns, drain_ns });
    prop_oneof![prepare, start, grant, stop, Just(Order::Release)]
}
