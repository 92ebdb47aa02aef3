//! What is recorded, merged and read back, held against the raw values.

use hdrhistogram::serialization::Deserializer;
use proptest::prelude::*;

use super::*;

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
    assert_eq!(histogram.mean_ns(), Some(575_000_000.0));
}

#[test]
fn nothing_recorded_has_no_percentile() {
    let histogram = Histogram::<u32>::default();
    assert_eq!((histogram.percentile_ns(50.0), histogram.max_ns(), histogram.mean_ns()), (None, None, None));
    assert_eq!(histogram.to_bytes(), Vec::<u8>::new());
}

/// Ninety minutes.
const BEYOND_NS: u64 = 5_400_000_000_000;

fn read_back(histogram: &Histogram) -> Result<Histogram, DecodeError> {
    Histogram::from_bytes(&histogram.to_bytes(), histogram.min_ns, histogram.max_ns)
}

#[test]
fn values_out_of_range_are_kept_in_maximum_and_minimum() {
    let histogram = of(&[1, BEYOND_NS]);
    assert_eq!((histogram.min_ns(), histogram.max_ns()), (Some(1), Some(BEYOND_NS)));
    assert_eq!(histogram.percentile_ns(100.0), Some(BEYOND_NS));
    assert_eq!(read_back(&histogram), Ok(histogram));
}

#[test]
fn percentiles_reach_an_hour_and_are_the_maximum_beyond() {
    let check = |values: &[u64], percent, expected: u64| {
        let read = of(values).percentile_ns(percent).expect("there are values");
        assert!(read.abs_diff(expected) <= expected / 1000, "{percent}% of {values:?} is {read}");
    };
    check(&[1_000, 61_000_000_000, 300_000_000_000], 60.0, 61_000_000_000);
    check(&[1_000, 61_000_000_000, 3_599_000_000_000], 90.0, 3_599_000_000_000);
    check(&[1_000, 4_000_000_000_000, BEYOND_NS, BEYOND_NS], 50.0, BEYOND_NS);
    check(&[1_000, 1_000, 4_000_000_000_000, BEYOND_NS], 50.0, 1_000);
    assert_eq!(of(&[7, BEYOND_NS, BEYOND_NS + 1]).percentile_ns(60.0), Some(BEYOND_NS + 1), "exactly");
}

/// What a version whose highest value was 60 s wrote of these.
fn old_bytes(values: &[u64]) -> Vec<u8> {
    let mut hdr = Hdr::<u32>::new_with_bounds(LOWEST_NS, OLD_HIGHEST_NS, DIGITS).unwrap();
    values.iter().for_each(|value| hdr.record((*value).clamp(LOWEST_NS, OLD_HIGHEST_NS)).unwrap());
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&hdr, &mut bytes).unwrap();
    bytes
}

fn from_old(values: &[u64]) -> Result<Histogram, DecodeError> {
    let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
    Histogram::from_bytes(&old_bytes(values), *min, *max)
}

#[test]
fn values_beyond_the_old_bound_stay_readable_whatever_is_merged() {
    let old = from_old(&[5_000, 70_000_000_000, 90_000_000_000]).unwrap();
    assert_eq!(
        old.percentile_ns(50.0),
        Some(90_000_000_000),
        "it was counted as 60 s, and only the maximum is known"
    );
    let mut sum = of(&[65_000_000_000]);
    sum.merge(&from_old(&[70_000_000_000, 90_000_000_000]).unwrap());
    assert_eq!((sum.count(), sum.min_ns(), sum.max_ns()), (3, Some(65_000_000_000), Some(90_000_000_000)));
    assert_eq!(read_back(&sum), Ok(sum));
    // A contradiction is still one.
    for (min, max) in [(5_000, 59_000_000_000), (6_000, 90_000_000_000), (0, 90_000_000_000)] {
        let bytes = old_bytes(&[5_000, 70_000_000_000]);
        assert_eq!(Histogram::<u32>::from_bytes(&bytes, min, max), Err(DecodeError::Bounds), "{min} {max}");
    }
}

#[test]
fn its_memory_is_as_told() {
    let told = |opened: usize, buckets: usize, counter: usize, rest| {
        assert_eq!(opened, buckets * counter + rest, "{buckets} buckets");
    };
    let rest = size_of::<Hdr<u32>>();
    told(Histogram::<u32>::OPENED_BYTES, new_hdr::<u32, DIGITS>().distinct_values(), 4, rest);
    told(Total::OPENED_BYTES, new_hdr::<u64, DIGITS>().distinct_values(), 8, size_of::<Hdr<u64>>());
    let coarse = new_hdr::<u32, COARSE_DIGITS>().distinct_values();
    told(Histogram::<u32, COARSE_DIGITS>::OPENED_BYTES, coarse, 4, rest);
}

#[test]
fn a_header_that_asks_for_much_memory_is_refused() {
    let mut greedy = of(&[1000]).to_bytes();
    greedy[15] = 5;
    assert_eq!(Histogram::<u32>::from_bytes(&greedy, 1000, 1000), Err(DecodeError::Header));
    assert_eq!(Histogram::<u32>::from_bytes(&[1, 2, 3], 1, 1), Err(DecodeError::Header));
}

/// As many of one value as fit: 2^`doublings`, by adding a histogram to itself.
fn many<C: Count>(value_ns: u64, doublings: u32) -> Histogram<C> {
    let mut histogram = Histogram::default();
    histogram.record(value_ns);
    for _ in 0..doublings {
        histogram.merge(&histogram.clone());
    }
    histogram
}

#[test]
fn a_full_bucket_takes_no_more_and_the_sum_says_so() {
    let full = u64::from(u32::MAX);
    for doublings in [31, 32, 40] {
        let histogram = many::<u32>(5_000_000, doublings);
        let expected = if doublings < 32 { 1 << 31 } else { full };
        assert_eq!(histogram.count(), expected, "2^{doublings}");
        assert_eq!(histogram.percentile_ns(99.0), Some(5_000_000), "2^{doublings}");
        let back = Histogram::<u32>::from_bytes(&histogram.to_bytes(), 5_000_000, 5_000_000);
        assert_eq!(back, Ok(histogram), "2^{doublings}");
    }
    // One bucket is full, the other takes all.
    let mut two = many::<u32>(5_000_000, 32);
    two.merge(&of(&[5_000_000, 9_000_000, 9_000_000]));
    assert_eq!((two.count(), two.max_ns()), (full + 2, Some(9_000_000)));
    assert_eq!(two.percentile_ns(99.0), Some(5_000_000));
}

#[test]
fn totals_hold_what_windows_cannot() {
    let mut total = many::<u64>(5_000_000, 40);
    total.merge(&many::<u32>(5_000_000, 31));
    assert_eq!(total.count(), (1 << 40) + (1 << 31));
    let mut small = of(&[7]);
    small.merge(&total);
    assert_eq!((small.count(), small.min_ns()), (u64::from(u32::MAX) + 1, Some(7)));
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

fn total(values: &[u64]) -> Total {
    let mut total = Total::default();
    values.iter().for_each(|&value| total.record(value));
    total
}

/// Durations of every size, those beyond the bounds included.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    let around =
        prop_oneof![0u64..100, 20_000u64..50_000_000, 59_000_000_000u64..61_000_000_000, any::<u64>()];
    let around = prop_oneof![3 => around, 1 => 3_590_000_000_000u64..3_610_000_000_000];
    proptest::collection::vec(around, 0..40)
}

/// Appends a number as the payload of V2 has it: zig-zag, in septets of which the ninth byte is whole.
fn write_number(number: i64, bytes: &mut Vec<u8>) {
    let mut zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        let low = u8::try_from(zigzag & 0x7f).unwrap();
        zigzag >>= 7;
        if zigzag == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
    bytes.push(u8::try_from(zigzag).unwrap());
}

proptest! {
    #[test]
    fn merged_percentiles_are_within_a_thousandth_of_the_sorted_raw_values(
        one in proptest::collection::vec(20_000u64..3_600_000_000_000, 1..300),
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
    fn merging_is_recording_one_after_the_other(
        one in durations(), two in durations(),
    ) {
        let both = [one.as_slice(), two.as_slice()].concat();
        let (mut same, mut wider, mut narrower) = (of(&one), total(&one), of(&one));
        same.merge(&of(&two));
        wider.merge(&of(&two));
        narrower.merge(&total(&two));
        prop_assert_eq!(&same, &of(&both));
        prop_assert_eq!(narrower, same);
        prop_assert_eq!(wider, total(&both));
    }

    #[test]
    fn bytes_lead_back(values in durations()) {
        let histogram = of(&values);
        let (min, max) = (histogram.min_ns().unwrap_or(0), histogram.max_ns().unwrap_or(0));
        prop_assert_eq!(Histogram::from_bytes(&histogram.to_bytes(), min, max), Ok(histogram));
    }

    #[test]
    fn bytes_of_the_old_bound_are_read_as_recorded_now(
        values in proptest::collection::vec(prop_oneof![0u64..100, 20_000u64..60_000_000_000], 1..40),
    ) {
        prop_assert_eq!(from_old(&values), Ok(of(&values)));
    }

    /// Numbers of every length, and bytes of all sorts.
    #[test]
    fn what_hdr_histogram_reads_is_read_alike(
        numbers in proptest::collection::vec(
            prop_oneof![4 => 1i64..300, 4 => -5_000i64..0, 1 => Just(0), 1 => any::<i64>()], 0..12,
        ),
        rest in proptest::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut bytes = of(&[1_000]).to_bytes();
        bytes.truncate(40);
        numbers.into_iter().for_each(|number| write_number(number, &mut bytes));
        bytes.extend(rest);
        let payload = u32::try_from(bytes.len() - 40).unwrap();
        bytes[4..8].copy_from_slice(&payload.to_be_bytes());
        let theirs: Result<Hdr<u32>, _> = Deserializer::new().deserialize(&mut bytes.as_slice());
        let (min, max) = theirs.as_ref().map_or((0, 0), |hdr| (hdr.min(), hdr.max()));
        let ours = Histogram::<u32>::from_bytes(&bytes, min, max);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", &ours);
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            prop_assert_eq!(Histogram::<u32>::count_of_bytes(&bytes, min, max), Ok(theirs.len()));
            let mut same = new_hdr::<u32, DIGITS>();
            add_buckets(&mut same, &theirs, true);
            prop_assert!(ours.hdr.is_none_or(|ours| ours == same));
        }
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
