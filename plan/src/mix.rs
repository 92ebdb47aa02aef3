//! Which scenario an iteration runs, and how long it thinks: pure functions of the iteration's number and the run's
//! seed, so that nobody has to agree on them.

use crate::model::{Scenario, Think};
use crate::philox::Philox;
use crate::shape::greatest_common_divisor;
use std::time::Duration;

/// Keeps the numbers that are drawn here apart from those of Poisson arrivals under the same seed.
const MIX: u64 = 0x6d69_7865_645f_7570;
const THINK: u64 = 0x7468_696e_6b5f_7469;

/// Scenarios by their weights.
///
/// Of each block of as many iterations as the weights make in all (reduced to lowest terms), every scenario gets exactly
/// its part, in an order that differs from block to block; so the parts are exact over a run, and which stripes or
/// agents have an iteration doesn't matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    /// By scenario: the places of a block below this are its or an earlier one's.
    ends: Vec<u64>,
    seed: u64,
}

impl Mix {
    /// The mix of a plan's scenarios, of which there is one at least.
    pub fn new(scenarios: &[Scenario], seed: u64) -> Self {
        let common = scenarios
            .iter()
            .fold(0, |common, scenario| greatest_common_divisor(common, scenario.weight.into()))
            .max(1);
        let mut end = 0;
        let ends = scenarios.iter().map(|scenario| {
            end += u64::from(scenario.weight) / common;
            end
        });
        Self { ends: ends.collect(), seed }
    }

    /// The index of the scenario that iteration `n` runs.
    #[inline]
    pub fn pick(&self, n: u64) -> usize {
        if self.ends.len() <= 1 { 0 } else { self.pick_of_several(n) }
    }

    fn pick_of_several(&self, n: u64) -> usize {
        let size = self.ends.last().copied().unwrap_or(1).max(1);
        let (block, place) = (n / size, n % size);
        let place = shuffled(place, size, Philox::new([self.seed, MIX]).at([block, 0, 0, 0]));
        self.ends.partition_point(|end| *end <= place)
    }
}

/// Where `place` of a block of `size` goes: an order that `random` decides over, one to one.
fn shuffled(place: u64, size: u64, random: [u64; 4]) -> u64 {
    // Multiplying by a number that has no divisor in common with the size is one to one; so is adding.
    let mut factor = random[0] % size;
    while greatest_common_divisor(factor, size) != 1 {
        factor = (factor + 1) % size;
    }
    ((u128::from(place) * u128::from(factor) + u128::from(random[1])) % u128::from(size)) as u64
}

impl Think {
    /// How long the pause is that iteration `n` makes as its step number `step`.
    #[must_use]
    pub fn length(&self, seed: u64, n: u64, step: usize) -> Duration {
        let span = self.most.saturating_sub(self.least).as_nanos();
        if span == 0 {
            return self.least;
        }
        let random = Philox::new([seed, THINK]).at([n, step as u64, 0, 0])[0];
        // A multiplication instead of a remainder: each length is as likely as any other to one in 2^64.
        let more = (u128::from(random) * (span + 1)) >> 64;
        self.least + Duration::from_nanos(more as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(weights: &[u32], seed: u64) -> Mix {
        let scenarios: Vec<_> = weights
            .iter()
            .map(|&weight| Scenario { name: String::new(), weight, steps: Vec::new() })
            .collect();
        Mix::new(&scenarios, seed)
    }

    #[test]
    fn parts_are_exact_in_every_block() {
        for (weights, size) in
            [(vec![9, 1], 10), (vec![90, 10], 10), (vec![2, 3, 5], 10), (vec![7], 1), (vec![1, 1], 2)]
        {
            let mix = mix(&weights, 7);
            let sum: u32 = weights.iter().sum();
            for block in 0..50 {
                let mut found = vec![0; weights.len()];
                (block * size..(block + 1) * size).for_each(|n| found[mix.pick(n)] += 1);
                let expected: Vec<u32> = weights.iter().map(|weight| weight * size as u32 / sum).collect();
                assert_eq!(found, expected, "{weights:?} in block {block}");
            }
        }
    }

    #[test]
    fn the_parts_of_a_stripe_are_fair_too() {
        let mix = mix(&[9, 1], 42);
        let second = (0..100_000).filter(|n| n % 10 == 3).filter(|&n| mix.pick(n) == 1).count();
        assert!((900..1100).contains(&second), "{second} of 10,000");
    }

    #[test]
    fn pauses_lie_within_their_bounds_and_differ() {
        let think = Think { least: Duration::from_secs(1), most: Duration::from_secs(3) };
        let lengths: Vec<_> = (0..1000).map(|n| think.length(3, n, 1)).collect();
        assert!(lengths.iter().all(|length| (think.least..=think.most).contains(length)));
        let mean = lengths.iter().sum::<Duration>() / 1000;
        assert!((Duration::from_millis(1900)..Duration::from_millis(2100)).contains(&mean), "{mean:?}");
        assert_ne!(think.length(3, 0, 1), think.length(3, 0, 2));
        let fixed = Think { most: think.least, ..think };
        assert_eq!(fixed.length(3, 5, 0), think.least);
    }
}
