//! Cursors: that they give what the shape says, and that any split of the stripes is the same whole.

use super::*;
use crate::shape::tests::any_shape;
use crate::shape::{MAX_STRIPES, Rate, Stage, Stripes};
use proptest::prelude::*;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;

fn stripes(count: u32) -> Stripes {
    Stripes::new(count).expect("a count in bounds")
}

fn schedule(stages: &[(&str, &str, u64)], arrivals: Arrivals) -> Schedule {
    let rate = |text: &str| text.parse::<Rate>().expect("a rate");
    let stages: Vec<_> = stages
        .iter()
        .map(|(from, to, duration_s)| Stage::ramp(rate(from), rate(to), Duration::from_secs(*duration_s)))
        .collect();
    let shape = Shape::new(Duration::ZERO, &stages).expect("valid stages");
    Schedule::new(shape, arrivals, 42).expect("few enough arrivals")
}

/// Holds that the arrivals of `hands` agents, each with its stripes, are together those of one, from `from_ns` on.
fn check_split(schedule: &Schedule, count: u32, hands: usize, from_ns: u64) -> Vec<Arrival> {
    let all = stripes(count).all();
    let whole: Vec<_> = schedule.cursor(&all, from_ns).collect();
    let mut parts = Vec::new();
    for hand in 0..hands {
        let own = all.cards(hand, hands);
        let part: Vec<_> = schedule.cursor(&own, from_ns).collect();
        assert!(part.is_sorted_by_key(|arrival| arrival.n));
        assert!(part.is_sorted_by_key(|arrival| arrival.due_ns));
        assert!(part.iter().all(|arrival| own.contains(arrival.n)));
        let numbers = schedule.counter().numbers_in(from_ns..u64::MAX);
        assert_eq!(own.count_in(numbers), part.len() as u64);
        parts.extend(part);
    }
    parts.sort_by_key(|arrival| arrival.n);
    assert_eq!(parts, whole);
    whole
}

const CASE_28: [(&str, &str, u64); 3] = [("0/s", "100/s", 10), ("100/s", "100/s", 10), ("100/s", "0/s", 10)];

#[test]
fn case_19_three_agents_interleave_without_bursts() {
    let schedule = schedule(&[("30/s", "30/s", 30)], Arrivals::Uniform);
    let whole = check_split(&schedule, 12, 3, 0);
    assert_eq!(whole.len(), 900);
    assert!(
        whole.windows(2).all(|pair| (33_333_333..=33_333_334).contains(&(pair[1].due_ns - pair[0].due_ns)))
    );
    for agent in 0..3 {
        let own: Vec<_> = schedule.cursor(&stripes(12).all().cards(agent, 3), 0).collect();
        assert_eq!(own.len(), 300);
        assert!(own.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == 100_000_000), "agent {agent}");
    }
}

#[test]
fn case_28_four_agents_make_the_curve_of_one() {
    let whole = check_split(&schedule(&CASE_28, Arrivals::Uniform), 840, 4, 0);
    assert_eq!(whole.len(), 2_000);
}

#[test]
fn poisson_arrivals_are_the_same_for_any_split() {
    let schedule = schedule(&CASE_28, Arrivals::Poisson);
    let one = check_split(&schedule, 1, 1, 0);
    for (count, hands) in [(12, 3), (7, 4), (MAX_STRIPES, 5)] {
        assert_eq!(check_split(&schedule, count, hands, 0), one);
    }
}

#[test]
fn a_later_start_is_the_rest() {
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let schedule = schedule(&CASE_28, arrivals);
        let whole = check_split(&schedule, 12, 1, 0);
        for from_ns in [1, whole[700].due_ns, whole[700].due_ns + 1, 17 * SECOND_NS, 30 * SECOND_NS, u64::MAX]
        {
            let rest = check_split(&schedule, 12, 5, from_ns);
            let first = whole.partition_point(|arrival| arrival.due_ns < from_ns);
            assert_eq!(rest, whole[first..], "{arrivals:?} from {from_ns}");
        }
    }
}

#[test]
fn counts_over_time_are_those_of_the_cursor() {
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let schedule = schedule(&CASE_28, arrivals);
        let whole: Vec<_> = schedule.cursor(&stripes(1).all(), 0).collect();
        let mut counter = schedule.counter();
        for second in 0..31 {
            let times = second * SECOND_NS..(second + 1) * SECOND_NS;
            let due: Vec<_> = whole
                .iter()
                .filter(|arrival| times.contains(&arrival.due_ns))
                .map(|arrival| arrival.n)
                .collect();
            assert_eq!(counter.numbers_in(times).collect::<Vec<_>>(), due);
        }
    }
}

#[test]
fn the_widest_steps_carry_the_largest_rests() {
    // 100.99 ns an arrival, so that the rest of 65,536 of them takes more than 64 bits.
    let schedule = schedule(&[("9901970.49/s", "9901970.49/s", 3_600)], Arrivals::Uniform);
    let last = stripes(MAX_STRIPES).all().cards(65_535, 65_536);
    for (round, arrival) in (0..).zip(schedule.cursor(&last, 0).take(1_000)) {
        assert_eq!(arrival.n, round * 65_536 + 65_535);
        assert_eq!(Some(arrival.due_ns), schedule.shape().due_ns(arrival.n));
    }
}

#[test]
fn no_stripes_have_no_arrivals_and_an_ended_cursor_stays_so() {
    let schedule = schedule(&[("2/s", "2/s", 1)], Arrivals::Uniform);
    let none = stripes(1).all().cards(1, 2);
    assert_eq!(schedule.cursor(&none, 0).next(), None);
    let mut cursor = schedule.cursor(&stripes(1).all(), 0);
    let ended =
        [cursor.next(), cursor.next(), cursor.next(), cursor.next()].map(|arrival| arrival.map(|a| a.n));
    assert_eq!(ended, [Some(0), Some(1), None, None]);
}

#[test]
fn more_poisson_arrivals_than_can_be_skipped_are_refused() {
    let check = |arrivals, seconds: u64| {
        let rate = Rate::per_second(1_000_000).expect("a rate in bounds");
        let stage = Stage::hold(rate, Duration::from_secs(seconds));
        let shape = Shape::new(Duration::ZERO, &[stage]).expect("a valid stage");
        Schedule::new(shape, arrivals, 0).map(|_| ())
    };
    assert_eq!(check(Arrivals::Uniform, 30 * 86_400), Ok(()));
    assert_eq!(check(Arrivals::Poisson, 1_000), Ok(()));
    assert_eq!(check(Arrivals::Poisson, 1_001), Err(ShapeError::TooManyPoisson));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The steps of a cursor are additions; what they add up to is the closed form, in every shape.
    #[test]
    fn steps_give_the_closed_form(
        shape in any_shape(), place: u64, count in prop_oneof![1..20_u32, 1..=MAX_STRIPES], hold in 1..5_usize,
    ) {
        let from_ns = place % shape.total_ns();
        let held = stripes(count).all().cards(0, hold);
        let schedule = Schedule::new(shape, Arrivals::Uniform, 0).expect("uniform arrivals have no bound");
        let mut n = schedule.shape().arrivals_before(from_ns);
        let left = held.count_in(n..schedule.shape().count());
        let next: Vec<_> = schedule.cursor(&held, from_ns).take(50).collect();
        prop_assert_eq!(next.len() as u64, left.min(50));
        for arrival in next {
            n += (n..).position(|n| held.contains(n)).expect("some stripe is held") as u64;
            prop_assert_eq!((arrival.n, Some(arrival.due_ns)), (n, schedule.shape().due_ns(n)));
            n += 1;
        }
    }
}
