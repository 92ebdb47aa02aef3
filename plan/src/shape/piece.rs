//! One stage of the cumulative rate, and its inverse, exactly.
//!
//! The expected arrivals are counted in *grains*. A [`Rate`] of one millionth of an arrival an hour makes two grains a
//! nanosecond, so that the ramp from rate a to rate b over T nanoseconds makes the whole number (a + b)·T of them; every
//! stage begins and ends at a whole grain. The bounds on rates and times keep all counts of grains below 2¹⁰⁸.
//!
//! A ramp that is cut short ends at the grains that it has reached by then, rounded up. So every grain that was due
//! before the cut still is, at the same time; what comes behind is early by less than a grain.

use super::Rate;
use super::stage::Placed;
use super::wide::Wide;
use std::ops::Range;

/// Grains of one arrival: twice the nanoseconds of an hour, times a million.
pub(super) const ARRIVAL: u128 = 7_200_000_000_000_000_000;

/// A stage that takes time, with its place in run time and in the count of arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start_ns: u64,
    /// How long it lasts.
    pub(super) duration_ns: u64,
    /// How long its ramp was meant to take: longer than it lasts where it was cut short.
    ramp_ns: u64,
    /// Millionths of an arrival an hour at the start.
    from: u64,
    /// Millionths of an arrival an hour at the end of the whole ramp.
    to: u64,
    /// The grains of all pieces before it.
    pub(super) base: u128,
}

impl Piece {
    pub(super) fn new(stage: &Placed<Rate>, base: u128) -> Self {
        let (from, to) = (stage.from.micro_per_hour, stage.to.micro_per_hour);
        let Placed { start_ns, duration_ns, .. } = *stage;
        Self { start_ns, duration_ns, ramp_ns: duration_ns, from, to, base }
    }

    /// Its part before `at_ns` of the run, which lies in it, behind its start.
    pub(super) fn cut(&self, at_ns: u64) -> Self {
        Self { duration_ns: at_ns - self.start_ns, ..self.clone() }
    }

    /// When it ends, in run time.
    pub(super) fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns
    }

    /// The grains of this piece and of all before it. Of a whole ramp, whose end is exact, they are (a + b)·T.
    pub(super) fn end(&self) -> u128 {
        let straight = 2 * u128::from(self.from) * u128::from(self.duration_ns);
        let (bend, is_exact) = self.bend(u128::from(self.duration_ns));
        let grains =
            if self.from <= self.to { straight + bend + u128::from(!is_exact) } else { straight - bend };
        self.base + grains
    }

    /// The arrivals that Λ goes beyond in this piece.
    pub(super) fn arrivals(&self) -> Range<u64> {
        arrivals_below(self.base)..arrivals_below(self.end())
    }

    /// Whether nothing is due in it.
    pub(super) fn is_silent(&self) -> bool {
        self.from == 0 && self.to == 0
    }

    pub(super) fn start_rate(&self) -> Rate {
        Rate { micro_per_hour: self.from }
    }

    /// The rate that it has reached at its end.
    pub(super) fn end_rate(&self) -> Rate {
        self.rate_at(self.duration_ns)
    }

    /// Grains a nanosecond where the rate stays the same; `None` on a ramp.
    pub(super) fn steady_grains_per_ns(&self) -> Option<u64> {
        (self.from == self.to).then_some(2 * self.from)
    }

    /// The rate at `time_ns` of the piece, rounded towards its first one.
    pub(super) fn rate_at(&self, time_ns: u64) -> Rate {
        let change = u128::from(self.from.abs_diff(self.to)) * u128::from(time_ns) / u128::from(self.ramp_ns);
        // Not more than the difference of the two rates, which are 64 bits wide.
        let change = change as u64;
        Rate { micro_per_hour: if self.from < self.to { self.from + change } else { self.from - change } }
    }

    /// The whole grains by `time_ns` of the piece: 2at + (b − a)t²/T, rounded down.
    pub(super) fn grains_at(&self, time_ns: u64) -> u128 {
        let straight = 2 * u128::from(self.from) * u128::from(time_ns);
        let (bend, is_exact) = self.bend(u128::from(time_ns));
        let grains =
            if self.from <= self.to { straight + bend } else { straight - bend - u128::from(!is_exact) };
        self.base + grains
    }

    /// |b − a|·t²/T rounded down, and whether that is exact. Dividing in between keeps it in 128 bits: with
    /// |b − a|·t = qT + r it is qt + rt/T.
    fn bend(&self, time_ns: u128) -> (u128, bool) {
        let ramp_ns = u128::from(self.ramp_ns);
        let product = u128::from(self.from.abs_diff(self.to)) * time_ns;
        let rest = product % ramp_ns * time_ns;
        (product / ramp_ns * time_ns + rest / ramp_ns, rest.is_multiple_of(ramp_ns))
    }

    /// The first whole nanosecond of the run by which `grain`, which is one of this piece's, has been reached.
    ///
    /// On a ramp it is the smallest t with 2aTt + (b − a)t² ≥ mT. With c = |b − a| that is
    /// ct + aT ≥ √(a²T² + cTm) on the way up, and aT − ct ≤ √(a²T² − cTm) on the way down. The left sides are whole
    /// numbers, so the roots may be rounded up and down to whole ones and the result is still exact.
    pub(super) fn reached_ns(&self, grain: u128) -> u64 {
        let grain = grain - self.base;
        let ramp_ns = u128::from(self.ramp_ns);
        let change = u128::from(self.from.abs_diff(self.to));
        let straight = u128::from(self.from) * ramp_ns;
        let time_ns = if change == 0 {
            grain.div_ceil(2 * u128::from(self.from))
        } else if self.from < self.to {
            let square = Wide::product(straight, straight).plus(Wide::product(change * ramp_ns, grain));
            (square.root_up() - straight).div_ceil(change)
        } else {
            let square = Wide::product(straight, straight).minus(Wide::product(change * ramp_ns, grain));
            (straight - square.root()).div_ceil(change)
        };
        // Not more than the duration, which is 64 bits wide.
        self.start_ns + time_ns as u64
    }
}

/// How many arrivals have their whole number of [`ARRIVAL`]s below `grains`, counting from arrival 0 at grain 0.
pub(super) fn arrivals_below(grains: u128) -> u64 {
    // The bounds on rates and times allow fewer than 2⁴⁵.
    grains.div_ceil(ARRIVAL) as u64
}
