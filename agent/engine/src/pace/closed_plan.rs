//! What all workers of an engine know of the closed load.

use volley_plan::{ClosedLoad, Model, Plan};

/// What all workers of an engine know of the closed load.
#[derive(Clone, Debug)]
pub(crate) struct ClosedPlan {
    pub(crate) load: ClosedLoad,
    pub(crate) numbering: Numbering,
}

/// How iterations are told apart where none are granted: round r of user k is number r × users + k.
///
/// A user that begins anew, and any after the load was adjusted, goes on at a round that nobody can have reached by then:
/// that of the run time in microseconds, since an iteration takes longer than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbering {
    users: u64,
    first_round: u64,
}

impl Numbering {
    /// That of a plan, before its load is adjusted.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self { users: users(&plan.load.model), first_round: 0 }
    }

    /// That of the load which it was adjusted to at `at_ns`.
    pub(crate) fn adjusted(self, at_ns: u64, load: &Model) -> Self {
        Self { users: self.users.max(users(load)), first_round: round_at(at_ns) }
    }

    /// The number of an iteration: of a user that began at `begun_ns`, which has done so many before.
    #[inline]
    pub(crate) fn number(self, user: u32, begun_ns: u64, before: u64) -> u64 {
        // A number is only a name, which the longest runs don't come near the end of.
        let round = self.first_round + round_at(begun_ns) + before;
        round.wrapping_mul(self.users).wrapping_add(user.into())
    }
}

fn users(load: &Model) -> u64 {
    match load {
        Model::Closed(load) => load.users.most().into(),
        Model::Open(_) => 0,
    }
}

#[inline]
fn round_at(run_ns: u64) -> u64 {
    run_ns / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use volley_plan::{Adjust, Level};

    #[test]
    fn numbers_are_those_of_rounds_and_none_comes_twice() {
        let plan = volley_plan::parse("target: http://h/\nusers: 3\nduration: 10s").unwrap();
        let first = Numbering::of(&plan);
        assert_eq!(
            [(0, 0), (2, 0), (0, 1), (1, 4)].map(|(user, round)| first.number(user, 0, round)),
            [0, 2, 3, 13]
        );
        let mut load = plan.load.clone();
        let mut numberings = vec![(first, 0)];
        for (at_ns, users) in [(1_000_000, 7), (2_000_000, 1)] {
            load = load.adjusted(Adjust { at_ns, to: Level::Users(users) }).unwrap();
            numberings.push((numberings[numberings.len() - 1].0.adjusted(at_ns, &load.model), at_ns));
        }
        let mut seen = HashSet::new();
        // Whoever goes on, and who begins anew with the adjusted load, each with an iteration every 2 us.
        for (numbering, at_ns) in numberings {
            for done in 0..500 {
                for user in 0..3 {
                    assert!(seen.insert(numbering.number(user, 0, at_ns / 2000 + done)), "{user} {done}");
                }
            }
            if at_ns > 0 {
                assert!((0..500).all(|done| seen.insert(numbering.number(3, at_ns, done))));
            }
        }
    }
}
