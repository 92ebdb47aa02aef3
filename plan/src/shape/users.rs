//! The shape of the closed model's load: how many users there are by when, and when each begins and ends.

use super::stage::{self, Placed, ShapeError, Stage};
use crate::model::MAX_USERS;
use std::ops::Range;
use std::time::Duration;

/// Users over time. Times are run time in nanoseconds; the warm-up begins at 0.
///
/// Let u(t) be the plan's even ramp. **User k, counted from 0, is there while u(t) ≥ k + ½**: there are as many users as
/// the whole number nearest to u(t), so ramps up and down are mirror images and users times time is what the plan
/// says. Going to 100 users in 10 s there are 50 at 5 s, and the first begins after 50 ms.
///
/// Which agent has user k is a matter of [stripes](super::Stripes), as for arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserShape {
    /// All stages that take time, the warm-up first where there is one. Never empty.
    pieces: Vec<Placed<u32>>,
    warmup_ns: u64,
    total_ns: u64,
}

impl UserShape {
    /// A shape of `stages`, after a warm-up with the users that the first one starts with.
    ///
    /// # Errors
    /// [`ShapeError`] says what the stages lack.
    pub fn new(warmup: Duration, stages: &[Stage<u32>]) -> Result<Self, ShapeError> {
        if stages.iter().any(|stage| stage.from.max(stage.to) > MAX_USERS) {
            return Err(ShapeError::TooManyUsers);
        }
        let pieces = stage::place(warmup, stages)?;
        let total_ns = pieces.iter().map(|piece| piece.duration_ns).sum();
        // A warm-up that takes time is the first piece, so its length is 64 bits wide.
        let warmup_ns = warmup.as_nanos() as u64;
        Ok(Self { pieces, warmup_ns, total_ns })
    }

    /// How long the warm-up takes. What is begun before it has passed is measured apart.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns
    }

    /// When the load ends, its warm-up included.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// The stages after the warm-up, without those that take no time. They make the same shape again.
    pub fn stages(&self) -> impl Iterator<Item = Stage<u32>> + '_ {
        self.pieces.iter().filter(|piece| piece.start_ns >= self.warmup_ns).map(|piece| Stage {
            from: piece.from,
            to: piece.to,
            duration: Duration::from_nanos(piece.duration_ns),
        })
    }

    /// The most users that there are at any time.
    pub fn users_max(&self) -> u32 {
        self.pieces.iter().map(|piece| piece.from.max(piece.to)).max().unwrap_or_default()
    }

    /// How many users there are at `time_ns`; none once the load has ended.
    pub fn users_at(&self, time_ns: u64) -> u32 {
        if time_ns >= self.total_ns {
            return 0;
        }
        let piece = self.pieces.partition_point(|piece| piece.start_ns <= time_ns) - 1;
        users_in(&self.pieces[piece], time_ns)
    }

    /// The first span of time with user `user` in it that ends after `from_ns`, from the user's beginning to the first
    /// nanosecond without it; `None` where there is no more. A user has several when the load falls and rises again:
    /// ask on from the end of each.
    pub fn span(&self, user: u32, from_ns: u64) -> Option<Range<u64>> {
        let spans = self.pieces.iter().map(|piece| span_in(piece, user)).filter(|span| !span.is_empty());
        let mut found: Option<Range<u64>> = None;
        for span in spans {
            match &mut found {
                Some(earlier) if earlier.end == span.start => earlier.end = span.end,
                Some(earlier) if earlier.end > from_ns => break,
                _ => found = Some(span),
            }
        }
        found.filter(|span| span.end > from_ns)
    }
}

/// The users at `time_ns`, which is in the piece: u(t) + ½, rounded down.
fn users_in(piece: &Placed<u32>, time_ns: u64) -> u32 {
    let duration_ns = i128::from(piece.duration_ns);
    let change = (i128::from(piece.to) - i128::from(piece.from)) * i128::from(time_ns - piece.start_ns);
    let doubled = (2 * i128::from(piece.from) + 1) * duration_ns + 2 * change;
    // Between the piece's first and last number, which are 32 bits wide.
    doubled.div_euclid(2 * duration_ns) as u32
}

/// The time within the piece with user `user` in it; empty where there is none. It is where 2u(t) ≥ 2k + 1.
fn span_in(piece: &Placed<u32>, user: u32) -> Range<u64> {
    let threshold = 2 * u128::from(user) + 1;
    let (from, to) = (2 * u128::from(piece.from), 2 * u128::from(piece.to));
    let duration_ns = u128::from(piece.duration_ns);
    let span = match (from >= threshold, to >= threshold) {
        (true, true) => 0..duration_ns,
        (false, false) => 0..0,
        (false, true) => ((threshold - from) * duration_ns).div_ceil(to - from)..duration_ns,
        (true, false) => 0..(from - threshold) * duration_ns / (from - to) + 1,
    };
    // Both lie within the duration, which is 64 bits wide.
    piece.start_ns + span.start as u64..piece.start_ns + (span.end as u64).min(piece.duration_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn shape(warmup_s: u64, stages: &[(u32, u32, u64)]) -> UserShape {
        let stages: Vec<_> =
            stages.iter().map(|&(from, to, duration_s)| Stage::ramp(from, to, seconds(duration_s))).collect();
        UserShape::new(seconds(warmup_s), &stages).expect("valid stages")
    }

    #[test]
    fn case_28_users_ramp_evenly_and_are_the_same_on_four_agents() {
        let shape = shape(0, &[(0, 100, 10)]);
        let curve = (0..10).map(|second| shape.users_at(second * SECOND_NS)).collect::<Vec<_>>();
        assert_eq!(curve, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
        assert_eq!(shape.users_at(10 * SECOND_NS - 1), 100);
        assert_eq!(shape.users_at(10 * SECOND_NS), 0);
        assert_eq!(shape.span(0, 0), Some(50_000_000..10 * SECOND_NS));
        assert_eq!(shape.span(50, 0), Some(5_050_000_000..10 * SECOND_NS));
        assert_eq!(shape.span(100, 0), None);
        let all = super::super::Stripes::new(12).expect("in bounds").all();
        for agent in 0..4 {
            let own = all.dealt(agent, 4);
            let users = |time_ns| own.count_in(0..u64::from(shape.users_at(time_ns)));
            assert_eq!(users(10 * SECOND_NS - 1), 25);
            assert!((12..=13).contains(&users(5 * SECOND_NS)));
        }
    }

    #[test]
    fn a_user_may_come_back() {
        let shape = shape(0, &[(2, 2, 1), (2, 0, 2), (0, 0, 1), (0, 2, 2), (2, 2, 1), (1, 1, 1)]);
        let (first, second) = (0..2_500_000_001, 4_500_000_000..8 * SECOND_NS);
        assert_eq!(shape.span(0, 0), Some(first.clone()));
        assert_eq!(shape.span(0, first.end - 1), Some(first.clone()));
        assert_eq!(shape.span(0, first.end), Some(second.clone()));
        assert_eq!(shape.span(0, second.end), None);
        assert_eq!(shape.span(1, 0), Some(0..1_500_000_001));
        assert_eq!(shape.span(1, 2 * SECOND_NS), Some(5_500_000_000..7 * SECOND_NS));
        assert_eq!(shape.users_max(), 2);
    }

    #[test]
    fn the_warm_up_has_the_users_of_the_start() {
        let shape = shape(5, &[(0, 0, 0), (3, 10, 10)]);
        assert_eq!((shape.warmup_ns(), shape.total_ns()), (5 * SECOND_NS, 15 * SECOND_NS));
        assert_eq!((shape.users_at(0), shape.users_at(5 * SECOND_NS)), (3, 3));
        assert_eq!(shape.span(2, 0), Some(0..15 * SECOND_NS));
        assert_eq!(shape.stages().collect::<Vec<_>>(), [Stage::ramp(3, 10, seconds(10))]);
    }

    #[test]
    fn users_without_sense_are_refused() {
        let check = |warmup_s, from, to, duration_s, expected| {
            let stage = Stage::ramp(from, to, seconds(duration_s));
            assert_eq!(UserShape::new(seconds(warmup_s), &[stage]).map(|_| ()), Err(expected));
        };
        check(0, 0, 0, 10, ShapeError::NoLoad);
        check(0, 5, 5, 0, ShapeError::NoTime);
        check(1, 0, 5, 10, ShapeError::EmptyWarmup);
        check(0, 1, MAX_USERS + 1, 10, ShapeError::TooManyUsers);
        check(1, 5, 5, 30 * 86_400, ShapeError::TooLong);
    }

    /// How many of the first users have a span that holds `time_ns`.
    fn users_by_span(shape: &UserShape, time_ns: u64) -> u32 {
        let holds = |user: &u32| shape.span(*user, time_ns).is_some_and(|span| span.contains(&time_ns));
        (0..shape.users_max()).filter(holds).count() as u32
    }

    proptest! {
        #[test]
        fn spans_add_up_to_the_number_of_users(
            stages in prop::collection::vec((0_u32..9, 0_u32..9, 1_u64..50), 1..6), times in prop::collection::vec(0_u64..300, 20),
        ) {
            let stages: Vec<_> = stages
                .into_iter()
                .map(|(from, to, duration_ns)| Stage::ramp(from, to, Duration::from_nanos(duration_ns)))
                .collect();
            let Ok(shape) = UserShape::new(Duration::ZERO, &stages) else { return Ok(()) };
            for time_ns in times {
                prop_assert_eq!(users_by_span(&shape, time_ns), shape.users_at(time_ns), "at {} of {:?}", time_ns, shape);
            }
        }

        #[test]
        fn the_largest_ramps_do_not_overflow(user in 0..MAX_USERS, falls: bool) {
            let (from, to) = if falls { (MAX_USERS, 0) } else { (0, MAX_USERS) };
            let shape = shape(0, &[(from, to, 30 * 86_400)]);
            let span = shape.span(user, 0).expect("every user is there once");
            let edge = if falls { span.end - 1 } else { span.start };
            prop_assert_eq!(shape.users_at(edge), user + 1);
            prop_assert_eq!(shape.users_at(if falls { edge + 1 } else { edge - 1 }), user);
        }
    }
}
