//! The arithmetic of ab's tables: means, deviations, medians and percentiles of single values, rounded as ab rounds.
//!
//! How ab does each of these was found by experiment: the median of an odd number of values is the middle one's mean with the
//! next greater, of an even number the upper of the two in the middle.

/// What a row of the table of times says of values in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) min_us: u32,
    pub(super) mean_us: f64,
    /// The sample's standard deviation; 0 of one value.
    pub(super) deviation_us: f64,
    pub(super) median_us: u32,
    pub(super) max_us: u32,
}

/// Percentiles of the table below.
pub(super) const PERCENTS: [u64; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];

impl Spread {
    /// That of these values, which get sorted; none of no values.
    pub(super) fn of(values: &mut [u32]) -> Option<Self> {
        values.sort_unstable();
        let (min_us, max_us) = (*values.first()?, *values.last()?);
        let sum: u64 = values.iter().map(|&value| u64::from(value)).sum();
        let count = float(values.len() as u64);
        let mean_us = float(sum) / count;
        let squares: f64 = values.iter().map(|&value| (f64::from(value) - mean_us).powi(2)).sum();
        let deviation_us = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Self { min_us, mean_us, deviation_us, median_us: median(values), max_us })
    }

    /// The mean in whole milliseconds.
    pub(super) fn mean_ms(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of u32 fits")]
        let mean_us = self.mean_us as u32;
        milliseconds(mean_us)
    }

    /// How far the mean lies from the median, in whole milliseconds, as the table shows both.
    pub(super) fn skew_ms(&self) -> u64 {
        self.mean_ms().abs_diff(milliseconds(self.median_us))
    }

    pub(super) fn deviation_ms(&self) -> f64 {
        self.deviation_us / 1_000.0
    }
}

fn median(sorted: &[u32]) -> u32 {
    let middle = sorted.len() / 2;
    match sorted.get(middle + 1) {
        Some(&next) if sorted.len() % 2 == 1 => u32::midpoint(sorted[middle], next),
        _ => sorted[middle],
    }
}

/// The value below which so many percent of the sorted values lie; the last one of 100.
pub(super) fn percentile(sorted: &[u32], percent: u64) -> Option<u32> {
    let count = sorted.len() as u64;
    let index = (count * percent / 100).min(count.checked_sub(1)?);
    usize::try_from(index).ok().and_then(|index| sorted.get(index)).copied()
}

/// The same as ab's CSV has it, which rounds the place to the nearest.
pub(super) fn rounded_percentile(sorted: &[u32], percent: u64) -> Option<u32> {
    let count = sorted.len() as u64;
    let index = ((count * percent + 50) / 100).min(count.checked_sub(1)?);
    usize::try_from(index).ok().and_then(|index| sorted.get(index)).copied()
}

/// Whole milliseconds, rounded to the nearest.
pub(super) fn milliseconds(microseconds: u32) -> u64 {
    (u64::from(microseconds) + 500) / 1_000
}

/// The nearest float.
#[expect(clippy::cast_precision_loss, reason = "beyond 2^53 the nearest will do")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_what_ab_prints_of_the_same_values() {
        let check = |values: &[u32], expected: (u32, f64, f64, u32, u32)| {
            let spread = Spread::of(&mut values.to_vec()).unwrap();
            let (min, mean, deviation, median, max) = expected;
            assert_eq!((spread.min_us, spread.median_us, spread.max_us), (min, median, max), "{values:?}");
            assert!((spread.mean_us - mean).abs() < 1e-9, "{spread:?}");
            assert!((spread.deviation_us - deviation).abs() < 1e-3, "{spread:?}");
        };
        check(&[7_000], (7_000, 7_000.0, 0.0, 7_000, 7_000));
        // The upper one of two.
        check(&[20, 10], (10, 15.0, 7.071, 20, 20));
        // Squares of 40, 10 and 50 by 2 degrees of freedom, from a mean of 60: (1,600 + 100 + 2,500) / 2 = 2,100.
        check(&[110, 20, 50], (20, 60.0, 45.826, 80, 110));
        check(&[1, 2, 3, 4], (1, 2.5, 1.291, 3, 4));
        check(&[5, 4, 3, 2, 1], (1, 3.0, 1.581, 3, 5));
        assert_eq!(Spread::of(&mut []), None);
    }

    #[test]
    fn percentiles_are_the_values_at_abs_places() {
        let check = |count: u32, percent: u64, plain: u32, rounded: u32| {
            let sorted: Vec<u32> = (0..count).collect();
            let found = (percentile(&sorted, percent), rounded_percentile(&sorted, percent));
            assert_eq!(found, (Some(plain), Some(rounded)), "{percent} % of {count}");
        };
        // Places of 3 values: 50 % of 3 is 1.5.
        check(3, 50, 1, 2);
        check(3, 66, 1, 2);
        check(3, 75, 2, 2);
        check(3, 100, 2, 2);
        // 7 % of 7 is 0.49, 8 % is 0.56, 93 % is 6.51.
        check(7, 0, 0, 0);
        check(7, 7, 0, 0);
        check(7, 8, 0, 1);
        check(7, 93, 6, 6);
        check(1, 99, 0, 0);
        check(1000, 99, 990, 990);
        assert_eq!((percentile(&[], 50), rounded_percentile(&[], 50)), (None, None));
    }

    #[test]
    fn milliseconds_are_rounded_to_the_nearest() {
        let check = |us, ms| assert_eq!(milliseconds(us), ms, "{us}");
        check(0, 0);
        check(499, 0);
        check(500, 1);
        check(1_499, 1);
        check(u32::MAX, 4_294_967);
        let spread = Spread::of(&mut [300, 510]).unwrap();
        assert_eq!((spread.mean_ms(), spread.skew_ms()), (0, 1), "405 is shown as 0, and 510 as 1");
    }
}
