//! When which user is there, of those that a worker has: the plan's spans of time, as far as its legs hold the user.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use volley_plan::Users as PlannedUsers;
use volley_plan::shape::StripeSet;

use super::{ClosedPlan, TakeOver};
use crate::control::NEVER;

/// Most legs that are kept. It bounds memory; users whose time was over by an older one go when they next ask.
const MAX_LEGS: usize = 64;

/// A worker's users over time. Times are run time, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    /// By their beginnings, each until the next one.
    legs: VecDeque<UserLeg>,
}

/// Which users are the worker's from a time on.
#[derive(Debug)]
pub(super) struct UserLeg {
    pub(super) from_ns: u64,
    pub(super) stripes: StripeSet,
    pub(super) plan: Arc<ClosedPlan>,
    pub(super) take_over: Arc<TakeOver>,
}

impl UserLeg {
    fn holds(&self, user: u32) -> bool {
        self.stripes.contains(user.into())
    }

    /// The first span of time in which the plan has this user that ends after `after_ns`.
    fn planned(&self, user: u32, after_ns: u64) -> Option<Range<u64>> {
        match &self.plan.load.users {
            PlannedUsers::Steady(users) => (user < *users && after_ns < NEVER).then_some(0..NEVER),
            PlannedUsers::Staged(shape) => shape.span(user, after_ns),
        }
    }
}

impl Timetable {
    /// Adds a leg that begins when the last one begins or later.
    pub(super) fn push(&mut self, leg: UserLeg) {
        if self.legs.len() == MAX_LEGS {
            self.legs.pop_front();
        }
        self.legs.push_back(leg);
    }

    /// The first leg that begins after `now_ns`.
    pub(super) fn change_after(&self, now_ns: u64) -> u64 {
        self.legs.iter().map(|leg| leg.from_ns).find(|&from_ns| from_ns > now_ns).unwrap_or(NEVER)
    }

    /// The first span of time with this user here that ends after `after_ns`. One that goes on from leg to leg is one; it
    /// may begin earlier than what is known of it.
    pub(super) fn span(&self, user: u32, after_ns: u64) -> Option<Range<u64>> {
        let mut found: Option<Range<u64>> = None;
        for part in self.parts(user, after_ns) {
            match &mut found {
                Some(span) if span.end == part.start => span.end = part.end,
                Some(span) if span.end > after_ns => break,
                _ => found = Some(part),
            }
        }
        found.filter(|span| span.end > after_ns)
    }

    /// The spans of this user leg by leg, rising, without those of legs that are over by `after_ns`.
    fn parts(&self, user: u32, after_ns: u64) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        // A user that has not begun when the next leg takes it on begins when it would have.
        let mut begins_ns = 0;
        for (place, leg) in self.legs.iter().enumerate() {
            if !leg.holds(user) {
                begins_ns = 0;
                continue;
            }
            begins_ns = leg.take_over.begins_ns(user).max(leg.from_ns).max(begins_ns);
            let until_ns = self.until_ns(place);
            if until_ns > after_ns {
                add_parts(leg, user, begins_ns..until_ns, &mut parts);
            }
        }
        parts
    }

    fn until_ns(&self, place: usize) -> u64 {
        self.legs.get(place + 1).map_or(NEVER, |next| next.from_ns)
    }

    /// When this user is first given away after `after_ns`; [`NEVER`] where it isn't.
    pub(super) fn given_away_ns(&self, user: u32, after_ns: u64) -> u64 {
        let held = (0..self.legs.len()).filter(|&place| self.until_ns(place) > after_ns);
        let mut away = held.skip_while(|&place| !self.legs[place].holds(user));
        away.find(|&place| !self.legs[place].holds(user)).map_or(NEVER, |place| self.legs[place].from_ns)
    }
}

/// Adds the plan's spans of a user as far as they are within these times.
fn add_parts(leg: &UserLeg, user: u32, times_ns: Range<u64>, parts: &mut Vec<Range<u64>>) {
    let mut after_ns = times_ns.start;
    while let Some(span) = leg.planned(user, after_ns).filter(|span| span.start < times_ns.end) {
        after_ns = span.end;
        let part = span.start.max(times_ns.start)..span.end.min(times_ns.end);
        if !part.is_empty() {
            parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::shape::Stripes;
    use volley_plan::{Adjust, Level, Model, Plan, parse};

    use super::super::Numbering;

    const SECOND: u64 = 1_000_000_000;

    fn planned(text: &str) -> Plan {
        parse(&format!("target: http://h/\n{text}")).unwrap()
    }

    /// A timetable of legs: when each begins, its stripes, those that it takes over, and over how many seconds.
    fn timetable(plan: &Plan, legs: &[(u64, &[u32], &[u32], u64)]) -> Timetable {
        let Model::Closed(load) = plan.load.model.clone() else { panic!("not closed") };
        let plan = Arc::new(ClosedPlan { load, numbering: Numbering::of(plan) });
        let set = |held: &[u32]| StripeSet::new(Stripes::default(), held.to_vec()).unwrap();
        let mut timetable = Timetable::default();
        for (from_s, held, acquired, over_s) in legs {
            let from_ns = from_s * SECOND;
            let take_over = Arc::new(TakeOver::new(&plan.load, set(acquired), from_ns, over_s * SECOND));
            let plan = Arc::clone(&plan);
            timetable.push(UserLeg { from_ns, stripes: set(held), plan, take_over });
        }
        timetable
    }

    /// The spans of a user, in seconds.
    fn check(timetable: &Timetable, user: u32, expected: &[(u64, u64)]) {
        let mut spans = Vec::new();
        while let Some(span) = timetable.span(user, spans.last().map_or(0, |&(_, end_s)| end_s * SECOND)) {
            spans.push((span.start / SECOND, span.end / SECOND));
        }
        assert_eq!(spans, expected, "user {user}");
    }

    #[test]
    fn who_stays_goes_on_and_who_comes_begins_one_after_the_other() {
        let plan = planned("users: 4\nduration: 60s");
        let legs: [(u64, &[u32], &[u32], u64); 3] =
            [(0, &[0], &[], 0), (10, &[0, 2, 3], &[2, 3], 4), (20, &[2], &[], 0)];
        let timetable = timetable(&plan, &legs);
        check(&timetable, 0, &[(0, 20)]);
        check(&timetable, 1, &[]);
        check(&timetable, 2, &[(10, 60)]);
        check(&timetable, 3, &[(12, 20)]);
        assert_eq!(timetable.span(0, 15 * SECOND), Some(10 * SECOND..20 * SECOND));
        let away = |user, after_s| timetable.given_away_ns(user, after_s * SECOND);
        assert_eq!(
            [away(0, 0), away(0, 19), away(2, 0), away(3, 0)],
            [20 * SECOND, 20 * SECOND, NEVER, 20 * SECOND]
        );
        let changes = [0, 9, 10, 20].map(|now_s| timetable.change_after(now_s * SECOND));
        assert_eq!(changes, [10 * SECOND, 10 * SECOND, 20 * SECOND, NEVER]);
    }

    #[test]
    fn who_waits_to_begin_does_so_across_a_further_change() {
        let plan = planned("users: 2\nduration: 60s");
        let legs: [(u64, &[u32], &[u32], u64); 2] = [(10, &[0, 1], &[0, 1], 10), (12, &[0, 1], &[], 0)];
        check(&timetable(&plan, &legs), 1, &[(15, 60)]);
        check(&timetable(&plan, &legs), 0, &[(10, 60)]);
    }

    #[test]
    fn who_is_given_away_may_come_back() {
        let plan = planned("users: 1\nduration: 60s");
        let legs: [(u64, &[u32], &[u32], u64); 3] =
            [(0, &[0], &[], 0), (5, &[1], &[], 0), (9, &[0], &[0], 5)];
        let timetable = timetable(&plan, &legs);
        check(&timetable, 0, &[(0, 5), (9, 60)]);
        assert_eq!([0, 5].map(|after_s| timetable.given_away_ns(0, after_s * SECOND)), [5 * SECOND, NEVER]);
    }

    #[test]
    fn the_plan_and_the_legs_bound_each_other() {
        let stages = "load:\n  stages:\n    - { users: 1, for: 10s }\n    - { users: 0, for: 10s }\n    - { users: 1, for: 10s }";
        let plan = planned(stages);
        check(&timetable(&plan, &[(0, &[0], &[], 0)]), 0, &[(0, 10), (20, 30)]);
        check(&timetable(&plan, &[(5, &[0], &[], 0), (25, &[], &[], 0)]), 0, &[(5, 10), (20, 25)]);
        // Adjusted to 1 at 15 s: it is there from then on.
        let mut adjusted = plan.clone();
        adjusted.load = plan.load.adjusted(Adjust { at_ns: 15 * SECOND, to: Level::Users(1) }).unwrap();
        let mut both = timetable(&plan, &[(0, &[0], &[], 0)]);
        both.legs.extend(timetable(&adjusted, &[(15, &[0], &[], 0)]).legs);
        check(&both, 0, &[(0, 10), (15, 30)]);
    }

    #[test]
    fn a_number_of_iterations_has_no_times() {
        let timetable = timetable(&planned("users: 3\niterations: 9"), &[(0, &[2, 7], &[], 0)]);
        assert_eq!(
            (timetable.span(2, 0), timetable.span(2, NEVER), timetable.span(7, 0)),
            (Some(0..NEVER), None, None)
        );
    }
}
