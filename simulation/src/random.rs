//! Random numbers that depend on a seed and on nothing else.
//!
//! Written out here since what is kept of a failure must mean the same after any update: libraries promise no such thing
//! of their small generators.

use std::ops::Range;

/// `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Another generator, whose numbers have nothing to do with what this one gives from now on.
    pub(crate) fn split(&mut self) -> Self {
        Self::new(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range, each about as likely; its start where the range is empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        let length = u128::from(range.end.saturating_sub(range.start));
        // Below the length, which is 64 bits wide.
        range.start + ((u128::from(self.next()) * length) >> 64) as u64
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.within(0..100) < percent
    }

    /// One of the items, of which there must be some.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        // Below the number of items.
        &items[self.within(0..items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_paper() {
        let mut random = Random::new(1_234_567);
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_range_is_reached_to_its_ends_and_not_beyond() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        (0..1000).for_each(|_| seen[random.within(10..15) as usize - 10] = true);
        assert_eq!((seen, random.within(7..7)), ([true; 5], 7));
        assert_eq!((random.percent(0), random.percent(100)), (false, true));
    }
}
