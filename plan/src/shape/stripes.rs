//! Stripes: which arrivals are whose. Arrival n belongs to stripe n mod S, and each agent, within it each worker, holds
//! some of the S stripes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Most stripes of a run.
pub const MAX_STRIPES: u32 = 1 << 16;

/// How many stripes a run has; fixed for its whole time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Stripes {
    count: u32,
}

impl Default for Stripes {
    /// What runs have: 2520, which one to ten agents share evenly, and some hundred workers nearly so.
    fn default() -> Self {
        Self { count: 2520 }
    }
}

impl Stripes {
    /// `count` stripes, 1 to [`MAX_STRIPES`].
    ///
    /// # Errors
    /// [`StripesError::Count`] outside of these bounds.
    pub fn new(count: u32) -> Result<Self, StripesError> {
        if (1..=MAX_STRIPES).contains(&count) { Ok(Self { count }) } else { Err(StripesError::Count(count)) }
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The stripe of arrival `n`.
    pub fn of(self, n: u64) -> u32 {
        // Below `count`, which is 32 bits wide.
        (n % u64::from(self.count)) as u32
    }

    /// All of them.
    pub fn all(self) -> StripeSet {
        StripeSet { stripes: self, held: (0..self.count).collect() }
    }
}

/// Why numbers don't make stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StripesError {
    /// The number of stripes is zero or above [`MAX_STRIPES`].
    #[error("{0} stripes, not 1 to {MAX_STRIPES}")]
    Count(u32),
    /// A stripe's number is not below the number of stripes.
    #[error("stripe {stripe} of {count}")]
    Beyond {
        /// The stripe.
        stripe: u32,
        /// How many stripes there are.
        count: u32,
    },
}

/// Some of a run's stripes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StripeList", into = "StripeList")]
pub struct StripeSet {
    stripes: Stripes,
    /// In rising order, each once.
    held: Vec<u32>,
}

/// A [`StripeSet`] as it is written.
#[derive(Serialize, Deserialize)]
struct StripeList {
    stripes: Stripes,
    held: Vec<u32>,
}

impl From<StripeSet> for StripeList {
    fn from(set: StripeSet) -> Self {
        Self { stripes: set.stripes, held: set.held }
    }
}

impl TryFrom<StripeList> for StripeSet {
    type Error = StripesError;

    fn try_from(list: StripeList) -> Result<Self, StripesError> {
        Self::new(list.stripes, list.held)
    }
}

impl From<Stripes> for u32 {
    fn from(stripes: Stripes) -> Self {
        stripes.count
    }
}

impl TryFrom<u32> for Stripes {
    type Error = StripesError;

    fn try_from(count: u32) -> Result<Self, StripesError> {
        Self::new(count)
    }
}

impl StripeSet {
    /// The stripes with the numbers in `held`, in whatever order.
    ///
    /// # Errors
    /// [`StripesError::Beyond`] for a number that no stripe has.
    pub fn new(stripes: Stripes, mut held: Vec<u32>) -> Result<Self, StripesError> {
        held.sort_unstable();
        held.dedup();
        match held.last() {
            Some(&stripe) if stripe >= stripes.count => {
                Err(StripesError::Beyond { stripe, count: stripes.count })
            }
            _ => Ok(Self { stripes, held }),
        }
    }

    /// The run's stripes, of which these are some.
    pub fn stripes(&self) -> Stripes {
        self.stripes
    }

    /// The numbers of the stripes, rising.
    pub fn held(&self) -> &[u32] {
        &self.held
    }

    /// Whether arrival `n` is among them.
    pub fn contains(&self, n: u64) -> bool {
        self.held.binary_search(&self.stripes.of(n)).is_ok()
    }

    /// Whether no stripe is among them.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The same run's stripes with the numbers in `held`, all of which are its.
    pub(crate) fn of_same(&self, mut held: Vec<u32>) -> Self {
        held.sort_unstable();
        Self { stripes: self.stripes, held }
    }

    /// These stripes and `other`'s, of the same run.
    pub fn with(&self, other: &Self) -> Self {
        debug_assert_eq!(self.stripes, other.stripes, "stripes of two runs");
        let mut held = [self.held.as_slice(), other.held.as_slice()].concat();
        held.sort_unstable();
        held.dedup();
        Self { stripes: self.stripes, held }
    }

    /// These stripes but for `other`'s, of the same run.
    pub fn without(&self, other: &Self) -> Self {
        debug_assert_eq!(self.stripes, other.stripes, "stripes of two runs");
        let held = self.held.iter().copied().filter(|stripe| other.held.binary_search(stripe).is_err());
        Self { stripes: self.stripes, held: held.collect() }
    }

    /// The numbers below `end` of the arrivals, or users, that are among them, rising.
    pub fn numbers_below(&self, end: u32) -> impl Iterator<Item = u32> {
        let rounds = (0..end).step_by(self.stripes.count as usize);
        let numbers =
            rounds.flat_map(|round| self.held.iter().map_while(move |held| round.checked_add(*held)));
        numbers.take_while(move |number| *number < end)
    }

    /// How many of the arrivals in `numbers` are among them.
    pub fn count_in(&self, numbers: Range<u64>) -> u64 {
        self.count_below(numbers.end).saturating_sub(self.count_below(numbers.start))
    }

    fn count_below(&self, n: u64) -> u64 {
        let rounds = n / u64::from(self.stripes.count);
        rounds * self.held.len() as u64 + self.rank_of(n) as u64
    }

    /// How many of the stripes come before that of arrival `n`.
    pub(super) fn rank_of(&self, n: u64) -> usize {
        self.held.partition_point(|stripe| *stripe < self.stripes.of(n))
    }
}

#[cfg(test)]
impl StripeSet {
    /// What hand `hand` of `hands` gets when the stripes are dealt like cards: for tests of what any split must keep.
    pub(crate) fn cards(&self, hand: usize, hands: usize) -> Self {
        let held = self.held.iter().copied().skip(hand).step_by(hands).collect();
        Self { stripes: self.stripes, held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(count: u32, held: &[u32]) -> StripeSet {
        StripeSet::new(Stripes::new(count).expect("a count in bounds"), held.to_vec())
            .expect("stripes in bounds")
    }

    #[test]
    fn numbers_out_of_bounds_are_refused() {
        assert_eq!(Stripes::new(0), Err(StripesError::Count(0)));
        assert_eq!(Stripes::new(65_537), Err(StripesError::Count(65_537)));
        let four = Stripes::new(4).expect("in bounds");
        assert_eq!(StripeSet::new(four, vec![4]), Err(StripesError::Beyond { stripe: 4, count: 4 }));
    }

    #[test]
    fn sets_are_joined_and_taken_from_each_other() {
        let (some, others) = (set(7, &[0, 3, 6]), set(7, &[2, 3]));
        assert_eq!(some.with(&others), set(7, &[0, 2, 3, 6]));
        assert_eq!(some.without(&others), set(7, &[0, 6]));
        assert!(some.without(&some).is_empty() && !some.is_empty());
    }

    #[test]
    fn numbers_of_users_rise() {
        let numbers = |end| set(4, &[0, 3]).numbers_below(end).collect::<Vec<_>>();
        assert_eq!(numbers(9), [0, 3, 4, 7, 8]);
        assert_eq!((numbers(0), numbers(3)), (vec![], vec![0]));
        assert_eq!(set(4, &[3]).numbers_below(u32::MAX).next(), Some(3));
        assert_eq!(set(4, &[]).numbers_below(9).next(), None);
    }

    #[test]
    fn what_is_written_reads_back_and_is_checked() {
        let written = serde_json::to_string(&set(5, &[4, 1, 1])).expect("can be written");
        assert_eq!(written, r#"{"stripes":5,"held":[1,4]}"#);
        assert_eq!(serde_json::from_str::<StripeSet>(&written).expect("reads back"), set(5, &[1, 4]));
        for bad in [r#"{"stripes":5,"held":[5]}"#, r#"{"stripes":0,"held":[]}"#] {
            serde_json::from_str::<StripeSet>(bad).expect_err(bad);
        }
    }

    proptest! {
        #[test]
        fn counting_agrees_with_asking(
            count in 1_u32..20, held in prop::collection::vec(0_u32..20, 0..20), from in 0_u64..100, length in 0_u64..100,
        ) {
            let held: Vec<_> = held.into_iter().map(|stripe| stripe % count).collect();
            let set = set(count, &held);
            let asked = (from..from + length).filter(|n| set.contains(*n)).count();
            prop_assert_eq!(set.count_in(from..from + length), asked as u64);
            let numbers: Vec<_> = (0..length).filter(|n| set.contains(*n)).map(|n| n as u32).collect();
            prop_assert_eq!(set.numbers_below(length as u32).collect::<Vec<_>>(), numbers);
        }
    }
}
