//! The Poisson distribution of a block's count as a table of whole numbers, so that every platform draws the same
//! counts. No floating point takes part, not even in making the table.

/// The expected arrivals of a block; a power of two.
pub(super) const MEAN: u64 = 1_024;

/// The fewest and most arrivals that a block is given. What the distribution has beyond is less likely than 2⁻⁶⁴, the
/// resolution of a draw.
pub(super) const FEWEST: u64 = MEAN - 320;
pub(super) const MOST: u64 = MEAN + 384;

const SIZE: usize = (MOST - FEWEST) as usize;

/// The probability of at most `FEWEST + i` arrivals, in 2⁻⁶⁴.
static CUMULATIVE: [u64; SIZE] = cumulative();

/// The count that an evenly distributed draw stands for: the inverse of the distribution.
pub(super) fn count(draw: u64) -> u64 {
    FEWEST + CUMULATIVE.partition_point(|share| *share <= draw) as u64
}

const fn cumulative() -> [u64; SIZE] {
    let weights = weights();
    let mut total = 0;
    let mut i = 0;
    while i <= SIZE {
        total += weights[i];
        i += 1;
    }
    let mut shares = [0; SIZE];
    let mut sum = 0;
    i = 0;
    while i < SIZE {
        sum += weights[i];
        shares[i] = share(sum, total);
        i += 1;
    }
    shares
}

/// The probabilities of the counts from [`FEWEST`] to [`MOST`] up to a common factor, from p(k) = p(k − 1)·mean/k. The
/// largest is 2¹¹⁰, which leaves room for the products and the sum, and 40 bits for the smallest.
const fn weights() -> [u128; SIZE + 1] {
    let mut weights = [0; SIZE + 1];
    let mode = (MEAN - FEWEST) as usize;
    weights[mode] = 1 << 110;
    let mut i = mode;
    while i < SIZE {
        weights[i + 1] = weights[i] * MEAN as u128 / (FEWEST as u128 + i as u128 + 1);
        i += 1;
    }
    i = mode;
    while i > 0 {
        weights[i - 1] = weights[i] * (FEWEST as u128 + i as u128) / MEAN as u128;
        i -= 1;
    }
    weights
}

/// `part / whole` in 2⁻⁶⁴, rounded down, by long division; `part` is smaller than `whole`, which is below 2¹²⁷.
const fn share(part: u128, whole: u128) -> u64 {
    let mut rest = part;
    let mut share = 0;
    let mut bit = 0;
    while bit < u64::BITS {
        rest <<= 1;
        share <<= 1;
        if rest >= whole {
            rest -= whole;
            share |= 1;
        }
        bit += 1;
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of exactly `FEWEST + i` arrivals by the table.
    fn probability(i: usize) -> f64 {
        let below = if i == 0 { 0 } else { CUMULATIVE[i - 1] };
        let upto = CUMULATIVE.get(i).map_or(1 << 64, |share| u128::from(*share));
        (upto - u128::from(below)) as f64 / 2_f64.powi(64)
    }

    #[test]
    fn mean_variance_and_skewness_are_a_poisson_distributions() {
        let moment = |power| -> f64 {
            (0..=SIZE).map(|i| probability(i) * (i as f64 - (MEAN - FEWEST) as f64).powi(power)).sum()
        };
        assert!((moment(0) - 1.0).abs() < 1e-12);
        assert!(moment(1).abs() < 1e-9, "{}", moment(1));
        for power in [2, 3] {
            assert!((moment(power) / MEAN as f64 - 1.0).abs() < 1e-9, "{power}: {}", moment(power));
        }
    }

    #[test]
    fn single_probabilities_agree_with_the_formula() {
        let logarithm = |k: u64| -> f64 {
            let factorial: f64 = (1..=k).map(|i| (i as f64).ln()).sum();
            k as f64 * (MEAN as f64).ln() - MEAN as f64 - factorial
        };
        for k in [900, 1_000, 1_023, 1_024, 1_025, 1_100, 1_200] {
            let expected = logarithm(k).exp();
            let found = probability((k - FEWEST) as usize);
            assert!((found / expected - 1.0).abs() < 1e-9, "{k}: {found} instead of {expected}");
        }
    }

    #[test]
    fn what_is_cut_off_is_below_the_resolution() {
        assert!(CUMULATIVE.is_sorted());
        assert_eq!((CUMULATIVE[0], CUMULATIVE[SIZE - 1]), (0, u64::MAX));
        assert_eq!((count(1 << 63), count(0) > FEWEST, count(u64::MAX) <= MOST), (1_024, true, true));
    }
}
