//! Durations counted below fixed bounds: the form of a histogram that monitoring systems add up over processes and time.

use super::v2::Encoded;
use super::{Count, DecodeError, Histogram};
use crate::SealedHistogram;

/// The bounds in nanoseconds, inclusive, ascending: 100 µs to a minute. What is longer is counted beyond the last.
pub const BOUNDS_NS: [u64; 18] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// How many durations lie between each two of [`BOUNDS_NS`], and their sum.
///
/// What it is made from has buckets of its own. One that a bound runs through counts where its lowest value lies, so a
/// count is off by what lies within the histogram's precision of that bound (0.1 % of three digits).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    /// Up to each bound, but not up to the one before; the last are beyond all.
    counts: [u64; BOUNDS_NS.len() + 1],
    sum_ns: u64,
}

impl Buckets {
    /// Adds what a histogram holds.
    pub fn add<C: Count, const D: u8>(&mut self, histogram: &Histogram<C, D>) {
        let Some(hdr) = histogram.hdr() else { return };
        let exact = (histogram.min_ns, histogram.max_ns);
        for bucket in hdr.iter_recorded() {
            let highest_ns = bucket.value_iterated_to();
            let ends = (hdr.lowest_equivalent(highest_ns), highest_ns);
            self.count(ends, exact, bucket.count_at_value().as_u64());
        }
    }

    /// The same of a histogram in its small form, without opening it.
    ///
    /// # Errors
    /// See [`Histogram::merge_bytes`]; what stands before the damage is added.
    pub fn add_sealed<const D: u8>(&mut self, sealed: &SealedHistogram) -> Result<(), DecodeError> {
        if sealed.bytes.is_empty() {
            return Ok(());
        }
        for bucket in Encoded::<D>::new(&sealed.bytes)?.buckets() {
            let (lowest_ns, n) = bucket?;
            let highest_ns = lowest_ns + Encoded::<D>::width_ns(lowest_ns) - 1;
            self.count((lowest_ns, highest_ns), (sealed.min_ns, sealed.max_ns), n);
        }
        Ok(())
    }

    /// Counts `n` values from the first to the second of `ends`; all that were recorded lie within `exact`.
    fn count(&mut self, ends: (u64, u64), exact: (u64, u64), n: u64) {
        let within = |value_ns: u64| value_ns.max(exact.0).min(exact.1);
        let (lowest_ns, middle_ns) = (within(ends.0), within(ends.0.midpoint(ends.1)));
        let place = BOUNDS_NS.partition_point(|bound_ns| *bound_ns < lowest_ns);
        self.counts[place] = self.counts[place].saturating_add(n);
        self.sum_ns = self.sum_ns.saturating_add(middle_ns.saturating_mul(n));
    }

    /// Up to each bound, but not up to the one before; the last are beyond all of them.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Durations in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum: u64, n| sum.saturating_add(*n))
    }

    /// Their sum in nanoseconds, to the precision of what it was made from.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DIGITS;

    /// Counts the same values open and sealed; says the places that hold any, and the sum.
    fn check(values_ns: &[u64], expected: &[(usize, u64)], sum_ns: u64) {
        let mut histogram = Histogram::<u32>::default();
        values_ns.iter().for_each(|value_ns| histogram.record(*value_ns));
        let (mut open, mut sealed) = (Buckets::default(), Buckets::default());
        open.add(&histogram);
        sealed.add_sealed::<DIGITS>(&SealedHistogram::of(&histogram)).unwrap();
        assert_eq!(open, sealed, "{values_ns:?}");
        let held: Vec<_> = (0..).zip(open.counts().iter().copied()).filter(|(_, n)| *n > 0).collect();
        assert_eq!(held, expected, "{values_ns:?}");
        assert_eq!(open.total(), values_ns.len() as u64);
        assert!(open.sum_ns().abs_diff(sum_ns) <= sum_ns / 1000, "{} is not {sum_ns}", open.sum_ns());
    }

    #[test]
    fn durations_are_counted_up_to_their_bound() {
        check(&[], &[], 0);
        check(&[1], &[(0, 1)], 1);
        check(&[1_000_000], &[(3, 1)], 1_000_000);
        check(&[1_000_000, 1_200_000, 700_000], &[(3, 2), (4, 1)], 2_900_000);
        check(&[60_000_000_000, 61_000_000_000], &[(17, 1), (18, 1)], 121_000_000_000);
        // Far beyond what a histogram tells apart.
        check(&[7_200_000_000_000], &[(18, 1)], 7_200_000_000_000);
    }

    #[test]
    fn what_is_no_histogram_is_an_error() {
        let damaged = SealedHistogram { bytes: vec![1, 2, 3], min_ns: 1, max_ns: 1 };
        assert_eq!(Buckets::default().add_sealed::<DIGITS>(&damaged), Err(DecodeError::Header));
    }
}
