//! What was counted and timed, from merged results to what documents and pages say. Pure.

use std::collections::BTreeMap;

use volley_plan::{Accounts, Plan};
use volley_stats::{Count, Counters, ErrorKind, Histogram, Part, SECOND_NS, Series, TotalRow};
use volley_web::stream::{
    AddressTotals, ConnectionTotals, ErrorCount, PercentilePoint, Percentiles, PhaseTotals, StatusCount,
    StepTotals, WarmupTotals,
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

/// Of a distribution, the percentiles in its first nine tenths; each tenth of a tenth beyond has as many.
const POINTS: [f64; 11] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0];
/// How often the rest is divided by ten: up to the 99.99985th percentile.
const TENTHS: i32 = 6;

/// The distribution from the quickest to the slowest, denser towards the end: as far as single values are told apart.
pub(crate) fn distribution<C: Count, const D: u8>(histogram: &Histogram<C, D>) -> Vec<PercentilePoint> {
    let point = |percentile, ns| PercentilePoint { percentile, latency_ms: ns_to_ms(ns) };
    let beyond = |percentile: f64| per_second(histogram.count(), 100.0) * (100.0 - percentile);
    let percents = (0..TENTHS)
        .flat_map(|tenths| POINTS.iter().map(move |point| 100.0 - (100.0 - point) / 10_f64.powi(tenths)));
    let within = percents.take_while(|percentile| beyond(*percentile) >= 1.0 - 1e-9);
    let points = within.filter_map(|percentile| {
        let ns = if percentile > 0.0 { histogram.percentile_ns(percentile) } else { histogram.min_ns() };
        Some(point(percentile, ns?))
    });
    points.chain(histogram.max_ns().map(|ns| point(100.0, ns))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: u64, expected: &[(f64, f64)]) {
        let mut histogram: Histogram<u64> = Histogram::default();
        (1..=count).for_each(|ms| histogram.record(ms * 1_000_000));
        let points = distribution(&histogram);
        for (percentile, ms) in expected {
            let found = points.iter().find(|point| (point.percentile - percentile).abs() < 1e-9);
            let found = found.unwrap_or_else(|| panic!("no point at {percentile} of {count}"));
            assert!((found.latency_ms - ms).abs() <= ms * 0.0015, "{found:?} of {count}, not {ms} ms");
        }
        let ascends = |pair: &[PercentilePoint]| {
            pair[0].percentile < pair[1].percentile && pair[0].latency_ms <= pair[1].latency_ms
        };
        assert!(points.windows(2).all(ascends), "{points:?}");
    }

    #[test]
    fn a_distribution_goes_as_far_as_values_are_told_apart() {
        check(
            1_000,
            &[(0.0, 1.0), (50.0, 500.0), (75.0, 750.0), (99.0, 990.0), (99.9, 999.0), (100.0, 1_000.0)],
        );
        check(1, &[(0.0, 1.0), (100.0, 1.0)]);
        let of = |count: u64| {
            let mut histogram: Histogram<u64> = Histogram::default();
            (0..count).for_each(|_| histogram.record(1_000));
            distribution(&histogram).iter().map(|point| point.percentile).collect::<Vec<_>>()
        };
        assert!(of(0).is_empty());
        assert_eq!(of(2), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 100.0]);
        let hundred = of(100);
        assert_eq!(hundred[hundred.len() - 3..], [98.5, 99.0, 100.0]);
    }
}
