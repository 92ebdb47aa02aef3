//! Fixed counts are granted in small pieces, so that exactly n are sent without a fault, at most n after one, and a slow
//! agent does not hold up the end.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The iterations of a run that are still to be given out, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    total: u64,
    next: u64,
}

impl Ledger {
    /// A ledger of `total` iterations, none of them given out.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self { total, next: 0 }
    }

    /// Iterations in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Iterations that nobody has leave for.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.total - self.next
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

    proptest! {
        #[test]
        fn grants_are_disjoint_and_sum_to_the_total(
            total in 0u64..1_000_000, users in 1u32..1000, wishes in proptest::collection::vec((0u64..100_000, 1u32..50), 0..200),
        ) {
            let mut ledger = Ledger::new(total);
            let mut expected = ledger.first(users, users * 2).end;
            for (wished, agents) in wishes {
                let grant = ledger.more(wished, agents);
                prop_assert_eq!(grant.start, expected);
                prop_assert!(!grant.is_empty() || ledger.remaining() == 0);
                expected = grant.end;
            }
            prop_assert_eq!(expected + ledger.remaining(), total);
        }
    }
}
