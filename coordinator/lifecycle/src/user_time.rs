//! Users times time: what a timed run of the closed model plans, and what of it is lost with agents.

use std::ops::Range;
use std::time::Duration;

use volley_plan::shape::{Stage, StripeSet, UserShape};

use crate::run::nanoseconds;

/// How long the users of `stripes` are there within `times_ns` of run time, summed up, in milliseconds. Only the measured
/// part counts.
pub(crate) fn user_ms(shape: &UserShape, stripes: &StripeSet, times_ns: Range<u64>) -> u64 {
    let mut start_ns = shape.warmup_ns();
    let mut sum_ns = 0;
    for stage in shape.stages() {
        let end_ns = start_ns + nanoseconds(stage.duration);
        if times_ns.start < end_ns && times_ns.end > start_ns {
            let within_ns = times_ns.start.saturating_sub(start_ns)..times_ns.end - start_ns;
            sum_ns += user_ns_in(stage, stripes, &within_ns);
        }
        start_ns = end_ns;
    }
    u64::try_from(sum_ns / 1_000_000).unwrap_or(u64::MAX)
}

/// The same within one stage, whose time begins at 0.
fn user_ns_in(stage: Stage<u32>, stripes: &StripeSet, times_ns: &Range<u64>) -> u128 {
    // Taken alone, a stage without users is no shape.
    let Ok(shape) = UserShape::new(Duration::ZERO, &[stage]) else { return 0 };
    let within_ns = |span: Range<u64>| {
        let end_ns = span.end.min(times_ns.end);
        u128::from(end_ns.saturating_sub(span.start.max(times_ns.start)))
    };
    // While one user is there, so are all with lower numbers.
    stripes.numbers_below(shape.users_max()).map_while(|user| shape.span(user, 0)).map(within_ns).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planned::all_users as all;
    use proptest::prelude::*;
    use volley_plan::shape::Stripes;

    const S: u64 = 1_000_000_000;

    fn shape(warmup_s: u64, stages: &[(u32, u32, u64)]) -> UserShape {
        let stage = |&(from, to, seconds)| Stage::ramp(from, to, Duration::from_secs(seconds));
        let stages: Vec<_> = stages.iter().map(stage).collect();
        UserShape::new(Duration::from_secs(warmup_s), &stages).expect("valid stages")
    }

    #[test]
    fn users_times_time_is_what_the_plan_says() {
        let check = |warmup_s, stages: &[(u32, u32, u64)], times_ns: Range<u64>, expected_ms| {
            let shape = shape(warmup_s, stages);
            assert_eq!(user_ms(&shape, &all(), times_ns.clone()), expected_ms, "{stages:?} in {times_ns:?}");
        };
        check(0, &[(5, 5, 10)], 0..10 * S, 50_000);
        check(0, &[(5, 5, 10)], 3 * S..4 * S, 5_000);
        check(4, &[(5, 5, 10)], 0..14 * S, 50_000);
        check(4, &[(5, 5, 10)], 0..4 * S, 0);
        check(4, &[(5, 5, 10)], 3 * S..5 * S, 5_000);
        check(0, &[(0, 100, 10)], 0..10 * S, 500_000);
        check(0, &[(0, 100, 10), (0, 0, 5), (3, 3, 1)], 0..60 * S, 503_000);
        // In the first half of its ramp the only user is not there yet.
        check(0, &[(0, 1, 10)], 0..5 * S, 0);
        check(0, &[(0, 1, 10)], 0..10 * S, 5_000);
        check(0, &[(5, 5, 10)], 20 * S..30 * S, 0);
    }

    proptest! {
        #[test]
        fn hands_and_times_add_up(
            stages in prop::collection::vec((0u32..9, 0u32..9, 1u64..5), 1..5), hands in 1u32..5, cut_s in 0u64..20,
        ) {
            prop_assume!(stages.iter().any(|stage| stage.0 + stage.1 > 0));
            let shape = shape(0, &stages);
            let whole_ms = user_ms(&shape, &all(), 0..u64::MAX);
            let (cut_ns, mut sum_ms) = (cut_s * S, 0);
            for hand in 0..hands {
                let held = (hand..Stripes::default().count()).step_by(hands as usize).collect();
                let part = StripeSet::new(Stripes::default(), held).expect("stripes");
                sum_ms += user_ms(&shape, &part, 0..cut_ns) + user_ms(&shape, &part, cut_ns..u64::MAX);
            }
            // Each part is rounded down to a millisecond.
            prop_assert!((sum_ms..=sum_ms + 2 * u64::from(hands)).contains(&whole_ms), "{whole_ms} and {sum_ms}");
        }
    }
}
