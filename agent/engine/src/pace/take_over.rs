//! How users begin that are new to an engine: one after the other, with fresh state.

use std::ops::Range;

use volley_plan::shape::StripeSet;
use volley_plan::{ClosedLoad, Users as PlannedUsers};

/// Users that an engine takes over at a run time. Those that are there then begin evenly over a while; whose time comes
/// later begins then.
#[derive(Debug)]
pub(crate) struct TakeOver {
    stripes: StripeSet,
    times_ns: Range<u64>,
    /// The users with a lower number are there at its beginning.
    there: u32,
    /// How many of them there are among the stripes.
    count: u64,
}

impl TakeOver {
    /// The users of `stripes` are taken over from `from_ns` on, over so many nanoseconds.
    pub(crate) fn new(load: &ClosedLoad, stripes: StripeSet, from_ns: u64, over_ns: u64) -> Self {
        let there = match &load.users {
            PlannedUsers::Steady(users) => *users,
            PlannedUsers::Staged(shape) => shape.users_at(from_ns),
        };
        let count = stripes.count_in(0..there.into());
        Self { stripes, times_ns: from_ns..from_ns.saturating_add(over_ns), there, count }
    }

    /// The run time at which this user may begin at the earliest.
    pub(crate) fn begins_ns(&self, user: u32) -> u64 {
        let Range { start, end } = self.times_ns;
        if user >= self.there || self.count == 0 || !self.stripes.contains(user.into()) {
            return start;
        }
        let earlier = u128::from(self.stripes.count_in(0..user.into()));
        let after_ns = earlier * u128::from(end - start) / u128::from(self.count);
        // Less than the whole while, which is 64 bits wide.
        start + u64::try_from(after_ns).unwrap_or(end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::shape::Stripes;
    use volley_plan::{Model, parse};

    fn check(users: &str, over_ns: u64, expected: &[u64]) {
        let text = format!("target: http://h/\n{users}");
        let Model::Closed(load) = parse(&text).unwrap().load.model else { panic!("not closed") };
        let stripes = StripeSet::new(Stripes::default(), vec![1, 3, 4, 7]).unwrap();
        let take_over = TakeOver::new(&load, stripes, 2_000_000_000, over_ns);
        let begins: Vec<_> =
            [0, 1, 3, 4, 5, 7].map(|user| take_over.begins_ns(user) - 2_000_000_000).to_vec();
        assert_eq!(begins, expected, "{users}");
    }

    #[test]
    fn those_that_are_there_begin_evenly() {
        check("users: 9\niterations: 100", 1000, &[0, 0, 250, 500, 0, 750]);
        check("users: 9\niterations: 100", 0, &[0; 6]);
        // Half of them are there at 2 s; the others come by the plan.
        let ramp = "load:\n  stages:\n    - { users: 0, ramp_to: 10, for: 4s }";
        check(ramp, 1000, &[0, 0, 333, 666, 0, 0]);
    }
}
