//! HdrHistogram's V2 form, read bucket by bucket.
//!
//! HdrHistogram's own reader makes a histogram of it, which takes a hundred kilobytes of cleared memory and is then added to
//! another bucket by bucket. What agents send each second mostly has some tens of values, and a fleet sends ten thousand of
//! them a second; so these are counted and added as they are, in a tenth of the time.

use super::{Count, DecodeError, HIGHEST_NS, LOWEST_NS, OLD_HIGHEST_NS, buckets};

/// Says that a V2 form follows.
const COOKIE: u32 = 0x1c84_9313;
/// The size of a V2 header.
const HEADER_BYTES: usize = 40;
/// A number in the payload ends with the first byte that is below 128, and each byte before it has seven bits of it; the
/// byte after so many of those is the last one, and whole (LEB128-64b9B).
const SEPTETS: u32 = 8;

/// The buckets of a V2 form whose header is that of a histogram of these bounds and digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoded<'a, const D: u8>(&'a [u8]);

impl<'a, const D: u8> Encoded<'a, D> {
    /// How many buckets there are, and how many are half a series of them.
    const BUCKETS: usize = buckets(D);
    const HALF: usize = series(D) / 2;

    /// Checks the header (big-endian): cookie, payload length, normalizing offset, digits (32 bits each), lowest and
    /// highest value, ratio of whole numbers to floating ones (64 bits each). The highest value may be the old one, since
    /// those buckets are the first of the present ones.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (header, payload) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(DecodeError::Header)?;
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let long = |at: usize| (u64::from(word(at)) << 32) | u64::from(word(at + 4));
        let is_ours = word(0) == COOKIE
            && word(4) as usize == payload.len()
            && word(8) == 0
            && word(12) == u32::from(D)
            && long(16) == LOWEST_NS
            && [HIGHEST_NS, OLD_HIGHEST_NS].contains(&long(24))
            && long(32) == 1.0_f64.to_bits();
        if is_ours { Ok(Self(payload)) } else { Err(DecodeError::Header) }
    }

    /// Goes over all of it, and gives how many values it holds: each bucket as many as this type of counts can, minimum and
    /// maximum in the lowest and the highest of them.
    pub(super) fn check<C: Count>(self, min_ns: u64, max_ns: u64) -> Result<u64, DecodeError> {
        let (mut count, mut ends) = (0_u64, None);
        for bucket in self.buckets() {
            let (value_ns, n) = bucket?;
            if n > C::MOST {
                return Err(DecodeError::Counts);
            }
            count = count.saturating_add(n);
            let (first_ns, _) = ends.unwrap_or((value_ns, 0));
            ends = Some((first_ns, value_ns));
        }
        let Some((first_ns, last_ns)) = ends else { return Ok(0) };
        let last_ns = last_ns + Self::width_ns(last_ns) - 1;
        if min_ns > max_ns || !Self::agrees(min_ns, first_ns) || !Self::agrees(max_ns, last_ns) {
            return Err(DecodeError::Bounds);
        }
        Ok(count)
    }

    /// Whether an exact value can have been counted in the bucket of this one. One beyond the old bound may have been
    /// counted as that bound, and its sum merged with newer ones.
    fn agrees(exact_ns: u64, in_bucket_ns: u64) -> bool {
        let exact_ns = exact_ns.clamp(LOWEST_NS, HIGHEST_NS);
        let old_ns = exact_ns.min(OLD_HIGHEST_NS);
        let least_ns = old_ns / Self::width_ns(old_ns) * Self::width_ns(old_ns);
        let width_ns = Self::width_ns(exact_ns);
        let most_ns = exact_ns / width_ns * width_ns + width_ns - 1;
        (least_ns..=most_ns).contains(&in_bucket_ns.max(LOWEST_NS))
    }

    /// Those that hold any, each by its lowest value, ascending, with how many it holds. Ends with the first error.
    pub(super) fn buckets(self) -> impl Iterator<Item = Result<(u64, u64), DecodeError>> + use<'a, D> {
        let (mut rest, mut index) = (self.0, 0);
        std::iter::from_fn(move || {
            let bucket = Self::next_bucket(&mut rest, &mut index).transpose();
            if matches!(bucket, Some(Err(_))) {
                rest = &[];
            }
            bucket
        })
    }

    /// The next bucket that holds any; `index` is that of the next one of all.
    fn next_bucket(rest: &mut &[u8], index: &mut usize) -> Result<Option<(u64, u64)>, DecodeError> {
        while !rest.is_empty() {
            let number = number(rest).ok_or(DecodeError::Counts)?;
            let at = *index;
            // It is how many values one bucket holds; below zero, how many buckets hold none.
            let passed = usize::try_from(number.min(-1).unsigned_abs()).unwrap_or(usize::MAX);
            *index = at.saturating_add(passed);
            match u64::try_from(number) {
                Ok(0) | Err(_) => {}
                Ok(n) if at < Self::BUCKETS => return Ok(Some((Self::value_ns(at), n))),
                Ok(_) => return Err(DecodeError::Counts),
            }
        }
        Ok(None)
    }

    /// The lowest value of a bucket: those of the first series are as wide as the lowest value, the upper half of each
    /// further one follows twice as wide.
    fn value_ns(index: usize) -> u64 {
        let doublings = (index / Self::HALF).saturating_sub(1);
        ((index - doublings * Self::HALF) as u64 * LOWEST_NS) << doublings
    }

    /// How many values the bucket of this one is wide.
    pub(super) fn width_ns(value_ns: u64) -> u64 {
        let first_series_ns = 2 * Self::HALF as u64 * LOWEST_NS;
        let doublings = (value_ns / first_series_ns).checked_ilog2().map_or(0, |log| log + 1);
        LOWEST_NS << doublings
    }
}

/// How many buckets a series has with so many digits.
pub(super) const fn series(digits: u8) -> usize {
    (2 * 10_usize.pow(digits as u32)).next_power_of_two()
}

/// The next number of a payload: zig-zag, so that small ones below zero are short as well. `None` where it breaks off.
fn number(rest: &mut &[u8]) -> Option<i64> {
    let mut zigzag = 0;
    for septet in 0..=SEPTETS {
        let byte = u64::from(*rest.split_off_first()?);
        let is_last = byte < 0x80 || septet == SEPTETS;
        let bits = if septet == SEPTETS { byte } else { byte & 0x7f };
        zigzag |= bits << (7 * septet);
        if is_last {
            break;
        }
    }
    Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
}
