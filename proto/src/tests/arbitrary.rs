//! Messages of every kind, for property tests.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use volley_plan::link::{
    Bounds, FromAgent, Hello, Incarnation, Lease, Order, Progress, Report, RoundTrip, RunId, Share, ToAgent,
};
use volley_plan::shape::{MAX_RATE, Rate, StripeSet, Stripes};
use volley_plan::{Adjust, Level, MAX_IN_FLIGHT, MAX_USERS};
use volley_stats::{
    ALL_STEPS, AddressCounts, Addresses, Counters, ErrorKind, Health, Iterations, Part, Row, RowKey,
    SealedWindow, Second, Timed, Window,
};

use crate::limits::{
    MAX_CAPACITY, MAX_COUNT, MAX_COUNTED_BYTES, MAX_CPU_NS, MAX_GAUGE, MAX_LABELS, MAX_RUN_NS, MAX_SECOND_S,
    MAX_WEIGHT,
};

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
    let said = (any::<u32>(), "[0-9.a-z-]{1,20}", incarnation(), "[^\\pC]{1,60}", 1u32..1000);
    let labels = btree_map("[a-z./_-]{1,63}", "[^\\pC]{1,15}", 0..=MAX_LABELS);
    let parts = (labels, option::of(1..=MAX_WEIGHT), option::of(1..=MAX_CAPACITY));
    (said, parts).prop_map(|((protocol, version, incarnation, name, workers), (labels, weight, capacity))| {
        Hello { protocol, version, incarnation, name, workers, labels, weight, capacity }
    })
}

fn incarnation() -> impl Strategy<Value = Incarnation> {
    any::<u64>().prop_map(Incarnation)
}

pub(super) fn from_agent() -> impl Strategy<Value = FromAgent> {
    let progress = (run(), any::<u64>(), any::<Option<u64>>())
        .prop_map(|(run, acknowledged, start_ns)| Progress { run, acknowledged, start_ns });
    let ping = (any::<u64>(), option::of(round_trip()), option::of(progress), any::<bool>()).prop_map(
        |(sent_ns, round_trip, progress, leaving)| FromAgent::Ping { sent_ns, round_trip, progress, leaving },
    );
    let report = (run(), option::of(incarnation()), report())
        .prop_map(|(run, of, report)| FromAgent::Report { run, of, report });
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

fn window() -> impl Strategy<Value = SealedWindow> {
    let rows = btree_map(row_key(), row(), 0..4);
    let timing = btree_map(row_key(), timing_row(), 0..3);
    let seconds = btree_map(0..MAX_SECOND_S, second(), 0..4);
    let health = btree_map(0..MAX_SECOND_S, health(), 0..4);
    ((rows, timing), seconds, health, addresses(), 0..=MAX_SECOND_S, 0..=MAX_RUN_NS).prop_map(
        |((mut rows, timing), seconds, health, addresses, watermark_s, latest_ns)| {
            rows.extend(timing.into_iter().map(|(key, row)| (RowKey { step: ALL_STEPS, ..key }, row)));
            SealedWindow::of(&Window { rows, seconds, health, addresses, watermark_s, latest_ns })
        },
    )
}

fn addresses() -> impl Strategy<Value = Addresses> {
    let counts = (0..=MAX_COUNT, 0..=MAX_COUNT, 0..=MAX_COUNT);
    let counts = counts.prop_map(|(connections, failures, requests)| AddressCounts {
        connections,
        failures,
        requests,
    });
    btree_map("[a-z0-9:.]{1,20}", counts, 0..4).prop_map(|all| {
        let mut addresses = Addresses::default();
        all.iter().for_each(|(address, counts)| addresses.add(address, counts));
        addresses
    })
}

fn row_key() -> impl Strategy<Value = RowKey> {
    (0..MAX_SECOND_S - 100, 1u32..=100, 0..ALL_STEPS, any::<bool>()).prop_map(
        |(from_s, length, step, warm)| {
            let part = if warm { Part::Warmup } else { Part::Measured };
            RowKey { from_s, to_s: from_s + length, step, part }
        },
    )
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    vec(0u64..100_000_000_000, 0..20)
}

fn row() -> impl Strategy<Value = Row> {
    (counters(), durations(), durations(), durations(), any::<bool>()).prop_map(
        |(counters, ok, failed, cancelled, is_open)| {
            let mut row = Row { counters, ..Row::default() };
            row.counters.ok = ok.len() as u64;
            row.counters.failed = failed.len() as u64;
            row.counters.cancelled = cancelled.len() as u64;
            for ns in ok {
                row.latency.record(ns);
                if is_open {
                    row.service_time.record(ns / 2);
                }
            }
            failed.into_iter().for_each(|ns| row.failed_latency.record(ns));
            cancelled.into_iter().for_each(|ns| row.cancelled_age.record(ns));
            row
        },
    )
}

fn timing_row() -> impl Strategy<Value = Row> {
    vec((prop::sample::select(Timed::ALL), durations()), 0..6).prop_map(|all| {
        let mut row = Row::default();
        for (timed, durations) in all {
            durations.into_iter().for_each(|ns| row.timing.record(timed, ns));
        }
        row
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    let counts = || 0..=MAX_COUNT;
    let bytes = || 0..=MAX_COUNTED_BYTES;
    let statuses = btree_map(100u16..=999, counts(), 0..4);
    let errors = btree_map(prop::sample::select(ErrorKind::ALL), counts(), 0..4);
    let scalars = proptest::array::uniform8(counts());
    (scalars, (bytes(), bytes(), bytes()), statuses, errors).prop_map(|(scalars, bytes, statuses, errors)| {
        let [started, never_sent, resent, connections_opened, reused, closed, handshakes, resumed] = scalars;
        let (bytes_sent, bytes_received, body_bytes) = bytes;
        let mut counters = Counters {
            started,
            never_sent,
            resent,
            connections_opened,
            connections_reused: reused,
            connections_closed: closed,
            handshakes,
            handshakes_resumed: resumed,
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

fn iterations() -> impl Strategy<Value = Iterations> {
    let counts = || 0..=MAX_COUNT;
    (counts(), counts(), counts()).prop_map(|(started, finished, missed)| Iterations {
        started,
        finished,
        missed,
    })
}

fn second() -> impl Strategy<Value = Second> {
    let gauges = || 0..=MAX_GAUGE;
    (iterations(), iterations(), gauges(), gauges(), gauges()).prop_map(
        |(iterations, warmup, users, in_flight, connections)| Second {
            iterations,
            warmup,
            users,
            in_flight,
            connections,
        },
    )
}

fn health() -> impl Strategy<Value = Health> {
    let times = proptest::array::uniform9(0..=MAX_RUN_NS);
    (times, 0..=MAX_CPU_NS, 0..=MAX_COUNTED_BYTES, any::<[u32; 3]>()).prop_map(
        |(times, cpu_ns, resident_bytes, [descriptors, descriptors_limit, local_ports])| {
            let [span_ns, lag_p99_ns, lag_max_ns, latency_p99_ns, stall_max_ns, rest @ ..] = times;
            let [busiest_cpu_ns, waited_ns, throttled_ns, stolen_ns] = rest;
            Health {
                span_ns,
                lag_p99_ns,
                lag_max_ns,
                latency_p99_ns,
                stall_max_ns,
                cpu_ns,
                busiest_cpu_ns,
                waited_ns,
                throttled_ns,
                stolen_ns,
                resident_bytes,
                descriptors,
                descriptors_limit,
                local_ports,
            }
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
    let acknowledge = (run(), option::of(incarnation()), any::<u64>())
        .prop_map(|(run, of, sequence)| ToAgent::Acknowledge { run, of, sequence });
    let refused = ".{0,100}".prop_map(|reason| ToAgent::Refused { reason });
    prop_oneof![Just(ToAgent::Welcome), refused, pong, order, acknowledge]
}

fn share() -> impl Strategy<Value = Share> {
    let in_flight = || 1..=MAX_IN_FLIGHT;
    let bounds = (in_flight(), option::of(in_flight()))
        .prop_map(|(max_in_flight, connections)| Bounds { max_in_flight, connections });
    (stripes(), option::of(bounds)).prop_map(|(stripes, bounds)| Share { stripes, bounds })
}

fn level() -> impl Strategy<Value = Level> {
    let rate = (0..=MAX_RATE.micro_per_hour()).prop_map(|micro_per_hour| {
        Level::Rate(Rate::from_micro_per_hour(micro_per_hour.into()).expect("the rate is within its bounds"))
    });
    prop_oneof![rate, (0..=MAX_USERS).prop_map(Level::Users)]
}

fn adjusted() -> impl Strategy<Value = Vec<Adjust>> {
    vec((any::<u64>(), level()), 0..5).prop_map(|mut adjusted| {
        adjusted.sort_by_key(|(at_ns, _)| *at_ns);
        adjusted.into_iter().map(|(at_ns, to)| Adjust { at_ns, to }).collect()
    })
}

fn stripes() -> impl Strategy<Value = StripeSet> {
    (1u32..4_000, vec(any::<u32>(), 0..50)).prop_map(|(count, held)| {
        let stripes = Stripes::new(count).expect("the count is within its bounds");
        let held = held.into_iter().map(|stripe| stripe % count).collect();
        StripeSet::new(stripes, held).expect("each is below the count")
    })
}

fn order() -> impl Strategy<Value = Order> {
    let prepare = (".{0,200}", "[0-9a-f]{64}", share(), any::<u64>(), adjusted())
        .prop_map(|(plan, hash, share, seed, adjusted)| Order::Prepare { plan, hash, share, seed, adjusted });
    let start = any::<[u64; 3]>().prop_map(|[at_ns, from_ns, lease_until_ns]| Order::Start {
        at_ns,
        from_ns,
        lease_until_ns,
    });
    let change = (any::<u64>(), share(), option::of(level()), any::<u64>())
        .prop_map(|(at_ns, share, to, over_ns)| Order::Change { at_ns, share, to, over_ns });
    let grant = any::<(u64, u64, bool)>().prop_map(|(one, two, last)| Order::Grant {
        from: one.min(two),
        to: one.max(two),
        last,
    });
    let stop = any::<(u64, u64)>().prop_map(|(at_ns, drain_ns)| Order::Stop { at_ns, drain_ns });
    prop_oneof![prepare, start, change, grant, stop, Just(Order::Release)]
}
