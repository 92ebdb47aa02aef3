//! What was counted and timed, from merged results to what documents and pages say. Pure.

use std::collections::BTreeMap;

use volley_plan::{Accounts, Plan};
use volley_stats::{Count, Counters, ErrorKind, Histogram, Part, SECOND_NS, Series, TotalRow};
use volley_web::stream::{
    AddressTotals, ConnectionTotals, ErrorCount, Percentiles, PhaseTotals, StatusCount, StepTotals,
    WarmupTotals,
};

use super::{StepDocument, Whole};

#[expect(clippy::cast_precision_loss, reason = "for people and charts; run times stay far below 2^52 ns")]
pub(crate) fn ns_to_s(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

/// A document's seconds as the whole nanoseconds that they were.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
pub(crate) fn s_to_ns(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "for people and charts; latencies stay far below 2^52 ns")]
pub(crate) fn ns_to_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people; counts stay far below 2^52")]
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    let rate = count as f64 / seconds;
    if rate.is_finite() { rate } else { 0.0 }
}

/// The one list of percentiles, in milliseconds.
pub(crate) fn latency_ms<C: Count, const D: u8>(histogram: &Histogram<C, D>) -> Percentiles {
    let at = |percent| histogram.percentile_ns(percent).map(ns_to_ms);
    Percentiles {
        p50: at(50.0),
        p90: at(90.0),
        p95: at(95.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: histogram.max_ns().map(ns_to_ms),
    }
}

/// The totals of requests. `rate_s` are the seconds that their rate is over.
pub(super) fn whole(accounts: &Accounts, total: &TotalRow, rate_s: f64) -> Whole {
    let counters = &total.counters;
    Whole {
        started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        missed: accounts.missed,
        unknown: (!accounts.unknown_is_open).then_some(accounts.unknown),
        unresolved: accounts.unresolved,
        never_sent: counters.never_sent,
        resent: counters.resent,
        rate: per_second(counters.ok, rate_s),
        rate_s,
        error_rate: counters.error_rate(),
        bytes_sent: counters.bytes_sent,
        bytes_received: counters.bytes_received,
        body_bytes: counters.body_bytes,
        connections: connections(counters),
        latency_ms: latency_ms(&total.latency),
        latency_min_ms: total.latency.min_ns().map(ns_to_ms),
        latency_mean_ms: total.latency.mean_ns().map(|ns| ns / 1e6),
        service_ms: latency_ms(&total.service_time),
        failed_latency_ms: latency_ms(&total.failed_latency),
        cancelled_age_ms: latency_ms(&total.cancelled_age),
    }
}

/// What was counted of connections.
fn connections(counters: &Counters) -> ConnectionTotals {
    ConnectionTotals {
        connections_opened: counters.connections_opened,
        connections_reused: Some(counters.connections_reused),
        connections_closed: Some(counters.connections_closed),
        handshakes: Some(counters.handshakes),
        handshakes_resumed: Some(counters.handshakes_resumed),
    }
}

/// What went to each of the target's addresses.
pub(super) fn addresses(series: &Series) -> Vec<AddressTotals> {
    let addresses = series.addresses().iter().map(|(address, counts)| AddressTotals {
        address: address.to_owned(),
        connections: counts.connections,
        failures: counts.failures,
        requests: counts.requests,
    });
    addresses.collect()
}

/// Lag and phases in which anything was measured.
pub(super) fn phases(total: &TotalRow) -> Vec<PhaseTotals> {
    let phases = total.timing.iter().map(|(timed, histogram)| PhaseTotals {
        name: timed.name().to_owned(),
        count: histogram.count(),
        latency_ms: latency_ms(histogram),
    });
    phases.collect()
}

/// What the warm-up counted.
pub(super) fn warmup(series: &Series) -> WarmupTotals {
    let counters = series.whole_of(Part::Warmup).counters;
    WarmupTotals {
        started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        missed: series.warmup().missed,
    }
}

/// The totals by step, in the plan's order.
pub(super) fn steps(plan: &Plan, series: &Series, rate_s: f64) -> Vec<StepDocument> {
    let totals: BTreeMap<_, _> = series.totals().collect();
    let requests = plan.scenarios.iter().flat_map(|scenario| {
        scenario.requests().map(move |request| (scenario.name.clone(), request.name.clone()))
    });
    let steps = (0..).zip(requests).map(|(id, (scenario, name))| {
        let nothing = TotalRow::default();
        let row = totals.get(&id).copied().unwrap_or(&nothing);
        let totals = StepTotals {
            scenario,
            name,
            started: row.counters.started,
            ok: row.counters.ok,
            failed: row.counters.failed,
            rate: per_second(row.counters.ok, rate_s),
            latency_ms: latency_ms(&row.latency),
        };
        StepDocument { totals, connections: connections(&row.counters) }
    });
    steps.collect()
}

/// Failed requests by kind, with the first and last second of each.
pub(crate) fn errors(counters: &Counters, seen: &BTreeMap<ErrorKind, (u32, u32)>) -> Vec<ErrorCount> {
    let errors = counters.errors.iter().map(|(kind, count)| {
        let (first_s, last_s) = seen.get(&kind).copied().unwrap_or_default();
        ErrorCount {
            kind: kind.name().to_owned(),
            phase: kind.phase().name().to_owned(),
            words: kind.words().to_owned(),
            count,
            first_s: first_s.into(),
            last_s: last_s.into(),
        }
    });
    let mut errors: Vec<_> = errors.collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

/// Final answers by status.
pub(crate) fn statuses(counters: &Counters) -> Vec<StatusCount> {
    counters.statuses.sorted().into_iter().map(|(status, count)| StatusCount { status, count }).collect()
}
