//! Fixed counts are granted in small pieces, so that exactly n are sent without a fault, at most n after one, and a slow
//! agent does not hold up the end.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The iterations of a run that are still to be given out, numbered from 0. The numbers go on beyond the total where
/// iterations were given back, so that none is ever given twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    total: u64,
    next: u64,
    /// Granted, and given back by agents that left before they had begun them.
    #[serde(default)]
    returned: u64,
}

impl Ledger {
    /// A ledger of `total` iterations, none of them given out.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self { total, next: 0, returned: 0 }
    }

    /// Iterations in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Iterations that nobody has leave for.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.total.saturating_add(self.returned) - self.next
    }

    /// Takes back `iterations` that an agent had leave for and didn't begin, now that it has said its last word. They are
    /// granted again, under numbers beyond all earlier ones: which of its own the agent left undone it doesn't say, and an
    /// iteration's number is but a name. No more comes back than is out.
    pub fn give_back(&mut self, iterations: u64) {
        let out = self.next - self.returned;
        self.returned += iterations.min(out);
    }

    /// The first grant of an agent with `users` of the run's `all_users`: a quarter of its fair part, but at least two
    /// iterations for each of its users, so that no worker waits for a grant at the start.
    pub fn first(&mut self, users: u32, all_users: u32) -> Range<u64> {
        let fair = u128::from(self.total) * u128::from(users) / u128::from(all_users.max(1));
        let fair = u64::try_from(fair).unwrap_or(u64::MAX);
        self.take((fair / 4).max(u64::from(users) * 2).min(fair.max(1)))
    }

    /// A later grant: what was wished for, but at most half of an even split of the rest among the live agents, so
    /// that all of them come to the end together.
    pub fn more(&mut self, wished: u64, live_agents: u32) -> Range<u64> {
        let even_half = self.remaining().div_ceil(2 * u64::from(live_agents.max(1)));
        self.take(wished.clamp(1, even_half.max(1)))
    }

    fn take(&mut self, iterations: u64) -> Range<u64> {
        let from = self.next;
        self.next += iterations.min(self.remaining());
        from..self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_count_reaches_every_user_at_once() {
        let mut ledger = Ledger::new(100);
        assert_eq!(ledger.first(30, 30), 0..60);
        assert_eq!(Ledger::new(7).first(50, 50), 0..7);
        assert_eq!(Ledger::new(1_000_000).first(10, 20), 0..125_000);
    }

    #[test]
    fn the_end_is_split_finer_and_finer() {
        let mut ledger = Ledger::new(1000);
        assert_eq!(ledger.more(10_000, 4), 0..125);
        assert_eq!(ledger.more(50, 4), 125..175);
        ledger.next = 998;
        assert_eq!(
            (ledger.more(100, 4), ledger.more(100, 4), ledger.more(100, 4)),
            (998..999, 999..1000, 1000..1000)
        );
    }

    #[test]
    fn what_is_given_back_is_granted_again_under_fresh_numbers() {
        let mut ledger = Ledger::new(100);
        assert_eq!(ledger.first(10, 20), 0..20);
        ledger.give_back(5);
        assert_eq!((ledger.total(), ledger.remaining()), (100, 85));
        let mut granted = 0;
        while ledger.remaining() > 0 {
            granted += ledger.more(1000, 1).count();
        }
        assert_eq!((granted, ledger.next), (85, 105));
        ledger.give_back(200);
        assert_eq!((ledger.remaining(), ledger.more(1000, 1)), (100, 105..155));
        let written = serde_json::to_string(&ledger).expect("can be written");
        assert_eq!(serde_json::from_str::<Ledger>(&written).expect("reads back"), ledger);
        let earlier =
            serde_json::from_str::<Ledger>(r#"{"total":9,"next":4}"#).expect("an earlier version's");
        assert_eq!(earlier.remaining(), 5);
    }

    proptest! {
        #[test]
        fn grants_are_disjoint_and_sum_to_the_total(
            total in 0u64..1_000_000, users in 1u32..1000, wishes in proptest::collection::vec((0u64..100_000, 1u32..50), 0..200),
        ) {
            let mut ledger = Ledger::new(total);
            let mut expected = ledger.first(users, users * 2).end;
            let mut returned = 0;
            for (wished, agents) in wishes {
                if wished % 7 == 0 {
                    let before = ledger.remaining();
                    ledger.give_back(wished);
                    returned += ledger.remaining() - before;
                }
                let grant = ledger.more(wished, agents);
                prop_assert_eq!(grant.start, expected);
                prop_assert!(!grant.is_empty() || ledger.remaining() == 0);
                expected = grant.end;
            }
            prop_assert_eq!(expected + ledger.remaining(), total + returned);
            prop_assert!(expected - returned <= total, "no more is out than there is");
        }
    }
}
