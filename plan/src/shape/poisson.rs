//! Poisson arrivals: independent of each other, at the rate of the shape, and the same for all who know the seed.
//!
//! The expected arrivals Λ are cut into blocks of [`MEAN`]. The number of arrivals in a block is drawn from the Poisson
//! distribution with that mean; their places are drawn evenly over the block, sorted, and turned into times by the
//! inverse of Λ. This is a Poisson process with the shape's rate (D. J. Daley and D. Vere-Jones, *An Introduction to the
//! Theory of Point Processes*, 2nd ed., section 2.1). Arrivals are numbered as they come.
//!
//! The shape ends within its last block. Places beyond the end are dropped; what is left of a Poisson process in a part
//! of its time is one too, so the last, shorter block needs no distribution of its own.
//!
//! Only one block is held at a time. Going forward over a block without looking into it costs one draw.

use super::piece::ARRIVAL;
use super::{Shape, poisson_table};
use crate::philox::Philox;
use poisson_table::MEAN;
use std::sync::Arc;

/// Grains of a block.
const BLOCK: u128 = ARRIVAL * MEAN as u128;

/// What a draw is for; part of its place in the generator.
const COUNTS: u64 = 0;
const PLACES: u64 = 1;

/// The arrivals of a seed, read forward; going back is right too, but starts from the beginning.
#[derive(Debug, Clone)]
pub(super) struct Poisson {
    shape: Arc<Shape>,
    draws: Philox,
    block: u64,
    /// The number of the block's first arrival.
    first: u64,
    /// How many arrivals the block has, those beyond the shape's end included.
    count: u64,
    /// The places of the block's arrivals in 2⁻⁶⁴ of the block, sorted; empty until they are asked for.
    places: Vec<u64>,
}

impl Poisson {
    pub(super) fn new(shape: Arc<Shape>, seed: u64) -> Self {
        let draws = Philox::new([seed, 0]);
        let places = Vec::with_capacity(poisson_table::MOST as usize + 3);
        Self { shape, draws, block: 0, first: 0, count: count_of(draws, 0), places }
    }

    /// When arrival `n` is due; `None` where the shape ends before it.
    pub(super) fn due_ns(&mut self, n: u64) -> Option<u64> {
        if n < self.first {
            self.restart();
        }
        while n - self.first >= self.count {
            if u128::from(self.block + 1) * BLOCK >= self.shape.total {
                return None;
            }
            self.next_block();
        }
        self.draw_places();
        self.shape.grain_due_ns(self.grain(self.places[(n - self.first) as usize]))
    }

    /// How many arrivals are due before `time_ns`; equally, the first that isn't.
    pub(super) fn arrivals_before(&mut self, time_ns: u64) -> u64 {
        let end = self.shape.grains_due_before(time_ns);
        // Λ stays below 2⁴⁵ arrivals.
        let block = (end / BLOCK) as u64;
        if block < self.block {
            self.restart();
        }
        while self.block < block {
            self.next_block();
        }
        self.draw_places();
        self.first + self.places.partition_point(|place| self.grain(*place) < end) as u64
    }

    /// Where a place of this block is in Λ. The product is below 2¹²⁷, and the shift multiplies by [`MEAN`].
    fn grain(&self, place: u64) -> u128 {
        let within = (u128::from(place) * ARRIVAL) >> (u64::BITS - MEAN.ilog2());
        u128::from(self.block) * BLOCK + within
    }

    fn restart(&mut self) {
        self.go_to(0, 0);
    }

    fn next_block(&mut self) {
        self.go_to(self.block + 1, self.first + self.count);
    }

    fn go_to(&mut self, block: u64, first: u64) {
        (self.block, self.first) = (block, first);
        self.count = count_of(self.draws, block);
        self.places.clear();
    }

    /// Draws the block's places where that has not been done.
    fn draw_places(&mut self) {
        if !self.places.is_empty() {
            return;
        }
        for index in 0..self.count.div_ceil(4) {
            self.places.extend(self.draws.at([index, self.block, PLACES, 0]));
        }
        self.places.truncate(self.count as usize);
        self.places.sort_unstable();
    }
}

/// The number of arrivals of a block.
fn count_of(draws: Philox, block: u64) -> u64 {
    poisson_table::count(draws.at([0, block, COUNTS, 0])[0])
}

#[cfg(test)]
mod tests;
