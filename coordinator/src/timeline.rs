//! What is known of a run's seconds besides results: which are the warm-up, how many arrivals the load has due in each, and
//! what lost agents left open of them. Pure.

use std::collections::BTreeMap;

use volley_lifecycle::{Gap, Run};
use volley_plan::{Load, Model, OpenLoad};
use volley_stats::SECOND_NS;

/// What lost agents left open, by the second in which it was due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps(BTreeMap<u32, Gap>);

impl Gaps {
    /// Of all agents of a run.
    pub(crate) fn of(run: &Run) -> Self {
        let gaps = run.agents().flat_map(|agent| run.gap_by_second(agent));
        gaps.collect()
    }

    /// The seconds in which there is one.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.keys().copied()
    }

    /// What is open from second `from_s` to `to_s` (exclusive).
    fn within(&self, from_s: u32, to_s: u32) -> Gap {
        let mut sum = Gap::default();
        self.0.range(from_s..to_s.max(from_s)).for_each(|(_, gap)| add(&mut sum, *gap));
        sum
    }
}

impl FromIterator<(u32, Gap)> for Gaps {
    fn from_iter<T: IntoIterator<Item = (u32, Gap)>>(gaps: T) -> Self {
        let mut all = Self::default();
        for (second, gap) in gaps {
            add(all.0.entry(second).or_default(), gap);
        }
        all
    }
}

fn add(sum: &mut Gap, gap: Gap) {
    sum.missed = sum.missed.saturating_add(gap.missed);
    sum.unknown = sum.unknown.saturating_add(gap.unknown);
}

/// The load of a run's seconds, and what is open of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline<'a> {
    warmup_ns: u64,
    /// Nothing is due from here on; `u64::MAX` where nobody knows yet.
    stop_ns: u64,
    open: Option<&'a OpenLoad>,
    gaps: Gaps,
}

impl<'a> Timeline<'a> {
    /// The seconds of `load`, as it was adjusted, in a run that was stopped at `stop_ns` of run time, if it was.
    pub(crate) fn of(load: &'a Load, stop_ns: Option<u64>, gaps: Gaps) -> Self {
        let open = match &load.model {
            Model::Open(open) => Some(open),
            Model::Closed(_) => None,
        };
        Self { warmup_ns: load.warmup_ns(), stop_ns: stop_ns.unwrap_or(u64::MAX), open, gaps }
    }

    /// What lost agents left open of what was due from second `from_s` to `to_s` (exclusive).
    pub(crate) fn gap(&self, from_s: u32, to_s: u32) -> Gap {
        self.gaps.within(from_s, to_s)
    }

    /// True if all of the time before second `to_s` belongs to the warm-up.
    pub(crate) fn is_warmup(&self, to_s: u32) -> bool {
        u64::from(to_s) * SECOND_NS <= self.warmup_ns
    }

    /// How many arrivals the load has due from second `from_s` to `to_s` (exclusive): of Poisson ones, those that are to
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
        let timeline = Timeline::of(&plan.load, stop_ns, Gaps::default());
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
    fn an_adjusted_load_steps_when_it_was_adjusted() {
        let plan = plan("rate: 30/s\nduration: 4s");
        let to = volley_plan::Level::Rate("60/s".parse().unwrap());
        let load = plan.load.adjusted(volley_plan::Adjust { at_ns: 1_500_000_000, to }).unwrap();
        let timeline = Timeline::of(&load, None, Gaps::default());
        let planned: Vec<_> = (0..5).map(|s| timeline.planned(s, s + 1)).collect();
        assert_eq!(planned, [30.0, 45.0, 60.0, 60.0, 0.0].map(Some));
    }

    #[test]
    fn gaps_of_several_agents_add_up() {
        let gap = |missed, unknown| Gap { missed, unknown };
        let gaps: Gaps = [(3, gap(1, 2)), (4, gap(0, 5)), (3, gap(10, 0))].into_iter().collect();
        assert_eq!(gaps.seconds().collect::<Vec<_>>(), [3, 4]);
        let plan = plan("rate: 30/s\nduration: 90s");
        let timeline = Timeline::of(&plan.load, None, gaps);
        let sums = [(0, 3), (3, 4), (0, 60), (4, 4)].map(|(from_s, to_s)| timeline.gap(from_s, to_s));
        assert_eq!(sums, [gap(0, 0), gap(11, 2), gap(11, 7), gap(0, 0)]);
    }

    #[test]
    fn a_span_may_be_longer_than_a_second() {
        let plan = plan("rate: 30/s\nduration: 90s");
        let timeline = Timeline::of(&plan.load, None, Gaps::default());
        assert_eq!(timeline.planned(60, 120), Some(900.0));
        assert_eq!(timeline.planned(0, 60), Some(1800.0));
    }
}
