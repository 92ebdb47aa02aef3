//! What a run's plan says of its seconds: which are the warm-up, and how many arrivals are due in each. Pure.

use volley_plan::{Model, OpenLoad, Plan};
use volley_stats::SECOND_NS;

/// The plan of a run's seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeline<'a> {
    warmup_ns: u64,
    /// Nothing is due from here on; `u64::MAX` where nobody knows yet.
    stop_ns: u64,
    open: Option<&'a OpenLoad>,
}

impl<'a> Timeline<'a> {
    /// The seconds of `plan`, of a run that was stopped at `stop_ns` of run time, if it was.
    pub(crate) fn of(plan: &'a Plan, stop_ns: Option<u64>) -> Self {
        let open = match &plan.load.model {
            Model::Open(open) => Some(open),
            Model::Closed(_) => None,
        };
        Self { warmup_ns: plan.load.warmup_ns(), stop_ns: stop_ns.unwrap_or(u64::MAX), open }
    }

    /// True if all of the time before second `to_s` belongs to the warm-up.
    pub(crate) fn is_warmup(&self, to_s: u32) -> bool {
        u64::from(to_s) * SECOND_NS <= self.warmup_ns
    }

    /// How many arrivals the plan has due from second `from_s` to `to_s` (exclusive): of Poisson ones, those that are to
    /// be expected; where the warm-up ends between them, the measured ones. `None` in the closed model.
    #[expect(clippy::cast_precision_loss, reason = "for charts; arrivals of a span stay far below 2^52")]
    pub(crate) fn planned(&self, from_s: u32, to_s: u32) -> Option<f64> {
        let OpenLoad { shape, .. } = self.open?;
        let end = self.open?.end_number(shape.arrivals_before(self.warmup_ns));
        let before = |at_ns: u64| shape.arrivals_before(at_ns.min(self.stop_ns)).min(end);
        let from_ns = match u64::from(from_s) * SECOND_NS {
            from_ns if self.is_warmup(to_s) => from_ns,
            from_ns => from_ns.max(self.warmup_ns),
        };
        Some(before(u64::from(to_s) * SECOND_NS).saturating_sub(before(from_ns)) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn check(lines: &str, stop_ns: Option<u64>, expected: &[Option<f64>], warmup_s: u32) {
        let plan = plan(lines);
        let timeline = Timeline::of(&plan, stop_ns);
        let planned: Vec<_> = (0..).take(expected.len()).map(|s| timeline.planned(s, s + 1)).collect();
        assert_eq!(planned, expected, "{lines}");
        let warm = (0..10).filter(|s| timeline.is_warmup(s + 1)).count();
        assert_eq!(warm, warmup_s as usize, "{lines}");
    }

    #[test]
    fn seconds_have_what_is_due_in_them() {
        let some = |numbers: &[u32]| numbers.iter().map(|&n| Some(f64::from(n))).collect::<Vec<_>>();
        check("users: 2\nduration: 3s", None, &[None, None], 0);
        check("rate: 30/s\nduration: 3s", None, &some(&[30, 30, 30, 0]), 0);
        check("rate: 30/s\nduration: 3s\nwarmup: 2500ms", None, &some(&[30, 30, 15, 30, 30, 15, 0]), 2);
        check("rate: 30/s\nduration: 3s", Some(1_500_000_000), &some(&[30, 15, 0]), 0);
        check("rate: 30/s\niterations: 40\nwarmup: 1s", None, &some(&[30, 30, 10, 0]), 1);
        check("load: { stages: [{ rate: 0/s, ramp_to: 20/s, for: 2s }] }", None, &some(&[5, 15, 0]), 0);
    }

    #[test]
    fn a_span_may_be_longer_than_a_second() {
        let plan = plan("rate: 30/s\nduration: 90s");
        let timeline = Timeline::of(&plan, None);
        assert_eq!(timeline.planned(60, 120), Some(900.0));
        assert_eq!(timeline.planned(0, 60), Some(1800.0));
    }
}
