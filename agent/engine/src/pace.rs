//! When iterations begin, and of whom: the two models as values that the one loop of a slot meets.
//!
//! In the closed model each slot *is* a user, who waits for leave, for its time and for its pace. In the open model slots
//! are alike; the keeper takes arrivals up when they are due and hands them to whoever is free.

mod arrivals;
mod users;

use thiserror::Error;
use volley_plan::link::{ArrivalShare, Share, UserShare};
use volley_plan::shape::ShapeError;
use volley_plan::{ClosedLoad, Model, Plan};

pub(crate) use arrivals::{Arrivals, OpenPlan};
pub(crate) use users::{User, Users};

/// The pace of one worker.
#[derive(Debug)]
pub(crate) enum Pace {
    Closed(Users),
    Open(Arrivals),
}

impl Pace {
    pub(crate) fn new(work: Work) -> Self {
        match work {
            Work::Closed { load, share } => Self::Closed(Users::new(&load, share.users)),
            Work::Open { load, share } => Self::Open(Arrivals::new(&load, &share)),
        }
    }
}

/// What an engine, or a worker of it, has to do of a plan's load.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Closed { load: ClosedLoad, share: UserShare },
    Open { load: OpenPlan, share: ArrivalShare },
}

/// A share that isn't one of the plan.
#[derive(Debug, Error)]
pub(crate) enum WorkError {
    #[error("the share is of users and the plan of arrivals, or the other way round")]
    Model,
    #[error("the arrivals of the plan cannot be told")]
    Shape(#[from] ShapeError),
}

impl Work {
    /// What `share` is of the plan's load.
    ///
    /// # Errors
    /// [`WorkError`] where they don't belong together.
    pub(crate) fn new(plan: &Plan, share: &Share, seed: u64) -> Result<Self, WorkError> {
        match (&plan.load.model, share) {
            (Model::Closed(load), Share::Users(share)) => {
                Ok(Self::Closed { load: load.clone(), share: *share })
            }
            (Model::Open(load), Share::Arrivals(share)) => {
                Ok(Self::Open { load: OpenPlan::new(load, seed)?, share: share.clone() })
            }
            _ => Err(WorkError::Model),
        }
    }

    /// Deals it out like cards to `hands` workers, as shares are dealt to agents, and gives what hand `hand` gets.
    pub(crate) fn dealt(&self, hand: u32, hands: u32) -> Self {
        match self {
            Self::Closed { load, share } => {
                Self::Closed { load: load.clone(), share: share.dealt(hand, hands) }
            }
            Self::Open { load, share } => Self::Open { load: load.clone(), share: share.dealt(hand, hands) },
        }
    }

    /// How many workers it can keep busy. At least one.
    pub(crate) fn workers_max(&self) -> u32 {
        let most = match self {
            Self::Closed { share, .. } => share.users,
            Self::Open { share, .. } => share.hands_max(),
        };
        most.max(1)
    }

    /// The most slots that it takes, each with a connection.
    pub(crate) fn slots_max(&self) -> u32 {
        match self {
            Self::Closed { share, .. } => share.users,
            Self::Open { share, .. } => share.most_connections(),
        }
    }

    /// Whether a number of iterations ends the run, and not its time.
    pub(crate) fn ends_by_count(&self) -> bool {
        match self {
            Self::Closed { load, .. } => load.iterations.is_some(),
            Self::Open { load, .. } => load.ends_by_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::shape::Stripes;

    fn open(max_in_flight: u32, connections: Option<u32>) -> Work {
        let plan = volley_plan::parse("target: http://h/\nrate: 10/s\nduration: 1s").unwrap();
        let share = ArrivalShare { stripes: Stripes::default().all(), max_in_flight, connections };
        Work::new(&plan, &Share::Arrivals(share), 1).unwrap()
    }

    fn closed(users: u32) -> Work {
        let plan = volley_plan::parse("target: http://h/\nusers: 10\nduration: 1s").unwrap();
        Work::new(&plan, &Share::Users(UserShare { users, first_user: 7, every: 2 }), 1).unwrap()
    }

    /// What three workers get: users or stripes, iterations in flight, connections.
    fn check(work: &Work, expected: [(usize, u32, Option<u32>); 3]) {
        let hands = [0, 1, 2].map(|hand| match work.dealt(hand, 3) {
            Work::Open { share, .. } => (share.stripes.held().len(), share.max_in_flight, share.connections),
            Work::Closed { share, .. } => (share.users as usize, 0, None),
        });
        assert_eq!(hands, expected);
    }

    #[test]
    fn work_is_dealt_exactly() {
        check(&open(11, Some(4)), [(840, 4, Some(2)), (840, 4, Some(1)), (840, 3, Some(1))]);
        check(&open(3, None), [(840, 1, None); 3]);
        check(&closed(5), [(2, 0, None), (2, 0, None), (1, 0, None)]);
    }

    #[test]
    fn every_worker_has_something_to_do() {
        let works = [closed(3), closed(0), open(9, Some(4)), open(9, None), open(10_000, None)];
        assert_eq!(works.map(|work| work.workers_max()), [3, 1, 4, 9, 2520]);
    }

    #[test]
    fn a_share_of_the_other_model_is_none() {
        let plan = volley_plan::parse("target: http://h/\nrate: 10/s\nduration: 1s").unwrap();
        let users = Share::Users(UserShare { users: 1, first_user: 0, every: 1 });
        assert!(matches!(Work::new(&plan, &users, 1), Err(WorkError::Model)));
    }
}
