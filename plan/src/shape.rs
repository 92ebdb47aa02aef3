//! The shape of a load: how many arrivals, or users, there are by when, as pure functions that every agent computes
//! alike.
//!
//! # When an arrival is due
//!
//! Let Λ(t) be the expected number of arrivals by run time t: the integral of the rate over the warm-up and all stages.
//! **Arrival n, counted from 0, is due as soon as Λ goes beyond n**, rounded up to the nanosecond. So
//!
//! - the first arrival is due as soon as the rate isn't zero, which for most plans is t = 0;
//! - at a constant rate r, arrival n is due at n/r, and in a time d that holds a whole number of them exactly r·d are
//!   due, none of them at the end;
//! - Λ goes on across the stages: there is neither a gap nor a pair of arrivals where one stage follows another;
//! - where the rate is zero Λ stands still. An arrival that Λ has reached but not passed is due when it moves on.
//!
//! An arrival whose time is rounded up to the very end of the load is not due at all.
//!
//! A load that is adjusted while it goes on has the same Λ up to that moment, and an even one from there on.
//!
//! All of it is computed with whole numbers: products first, in 128 bits and where needed in 256, the division last.

mod piece;
mod poisson;
mod poisson_table;
mod rate;
mod schedule;
mod stage;
mod stripes;
mod users;
mod wide;

pub(crate) use rate::greatest_common_divisor;
pub use rate::{MAX_RATE, RATE_UNITS, Rate, RateError};
pub use schedule::{Arrival, Arrivals, Counter, Cursor, MAX_POISSON_ARRIVALS, Schedule};
pub use stage::{MAX_LOAD_TIME, MAX_STAGES, ShapeError, Stage, Stairs};
pub use stripes::{MAX_STRIPES, StripeSet, Stripes, StripesError};
pub use users::UserShape;

use piece::{ARRIVAL, Piece, arrivals_below};
use std::ops::Range;
use std::time::Duration;

/// The shape of the open model's load. Times are run time in nanoseconds; the warm-up begins at 0.
///
/// Due times and counts here are those of evenly spaced arrivals; a [`Schedule`] has those of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// All stages that take time, the warm-up first where there is one. Never empty.
    pieces: Vec<Piece>,
    warmup_ns: u64,
    total_ns: u64,
    /// The grains of all pieces.
    total: u128,
}

impl Shape {
    /// A shape of `stages`, after a warm-up at the rate that the first one starts with.
    ///
    /// # Errors
    /// [`ShapeError`] says what the stages lack.
    pub fn new(warmup: Duration, stages: &[Stage<Rate>]) -> Result<Self, ShapeError> {
        let mut pieces = Vec::new();
        let (mut total, mut total_ns) = (0, 0);
        for stage in stage::place(warmup, stages)? {
            let piece = Piece::new(&stage, total);
            total = piece.end();
            total_ns = stage.start_ns + stage.duration_ns;
            pieces.push(piece);
        }
        // A warm-up that takes time is the first piece, so its length is 64 bits wide.
        let warmup_ns = warmup.as_nanos() as u64;
        Ok(Self { pieces, warmup_ns, total_ns, total })
    }

    /// The same shape up to `at_ns`, and `rate` from there to the same end; itself where it is over by then. What is due
    /// before `at_ns`, evenly or by chance, stays exactly as it was, and numbers go on without a gap.
    ///
    /// # Errors
    /// [`ShapeError::TooOftenAdjusted`] where that makes too many pieces.
    pub fn adjusted(&self, at_ns: u64, rate: Rate) -> Result<Self, ShapeError> {
        let mut pieces: Vec<_> =
            self.pieces.iter().take_while(|piece| piece.start_ns < at_ns).cloned().collect();
        if let Some(last) = pieces.last_mut()
            && last.end_ns() > at_ns
        {
            *last = last.cut(at_ns);
        }
        let mut total = pieces.last().map_or(0, Piece::end);
        for stage in stage::place_level(rate, at_ns, self.warmup_ns, self.total_ns) {
            let piece = Piece::new(&stage, total);
            total = piece.end();
            pieces.push(piece);
        }
        if pieces.len() > stage::MAX_PIECES {
            return Err(ShapeError::TooOftenAdjusted);
        }
        Ok(Self { pieces, total, ..*self })
    }

    /// How long the warm-up takes. What is due before it has passed is measured apart.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns
    }

    /// When the load ends, its warm-up included.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// The stages after the warm-up, without those that take no time. They make the same shape again, unless it was
    /// adjusted: then a ramp may have been cut short, and the warm-up need not be what the first stage starts with.
    pub fn stages(&self) -> impl Iterator<Item = Stage<Rate>> + '_ {
        let is_measured = |piece: &&Piece| piece.start_ns >= self.warmup_ns;
        self.pieces.iter().filter(is_measured).map(|piece| Stage {
            from: piece.start_rate(),
            to: piece.end_rate(),
            duration: Duration::from_nanos(piece.duration_ns),
        })
    }

    /// The highest rate at any time.
    pub fn rate_max(&self) -> Rate {
        self.pieces.iter().map(|piece| piece.start_rate().max(piece.end_rate())).max().unwrap_or_default()
    }

    /// The arrivals that are due in all, those of the warm-up included.
    pub fn count(&self) -> u64 {
        self.arrivals_before(self.total_ns)
    }

    /// When arrival `n` is due, see the module's text; `None` where the load ends before it.
    pub fn due_ns(&self, n: u64) -> Option<u64> {
        self.grain_due_ns(u128::from(n) * ARRIVAL)
    }

    /// How many arrivals are due before `time_ns`; equally, the first that isn't.
    pub fn arrivals_before(&self, time_ns: u64) -> u64 {
        arrivals_below(self.grains_due_before(time_ns))
    }

    /// How many arrivals are due within `times_ns`, the end not included.
    pub fn arrivals_in(&self, times_ns: Range<u64>) -> u64 {
        self.arrivals_before(times_ns.end).saturating_sub(self.arrivals_before(times_ns.start))
    }

    /// The rate at `time_ns`, at the change from one stage to the next the latter's; zero once the load has ended.
    pub fn rate_at(&self, time_ns: u64) -> Rate {
        if time_ns >= self.total_ns {
            return Rate::ZERO;
        }
        let piece = self.piece_at(time_ns);
        piece.rate_at(time_ns - piece.start_ns)
    }

    /// When a grain of Λ is due, by the rule for arrivals.
    fn grain_due_ns(&self, grain: u128) -> Option<u64> {
        if grain >= self.total {
            return None;
        }
        let due_ns = self.pieces[self.piece_of(grain)].reached_ns(grain);
        (due_ns < self.total_ns).then_some(due_ns)
    }

    /// How many whole grains are due before `time_ns`; equally, the first that isn't. It is exactly the inverse of
    /// [`Self::grain_due_ns`]: a time is before `time_ns` when it is at most the nanosecond before.
    fn grains_due_before(&self, time_ns: u64) -> u128 {
        let Some(last_ns) = time_ns.min(self.total_ns).checked_sub(1) else { return 0 };
        let piece = self.piece_at(last_ns);
        let grains = piece.grains_at(last_ns - piece.start_ns);
        // A grain that has just been reached is due there, unless Λ stands still.
        if piece.is_silent() { grains } else { grains + 1 }
    }

    /// The index of the piece in which `grain` is due, which is below the total: the last that starts at or before it.
    fn piece_of(&self, grain: u128) -> usize {
        self.pieces.partition_point(|piece| piece.base <= grain) - 1
    }

    /// The piece that holds `time_ns`, which is before the end.
    fn piece_at(&self, time_ns: u64) -> &Piece {
        &self.pieces[self.pieces.partition_point(|piece| piece.start_ns <= time_ns) - 1]
    }
}

#[cfg(test)]
mod tests;
