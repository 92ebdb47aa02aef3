//! Latency by percentile, at steps that halve what is left until the maximum: what plots of it are drawn from.

use volley_stats::{Count, Histogram};

/// Steps until what is left has halved: HdrHistogram's own default.
const STEPS_A_HALF: u32 = 5;

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The share of the values, 0 to 1, that are at most this one.
    pub(super) share: f64,
    /// The value in nanoseconds, as percentiles are read off everywhere: within the exact minimum and maximum.
    pub(super) value_ns: u64,
    /// How many values these are.
    pub(super) count: u64,
}

/// From the minimum to the maximum; nothing where nothing was recorded.
pub(super) fn distribution<C: Count, const D: u8>(histogram: &Histogram<C, D>) -> Vec<Point> {
    let Some(hdr) = histogram.hdr() else { return Vec::new() };
    let mut count = 0;
    let points = hdr.iter_quantiles(STEPS_A_HALF).map(|step| {
        count += step.count_since_last_iteration();
        let share = step.quantile_iterated_to();
        let value_ns = histogram.percentile_ns(100.0 * share).unwrap_or_default();
        Point { share, value_ns, count }
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_from_the_minimum_to_the_exact_maximum() {
        let mut histogram = Histogram::<u32>::default();
        assert_eq!(distribution(&histogram), []);
        (1..=10_000).for_each(|n| histogram.record(n * 1_000 + 7));
        let points = distribution(&histogram);
        assert!(points.len() > 20, "{}", points.len());
        assert!(
            points.is_sorted_by(|a, b| a.share < b.share && a.value_ns <= b.value_ns && a.count <= b.count)
        );
        let last = points.last().copied().unwrap();
        assert_eq!(last, Point { share: 1.0, value_ns: 10_000_007, count: 10_000 });
        let median = points.iter().find(|point| (point.share - 0.5).abs() < 1e-9).unwrap();
        assert_eq!(Some(median.value_ns), histogram.percentile_ns(50.0));
    }
}
