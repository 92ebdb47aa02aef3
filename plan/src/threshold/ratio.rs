//! Exact numbers to compare: what is one in a thousand is neither more nor less than 0.1 %.

use std::cmp::Ordering;

/// A number that is not negative, as a fraction. Equal numbers are equal however they are written.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    numerator: u64,
    /// At least 1.
    denominator: u64,
}

impl Ratio {
    /// A fraction; `None` over nothing.
    #[must_use]
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        (denominator > 0).then_some(Self { numerator, denominator })
    }

    /// A whole number.
    #[must_use]
    pub fn whole(number: u64) -> Self {
        Self { numerator: number, denominator: 1 }
    }

    /// The whole number nearest to so many times this.
    #[must_use]
    pub fn scaled(self, by: u64) -> u64 {
        let (number, over) = (u128::from(self.numerator) * u128::from(by), u128::from(self.denominator));
        u64::try_from((number + over / 2) / over).unwrap_or(u64::MAX)
    }

    /// The nearest number that a machine reckons with, for people and charts.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for people; what is decided is decided on the fractions")]
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |a: &Self, b: &Self| u128::from(a.numerator) * u128::from(b.denominator);
        cross(self, other).cmp(&cross(other, self))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_compared_exactly() {
        let tenth = Ratio::new(1, 10).unwrap();
        assert_eq!(tenth, Ratio::new(100, 1_000).unwrap());
        assert!(Ratio::new(1, 3).unwrap() > Ratio::new(333_333_333, 1_000_000_000).unwrap());
        assert!(Ratio::new(u64::MAX - 1, u64::MAX).unwrap() < Ratio::whole(1));
        assert!(Ratio::new(1, 0).is_none());
        assert!((Ratio::new(1, 8).unwrap().as_f64() - 0.125).abs() < f64::EPSILON);
    }
}
