//! Users over time: spans, counts, and what adjusting leaves as it was.

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
        let own = all.cards(agent, 4);
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

#[test]
fn adjusted_users_stay_as_they_were_before() {
    let ramp = shape(0, &[(0, 100, 10), (100, 100, 10)]);
    let fewer = ramp.adjusted(5 * SECOND_NS, 10).expect("adjusted");
    assert_eq!(
        (fewer.users_max(), fewer.users_at(5 * SECOND_NS - 1), fewer.users_at(5 * SECOND_NS)),
        (50, 50, 10)
    );
    assert_eq!(fewer.span(0, 0), Some(50_000_000..20 * SECOND_NS), "who stays goes on");
    assert_eq!(fewer.span(10, 0), Some(1_050_000_000..5 * SECOND_NS));
    assert_eq!(fewer.span(50, 0), None);
    let more = fewer.adjusted(6 * SECOND_NS, 60).expect("adjusted");
    assert_eq!(more.span(10, 5 * SECOND_NS), Some(6 * SECOND_NS..20 * SECOND_NS));
    let paused = more.adjusted(7 * SECOND_NS, 0).expect("adjusted");
    assert_eq!(
        (paused.users_at(8 * SECOND_NS), paused.users_max(), paused.total_ns()),
        (0, 60, 20 * SECOND_NS)
    );
    assert_eq!(paused.adjusted(20 * SECOND_NS, 5), Ok(paused.clone()));
    assert_eq!(paused.adjusted(1, MAX_USERS + 1), Err(ShapeError::TooManyUsers));
    let warm = shape(5, &[(3, 10, 10)]).adjusted(2 * SECOND_NS, 7).expect("adjusted");
    assert_eq!((warm.warmup_ns(), warm.users_at(0), warm.users_at(2 * SECOND_NS)), (5 * SECOND_NS, 3, 7));
    assert_eq!(warm.stages().collect::<Vec<_>>(), [Stage::hold(7, seconds(10))]);
    assert_eq!(warm.span(2, 0), Some(0..15 * SECOND_NS));
}

#[test]
fn time_of_users_is_what_the_plan_says() {
    let all = StripeSet::new(super::super::Stripes::default(), (0..2520).collect()).expect("in bounds");
    let shape = shape(2, &[(4, 4, 10), (0, 100, 10)]);
    let check = |stripes: &StripeSet, times_s: Range<u64>, expected_ms: u128| {
        let times_ns = times_s.start * SECOND_NS..times_s.end * SECOND_NS;
        assert_eq!(shape.user_time_ns(stripes, &times_ns) / 1_000_000, expected_ms, "{times_s:?}");
    };
    check(&all, 0..2, 8_000);
    check(&all, 2..12, 40_000);
    check(&all, 12..22, 500_000);
    check(&all, 0..100, 548_000);
    check(&all, 12..17, 125_000);
    check(&all, 5..5, 0);
    check(&all.cards(0, 4), 0..12, 12_000);
    let thirds: u128 = (0..3).map(|hand| shape.user_time_ns(&all.cards(hand, 3), &(0..u64::MAX))).sum();
    assert_eq!(thirds, 548 * u128::from(SECOND_NS));
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
    fn adjusting_changes_nothing_before(
        stages in prop::collection::vec((0_u32..9, 0_u32..9, 1_u64..50), 1..6), at_ns in 0_u64..200, users in 0_u32..12,
        times in prop::collection::vec(0_u64..300, 20),
    ) {
        let stages: Vec<_> = stages
            .into_iter()
            .map(|(from, to, duration_ns)| Stage::ramp(from, to, Duration::from_nanos(duration_ns)))
            .collect();
        let Ok(before) = UserShape::new(Duration::ZERO, &stages) else { return Ok(()) };
        let after = before.adjusted(at_ns, users).expect("few pieces");
        prop_assert_eq!(after.total_ns(), before.total_ns());
        for time_ns in times {
            let expected = match time_ns {
                time_ns if time_ns >= before.total_ns() => 0,
                time_ns if time_ns < at_ns => before.users_at(time_ns),
                _ => users,
            };
            prop_assert_eq!(after.users_at(time_ns), expected, "at {} of {:?}", time_ns, after);
            prop_assert_eq!(users_by_span(&after, time_ns), expected, "spans at {} of {:?}", time_ns, after);
        }
        for user in 0..9 {
            // A span that is over before the moment is the same one.
            if let Some(span) = before.span(user, 0).filter(|span| span.end < at_ns) {
                prop_assert_eq!(after.span(user, 0), Some(span));
            }
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
