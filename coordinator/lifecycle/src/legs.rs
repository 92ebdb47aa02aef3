//! What of the load is an agent's over run time: a leg for each share that it had.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use volley_plan::link::Share;
use volley_plan::shape::StripeSet;

/// From a run time on an agent has a share, up to its next leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// From when on, in run time.
    pub from_ns: u64,
    /// The share; without stripes once the agent has been relieved.
    pub share: Share,
    /// The first arrival of the run that is not due before `from_ns`; 0 in the closed model.
    pub(crate) from_n: u64,
    /// Users that are new to the agent begin evenly over so many nanoseconds.
    pub(crate) over_ns: u64,
}

/// The legs of one agent, in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Legs(Vec<Leg>);

impl Legs {
    pub(crate) fn all(&self) -> &[Leg] {
        &self.0
    }

    /// What the agent has in the end, as far as that is settled.
    pub(crate) fn latest(&self) -> Option<&Leg> {
        self.0.last()
    }

    /// True if it has, or is to have, some of the load.
    pub(crate) fn hold_any(&self) -> bool {
        self.latest().is_some_and(|leg| !leg.share.stripes.is_empty())
    }

    /// From when on the agent has had anything, in run time.
    pub(crate) fn begin_ns(&self) -> u64 {
        self.0.first().map_or(0, |leg| leg.from_ns)
    }

    /// From when on it has nothing any more, if it was relieved.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        self.latest().filter(|leg| leg.share.stripes.is_empty()).map(|leg| leg.from_ns)
    }

    /// Begins another leg. One that was to begin at the same time never will.
    pub(crate) fn begin(&mut self, leg: Leg) {
        debug_assert!(self.latest().is_none_or(|last| last.from_ns <= leg.from_ns), "legs follow each other");
        self.0.retain(|earlier| earlier.from_ns < leg.from_ns);
        self.0.push(leg);
    }

    /// The agent has nothing any more from `from_ns` on, before which `from_n` arrivals are due.
    pub(crate) fn end(&mut self, from_ns: u64, from_n: u64) {
        if let Some(share) = self.latest().filter(|_| self.hold_any()).map(|leg| relieved(&leg.share)) {
            self.begin(Leg { from_ns, share, from_n, over_ns: 0 });
        }
    }

    /// How many of the arrivals with these numbers are the agent's.
    pub(crate) fn count_in(&self, numbers: &Range<u64>) -> u64 {
        let ends = self.0.iter().skip(1).map(|next| next.from_n).chain([u64::MAX]);
        let within = |(leg, end_n): (&Leg, u64)| {
            let (from, to) = (leg.from_n.max(numbers.start), end_n.min(numbers.end));
            leg.share.stripes.count_in(from..to.max(from))
        };
        self.0.iter().zip(ends).map(within).sum()
    }

    /// Each leg with its run time.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&Leg, Range<u64>)> {
        let ends = self.0.iter().skip(1).map(|next| next.from_ns).chain([u64::MAX]);
        self.0.iter().zip(ends).map(|(leg, end_ns)| (leg, leg.from_ns..end_ns))
    }

    /// The stripes that are new with each later leg, with its run time.
    pub(crate) fn gains(&self) -> impl Iterator<Item = (StripeSet, &Leg, Range<u64>)> {
        let before = self.0.iter();
        let gain = |(before, (leg, span_ns)): (&Leg, (_, _))| {
            let leg: &Leg = leg;
            (leg.share.stripes.without(&before.share.stripes), leg, span_ns)
        };
        before.zip(self.spans().skip(1)).map(gain)
    }

    /// What the agent has at a run time.
    pub(crate) fn at(&self, run_ns: u64) -> Option<&Share> {
        self.0.iter().rev().find(|leg| leg.from_ns <= run_ns).map(|leg| &leg.share)
    }
}

/// Nothing of the stripes that a share is of.
fn relieved(share: &Share) -> Share {
    Share { stripes: share.stripes.without(&share.stripes), bounds: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::shape::Stripes;

    fn share(held: &[u32]) -> Share {
        let stripes = Stripes::new(4).expect("in bounds");
        Share { stripes: StripeSet::new(stripes, held.to_vec()).expect("in bounds"), bounds: None }
    }

    /// Ten arrivals a second.
    fn legs(legs: &[(u64, &[u32])]) -> Legs {
        let mut all = Legs::default();
        for (from_s, held) in legs {
            all.begin(Leg { from_ns: *from_s, share: share(held), from_n: from_s * 10, over_ns: 0 });
        }
        all
    }

    #[test]
    fn arrivals_are_counted_by_who_had_them_when() {
        let check = |made: &[(u64, &[u32])], numbers: Range<u64>, expected| {
            assert_eq!(legs(made).count_in(&numbers), expected, "{made:?} {numbers:?}");
        };
        check(&[], 0..100, 0);
        check(&[(0, &[0, 1])], 0..100, 50);
        check(&[(0, &[0, 1]), (4, &[])], 0..100, 20);
        check(&[(0, &[0, 1]), (4, &[0]), (8, &[0, 1, 2, 3])], 0..100, 20 + 10 + 20);
        check(&[(0, &[0, 1]), (4, &[0]), (8, &[0, 1, 2, 3])], 42..90, 9 + 10);
        check(&[(6, &[0])], 0..40, 0);
        check(&[(0, &[0]), (4, &[1]), (4, &[])], 0..100, 10);
    }

    #[test]
    fn an_agent_is_relieved_once() {
        let mut all = legs(&[(0, &[0, 1])]);
        assert_eq!((all.hold_any(), all.end_ns()), (true, None));
        all.end(4, 40);
        all.end(6, 60);
        assert_eq!((all.hold_any(), all.end_ns(), all.all().len()), (false, Some(4), 2));
        assert_eq!(all.at(3).map(|share| share.stripes.held()), Some(&[0, 1][..]));
        assert_eq!(all.at(4).map(|share| share.stripes.held()), Some(&[][..]));
        let mut none = Legs::default();
        none.end(4, 40);
        assert_eq!(none, Legs::default());
    }

    #[test]
    fn what_is_new_with_a_leg_is_told() {
        let all = legs(&[(0, &[0, 1]), (4, &[1, 2]), (6, &[])]);
        let gains: Vec<_> = all.gains().map(|(stripes, _, span)| (stripes.held().to_vec(), span)).collect();
        assert_eq!(gains, [(vec![2], 4..6), (vec![], 6..u64::MAX)]);
    }
}
