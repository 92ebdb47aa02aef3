//! Whole numbers of 256 bits, as far as the square root of a ramp needs them.

/// `high` times 2¹²⁸ plus `low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    /// `first` times `second`; can't overflow.
    pub(super) fn product(first: u128, second: u128) -> Self {
        let (low, high) = first.carrying_mul(second, 0);
        Self { high, low }
    }

    /// The sum; the caller's bounds keep it below 2²⁵⁶.
    pub(super) fn plus(self, other: Self) -> Self {
        let (low, carry) = self.low.overflowing_add(other.low);
        Self { high: self.high + other.high + u128::from(carry), low }
    }

    /// The difference; `other` is not the larger one.
    pub(super) fn minus(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Self { high: self.high - other.high - u128::from(borrow), low }
    }

    /// The square root of a number below 2²⁵⁴, rounded down.
    ///
    /// One step of P. Zimmermann, *Karatsuba Square Root*, INRIA RR-3805, 1999: the root of the upper half by the
    /// standard library, one division for the lower half, and a correction of at most one.
    pub(super) fn root(self) -> u128 {
        if self.high == 0 {
            return self.low.isqrt();
        }
        // Bits 252 or 253 lead, so that the remainder below fits 64 bits and the division's dividend 128.
        let shift = (self.high.leading_zeros() - 2) & !1;
        let shifted = self.shifted_left(shift);
        let upper = shifted.high.isqrt();
        let rest = ((shifted.high - upper * upper) << 64) | (shifted.low >> 64);
        let mut root = (upper << 64) + rest / (2 * upper);
        while Self::product(root, root) > shifted {
            root -= 1;
        }
        root >> (shift / 2)
    }

    /// The square root of a number below 2²⁵⁴, rounded up.
    pub(super) fn root_up(self) -> u128 {
        let root = self.root();
        root + u128::from(Self::product(root, root) < self)
    }

    /// `shift` is below 128, and no bit is lost.
    fn shifted_left(self, shift: u32) -> Self {
        let carried = if shift == 0 { 0 } else { self.low >> (128 - shift) };
        Self { high: (self.high << shift) | carried, low: self.low << shift }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_root(number: Wide) {
        let root = number.root();
        assert!(Wide::product(root, root) <= number, "{number:?}");
        assert!(Wide::product(root + 1, root + 1) > number, "{number:?}");
        let exact = Wide::product(root, root) == number;
        assert_eq!(number.root_up(), if exact { root } else { root + 1 }, "{number:?}");
    }

    #[test]
    fn roots_at_the_edges() {
        const LARGEST: Wide = Wide { high: (1 << 126) - 1, low: u128::MAX };
        check_root(LARGEST);
        for power in [0, 1, 2, 63, 64, 65, 100, 126] {
            let root = 1_u128 << power;
            for near in [root.saturating_sub(1), root, root + 1] {
                let square = Wide::product(near, near);
                check_root(square);
                check_root(square.plus(Wide { high: 0, low: 1 }));
                if near > 0 {
                    check_root(square.minus(Wide { high: 0, low: 1 }));
                }
            }
        }
    }

    #[test]
    fn products_sums_and_differences_carry() {
        let all = u128::MAX;
        assert_eq!(Wide::product(all, all), Wide { high: all - 1, low: 1 });
        assert_eq!(Wide::product(1 << 64, 1 << 64), Wide { high: 1, low: 0 });
        let carried = Wide { high: 0, low: all }.plus(Wide { high: 4, low: 2 });
        assert_eq!(carried, Wide { high: 5, low: 1 });
        assert_eq!(carried.minus(Wide { high: 0, low: 2 }), Wide { high: 4, low: all });
    }

    proptest! {
        #[test]
        fn every_root_is_the_floor(high in 0_u128..1 << 126, low: u128, drop in 0_u32..126) {
            check_root(Wide { high: high >> drop, low });
        }

        #[test]
        fn roots_of_squares_are_exact(root in 0_u128..1 << 127, drop in 0_u32..127) {
            prop_assert_eq!(Wide::product(root >> drop, root >> drop).root(), root >> drop);
        }
    }
}
