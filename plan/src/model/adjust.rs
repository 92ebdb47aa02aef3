//! A load that is changed while its run goes on.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, ClosedLoad, Load, Model, OpenLoad, Users};
use crate::shape::{Rate, ShapeError};

/// A level of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Arrivals of the open model.
    Rate(Rate),
    /// Users of the closed model.
    Users(u32),
}

impl fmt::Display for Level {
    /// As people and plans write it: `500/s`, `20 users`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Users(users) => f.write_str(&crate::words::counted(u64::from(*users), "user")),
        }
    }
}

/// From a moment on the load is at a level, and stays there to the end of what the plan says it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjust {
    /// From which run time on, in nanoseconds.
    pub at_ns: u64,
    /// To what.
    pub to: Level,
}

/// Why a load can't be adjusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdjustError {
    /// A rate for users, or the other way round.
    #[error("the run has {has}, so it can't be adjusted to {to}")]
    Model {
        /// What the load consists of.
        has: &'static str,
        /// To what it should be adjusted.
        to: Level,
    },
    /// Each user does its number of iterations, so another number of users would be another plan.
    #[error(
        "each of the run's users does a number of iterations; more or fewer users would change what was planned"
    )]
    PerUser,
    /// No time ends the load.
    #[error("only a number of iterations ends this run; give it a duration too, to adjust its users")]
    Endless,
    /// The load was over by then.
    #[error("the load is over by then")]
    Over,
    /// No shape can have this level.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl Load {
    /// The same load up to `adjust.at_ns`, and at the adjusted level from there to its end. Who is due when before that
    /// moment stays exactly as it was, and numbers go on without a gap. A level of zero is a pause.
    ///
    /// # Errors
    /// [`AdjustError`] says why this load can't be so adjusted.
    pub fn adjusted(&self, adjust: Adjust) -> Result<Self, AdjustError> {
        let mut load = self.clone();
        match (&mut load.model, adjust.to) {
            (Model::Open(open), Level::Rate(rate)) => open.adjust(adjust.at_ns, rate)?,
            (Model::Closed(closed), Level::Users(users)) => closed.adjust(adjust.at_ns, users)?,
            (Model::Open(_), to) => return Err(AdjustError::Model { has: "arrivals", to }),
            (Model::Closed(_), to) => return Err(AdjustError::Model { has: "users", to }),
        }
        Ok(load)
    }
}

impl OpenLoad {
    fn adjust(&mut self, at_ns: u64, rate: Rate) -> Result<(), AdjustError> {
        if at_ns >= self.shape.total_ns() {
            return Err(AdjustError::Over);
        }
        self.shape = self.shape.adjusted(at_ns, rate)?;
        // Whether there are few enough arrivals, the schedule says; none of them depends on the seed.
        self.schedule(0)?;
        Ok(())
    }
}

impl ClosedLoad {
    fn adjust(&mut self, at_ns: u64, users: u32) -> Result<(), AdjustError> {
        let shape = match (&mut self.users, self.iterations) {
            (_, Some(Amount::PerUser(_))) => return Err(AdjustError::PerUser),
            (Users::Steady(_), _) => return Err(AdjustError::Endless),
            (Users::Staged(shape), _) => shape,
        };
        if at_ns >= shape.total_ns() {
            return Err(AdjustError::Over);
        }
        *shape = shape.adjusted(at_ns, users)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
