//! Shapes that are adjusted: nothing changes before the moment, and from there on the rate is the new one.

use super::*;
use crate::shape::{Arrival, Arrivals, Schedule, Stripes};

/// The arrivals of the whole run from `from_ns` on, of which at most `most`.
fn arrivals(shape: &Shape, kind: Arrivals, from_ns: u64, most: usize) -> Vec<Arrival> {
    let schedule = Schedule::new(shape.clone(), kind, 42).expect("few enough arrivals");
    let one = Stripes::new(1).expect("in bounds").all();
    schedule.cursor(&one, from_ns).take(most).collect()
}

fn few_enough(shape: &Shape) -> bool {
    Schedule::new(shape.clone(), Arrivals::Poisson, 42).is_ok() && shape.count() < 10_000_000
}

#[test]
fn a_ramp_is_cut_and_goes_on_evenly() {
    let ramp = shape(0, &[("0/s", "100/s", 10), ("100/s", "100/s", 10)]);
    let adjusted = ramp.adjusted(5 * SECOND_NS, rate("10/s")).expect("adjusted");
    assert_eq!((adjusted.total_ns(), adjusted.warmup_ns()), (20 * SECOND_NS, 0));
    assert_eq!(by_second(&adjusted)[..7], [5, 15, 25, 35, 45, 10, 10]);
    assert_eq!(due_all(&adjusted)[..125], due_all(&ramp)[..125]);
    assert_eq!(adjusted.due_ns(125), Some(5 * SECOND_NS), "Λ goes beyond 125 there");
    assert_eq!(adjusted.due_ns(126), Some(5 * SECOND_NS + 100_000_000));
    let stages: Vec<_> =
        adjusted.stages().map(|stage| (stage.from, stage.to, stage.duration.as_secs())).collect();
    assert_eq!(stages, [(rate("0/s"), rate("50/s"), 5), (rate("10/s"), rate("10/s"), 15)]);
    assert_eq!((ramp.rate_max(), adjusted.rate_max()), (rate("100/s"), rate("50/s")));
    // Again, and then to nothing.
    let more = adjusted.adjusted(10 * SECOND_NS, rate("200/s")).expect("adjusted");
    assert_eq!(by_second(&more)[8..12], [10, 10, 200, 200]);
    let paused = more.adjusted(12 * SECOND_NS, Rate::ZERO).expect("adjusted");
    assert_eq!(by_second(&paused)[10..15], [200, 200, 0, 0, 0]);
    let resumed = paused.adjusted(14 * SECOND_NS, rate("5/s")).expect("adjusted");
    assert_eq!(by_second(&resumed)[10..16], [200, 200, 0, 0, 5, 5]);
    assert_eq!(ramp.adjusted(20 * SECOND_NS, rate("10/s")), Ok(ramp));
}

#[test]
fn the_warm_up_keeps_its_length() {
    let shape = shape(5, &[("10/s", "10/s", 10)]);
    for at_s in [0, 2, 5, 7] {
        let adjusted = shape.adjusted(at_s * SECOND_NS, rate("20/s")).expect("adjusted");
        assert_eq!((adjusted.warmup_ns(), adjusted.total_ns()), (5 * SECOND_NS, 15 * SECOND_NS));
        let expected: Vec<_> = (0..15).map(|second| if second < at_s { 10 } else { 20 }).collect();
        assert_eq!(by_second(&adjusted), expected, "at {at_s} s");
        let measured: u64 = adjusted.stages().map(|stage| stage.duration.as_secs()).sum();
        assert_eq!(measured, 10, "stages are those after the warm-up");
    }
}

#[test]
fn poisson_arrivals_before_stay_too() {
    let ramp = shape(0, &[("0/s", "1000/s", 10), ("1000/s", "1000/s", 10)]);
    let adjusted = ramp.adjusted(7 * SECOND_NS + 1, rate("5000/s")).expect("adjusted");
    let (before, after) =
        (arrivals(&ramp, Arrivals::Poisson, 0, 20_000), arrivals(&adjusted, Arrivals::Poisson, 0, 70_000));
    let kept = before.partition_point(|arrival| arrival.due_ns <= 7 * SECOND_NS);
    assert!(kept > 2_000, "{kept}");
    assert_eq!(before[..kept], after[..kept]);
    assert!((66_000..69_000).contains(&after.len()), "{}", after.len());
    assert!(after.iter().map(|arrival| arrival.n).eq(0..after.len() as u64), "numbers go on without a gap");
}

/// Checks that up to `at_ns` all is as it was, in numbers and in time.
fn check_before(before: &Shape, after: &Shape, at_ns: u64) -> Result<(), TestCaseError> {
    let at_ns = at_ns.min(before.total_ns());
    prop_assert_eq!(before.arrivals_before(at_ns), after.arrivals_before(at_ns));
    prop_assert_eq!(before.grains_due_before(at_ns), after.grains_due_before(at_ns));
    let end = before.arrivals_before(at_ns);
    for n in (0..end.min(100)).chain(end.saturating_sub(100)..end) {
        prop_assert_eq!(before.due_ns(n), after.due_ns(n), "arrival {} before {}", n, at_ns);
    }
    prop_assert!(after.due_ns(end).is_none_or(|due_ns| due_ns >= at_ns));
    let most = before.grains_due_before(at_ns);
    for grain in (0..most.min(4)).chain(most.saturating_sub(4)..most) {
        prop_assert_eq!(before.grain_due_ns(grain), after.grain_due_ns(grain), "grain {}", grain);
    }
    Ok(())
}

/// Checks that counts and due times are still each other's inverse.
fn check_inverse(shape: &Shape, n: u64) -> Result<(), TestCaseError> {
    let Some(due_ns) = shape.due_ns(n) else {
        prop_assert!(n >= shape.count());
        return Ok(());
    };
    prop_assert!(shape.arrivals_before(due_ns) <= n && shape.arrivals_before(due_ns + 1) > n);
    prop_assert!(shape.due_ns(n + 1).is_none_or(|next_ns| next_ns >= due_ns));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_changes_before_an_adjust(
        shape in any_shape(), adjusts in prop::collection::vec((any::<u64>(), any_rate()), 1..4), place: u64,
    ) {
        let mut times: Vec<_> = adjusts.iter().map(|(place, _)| place % (shape.total_ns() + 1)).collect();
        times.sort_unstable();
        let mut before = shape;
        for (at_ns, (_, rate)) in times.into_iter().zip(adjusts) {
            let after = before.adjusted(at_ns, rate).expect("few pieces");
            check_before(&before, &after, at_ns)?;
            prop_assert_eq!((after.total_ns(), after.warmup_ns()), (before.total_ns(), before.warmup_ns()));
            if at_ns < after.total_ns() {
                prop_assert_eq!(after.rate_at(at_ns), rate);
                // The new rate, within an arrival of what it makes of the time that is left.
                let left_ns = u128::from(after.total_ns() - at_ns);
                let expected = u128::from(rate.micro_per_hour) * 2 * left_ns / ARRIVAL;
                let found = u128::from(after.arrivals_in(at_ns..u64::MAX));
                prop_assert!(found.abs_diff(expected) <= 1, "{} instead of {}", found, expected);
            }
            let count = after.count();
            for n in [0, after.arrivals_before(at_ns), place % count.max(1), count.saturating_sub(1), count] {
                check_inverse(&after, n)?;
            }
            let instant_ns = place % (after.total_ns() + 1);
            let parts = after.arrivals_in(0..instant_ns) + after.arrivals_in(instant_ns..u64::MAX);
            prop_assert_eq!(parts, count);
            before = after;
        }
    }

    /// Both kinds of cursors, begun before and at the moment.
    #[test]
    fn cursors_go_on_where_the_earlier_ones_stop(shape in any_shape(), place: u64, rate in any_rate()) {
        let at_ns = place % shape.total_ns();
        let after = shape.adjusted(at_ns, rate).expect("few pieces");
        if !few_enough(&shape) || !few_enough(&after) {
            return Ok(());
        }
        for kind in [Arrivals::Uniform, Arrivals::Poisson] {
            let from_ns = at_ns.saturating_sub(1_000_000);
            let old = arrivals(&shape, kind, from_ns, 300);
            let new = arrivals(&after, kind, from_ns, 300);
            let kept = old.partition_point(|arrival| arrival.due_ns < at_ns);
            prop_assert_eq!(&old[..kept], &new[..kept.min(new.len())], "{:?}", kind);
            if kept < 300 {
                prop_assert_eq!(arrivals(&after, kind, at_ns, 300 - kept), &new[kept..], "{:?}", kind);
            }
        }
    }
}
