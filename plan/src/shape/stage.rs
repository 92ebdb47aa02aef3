//! Stages: what a plan says of its load over time, and what makes a list of them valid.

use super::Rate;
use std::time::Duration;

/// Most stages of a load, each step of stairs counted, the warm-up not.
pub const MAX_STAGES: usize = 1_000;

/// Most pieces of a load that was adjusted while it went on.
pub(super) const MAX_PIECES: usize = 2 * MAX_STAGES;

/// The longest load, its warm-up included: 30 days.
pub const MAX_LOAD_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A stretch of time in which a value ([`Rate`] or users) stays the same, or goes evenly from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage<V> {
    /// The value at its start.
    pub from: V,
    /// The value that it reaches at its end.
    pub to: V,
    /// How long it takes. None at all is a jump, which leaves no trace beside the stages before and after it.
    pub duration: Duration,
}

impl<V: Copy> Stage<V> {
    /// The same value all the time.
    pub fn hold(value: V, duration: Duration) -> Self {
        Self { from: value, to: value, duration }
    }

    /// An even way from one value to another.
    pub fn ramp(from: V, to: V, duration: Duration) -> Self {
        Self { from, to, duration }
    }
}

/// Stairs: a rate that goes up or down by the same amount, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stairs {
    /// The first step's rate.
    pub from: Rate,
    /// The last step's rate; below `from` the stairs go down. The last step is shorter where `by` doesn't fit.
    pub to: Rate,
    /// The difference between a step and the next.
    pub by: Rate,
    /// How long each step takes.
    pub every: Duration,
}

impl Stairs {
    /// The steps as stages, first and last rate included.
    ///
    /// # Errors
    /// [`ShapeError`] where the steps don't lead anywhere, or there are more than [`MAX_STAGES`].
    pub fn stages(&self) -> Result<Vec<Stage<Rate>>, ShapeError> {
        let (from, to, by) = (self.from.micro_per_hour, self.to.micro_per_hour, self.by.micro_per_hour);
        if by == 0 {
            return Err(ShapeError::FlatStairs);
        }
        let last = from.abs_diff(to).div_ceil(by);
        if last >= MAX_STAGES as u64 {
            return Err(ShapeError::TooManyStages);
        }
        let rate = |step: u64| match from < to {
            true => to.min(from + step * by),
            false => to.max(from.saturating_sub(step * by)),
        };
        let stage = |step| Stage::hold(Rate { micro_per_hour: rate(step) }, self.every);
        Ok((0..=last).map(stage).collect())
    }
}

/// Why stages don't make a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// There are more stages than [`MAX_STAGES`].
    #[error("more than {MAX_STAGES} stages")]
    TooManyStages,
    /// There is no stage, or none that takes time.
    #[error("no stage that takes time")]
    NoTime,
    /// All stages together take longer than [`MAX_LOAD_TIME`].
    #[error("stages of more than 30 days in all")]
    TooLong,
    /// The rate, or the number of users, is zero in all stages.
    #[error("no load in any stage")]
    NoLoad,
    /// The warm-up goes at what the first stage starts with, which is zero.
    #[error("a warm-up without load, since the first stage starts at zero")]
    EmptyWarmup,
    /// The steps of stairs don't differ.
    #[error("stairs whose steps don't differ")]
    FlatStairs,
    /// A stage has more users than [`MAX_USERS`](crate::MAX_USERS).
    #[error("more than {} users", crate::MAX_USERS)]
    TooManyUsers,
    /// There are more Poisson arrivals than [`MAX_POISSON_ARRIVALS`](super::MAX_POISSON_ARRIVALS).
    #[error("more than {} Poisson arrivals", super::MAX_POISSON_ARRIVALS)]
    TooManyPoisson,
    /// The load was adjusted so often that its stages would be too many.
    #[error("a load that was adjusted too often")]
    TooOftenAdjusted,
}

/// A stage with its place in run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed<V> {
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) from: V,
    pub(super) to: V,
}

/// Puts stages one after another behind a warm-up, which goes at what the first of them starts with. Jumps are gone:
/// each stage names what it starts with.
pub(super) fn place<V: Copy + Default + PartialEq>(
    warmup: Duration,
    stages: &[Stage<V>],
) -> Result<Vec<Placed<V>>, ShapeError> {
    if stages.len() > MAX_STAGES {
        return Err(ShapeError::TooManyStages);
    }
    let first = stages.iter().find(|stage| !stage.duration.is_zero()).ok_or(ShapeError::NoTime)?;
    if !warmup.is_zero() && first.from == V::default() {
        return Err(ShapeError::EmptyWarmup);
    }
    let mut start_ns = 0;
    let mut placed = Vec::with_capacity(stages.len() + 1);
    for stage in std::iter::once(&Stage::hold(first.from, warmup)).chain(stages) {
        let duration_ns = u64::try_from(stage.duration.as_nanos()).map_err(|_| ShapeError::TooLong)?;
        if duration_ns > 0 {
            placed.push(Placed { start_ns, duration_ns, from: stage.from, to: stage.to });
        }
        start_ns = start_ns.checked_add(duration_ns).ok_or(ShapeError::TooLong)?;
    }
    if u128::from(start_ns) > MAX_LOAD_TIME.as_nanos() {
        return Err(ShapeError::TooLong);
    }
    let is_empty = placed.iter().all(|stage| stage.from == V::default() && stage.to == V::default());
    if is_empty { Err(ShapeError::NoLoad) } else { Ok(placed) }
}

/// The level of a load that is adjusted at `at_ns`, from there to its end at `total_ns`. Where the warm-up isn't over by
/// then it gets a stage of its own, so that a stage is always in one part only.
pub(super) fn place_level<V: Copy>(
    level: V,
    at_ns: u64,
    warmup_ns: u64,
    total_ns: u64,
) -> impl Iterator<Item = Placed<V>> {
    let measured_ns = at_ns.max(warmup_ns);
    let stage = move |start_ns: u64, end_ns: u64| Placed {
        start_ns,
        duration_ns: end_ns.saturating_sub(start_ns),
        from: level,
        to: level,
    };
    let stages = [stage(at_ns, measured_ns), stage(measured_ns, total_ns)];
    stages.into_iter().filter(|stage| stage.duration_ns > 0)
}
