//! A latency histogram: HdrHistogram inside, with exact minimum and maximum, created when first used.

use std::fmt;

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use thiserror::Error;

/// The smallest latency told apart, in nanoseconds; smaller ones count as this.
pub const LOWEST_NS: u64 = 16;
/// The largest latency told apart, in nanoseconds (60 s); larger ones count as this, but the maximum stays exact.
pub const HIGHEST_NS: u64 = 60_000_000_000;
/// Significant decimal digits of a recorded value.
const DIGITS: u8 = 3;
/// The size of a V2 header.
const HEADER_BYTES: usize = 40;
/// The percentiles shown everywhere, ascending; 100 is the maximum.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// The type of a histogram's counts: 32 bits where many are kept (windows), 64 bits for a run's totals.
pub trait Count: hdrhistogram::Counter {
    /// The nearest count that the type can hold.
    fn saturating_from(n: u64) -> Self;
}

impl Count for u32 {
    fn saturating_from(n: u64) -> Self {
        Self::try_from(n).unwrap_or(Self::MAX)
    }
}

impl Count for u64 {
    fn saturating_from(n: u64) -> Self {
        n
    }
}

/// A histogram of durations in nanoseconds.
///
/// Values from 16 ns to 60 s are kept with three significant digits (an error of at most 0.05 %); minimum and maximum
/// are exact, and percentiles are clamped to them.
#[derive(Clone)]
pub struct Histogram<C: Count = u32> {
    hdr: Option<Box<hdrhistogram::Histogram<C>>>,
    min_ns: u64,
    max_ns: u64,
}

/// A histogram for the totals of a run: its counts cannot overflow.
pub type Total = Histogram<u64>;

/// Why bytes are not a histogram of ours.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The header does not say HdrHistogram V2 with the bounds used here.
    #[error("not an HdrHistogram V2 of {LOWEST_NS} to {HIGHEST_NS} ns with {DIGITS} digits")]
    Header,
    /// The counts are damaged.
    #[error("the counts of a histogram cannot be read")]
    Counts,
    /// Minimum and maximum contradict the counts.
    #[error("minimum or maximum contradicts the counts of a histogram")]
    Bounds,
}

impl<C: Count> Default for Histogram<C> {
    fn default() -> Self {
        Self { hdr: None, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl<C: Count> PartialEq for Histogram<C> {
    fn eq(&self, other: &Self) -> bool {
        let empty = self.is_empty() && other.is_empty();
        empty || (self.hdr == other.hdr && self.min_ns == other.min_ns && self.max_ns == other.max_ns)
    }
}

/// Short, since a histogram has thousands of buckets.
impl<C: Count> fmt::Debug for Histogram<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buckets: Vec<(u64, u64)> = self
            .hdr
            .iter()
            .flat_map(|hdr| hdr.iter_recorded())
            .take(8)
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value().as_u64()))
            .collect();
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .field("first_buckets", &buckets)
            .finish()
    }
}

fn new_hdr<C: Count>() -> Box<hdrhistogram::Histogram<C>> {
    let hdr = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS);
    Box::new(hdr.expect("the bounds are constants that HdrHistogram accepts"))
}

impl<C: Count> Histogram<C> {
    /// Records one duration. The first one makes the histogram.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.hdr.get_or_insert_with(new_hdr).saturating_record(value_ns.min(HIGHEST_NS));
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.hdr.as_ref().map_or(0, |hdr| hdr.len())
    }

    /// True if nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The smallest value, exactly.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The largest value, exactly.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean, to three digits.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        self.hdr.as_ref().filter(|hdr| !hdr.is_empty()).map(|hdr| hdr.mean())
    }

    /// The value below or at which `percent` (0 to 100) of the values lie; `None` when nothing was recorded.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let hdr = self.hdr.as_ref().filter(|hdr| !hdr.is_empty())?;
        if percent >= 100.0 {
            return Some(self.max_ns);
        }
        let value = hdr.value_at_percentile(percent.max(0.0));
        Some(hdr.median_equivalent(value).clamp(self.min_ns, self.max_ns))
    }

    /// Adds the values of another.
    pub fn merge<D: Count>(&mut self, other: &Histogram<D>) {
        let Some(theirs) = other.hdr.as_ref().filter(|hdr| !hdr.is_empty()) else { return };
        let mine = self.hdr.get_or_insert_with(new_hdr);
        for bucket in theirs.iter_recorded() {
            let n = C::saturating_from(bucket.count_at_value().as_u64());
            mine.saturating_record_n(bucket.value_iterated_to(), n);
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        if let Some(hdr) = &mut self.hdr {
            hdr.reset();
        }
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// The histogram in HdrHistogram's V2 form (empty for an empty one); minimum and maximum travel beside it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(hdr) = self.hdr.as_ref().filter(|hdr| !hdr.is_empty()) {
            V2Serializer::new()
                .serialize(hdr, &mut bytes)
                .expect("writing to memory cannot fail, and the encoded size is far below 4 GiB");
        }
        bytes
    }

    /// Reads back what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// The bytes come from the network or a disk, so every contradiction is an error and no claim in the header can
    /// make this allocate more than a histogram's own size.
    pub fn from_bytes(bytes: &[u8], min_ns: u64, max_ns: u64) -> Result<Self, DecodeError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        check_header(bytes)?;
        let hdr: hdrhistogram::Histogram<C> =
            Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| DecodeError::Counts)?;
        if hdr.is_empty() {
            return Ok(Self::default());
        }
        let same = |exact: u64, bucket: u64| {
            hdr.equivalent(exact.clamp(LOWEST_NS, HIGHEST_NS), bucket.max(LOWEST_NS))
        };
        if min_ns > max_ns || !same(min_ns, hdr.min()) || !same(max_ns, hdr.max()) {
            return Err(DecodeError::Bounds);
        }
        Ok(Self { hdr: Some(Box::new(hdr)), min_ns, max_ns })
    }
}

/// The V2 header (big-endian): cookie, payload length, normalizing offset, digits (32 bits each), lowest and highest
/// value (64 bits each). Checked before the decoder sizes anything by it.
fn check_header(bytes: &[u8]) -> Result<(), DecodeError> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let long = |at: usize| Some((u64::from(word(at)?) << 32) | u64::from(word(at + 4)?));
    let whole = word(4).is_some_and(|payload| payload as usize + HEADER_BYTES == bytes.len());
    let ours =
        word(12) == Some(u32::from(DIGITS)) && long(16) == Some(LOWEST_NS) && long(24) == Some(HIGHEST_NS);
    if whole && ours { Ok(()) } else { Err(DecodeError::Header) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    #[test]
    fn case_06_a_single_value_is_every_percentile() {
        let histogram = of(&[575_000_000]);
        for percent in [0.0, 1.0, 50.0, 95.0, 99.0, 99.9, 100.0] {
            assert_eq!(histogram.percentile_ns(percent), Some(575_000_000));
        }
    }

    #[test]
    fn nothing_recorded_has_no_percentile() {
        let histogram = Histogram::<u32>::default();
        assert_eq!(
            (histogram.percentile_ns(50.0), histogram.max_ns(), histogram.mean_ns()),
            (None, None, None)
        );
        assert_eq!(histogram.to_bytes(), Vec::<u8>::new());
    }

    #[test]
    fn values_out_of_range_are_kept_in_maximum_and_minimum() {
        let histogram = of(&[1, 90_000_000_000]);
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (Some(1), Some(90_000_000_000)));
        assert_eq!(histogram.percentile_ns(100.0), Some(90_000_000_000));
        let back = Histogram::<u32>::from_bytes(&histogram.to_bytes(), 1, 90_000_000_000);
        assert_eq!(back, Ok(histogram));
    }

    #[test]
    fn a_header_that_asks_for_much_memory_is_refused() {
        let mut greedy = of(&[1000]).to_bytes();
        greedy[15] = 5;
        assert_eq!(Histogram::<u32>::from_bytes(&greedy, 1000, 1000), Err(DecodeError::Header));
        assert_eq!(Histogram::<u32>::from_bytes(&[1, 2, 3], 1, 1), Err(DecodeError::Header));
    }

    /// The value at this percentile of sorted raw values, by HdrHistogram's own rank rule.
    fn raw_percentile(sorted: &[u64], percent: f64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "test"
        )]
        let rank = ((percent / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        sorted[rank - 1]
    }

    proptest! {
        #[test]
        fn merged_percentiles_are_within_a_thousandth_of_the_sorted_raw_values(
            one in proptest::collection::vec(20_000u64..50_000_000_000, 1..300),
            two in proptest::collection::vec(20_000u64..5_000_000, 1..300),
            percent in 0.1f64..100.0,
        ) {
            let mut merged = Total::default();
            merged.merge(&of(&one));
            merged.merge(&of(&two));
            let mut raw = [one, two].concat();
            raw.sort_unstable();
            let (exact, read) = (raw_percentile(&raw, percent), merged.percentile_ns(percent).unwrap());
            prop_assert!(exact.abs_diff(read) as f64 <= exact as f64 / 1000.0, "{exact} read as {read}");
            prop_assert_eq!(merged.count(), raw.len() as u64);
        }

        #[test]
        fn bytes_lead_back(values in proptest::collection::vec(0u64..100_000_000_000, 0..100)) {
            let histogram = of(&values);
            let (min, max) = (histogram.min_ns().unwrap_or(0), histogram.max_ns().unwrap_or(0));
            prop_assert_eq!(Histogram::from_bytes(&histogram.to_bytes(), min, max), Ok(histogram));
        }

        #[test]
        fn damaged_bytes_never_panic(
            values in proptest::collection::vec(1u64..100_000_000, 1..50),
            at in 0usize..200, byte: u8, cut in 0usize..200,
        ) {
            let mut bytes = of(&values).to_bytes();
            let index = at % bytes.len();
            bytes[index] = byte;
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
            let _ = Histogram::<u32>::from_bytes(&bytes, 1, 1);
        }
    }
}
