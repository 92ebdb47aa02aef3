//! How hard the target is loaded: the closed and the open model.

mod words;

use super::Tolerance;
use crate::shape::{Arrivals, Schedule, Shape, ShapeError, UserShape};
use std::ops::Range;
use std::time::Duration;

/// How hard the target is loaded, and what of that may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// What makes iterations begin.
    pub model: Model,
    /// How long requests in flight may still take once no new ones are started; then they are cancelled.
    pub drain: Duration,
    /// How much of the planned load may be missed or unknown before the run is invalid.
    pub tolerate: Tolerance,
}

/// What makes iterations begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// Each user waits for its answer before it goes on.
    Closed(ClosedLoad),
    /// Iterations begin when they are due, whether or not the target keeps up.
    Open(OpenLoad),
}

/// The closed model. It ends by its duration or its number of iterations, whichever is reached first; it has one of
/// them at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedLoad {
    /// How many users there are by when.
    pub users: Users,
    /// How many iterations are done.
    pub iterations: Option<Amount>,
    /// The least time from the start of a user's iteration to the start of its next.
    pub pacing: Option<Duration>,
}

/// The users of the closed model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Users {
    /// As many all the time, 1 to [`MAX_USERS`](super::MAX_USERS), until the number of iterations is reached.
    Steady(u32),
    /// By the time, which ends the run.
    Staged(UserShape),
}

/// A number of iterations, 1 to [`MAX_ITERATIONS`](super::MAX_ITERATIONS) in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many by all users of all agents together.
    InAll(u64),
    /// So many by each user.
    PerUser(u64),
}

/// The open model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLoad {
    /// The rate by the time, which ends the run.
    pub shape: Shape,
    /// How arrivals follow each other.
    pub arrivals: Arrivals,
    /// Most measured iterations; the run ends once they are done.
    pub iterations: Option<u64>,
    /// Most iterations in flight over all agents, those that wait for a connection included: 1 to
    /// [`MAX_IN_FLIGHT`](super::MAX_IN_FLIGHT). An arrival beyond is missed.
    pub max_in_flight: u32,
}

impl Load {
    /// The drain time of a plan that names none.
    pub const DEFAULT_DRAIN: Duration = Duration::from_secs(10);

    /// How long the warm-up takes, in nanoseconds of run time; what is due before it has passed is measured apart.
    pub fn warmup_ns(&self) -> u64 {
        match &self.model {
            Model::Closed(ClosedLoad { users: Users::Staged(shape), .. }) => shape.warmup_ns(),
            Model::Closed(ClosedLoad { users: Users::Steady(_), .. }) => 0,
            Model::Open(open) => open.shape.warmup_ns(),
        }
    }

    /// When the load ends, its warm-up included, in nanoseconds of run time; `None` where only a number of iterations
    /// ends it.
    pub fn total_ns(&self) -> Option<u64> {
        match &self.model {
            Model::Closed(ClosedLoad { users: Users::Staged(shape), .. }) => Some(shape.total_ns()),
            Model::Closed(ClosedLoad { users: Users::Steady(_), .. }) => None,
            Model::Open(open) => Some(open.shape.total_ns()),
        }
    }

    /// How many iterations begin, those of the warm-up included, where that is known beforehand; of arrivals by chance, those
    /// that are to be expected. A closed load that a time ends has no number.
    pub fn iterations(&self) -> Option<u64> {
        match &self.model {
            Model::Closed(closed) => closed.planned(),
            Model::Open(open) => {
                let end = open.end_number(open.shape.arrivals_before(open.shape.warmup_ns()));
                Some(open.shape.arrivals_before(open.shape.total_ns()).min(end))
            }
        }
    }

    /// Whether iterations have a time at which they are due, so that it shows how late they are taken up: in the open
    /// model and with pacing. Else a user goes on as soon as it can.
    pub fn has_due_times(&self) -> bool {
        match &self.model {
            Model::Closed(closed) => closed.pacing.is_some(),
            Model::Open(_) => true,
        }
    }

    /// How long the measured part is planned to last, in nanoseconds.
    pub fn measured_ns(&self) -> Option<u64> {
        self.total_ns().map(|total_ns| total_ns - self.warmup_ns())
    }
}

impl Users {
    /// The most users that there are at any time.
    pub fn most(&self) -> u32 {
        match self {
            Self::Steady(users) => *users,
            Self::Staged(shape) => shape.users_max(),
        }
    }
}

impl ClosedLoad {
    /// Iterations that are planned, where a number is.
    pub fn planned(&self) -> Option<u64> {
        match self.iterations? {
            Amount::InAll(iterations) => Some(iterations),
            Amount::PerUser(iterations) => Some(iterations.saturating_mul(self.users.most().into())),
        }
    }
}

impl OpenLoad {
    /// Who is due when.
    ///
    /// # Errors
    /// None in a plan that was parsed, which has tried it.
    pub fn schedule(&self, seed: u64) -> Result<Schedule, ShapeError> {
        Schedule::new(self.shape.clone(), self.arrivals, seed)
    }

    /// The numbers of the arrivals that are due before `until_ns` and measured, in this order: the first measured one,
    /// and the one after the last, which the plan's number of iterations bounds.
    pub fn measured(&self, schedule: &Schedule, until_ns: u64) -> Range<u64> {
        let mut counter = schedule.counter();
        let warmup_ns = self.shape.warmup_ns();
        let first = counter.arrivals_before(warmup_ns);
        let end = counter.arrivals_before(until_ns.max(warmup_ns));
        first..end.min(self.end_number(first))
    }

    /// Whether the plan's number of iterations ends the run, and not its time: all of them are among the `measured` ones.
    #[must_use]
    pub fn ends_by_count(&self, measured: &Range<u64>) -> bool {
        self.iterations == Some(measured.end - measured.start)
    }

    /// The number that no arrival reaches, where `first` is the first measured one.
    pub fn end_number(&self, first: u64) -> u64 {
        self.iterations.map_or(u64::MAX, |iterations| first.saturating_add(iterations))
    }
}
