//! Agents that differ from their peers beyond noise: the same target, the same load, and yet slower answers or later
//! sends. Second by second each is held against the median of the others. Pure.

use std::collections::{BTreeMap, BTreeSet};

use volley_plan::link::Incarnation;
use volley_plan::words::count;
use volley_stats::Health;

use crate::document::ns_to_ms;
use crate::words::milliseconds;

/// Fewer than so many agents say nothing of what is usual.
const PEERS_MIN: usize = 3;
/// Fewer seconds than these may be chance.
const SECONDS_MIN: u32 = 10;
/// Out of five seconds, in so many at least.
const OF_FIVE_MIN: u64 = 4;
/// Seconds that wait for their last reports, at most; an agent that is further behind isn't compared in them.
const WAITING_MAX: usize = 300;

/// A figure that agents are compared by.
struct Measure {
    name: &'static str,
    /// What an agent had in a second; 0 where nothing was measured.
    of: fn(&Health) -> u64,
    /// What is less than this above the others is noise, in nanoseconds.
    margin_ns: u64,
}

const MEASURES: [Measure; 2] = [
    Measure { name: "latency p99", of: |health| health.latency_p99_ns, margin_ns: 1_000_000 },
    Measure { name: "lag p99", of: |health| health.lag_p99_ns, margin_ns: 5_000_000 },
];

/// How one agent fared beside its peers, by one measure.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    compared: u32,
    beyond: u32,
    excess_max_ns: u64,
}

impl Tally {
    fn add(&mut self, value_ns: u64, usual_ns: u64, margin_ns: u64) {
        self.compared += 1;
        let excess_ns = value_ns.saturating_sub(usual_ns);
        // Beyond one and a half times what is usual.
        if excess_ns > margin_ns && excess_ns > usual_ns / 2 {
            self.beyond += 1;
            self.excess_max_ns = self.excess_max_ns.max(excess_ns);
        }
    }

    fn is_outlier(&self) -> bool {
        self.beyond >= SECONDS_MIN && u64::from(self.beyond) * 5 >= u64::from(self.compared) * OF_FIVE_MIN
    }

    fn words(&self, name: &str) -> String {
        let [beyond, compared] = [self.beyond, self.compared].map(|n| count(n.into()));
        let excess = milliseconds(ns_to_ms(self.excess_max_ns));
        format!("{name} above its peers' in {beyond} of {compared} seconds, by up to {excess}")
    }
}

/// The agents of one run beside each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outliers {
    /// Seconds before this one are not compared any more.
    from_s: u32,
    /// What agents had in the seconds after it, by measure.
    waiting: BTreeMap<u32, BTreeMap<Incarnation, [u64; MEASURES.len()]>>,
    tallies: BTreeMap<Incarnation, [Tally; MEASURES.len()]>,
    told: BTreeSet<Incarnation>,
}

impl Outliers {
    /// For a run whose first seconds, the warm-up, don't count.
    pub(crate) fn after(warmup_s: u32) -> Self {
        Self { from_s: warmup_s, ..Self::default() }
    }

    /// Takes in how an agent was in a second.
    pub(crate) fn see(&mut self, agent: Incarnation, second: u32, health: &Health) {
        if second < self.from_s {
            return;
        }
        let values = self.waiting.entry(second).or_default().entry(agent).or_default();
        for (value, measure) in values.iter_mut().zip(&MEASURES) {
            *value = (*value).max((measure.of)(health));
        }
        while self.waiting.len() > WAITING_MAX {
            self.waiting.pop_first();
        }
    }

    /// Compares the agents in the seconds before `below_s`, which are complete. Gives those that have turned out to differ
    /// from their peers, and how.
    pub(crate) fn compare(&mut self, below_s: u32) -> Vec<(Incarnation, String)> {
        let later = self.waiting.split_off(&below_s);
        for (_, second) in std::mem::replace(&mut self.waiting, later) {
            for (index, measure) in MEASURES.iter().enumerate() {
                let of = second.iter().map(|(agent, values)| (values[index], *agent));
                self.compare_in(index, measure.margin_ns, of.filter(|(value, _)| *value > 0).collect());
            }
        }
        self.from_s = self.from_s.max(below_s);
        let said = self.said();
        said.into_iter().filter(|(agent, _)| self.told.insert(*agent)).collect()
    }

    /// One second, by one measure.
    fn compare_in(&mut self, index: usize, margin_ns: u64, mut values: Vec<(u64, Incarnation)>) {
        if values.len() < PEERS_MIN {
            return;
        }
        values.sort_unstable();
        for (place, (value_ns, agent)) in values.iter().enumerate() {
            let usual_ns = median_without(&values, place);
            self.tallies.entry(*agent).or_default()[index].add(*value_ns, usual_ns, margin_ns);
        }
    }

    /// Those that differ from their peers, and how.
    pub(crate) fn said(&self) -> BTreeMap<Incarnation, String> {
        let said = self.tallies.iter().map(|(agent, tallies)| {
            let outliers = tallies.iter().zip(&MEASURES).filter(|(tally, _)| tally.is_outlier());
            let words: Vec<_> = outliers.map(|(tally, measure)| tally.words(measure.name)).collect();
            (*agent, words.join("; "))
        });
        said.filter(|(_, words)| !words.is_empty()).collect()
    }
}

/// The median of ascending values but for the one at `place`: of two in the middle the larger one, so that of three agents
/// a single quick one doesn't make the others slow.
fn median_without(values: &[(u64, Incarnation)], place: usize) -> u64 {
    let middle = (values.len() - 1) / 2;
    values[if middle < place { middle } else { middle + 1 }].0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Agents 0, 1, … with these latencies in ms in each of the seconds, of which some may be said to differ.
    fn check(seconds: u32, latency_ms: impl Fn(u32) -> Vec<u64>, expected: &[(u64, &str)]) {
        let mut outliers = Outliers::default();
        for second in 0..seconds {
            for (agent, ms) in (0..).zip(latency_ms(second)) {
                let health = Health { latency_p99_ns: ms * MS, ..Health::default() };
                outliers.see(Incarnation(agent), second, &health);
            }
        }
        let told = outliers.compare(seconds);
        let said: Vec<_> = told.iter().map(|(agent, words)| (agent.0, words.as_str())).collect();
        assert_eq!(said, expected);
        assert_eq!(outliers.said().into_iter().collect::<Vec<_>>(), told);
        assert_eq!(outliers.compare(seconds + 1), Vec::new(), "each is told once");
    }

    #[test]
    fn who_is_slower_than_its_peers_in_most_seconds_is_told() {
        let words = "latency p99 above its peers' in 10 of 10 seconds, by up to 6.00 ms";
        check(
            10,
            |_| vec![10, 11, 17],
            &[(2, "latency p99 above its peers' in 10 of 10 seconds, by up to 6.00 ms")],
        );
        check(10, |_| vec![10, 10, 16], &[(2, words)]);
        check(9, |_| vec![10, 10, 16], &[]);
        // 8 of 10 would do, but ten at least are asked for; 16 of 20 are, 15 are not.
        check(10, |second| vec![10, 10, if second < 8 { 16 } else { 10 }], &[]);
        let some = |of: u32| move |second: u32| vec![10, 10, if second < of { 16 } else { 10 }];
        check(20, some(16), &[(2, "latency p99 above its peers' in 16 of 20 seconds, by up to 6.00 ms")]);
        check(20, some(15), &[]);
    }

    #[test]
    fn noise_and_too_few_peers_say_nothing() {
        check(60, |_| vec![10, 10, 15], &[]);
        check(60, |_| vec![1, 1, 2], &[]);
        check(60, |_| vec![10, 99], &[]);
        check(60, |_| vec![10, 99, 0], &[]);
        check(60, |second| vec![10, 10, 10 + u64::from(second % 2) * 50], &[]);
        check(60, |_| vec![10, 10, 1], &[]);
    }

    #[test]
    fn two_that_are_slow_are_told_where_they_are_the_few() {
        let said = "latency p99 above its peers' in 12 of 12 seconds, by up to 20.0 ms";
        check(12, |_| vec![30, 10, 10, 30, 10, 10], &[(0, said), (3, said)]);
    }

    #[test]
    fn lag_counts_as_well_and_the_warm_up_does_not() {
        let mut outliers = Outliers::after(20);
        for second in 0..40 {
            for agent in 0..3 {
                let lag_p99_ns = if agent == 1 { 9 * MS } else { MS };
                let health = Health { lag_p99_ns, ..Health::default() };
                outliers.see(Incarnation(agent), second, &health);
            }
        }
        assert_eq!(outliers.compare(25), Vec::new());
        let told = outliers.compare(40);
        let words = "lag p99 above its peers' in 20 of 20 seconds, by up to 8.00 ms";
        assert_eq!(told, [(Incarnation(1), words.to_owned())]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut outliers = Outliers::default();
        (0..1000).for_each(|second| outliers.see(Incarnation(1), second, &Health::default()));
        assert_eq!(outliers.waiting.len(), WAITING_MAX);
        outliers.compare(1000);
        outliers.see(Incarnation(1), 3, &Health::default());
        assert!(outliers.waiting.is_empty(), "what was compared is over");
    }
}
