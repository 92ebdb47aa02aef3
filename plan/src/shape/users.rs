//! The shape of the closed model's load: how many users there are by when, and when each begins and ends.

use super::StripeSet;
use super::stage::{self, Placed, ShapeError, Stage};
use crate::model::MAX_USERS;
use std::ops::Range;
use std::time::Duration;

/// Users over time. Times are run time in nanoseconds; the warm-up begins at 0.
///
/// Let u(t) be the plan's even ramp. **User k, counted from 0, is there while u(t) ≥ k + ½**: there are as many users as
/// the whole number nearest to u(t), so ramps up and down are mirror images and users times time is what the plan
/// says. Going to 100 users in 10 s there are 50 at 5 s, and the first begins after 50 ms.
///
/// Which agent has user k is a matter of [stripes](super::Stripes), as for arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserShape {
    /// All stages that take time, the warm-up first where there is one. Never empty.
    pieces: Vec<Piece>,
    warmup_ns: u64,
    total_ns: u64,
}

impl UserShape {
    /// A shape of `stages`, after a warm-up with the users that the first one starts with.
    ///
    /// # Errors
    /// [`ShapeError`] says what the stages lack.
    pub fn new(warmup: Duration, stages: &[Stage<u32>]) -> Result<Self, ShapeError> {
        if stages.iter().any(|stage| stage.from.max(stage.to) > MAX_USERS) {
            return Err(ShapeError::TooManyUsers);
        }
        let pieces: Vec<_> = stage::place(warmup, stages)?.into_iter().map(Piece::whole).collect();
        let total_ns = pieces.last().map_or(0, Piece::end_ns);
        // A warm-up that takes time is the first piece, so its length is 64 bits wide.
        let warmup_ns = warmup.as_nanos() as u64;
        Ok(Self { pieces, warmup_ns, total_ns })
    }

    /// The same shape up to `at_ns`, and `users` from there to the same end; itself where it is over by then. A user that
    /// is there before and after goes on: its span is one.
    ///
    /// # Errors
    /// [`ShapeError::TooManyUsers`] above [`MAX_USERS`], and [`ShapeError::TooOftenAdjusted`] where it makes too many
    /// pieces.
    pub fn adjusted(&self, at_ns: u64, users: u32) -> Result<Self, ShapeError> {
        if users > MAX_USERS {
            return Err(ShapeError::TooManyUsers);
        }
        let mut pieces: Vec<_> =
            self.pieces.iter().take_while(|piece| piece.ramp.start_ns < at_ns).copied().collect();
        if let Some(last) = pieces.last_mut() {
            last.duration_ns = last.duration_ns.min(at_ns - last.ramp.start_ns);
        }
        pieces.extend(stage::place_level(users, at_ns, self.warmup_ns, self.total_ns).map(Piece::whole));
        if pieces.len() > stage::MAX_PIECES {
            return Err(ShapeError::TooOftenAdjusted);
        }
        Ok(Self { pieces, ..*self })
    }

    /// How long the warm-up takes. What is begun before it has passed is measured apart.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns
    }

    /// When the load ends, its warm-up included.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// The stages after the warm-up, without those that take no time. They make the same shape again, unless it was
    /// adjusted: then a ramp may have been cut short, and the warm-up need not be what the first stage starts with.
    pub fn stages(&self) -> impl Iterator<Item = Stage<u32>> + '_ {
        self.pieces.iter().filter(|piece| piece.ramp.start_ns >= self.warmup_ns).map(|piece| Stage {
            from: piece.ramp.from,
            to: piece.users_at(piece.end_ns()),
            duration: Duration::from_nanos(piece.duration_ns),
        })
    }

    /// The most users that there are at any time.
    pub fn users_max(&self) -> u32 {
        let most = |piece: &Piece| piece.ramp.from.max(piece.users_at(piece.end_ns()));
        self.pieces.iter().map(most).max().unwrap_or_default()
    }

    /// How many users there are at `time_ns`; none once the load has ended.
    pub fn users_at(&self, time_ns: u64) -> u32 {
        if time_ns >= self.total_ns {
            return 0;
        }
        let piece = self.pieces.partition_point(|piece| piece.ramp.start_ns <= time_ns) - 1;
        self.pieces[piece].users_at(time_ns)
    }

    /// The first span of time with user `user` in it that ends after `from_ns`, from the user's beginning to the first
    /// nanosecond without it; `None` where there is no more. A user has several when the load falls and rises again:
    /// ask on from the end of each.
    pub fn span(&self, user: u32, from_ns: u64) -> Option<Range<u64>> {
        let spans = self.pieces.iter().map(|piece| piece.span_of(user)).filter(|span| !span.is_empty());
        let mut found: Option<Range<u64>> = None;
        for span in spans {
            match &mut found {
                Some(earlier) if earlier.end == span.start => earlier.end = span.end,
                Some(earlier) if earlier.end > from_ns => break,
                _ => found = Some(span),
            }
        }
        found.filter(|span| span.end > from_ns)
    }

    /// How long the users of `stripes` are there within `times_ns`, summed up, in nanoseconds.
    pub fn user_time_ns(&self, stripes: &StripeSet, times_ns: &Range<u64>) -> u128 {
        let within_ns = |span: &Range<u64>| {
            let end_ns = span.end.min(times_ns.end);
            u128::from(end_ns.saturating_sub(span.start.max(times_ns.start)))
        };
        let overlaps = |piece: &&Piece| piece.ramp.start_ns < times_ns.end && piece.end_ns() > times_ns.start;
        let time_in = |piece: &Piece| -> u128 {
            // While one user is there, so are all with lower numbers.
            let spans = stripes.numbers_below(MAX_USERS).map(|user| piece.span_of(user));
            spans.take_while(|span| !span.is_empty()).map(|span| within_ns(&span)).sum()
        };
        self.pieces.iter().filter(overlaps).map(time_in).sum()
    }
}

/// A stage that takes time, or the first part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    /// The whole stage.
    ramp: Placed<u32>,
    /// How long it lasts: less than all of the ramp where that was cut short.
    duration_ns: u64,
}

impl Piece {
    fn whole(ramp: Placed<u32>) -> Self {
        Self { ramp, duration_ns: ramp.duration_ns }
    }

    fn end_ns(&self) -> u64 {
        self.ramp.start_ns + self.duration_ns
    }

    /// The users at `time_ns`, which is in the piece or its end: u(t) + ½, rounded down.
    fn users_at(&self, time_ns: u64) -> u32 {
        let Placed { start_ns, duration_ns, from, to } = self.ramp;
        let duration_ns = i128::from(duration_ns);
        let change = (i128::from(to) - i128::from(from)) * i128::from(time_ns - start_ns);
        let doubled = (2 * i128::from(from) + 1) * duration_ns + 2 * change;
        // Between the ramp's first and last number, which are 32 bits wide.
        doubled.div_euclid(2 * duration_ns) as u32
    }

    /// The time within the piece with user `user` in it; empty where there is none. It is where 2u(t) ≥ 2k + 1.
    fn span_of(&self, user: u32) -> Range<u64> {
        let threshold = 2 * u128::from(user) + 1;
        let (from, to) = (2 * u128::from(self.ramp.from), 2 * u128::from(self.ramp.to));
        let ramp_ns = u128::from(self.ramp.duration_ns);
        let span = match (from >= threshold, to >= threshold) {
            (true, true) => 0..ramp_ns,
            (false, false) => 0..0,
            (false, true) => ((threshold - from) * ramp_ns).div_ceil(to - from)..ramp_ns,
            (true, false) => 0..(from - threshold) * ramp_ns / (from - to) + 1,
        };
        // Both lie within the ramp's length, which is 64 bits wide.
        let (start_ns, end_ns) = (span.start as u64, (span.end as u64).min(self.duration_ns));
        self.ramp.start_ns + start_ns.min(end_ns)..self.ramp.start_ns + end_ns
    }
}

#[cfg(test)]
mod tests;
