//! Poisson arrivals: golden values, the statistics that make them Poisson, and the end of the shape. All seeds are
//! fixed, so nothing here is left to chance: a bound of 3.3 standard deviations is either met for good or not.

use super::*;
use crate::shape::Stage;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

/// The due times of a ramp over `duration_s`, between whole rates a second.
fn due(seed: u64, from: u64, to: u64, duration_s: u64) -> Vec<u64> {
    let rate = |value| crate::shape::Rate::per_second(value).expect("a rate in bounds");
    let stage = Stage::ramp(rate(from), rate(to), Duration::from_secs(duration_s));
    let shape = Shape::new(Duration::ZERO, &[stage]).expect("a valid stage");
    let mut poisson = Poisson::new(Arc::new(shape), seed);
    (0..).map_while(|n| poisson.due_ns(n)).collect()
}

/// The largest distance between the distribution of `gaps` and the exponential one with mean 1, times √n.
fn kolmogorov_smirnov(mut gaps: Vec<f64>) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = |(i, gap): (usize, &f64)| {
        let expected = 1.0 - (-gap).exp();
        (expected - i as f64 / count).max((i + 1) as f64 / count - expected)
    };
    gaps.iter().enumerate().map(distance).fold(0.0, f64::max) * count.sqrt()
}

fn gaps(levels: &[f64]) -> Vec<f64> {
    levels.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

/// From a second implementation in exact rational arithmetic with the whole distribution, not a table of it.
#[test]
fn golden_values() {
    let check = |due: &[u64], count, first: [u64; 3], (place, middle), last| {
        assert_eq!((due.len(), &due[..3], due[place]), (count, first.as_slice(), middle));
        assert_eq!(due.last(), Some(&last));
    };
    let first = [480_125, 3_364_730, 5_098_764];
    check(&due(0, 1_000, 1_000, 5), 5_015, first, (1_023, 1_062_612_041), 4_999_950_084);
    let first = [2_408_197, 3_224_144, 3_537_792];
    check(&due(42, 1_000, 1_000, 5), 4_963, first, (1_025, 1_013_711_939), 4_996_128_657);
    let first = [1_700_069, 1_934_609, 2_252_910];
    check(&due(u64::MAX, 1_000, 1_000, 5), 5_131, first, (1_024, 960_968_819), 4_999_535_633);
    let first = [219_462_808, 253_934_757, 265_999_670];
    check(&due(42, 0, 1_000, 10), 4_963, first, (2_500, 7_159_995_210), 9_996_127_908);
}

#[test]
fn counts_of_blocks_have_the_mean_and_variance_of_their_distribution() {
    let draws = Philox::new([7, 0]);
    let counts: Vec<_> = (0..10_000).map(|block| count_of(draws, block) as f64).collect();
    let (mean, variance) = moments(&counts);
    // Standard errors: √(1024 / 10,000) = 0.32, and 1024·√(2 / 10,000) = 14.5.
    assert!((mean - 1_024.0).abs() < 1.06, "{mean}");
    assert!((variance - 1_024.0).abs() < 48.0, "{variance}");
}

#[test]
fn counts_of_seconds_scatter_as_poisson_counts_do() {
    let mut seconds = vec![0_f64; 2_000];
    for due_ns in due(1, 50, 50, 2_000) {
        seconds[(due_ns / SECOND_NS) as usize] += 1.0;
    }
    // Σ(count − 50)²/50 is χ² with 2,000 degrees of freedom: 2,000 ± 63.
    let chi_square: f64 = seconds.iter().map(|count| (count - 50.0).powi(2) / 50.0).sum();
    assert!((chi_square - 2_000.0).abs() < 209.0, "{chi_square}");
}

#[test]
fn gaps_are_exponential_and_independent() {
    // In expected arrivals, at 1,000 a second.
    let levels: Vec<_> = due(2, 1_000, 1_000, 100).into_iter().map(|due_ns| due_ns as f64 / 1e6).collect();
    let gaps = gaps(&levels);
    assert!(gaps.len() > 99_000);
    let pairs: Vec<_> = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).collect();
    let (correlation, _) = moments(&pairs);
    assert!(correlation.abs() < 3.3 / (pairs.len() as f64).sqrt(), "{correlation}");
    // 1.63 is the bound at 1 %.
    let distance = kolmogorov_smirnov(gaps);
    assert!(distance < 1.63, "{distance}");
}

#[test]
fn gaps_on_a_ramp_are_exponential_in_expected_arrivals() {
    for (from, to) in [(0, 1_000), (1_000, 0)] {
        let levels: Vec<_> = due(3, from, to, 100)
            .into_iter()
            .map(|due_ns| due_ns as f64 / 1e9)
            .map(|time_s| from as f64 * time_s + (to as f64 - from as f64) * time_s * time_s / 200.0)
            .collect();
        assert!(levels.len() > 49_000);
        let distance = kolmogorov_smirnov(gaps(&levels));
        assert!(distance < 1.63, "{distance}");
    }
}

#[test]
fn a_shape_that_ends_within_a_block_has_poisson_counts_too() {
    for (rate, mean_expected) in [(10, 100.0), (150, 1_500.0)] {
        let counts: Vec<_> = (0..2_000).map(|seed| due(seed, rate, rate, 10).len() as f64).collect();
        let (mean, variance) = moments(&counts);
        assert!((mean - mean_expected).abs() < 3.3 * (mean_expected / 2_000.0_f64).sqrt(), "{mean}");
        assert!((variance / mean_expected - 1.0).abs() < 3.3 * (2.0_f64 / 2_000.0).sqrt(), "{variance}");
    }
}

#[test]
fn seeds_give_different_arrivals_and_all_lie_in_order_within_the_shape() {
    let (first, second) = (due(8, 500, 500, 20), due(9, 500, 500, 20));
    assert_ne!(first[..100], second[..100]);
    for due in [first, second] {
        assert!(due.is_sorted());
        assert!(due.last().is_some_and(|last_ns| *last_ns < 20 * SECOND_NS));
    }
}

#[test]
fn counts_and_times_are_inverse_in_whatever_order_they_are_asked() {
    let all = due(4, 1_000, 200, 10);
    let rate = |value| crate::shape::Rate::per_second(value).expect("a rate in bounds");
    let stage = Stage::ramp(rate(1_000), rate(200), Duration::from_secs(10));
    let shape = Arc::new(Shape::new(Duration::ZERO, &[stage]).expect("a valid stage"));
    let mut poisson = Poisson::new(shape, 4);
    for n in [0, 5_000, 1_023, 3_000, 1, 5_999, 2_048] {
        let due_ns = all.get(n).copied();
        assert_eq!(poisson.due_ns(n as u64), due_ns);
        let Some(due_ns) = due_ns else { continue };
        assert_eq!(poisson.arrivals_before(due_ns), n as u64);
        assert_eq!(poisson.arrivals_before(due_ns + 1), n as u64 + 1);
    }
    assert_eq!(poisson.arrivals_before(0), 0);
    for end_ns in [10 * SECOND_NS, u64::MAX] {
        assert_eq!(poisson.arrivals_before(end_ns), all.len() as u64);
    }
}
