//! What lost agents left open, by the second in which it was due.

use std::collections::BTreeMap;
use std::ops::Range;

use volley_stats::SECOND_NS;

use super::{Arrivals, Gap};
use crate::agent::AgentShare;
use crate::planned::Planned;
use crate::run::Run;

impl Run {
    /// [`Self::gap`] of an agent by the second of run time in which it was due; empty in the closed model, where nobody
    /// can say when what was granted would have been sent.
    ///
    /// An agent reports in the order of time, so what it did not report is what was due last of what it had leave for.
    #[must_use]
    pub fn gap_by_second(&self, agent: &AgentShare) -> BTreeMap<u32, Gap> {
        match &self.planned {
            Planned::Arrivals(arrivals) => arrivals.spread(agent),
            Planned::Iterations(_) | Planned::UserTime { .. } => BTreeMap::new(),
        }
    }
}

impl Arrivals {
    /// An agent's gap in the seconds in which it was due.
    fn spread(&self, agent: &AgentShare) -> BTreeMap<u32, Gap> {
        let Gap { mut missed, mut unknown } = self.gap(agent);
        let mut gaps = BTreeMap::new();
        if missed == 0 && unknown == 0 {
            return gaps;
        }
        let end = self.stop.unwrap_or(self.measured.end);
        // Without anything unknown, all of it is missed, whenever it was due.
        let permitted_to = if unknown > 0 { agent.permitted_to } else { 0 };
        for (second, numbers) in self.seconds_of(agent).into_iter().rev() {
            let due =
                |numbers: Range<u64>| agent.legs.count_in(&(numbers.start..numbers.end.max(numbers.start)));
            let permitted = due(numbers.start..numbers.end.min(permitted_to));
            let beyond = due(numbers.start.max(permitted_to)..numbers.end.min(end));
            let (unknown_here, missed_here) = (unknown.min(permitted), missed.min(beyond));
            if unknown_here + missed_here > 0 {
                let gap: &mut Gap = gaps.entry(second).or_default();
                gap.unknown += unknown_here;
                gap.missed += missed_here;
            }
            (unknown, missed) = (unknown - unknown_here, missed - missed_here);
        }
        gaps
    }

    /// The seconds of which an agent may not have said everything, with the numbers of the measured arrivals due in each.
    fn seconds_of(&self, agent: &AgentShare) -> Vec<(u32, Range<u64>)> {
        let until_ns = agent.legs.end_ns().unwrap_or(u64::MAX).min(self.until_ns());
        let from_s = u64::from(agent.watermark_s());
        let mut counter = self.counter.clone();
        let mut number_at = |second: u64| {
            let number = counter.arrivals_before((second * SECOND_NS).min(until_ns));
            number.clamp(self.measured.start, self.measured.end)
        };
        let to_s = until_ns.div_ceil(SECOND_NS).max(from_s);
        let mut start = number_at(from_s);
        let mut seconds = Vec::new();
        for second in from_s..to_s {
            let end = number_at(second + 1);
            // Loads last days at most, whose seconds are 32 bits wide.
            seconds.push((u32::try_from(second).unwrap_or(u32::MAX), start..end));
            start = end;
        }
        seconds
    }

    /// Until when arrivals are counted at this moment, in run time.
    fn until_ns(&self) -> u64 {
        if self.has_stopped() {
            self.total_ns
        } else {
            self.passed_ns.saturating_add(SECOND_NS).min(self.total_ns)
        }
    }
}
