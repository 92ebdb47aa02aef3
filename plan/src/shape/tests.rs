//! When arrivals are due: the cases by name, the rule at the edges, and that due times and counts are exact inverses.

mod adjusted;

use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn rate(text: &str) -> Rate {
    text.parse().expect(text)
}

/// A shape of stages written as `from`, `to`, seconds.
fn shape(warmup_s: u64, stages: &[(&str, &str, u64)]) -> Shape {
    let stages: Vec<_> = stages
        .iter()
        .map(|(from, to, duration_s)| Stage::ramp(rate(from), rate(to), Duration::from_secs(*duration_s)))
        .collect();
    Shape::new(Duration::from_secs(warmup_s), &stages).expect("valid stages")
}

fn due_all(shape: &Shape) -> Vec<u64> {
    (0..).map_while(|n| shape.due_ns(n)).collect()
}

fn by_second(shape: &Shape) -> Vec<u64> {
    let seconds = shape.total_ns().div_ceil(SECOND_NS);
    (0..seconds).map(|second| shape.arrivals_in(second * SECOND_NS..(second + 1) * SECOND_NS)).collect()
}

#[test]
fn case_07_arrivals_stay_evenly_spaced_whatever_the_target_does() {
    let due = due_all(&shape(0, &[("100/s", "100/s", 10)]));
    assert_eq!(due, (0..1_000).map(|n| n * 10_000_000).collect::<Vec<_>>());
}

#[test]
fn case_19_a_held_rate_gives_the_exact_count() {
    let shape = shape(0, &[("30/s", "30/s", 30)]);
    let due = due_all(&shape);
    assert_eq!((due.len(), shape.count()), (900, 900));
    assert_eq!((due[0], due[1], due[2], due[3]), (0, 33_333_334, 66_666_667, 100_000_000));
    assert_eq!(due[899], 29_966_666_667);
    assert_eq!(by_second(&shape), [30; 30]);
}

#[test]
fn case_28_ramps_add_up() {
    let shape = shape(0, &[("0/s", "100/s", 10), ("100/s", "100/s", 10), ("100/s", "0/s", 10)]);
    assert_eq!((shape.count(), due_all(&shape).len()), (2_000, 2_000));
    let seconds = by_second(&shape);
    let rise = [5, 15, 25, 35, 45, 55, 65, 75, 85, 95];
    assert_eq!(seconds[..10], rise);
    assert_eq!(seconds[10..20], [100; 10]);
    assert_eq!(seconds[20..], rise.map(|arrivals| 100 - arrivals));
    // Λ(t) = 5t² on the way up: arrival 5 is due at 1 s, arrival 20 at 2 s, arrival 1 at √0.2 s.
    assert_eq!(shape.due_ns(5), Some(SECOND_NS));
    assert_eq!(shape.due_ns(20), Some(2 * SECOND_NS));
    assert_eq!(shape.due_ns(1), Some(447_213_596));
    assert_eq!(shape.due_ns(500), Some(10 * SECOND_NS));
    // 2000 − 5(30 − t)² on the way down.
    assert_eq!(shape.due_ns(1_999), Some(29_552_786_405));
}

#[test]
fn case_31_the_warm_up_goes_at_the_first_rate_and_is_counted_apart() {
    let shape = shape(5, &[("20/s", "20/s", 10)]);
    let (warmup_ns, total_ns) = (shape.warmup_ns(), shape.total_ns());
    assert_eq!((warmup_ns, total_ns), (5 * SECOND_NS, 15 * SECOND_NS));
    assert_eq!(shape.arrivals_before(warmup_ns), 100);
    assert_eq!(shape.arrivals_in(warmup_ns..total_ns), 200);
    assert_eq!(shape.due_ns(100), Some(warmup_ns));
    assert_eq!(shape.stages().collect::<Vec<_>>(), [Stage::hold(rate("20/s"), Duration::from_secs(10))]);
}

#[test]
fn stages_follow_each_other_without_gaps_or_pairs() {
    let shape = shape(0, &[("10/s", "10/s", 1), ("0/s", "0/s", 0), ("10/s", "20/s", 2), ("20/s", "20/s", 1)]);
    let due = due_all(&shape);
    assert_eq!(due.len(), 60);
    let gaps: Vec<_> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (49_999_999..=100_000_000).contains(gap)), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{gaps:?}");
    // A part of an arrival is carried over: 2.5 in each second make 5 in two.
    let halves = self::shape(0, &[("2.5/s", "2.5/s", 1), ("2.5/s", "2.5/s", 1)]);
    assert_eq!(due_all(&halves), [0, 400_000_000, 800_000_000, 1_200_000_000, 1_600_000_000]);
}

#[test]
fn nothing_is_due_where_the_rate_is_zero() {
    let shape = shape(
        0,
        &[("0/s", "0/s", 1), ("10/s", "10/s", 1), ("0/s", "0/s", 1), ("10/s", "10/s", 1), ("0/s", "0/s", 1)],
    );
    assert_eq!(by_second(&shape), [0, 10, 0, 10, 0]);
    assert_eq!((shape.due_ns(0), shape.due_ns(10)), (Some(SECOND_NS), Some(3 * SECOND_NS)));
    assert_eq!((shape.count(), shape.due_ns(20)), (20, None));
}

#[test]
fn what_is_rounded_up_to_the_end_is_not_due() {
    // One arrival in 100 ns: the second is due at 100 ns, and not at all where the load ends then.
    let stage = |nanoseconds| [Stage::hold(MAX_RATE, Duration::from_nanos(nanoseconds))];
    let counts = [100, 101, 199, 200, 201].map(|ns| {
        let shape = Shape::new(Duration::ZERO, &stage(ns)).expect("valid");
        assert_eq!(due_all(&shape).len() as u64, shape.count());
        shape.count()
    });
    assert_eq!(counts, [1, 2, 2, 2, 3]);
    let third = Stage::hold(rate("3/m"), Duration::from_nanos(20_000_000_001));
    assert_eq!(due_all(&Shape::new(Duration::ZERO, &[third]).expect("valid")), [0, 20_000_000_000]);
    let odd = Stage::hold(rate("0.3/s"), Duration::from_nanos(3_333_333_334));
    assert_eq!(due_all(&Shape::new(Duration::ZERO, &[odd]).expect("valid")), [0]);
}

#[test]
fn rates_are_read_off_the_shape() {
    let shape = shape(1, &[("10/s", "20/s", 10), ("5/s", "5/s", 1), ("30/s", "0/s", 10)]);
    let rates = [0, 1, 6, 11, 12, 17, 22].map(|second| shape.rate_at(second * SECOND_NS).to_string());
    assert_eq!(rates, ["10/s", "10/s", "15/s", "5/s", "30/s", "15/s", "0/s"]);
}

#[test]
fn stairs_become_stages() {
    let stairs = |from, to, by, every| {
        let stairs =
            Stairs { from: rate(from), to: rate(to), by: rate(by), every: Duration::from_secs(every) };
        let rates =
            |stages: Vec<Stage<Rate>>| stages.iter().map(|stage| stage.from.to_string()).collect::<Vec<_>>();
        stairs.stages().map(rates).map(|rates| rates.join(" "))
    };
    let written = |text: &str| Ok(text.to_owned());
    assert_eq!(stairs("100/s", "300/s", "100/s", 60), written("100/s 200/s 300/s"));
    assert_eq!(stairs("100/s", "250/s", "100/s", 60), written("100/s 200/s 250/s"));
    assert_eq!(stairs("100/s", "0/s", "40/s", 60), written("100/s 60/s 20/s 0/s"));
    assert_eq!(stairs("100/s", "100/s", "1/s", 60), written("100/s"));
    assert_eq!(stairs("1/s", "1000/s", "1/s", 1).map(|text| text.split(' ').count()), Ok(MAX_STAGES));
    assert_eq!(stairs("0/s", "1000/s", "1/s", 1), Err(ShapeError::TooManyStages));
    assert_eq!(stairs("0/s", "10000000/s", "0.000001/h", 1), Err(ShapeError::TooManyStages));
    assert_eq!(stairs("1/s", "2/s", "0/s", 1), Err(ShapeError::FlatStairs));
}

#[test]
fn stages_without_sense_are_refused() {
    let check = |warmup_s, stages: &[Stage<Rate>], expected| {
        assert_eq!(Shape::new(Duration::from_secs(warmup_s), stages).map(|_| ()), Err(expected));
    };
    let hold = |text, seconds| Stage::hold(rate(text), Duration::from_secs(seconds));
    let month_s = 30 * 24 * 60 * 60;
    check(0, &[], ShapeError::NoTime);
    check(0, &[hold("5/s", 0)], ShapeError::NoTime);
    check(0, &[hold("0/s", 10)], ShapeError::NoLoad);
    check(1, &[hold("0/s", 10), hold("1/s", 10)], ShapeError::EmptyWarmup);
    check(0, &[hold("1/s", month_s), hold("1/s", 1)], ShapeError::TooLong);
    check(1, &[hold("1/s", month_s)], ShapeError::TooLong);
    check(0, &[Stage::hold(rate("1/s"), Duration::MAX)], ShapeError::TooLong);
    check(0, &[hold("1/s", 1); MAX_STAGES + 1], ShapeError::TooManyStages);
    assert!(Shape::new(Duration::ZERO, &[hold("1/s", month_s)]).is_ok());
    assert!(Shape::new(Duration::from_secs(1), &[hold("1/s", 1); MAX_STAGES]).is_ok());
}

/// Rates from the highest to the lowest, and none.
fn any_rate() -> impl Strategy<Value = Rate> {
    let sized = (0_u32..56, any::<u64>()).prop_map(|(drop, value)| (value % 36_000_000_000_000_001) >> drop);
    prop_oneof![4 => sized, 1 => Just(36_000_000_000_000_000), 1 => Just(0)]
        .prop_map(|micro_per_hour| Rate { micro_per_hour })
}

fn any_stage() -> impl Strategy<Value = Stage<Rate>> {
    let duration_ns =
        (0_u32..52, any::<u64>()).prop_map(|(drop, value)| (value % 2_592_000_000_000_001) >> drop);
    (any_rate(), any_rate(), any::<bool>(), duration_ns).prop_map(|(from, to, hold, duration_ns)| Stage {
        from,
        to: if hold { from } else { to },
        duration: Duration::from_nanos(duration_ns),
    })
}

/// Shapes of all sizes that are allowed, with jumps and pauses.
pub(super) fn any_shape() -> impl Strategy<Value = Shape> {
    let warmup_ns = prop_oneof![Just(0), 0_u64..1_000_000_000_000];
    (warmup_ns, prop::collection::vec(any_stage(), 1..6)).prop_filter_map("no load", |(warmup_ns, stages)| {
        Shape::new(Duration::from_nanos(warmup_ns), &stages).ok()
    })
}

/// c·t²/T rounded down, held against the definition in 256 bits: qT ≤ ct² < (q + 1)T.
fn check_grains(shape: &Shape, time_ns: u64) -> Result<(), TestCaseError> {
    let piece = shape.piece_at(time_ns);
    let within = u128::from(time_ns - piece.start_ns);
    let (from, to) =
        (u128::from(piece.start_rate().micro_per_hour), u128::from(piece.end_rate().micro_per_hour));
    let duration_ns = u128::from(piece.duration_ns);
    // Both sides of 2at + (b − a)t²/T times T, the subtraction moved to the other side.
    let grains = piece.grains_at(time_ns - piece.start_ns) - piece.base;
    let straight = wide::Wide::product(2 * from * within, duration_ns);
    let bend = wide::Wide::product(from.abs_diff(to) * within, within);
    let (below, above) =
        (wide::Wide::product(grains, duration_ns), wide::Wide::product(grains + 1, duration_ns));
    if from <= to {
        prop_assert!(below <= straight.plus(bend) && straight.plus(bend) < above);
    } else {
        prop_assert!(below.plus(bend) <= straight && straight < above.plus(bend));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_cumulative_rate_is_exact(shape in any_shape(), place: u64) {
        check_grains(&shape, place % shape.total_ns())?;
        check_grains(&shape, shape.total_ns() - 1 - place % shape.total_ns().min(3))?;
    }

    /// The slow, exact reference is the count, which knows no square roots: a due time is right when one arrival fewer
    /// is due before it than before the next nanosecond.
    #[test]
    fn a_due_time_is_the_first_nanosecond_that_counts(shape in any_shape(), place: u64) {
        let count = shape.count();
        prop_assert_eq!(shape.due_ns(count), None);
        for n in [0, place % count.max(1), count.saturating_sub(1)] {
            let Some(due_ns) = shape.due_ns(n) else {
                prop_assert!(n >= count);
                continue;
            };
            prop_assert!(due_ns < shape.total_ns());
            prop_assert!(shape.arrivals_before(due_ns) <= n, "{} at {}", n, due_ns);
            prop_assert!(shape.arrivals_before(due_ns + 1) > n, "{} at {}", n, due_ns);
            prop_assert!(shape.due_ns(n + 1).is_none_or(|next_ns| next_ns >= due_ns));
        }
    }

    #[test]
    fn a_count_is_the_first_arrival_that_is_not_before(shape in any_shape(), place: u64) {
        let time_ns = place % (shape.total_ns() + 2);
        let n = shape.arrivals_before(time_ns);
        prop_assert!(shape.due_ns(n).is_none_or(|due_ns| due_ns >= time_ns));
        if n > 0 {
            prop_assert!(shape.due_ns(n - 1).is_some_and(|due_ns| due_ns < time_ns));
        }
        let parts = shape.arrivals_in(0..time_ns) + shape.arrivals_in(time_ns..u64::MAX);
        prop_assert_eq!(parts, shape.count());
    }

    #[test]
    fn single_grains_are_due_when_they_count(shape in any_shape(), high: u64, low: u64) {
        let grain = ((u128::from(high) << 64) + u128::from(low)) % shape.total;
        match shape.grain_due_ns(grain) {
            None => prop_assert!(shape.grains_due_before(shape.total_ns()) <= grain),
            Some(due_ns) => {
                prop_assert!(shape.grains_due_before(due_ns) <= grain);
                prop_assert!(shape.grains_due_before(due_ns + 1) > grain);
            }
        }
    }

    #[test]
    fn the_stages_make_the_same_shape_again(shape in any_shape()) {
        let stages: Vec<_> = shape.stages().collect();
        prop_assert_eq!(Shape::new(Duration::from_nanos(shape.warmup_ns()), &stages), Ok(shape));
    }
}
