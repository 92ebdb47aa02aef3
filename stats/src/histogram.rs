//! A latency histogram: HdrHistogram inside, with exact minimum and maximum, created when first used.

use std::any::Any;
use std::fmt;

use hdrhistogram::serialization::{Serializer, V2Serializer};
use thiserror::Error;

mod buckets;
mod v2;

pub use buckets::{BOUNDS_NS, Buckets};
use v2::{Encoded, series};

/// The smallest latency told apart, in nanoseconds; smaller ones count as this.
pub const LOWEST_NS: u64 = 16;
/// The largest latency told apart, in nanoseconds (1 h); larger ones count as this, but the maximum stays exact. It is
/// so large since an iteration of the open model may wait for a connection as long as the run takes.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// What [`HIGHEST_NS`] was once (60 s). Histograms that were kept with this bound are still read.
const OLD_HIGHEST_NS: u64 = 60_000_000_000;
/// Significant decimal digits of a latency.
pub const DIGITS: u8 = 3;
/// Significant decimal digits of what is timed of all steps together.
pub const COARSE_DIGITS: u8 = 2;
/// The percentiles shown everywhere, ascending; 100 is the maximum.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// The type of a histogram's counts: 32 bits where many are kept (windows), 64 bits for a run's totals.
pub trait Count: hdrhistogram::Counter + Default + 'static {
    /// The largest count that the type can hold.
    const MOST: u64;

    /// The nearest count that the type can hold.
    fn saturating_from(n: u64) -> Self;
}

impl Count for u32 {
    const MOST: u64 = Self::MAX as u64;

    fn saturating_from(n: u64) -> Self {
        Self::try_from(n).unwrap_or(Self::MAX)
    }
}

impl Count for u64 {
    const MOST: u64 = Self::MAX;

    fn saturating_from(n: u64) -> Self {
        n
    }
}

/// The buckets and their counts.
type Hdr<C> = hdrhistogram::Histogram<C>;

/// A histogram of durations in nanoseconds.
///
/// Values from 16 ns to 1 h are kept with `D` significant digits (three are an error of at most 0.05 %); minimum and
/// maximum are exact, and percentiles are clamped to them.
#[derive(Clone)]
pub struct Histogram<C: Count = u32, const D: u8 = DIGITS> {
    hdr: Option<Box<Hdr<C>>>,
    min_ns: u64,
    max_ns: u64,
}

/// A histogram for the totals of a run: its counts cannot overflow.
pub type Total = Histogram<u64>;

/// Why bytes are not a histogram of ours.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The header does not say HdrHistogram V2 with the bounds used here.
    #[error("not an HdrHistogram V2 of {LOWEST_NS} to {HIGHEST_NS} ns with the digits of its kind")]
    Header,
    /// The counts are damaged.
    #[error("the counts of a histogram cannot be read")]
    Counts,
    /// Minimum and maximum contradict the counts.
    #[error("minimum or maximum contradicts the counts of a histogram")]
    Bounds,
}

impl<C: Count, const D: u8> Default for Histogram<C, D> {
    fn default() -> Self {
        Self { hdr: None, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl<C: Count, const D: u8> PartialEq for Histogram<C, D> {
    fn eq(&self, other: &Self) -> bool {
        let empty = self.is_empty() && other.is_empty();
        empty || (self.hdr == other.hdr && self.min_ns == other.min_ns && self.max_ns == other.max_ns)
    }
}

/// Short, since a histogram has thousands of buckets.
impl<C: Count, const D: u8> fmt::Debug for Histogram<C, D> {
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

fn new_hdr<C: Count, const D: u8>() -> Box<Hdr<C>> {
    let hdr = Hdr::new_with_bounds(LOWEST_NS, HIGHEST_NS, D);
    Box::new(hdr.expect("the bounds are constants that HdrHistogram accepts"))
}

/// How many buckets there are with so many digits, as HdrHistogram has them: twice as wide each time that the upper half
/// of a series of them is full.
const fn buckets(digits: u8) -> usize {
    let series = series(digits);
    let (mut halves, mut reach_ns) = (2, series as u64 * LOWEST_NS);
    while reach_ns <= HIGHEST_NS {
        reach_ns *= 2;
        halves += 1;
    }
    halves * series / 2
}

impl<C: Count, const D: u8> Histogram<C, D> {
    /// The memory of one that holds values, in bytes.
    pub const OPENED_BYTES: usize = buckets(D) * size_of::<C>() + size_of::<Hdr<C>>();

    /// Records one duration. The first one makes the histogram.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.hdr.get_or_insert_with(new_hdr::<C, D>).saturating_record(value_ns.clamp(LOWEST_NS, HIGHEST_NS));
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

    /// HdrHistogram's own, for whoever writes its formats: it knows values by their buckets. `None` if nothing was recorded.
    #[must_use]
    pub fn hdr(&self) -> Option<&hdrhistogram::Histogram<C>> {
        self.hdr.as_deref().filter(|hdr| !hdr.is_empty())
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

    /// The mean, to its digits; never beyond minimum and maximum, which the middles of their buckets may be.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean to three digits")]
    pub fn mean_ns(&self) -> Option<f64> {
        let hdr = self.hdr.as_ref().filter(|hdr| !hdr.is_empty())?;
        Some(hdr.mean().clamp(self.min_ns as f64, self.max_ns as f64))
    }

    /// The value below or at which `percent` (0 to 100) of the values lie; `None` when nothing was recorded. Where it is
    /// among those beyond the bound, it is the maximum: the middle of their bucket would be less than any of them.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let hdr = self.hdr.as_ref().filter(|hdr| !hdr.is_empty())?;
        if percent >= 100.0 {
            return Some(self.max_ns);
        }
        let value = hdr.value_at_percentile(percent.max(0.0));
        let last = hdr.max();
        if self.max_ns > last && hdr.equivalent(value, last) {
            return Some(self.max_ns);
        }
        Some(hdr.median_equivalent(value).clamp(self.min_ns, self.max_ns))
    }

    /// Adds the values of another. A bucket that is full takes no more, and what it doesn't take isn't counted either.
    pub fn merge<E: Count>(&mut self, other: &Histogram<E, D>) {
        let Some(theirs) = other.hdr.as_ref().filter(|hdr| !hdr.is_empty()) else { return };
        add_counts(self.hdr.get_or_insert_with(new_hdr::<C, D>), theirs);
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

    /// Reads back what [`Self::to_bytes`] wrote, also when the highest value was 60 s.
    ///
    /// # Errors
    /// See [`Self::merge_bytes`].
    pub fn from_bytes(bytes: &[u8], min_ns: u64, max_ns: u64) -> Result<Self, DecodeError> {
        let mut histogram = Self::default();
        histogram.merge_bytes(bytes, min_ns, max_ns)?;
        Ok(histogram)
    }

    /// Adds what [`Self::to_bytes`] wrote of another, as [`Self::merge`] does, without making a histogram of it.
    ///
    /// # Errors
    /// The bytes come from the network or a disk, so every contradiction is an error, before anything is added; and no
    /// claim in the header can make this allocate more than a histogram's own size.
    pub fn merge_bytes(&mut self, bytes: &[u8], min_ns: u64, max_ns: u64) -> Result<(), DecodeError> {
        let added = Self::count_of_bytes(bytes, min_ns, max_ns)?;
        if added == 0 {
            return Ok(());
        }
        let mine = self.hdr.get_or_insert_with(new_hdr::<C, D>);
        let has_room = has_room::<C>(mine, added);
        for bucket in Encoded::<D>::new(bytes)?.buckets() {
            let (value, n) = bucket?;
            add_bucket(mine, value, n, has_room);
        }
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
        Ok(())
    }

    /// How many values the histogram holds that [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// See [`Self::merge_bytes`].
    pub fn count_of_bytes(bytes: &[u8], min_ns: u64, max_ns: u64) -> Result<u64, DecodeError> {
        if bytes.is_empty() {
            return Ok(0);
        }
        Encoded::<D>::new(bytes)?.check::<C>(min_ns, max_ns)
    }
}

/// Adds counts to counts in buckets of the same bounds and digits.
///
/// Where both count alike, HdrHistogram adds array to array: 10 µs at three digits, against 60 from bucket to bucket for
/// a window of 10,000 values. It would let its sum run ahead of buckets that are full, so those are not left to it.
fn add_counts<C: Count, E: Count>(mine: &mut Hdr<C>, theirs: &Hdr<E>) {
    let has_room = has_room(mine, theirs.len());
    match (theirs as &dyn Any).downcast_ref::<Hdr<C>>() {
        Some(alike) if has_room => mine.add(alike).expect("both have the same bounds"),
        _ => add_buckets(mine, theirs, has_room),
    }
}

/// Goes from bucket to bucket between minimum and maximum: half the time of HdrHistogram's own iterator, which begins at
/// the lowest one.
fn add_buckets<C: Count, E: Count>(mine: &mut Hdr<C>, theirs: &Hdr<E>, has_room: bool) {
    let (mut value, max) = (theirs.min(), theirs.max());
    while value <= max {
        let n = theirs.count_at(value).as_u64();
        if n > 0 {
            add_bucket(mine, value, n, has_room);
        }
        value = theirs.next_non_equivalent(value);
    }
}

/// Whether so many more values fit, whichever buckets they are in.
fn has_room<C: Count>(mine: &Hdr<C>, more: u64) -> bool {
    mine.len().checked_add(more).is_some_and(|sum| sum <= C::MOST)
}

/// Adds what one bucket holds, as far as it fits.
fn add_bucket<C: Count>(mine: &mut Hdr<C>, value: u64, n: u64, has_room: bool) {
    let bucket = value.max(LOWEST_NS);
    let room = if has_room { n } else { C::MOST - mine.count_at(bucket).as_u64() };
    mine.saturating_record_n(bucket, C::saturating_from(n.min(room)));
}

#[cfg(test)]
mod tests;
