//! Each metric at exactly its limit, and just beside it.

use super::*;
use volley_stats::Timed;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// 990 ok requests and 10 failed ones, each of which was timed alike.
fn row() -> TotalRow {
    let mut row = TotalRow::default();
    row.counters.started = 1_003;
    row.counters.ok = 990;
    row.counters.failed = 10;
    for (status, count) in [(200, 980), (201, 10), (503, 4), (200, 1)] {
        row.counters.statuses.add(status, count);
    }
    for (kind, count) in [(ErrorKind::Status, 4), (ErrorKind::Check, 1), (ErrorKind::Reset, 5)] {
        row.counters.errors.add(kind, count);
    }
    for _ in 0..990 {
        row.latency.record(5 * MS);
        row.service_time.record(3 * MS);
        row.timing.record(Timed::Lag, 2 * MS);
    }
    row
}

fn sample(row: &TotalRow) -> Sample<'_> {
    Sample { row, length_ns: 5 * SECOND, missed: 7, unknown: Some(3), planned: Some(1_000) }
}

/// What the number is, and whether what is expected holds of it.
fn measured(text: &str, sample: &Sample<'_>, min_samples: u64) -> Option<(Ratio, bool)> {
    let expectation: Expectation = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let value = expectation.measure(sample, min_samples)?;
    Some((value, expectation.holds(value)))
}

fn check(text: &str, (part, whole): (u64, u64), holds: bool) {
    let expected = Ratio::new(part, whole).map(|value| (value, holds));
    assert_eq!(measured(text, &sample(&row()), 1), expected, "{text}");
}

#[test]
fn every_metric_is_exact_at_its_limit() {
    for (metric, value, limit) in [
        ("p50", (5 * MS, 1), "5ms"),
        ("p0", (5 * MS, 1), "5ms"),
        ("p100", (5 * MS, 1), "5ms"),
        ("mean", (5 * MS, 1), "5ms"),
        ("max", (5 * MS, 1), "5ms"),
        ("service_p99.9", (3 * MS, 1), "3ms"),
        ("service_mean", (3 * MS, 1), "3ms"),
        ("lag_p99", (2 * MS, 1), "2ms"),
        ("lag_max", (2 * MS, 1), "2ms"),
        ("error_rate", (10, 1_000), "1%"),
        ("error_rate{status=503}", (4, 1_000), "0.4%"),
        ("error_rate{status=404}", (0, 1_000), "0%"),
        ("error_rate{kind=reset}", (5, 1_000), "0.005"),
        ("check_rate", (990, 995), "99.497487%"),
        ("started_rate", (1_003, 5), "200.6/s"),
        ("ok_rate", (198, 1), "198/s"),
        ("ok_rate{status=201}", (2, 1), "120/m"),
        ("errors", (10, 1), "10"),
        ("errors{kind=check}", (1, 1), "1"),
        ("errors{kind=tls}", (0, 1), "0"),
        ("errors{status=503}", (4, 1), "4"),
        ("missed", (7, 1), "7"),
        ("missed", (7, 1_000), "0.7%"),
        ("unknown", (3, 1), "3"),
        ("unknown", (3, 1_000), "0.3%"),
    ] {
        // 990 of 995 has no end behind the point, so it is never equal to its limit.
        let is_equal = metric != "check_rate";
        check(&format!("{metric} < {limit}"), value, false);
        check(&format!("{metric} <= {limit}"), value, is_equal);
        check(&format!("{metric} > {limit}"), value, !is_equal);
        check(&format!("{metric} >= {limit}"), value, true);
    }
}

#[test]
fn one_in_a_thousand_is_a_tenth_of_a_per_cent() {
    let mut row = TotalRow::default();
    (row.counters.ok, row.counters.failed) = (999, 1);
    for (text, holds) in [
        ("error_rate <= 0.1%", true),
        ("error_rate <= 0.001", true),
        ("error_rate < 0.1%", false),
        ("error_rate < 0.100001%", true),
        ("error_rate > 0.099999%", true),
    ] {
        assert_eq!(measured(text, &sample(&row), 1).map(|(_, holds)| holds), Some(holds), "{text}");
    }
}

#[test]
fn points_of_a_distribution_differ() {
    let mut row = TotalRow::default();
    (0..99).for_each(|_| row.latency.record(MS));
    row.latency.record(101 * MS);
    let value = |text: &str| measured(text, &sample(&row), 1).map(|(value, _)| value.scaled(1) / (MS / 10));
    assert_eq!((value("p99 < 1s"), value("p99.1 < 1s")), (Some(10), Some(1_010)));
    assert_eq!((value("mean < 1s"), value("max < 1s"), value("p0 < 1s")), (Some(20), Some(1_010), Some(10)));
    // In the closed model latency stands for it.
    assert_eq!(value("service_max < 1s"), Some(1_010));
}

#[test]
fn of_nothing_there_is_no_share_and_no_time_but_a_number() {
    let row = TotalRow::default();
    let nothing = Sample { row: &row, length_ns: SECOND, missed: 0, unknown: None, planned: None };
    for text in [
        "p99 < 1s",
        "mean < 1s",
        "service_max < 1s",
        "lag_p50 < 1s",
        "error_rate < 1%",
        "error_rate{kind=reset} < 1%",
        "check_rate > 0%",
        "unknown < 1",
        "unknown < 1%",
        "missed < 1%",
    ] {
        assert_eq!(measured(text, &nothing, 1), None, "{text}");
    }
    for text in
        ["errors <= 0", "errors{status=500} <= 0", "missed <= 0", "ok_rate <= 0/s", "started_rate <= 0/s"]
    {
        assert_eq!(measured(text, &nothing, 100), Some((Ratio::whole(0), true)), "{text}");
    }
    let no_time = Sample { length_ns: 0, ..nothing };
    assert_eq!(measured("ok_rate >= 0/s", &no_time, 1), None);
}

#[test]
fn fewer_samples_than_wanted_are_no_data() {
    for (text, samples) in [
        ("p99 < 1s", 990),
        ("service_p99 < 1s", 990),
        ("lag_p99 < 1s", 990),
        ("error_rate < 2%", 1_000),
        ("error_rate{status=503} < 2%", 1_000),
        ("check_rate > 1%", 995),
    ] {
        let is_told = |min_samples| measured(text, &sample(&row()), min_samples).is_some();
        assert_eq!((is_told(samples), is_told(samples + 1)), (true, false), "{text}");
    }
}

#[test]
fn rates_are_over_any_length() {
    let rate = |started: u64, length_ns: u64| {
        let mut row = TotalRow::default();
        row.counters.started = started;
        let sample = Sample { length_ns, ..sample(&row) };
        measured("started_rate > 0/s", &sample, 1).map(|(value, _)| value)
    };
    assert_eq!(rate(1, 3 * SECOND), Ratio::new(1, 3));
    assert_eq!(rate(2_491, 5 * SECOND), Ratio::new(4_982, 10));
    assert_eq!(rate(1, 500_000), Some(Ratio::whole(2_000)));
    assert_eq!(
        rate(20_000_000_000, 10 * SECOND),
        Some(Ratio::whole(2_000_000_000)),
        "beyond 64 bits of nanoseconds"
    );
}
