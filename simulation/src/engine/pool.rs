//! Granted iterations, and when more are asked for: once half of what was there is used up.

use std::collections::VecDeque;
use std::ops::Range;

/// What was granted and is not begun.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    ranges: VecDeque<Range<u64>>,
    remaining: u64,
    low: u64,
    taken: u64,
    last: bool,
    asked: bool,
}

impl Pool {
    pub(crate) fn grant(&mut self, iterations: Range<u64>, last: bool) {
        self.last |= last;
        if iterations.start < self.taken || iterations.is_empty() {
            return;
        }
        self.remaining += iterations.end - iterations.start;
        self.taken = iterations.end;
        self.low = self.remaining / 2;
        self.asked = false;
        self.ranges.push_back(iterations);
    }

    pub(crate) fn claim(&mut self) -> Option<u64> {
        let range = self.ranges.front_mut()?;
        let n = range.start;
        range.start += 1;
        if range.is_empty() {
            self.ranges.pop_front();
        }
        self.remaining -= 1;
        Some(n)
    }

    /// The end of the last grant, with which more is to be asked for.
    pub(crate) fn wish(&mut self) -> Option<u64> {
        let wishes = !self.last && !self.asked && self.remaining <= self.low;
        self.asked |= wishes;
        wishes.then_some(self.taken)
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.last && self.remaining == 0
    }
}
