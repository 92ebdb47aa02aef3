//! Merging windows of several agents and steps; letting go of seconds and putting them back.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::testing::{step_row, timing_row};
use crate::{Counters, Timed};

fn window(second: u32, step: StepId, latencies_ms: &[u64]) -> Window {
    let mut row = Row::default();
    for ms in latencies_ms {
        row.counters.ok += 1;
        row.counters.started += 1;
        row.latency.record(ms * 1_000_000);
    }
    let iterations = Iterations { started: row.counters.ok, ..Iterations::default() };
    Window {
        rows: BTreeMap::from([(RowKey::second(second, step), row)]),
        seconds: BTreeMap::from([(second, Second { iterations, ..Second::default() })]),
        watermark_s: second + 1,
        ..Window::default()
    }
}

#[test]
fn case_06_percentiles_of_two_agents_are_of_the_merged_values() {
    let mut series = Series::default();
    series.add(&window(0, 0, &[10; 900])).unwrap();
    series.add(&window(0, 1, &[1000; 100])).unwrap();
    let whole = series.whole();
    assert_eq!(whole.counters.ok, 1000);
    assert_eq!(whole.latency.percentile_ns(50.0).map(|ns| ns / 1_000_000), Some(10));
    for percent in [95.0, 99.0, 100.0] {
        assert_eq!(whole.latency.percentile_ns(percent).map(|ns| ns / 1_000_000), Some(1000));
    }
}

#[test]
fn late_rows_add_to_sealed_seconds() {
    let mut series = Series::default();
    for second in 0..60 {
        series.add(&window(second, 0, &[u64::from(second) + 1])).unwrap();
    }
    assert!(matches!(series.rows.get(&RowKey::second(3, 0)), Some(Cell::Sealed(_))));
    series.add(&window(3, 0, &[500])).unwrap();
    assert!(matches!(series.rows.get(&RowKey::second(3, 0)), Some(Cell::Sealed(_))));
    let third = series.second(3).unwrap();
    assert_eq!((third.row.counters.ok, third.row.latency.max_ns()), (2, Some(500_000_000)));
    assert_eq!(series.whole().counters.ok, 61);
    assert_eq!(series.iterations().started, 61);
    assert_eq!(series.span(0, 60).unwrap().counters, series.whole().counters);
    assert_eq!(series.span(10, 20).unwrap().counters.ok, 10);
}

#[test]
fn rows_are_let_go_of_and_put_back() {
    let mut series = Series::default();
    for second in 0..60 {
        series.add(&window(second, 0, &[u64::from(second) + 1])).unwrap();
    }
    let (whole, third) = (series.whole(), series.second(3).unwrap());
    let kept = series.row(&RowKey::second(3, 0)).unwrap();
    series.retain_rows(|key| key.from_s >= 50);
    assert_eq!(series.row(&RowKey::second(3, 0)), None);
    assert_eq!((series.whole(), series.end_s(), series.iterations().started), (whole.clone(), 60, 60));
    assert_eq!(series.span(50, 60).unwrap().counters.ok, 10);
    series.put_back_row(RowKey::second(3, 0), kept);
    assert_eq!((series.second(3).unwrap(), series.whole()), (third, whole));
    series.add(&window(3, 0, &[500])).unwrap();
    assert_eq!(series.second(3).unwrap().row.counters.ok, 2);
    series.retain_rows(|_| false);
    assert_eq!((series.end_s(), series.rows_in(59), series.knows(59)), (60, 0, true));
}

#[test]
fn a_second_without_traffic_is_zeros() {
    let series = Series::default();
    assert_eq!(series.second(5).unwrap(), MergedSecond::default());
    assert_eq!(series.whole().counters, Counters::default());
}

/// The row of all steps together in one second of one part, with this lag.
fn timing(second: u32, part: Part, lag_ns: u64) -> (RowKey, Row) {
    let mut row = Row::default();
    row.timing.record(Timed::Lag, lag_ns);
    (RowKey::all_steps(second, part), row)
}

/// Two seconds of warm-up and two measured ones; each with one step's row, the row of all steps, and iterations.
fn with_warmup() -> Series {
    let mut series = Series::default();
    for (second, part) in [(0, Part::Warmup), (1, Part::Warmup), (2, Part::Measured), (3, Part::Measured)] {
        let mut window = window(second, 0, &[10, 20]);
        let rows = std::mem::take(&mut window.rows).into_iter();
        window.rows = rows.map(|(key, row)| (RowKey { part, ..key }, row)).collect();
        window.rows.extend([timing(second, part, 1_000)]);
        if part == Part::Warmup {
            let scalars = window.seconds.get_mut(&second).unwrap();
            std::mem::swap(&mut scalars.iterations, &mut scalars.warmup);
        }
        series.add(&window).unwrap();
    }
    series
}

#[test]
fn case_31_warm_up_is_in_no_total_and_told_apart() {
    let series = with_warmup();
    let steps: Vec<StepId> = series.totals().map(|(step, _)| step).collect();
    assert_eq!(steps, [0], "what is timed of all steps is no step");
    for (part, whole) in [(Part::Measured, series.whole()), (Part::Warmup, series.whole_of(Part::Warmup))] {
        assert_eq!((whole.counters.ok, whole.timing.of(Timed::Lag).count()), (4, 2), "{part:?}");
    }
    assert_eq!((series.iterations().started, series.warmup().started), (4, 4));
    assert_eq!(series.totals_by_part().count(), 4);
}

#[test]
fn a_second_is_whole_and_a_span_is_measured() {
    let series = with_warmup();
    let first = series.second(0).unwrap();
    assert_eq!((first.row.counters.ok, first.row.timing.of(Timed::Lag).count()), (2, 1));
    assert_eq!((first.scalars.iterations.started, first.scalars.warmup.started), (0, 2));
    let span = series.span(0, 4).unwrap();
    assert_eq!(span, series.whole());
    assert_eq!(series.span(0, 2).unwrap(), TotalRow::default());
}

/// What seconds tell: all of the measured part, and the warm-up of those in which nothing was measured.
fn told(rows: &[(u32, bool, Row, Row)]) -> TotalRow {
    let is_measured = |row: &&(u32, bool, Row, Row)| !(row.1 || row.2.is_empty() && row.3.is_empty());
    let measured: BTreeSet<u32> = rows.iter().filter(is_measured).map(|row| row.0).collect();
    let mut told = TotalRow::default();
    for (_, _, step, timing) in rows.iter().filter(|row| !row.1 || !measured.contains(&row.0)) {
        told.merge(step);
        told.merge(timing);
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever comes in whatever order: totals are the sum of the seconds, sealed or not.
    #[test]
    fn totals_are_the_sum_of_the_seconds(
        rows in vec((0u32..30, any::<bool>(), step_row(), timing_row()), 0..12),
    ) {
        let mut series = Series::default();
        let mut sums = BTreeMap::<Part, TotalRow>::new();
        for (second, is_warmup, step, timing) in &rows {
            let part = if *is_warmup { Part::Warmup } else { Part::Measured };
            let step_key = RowKey { part, ..RowKey::second(*second, 3) };
            let rows = [(step_key, step.clone()), (RowKey::all_steps(*second, part), timing.clone())];
            series.add(&Window { rows: rows.into(), ..Window::default() }).unwrap();
            let sum = sums.entry(part).or_default();
            sum.merge(step);
            sum.merge(timing);
        }
        let sum_of = |part| sums.get(&part).cloned().unwrap_or_default();
        prop_assert_eq!(series.whole(), sum_of(Part::Measured));
        prop_assert_eq!(series.whole_of(Part::Warmup), sum_of(Part::Warmup));
        prop_assert_eq!(series.span(0, 30).unwrap(), sum_of(Part::Measured));
        let mut seconds = TotalRow::default();
        for second in 0..series.end_s() {
            seconds.merge(&series.second(second).unwrap().row);
        }
        prop_assert_eq!(seconds, told(&rows));
        prop_assert!(series.totals().all(|(step, total)| step == 3 && total.timing.is_empty()));
    }
}
