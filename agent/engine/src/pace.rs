//! When iterations begin, and of whom: the two models as values that the one loop of a slot meets.
//!
//! In the closed model each slot *is* a user, who waits for leave, for its time and for its pace. In the open model slots
//! are alike; the keeper takes arrivals up when they are due and hands them to whoever is free.
//!
//! What a worker has to do changes with time. It hears of it in [`Leg`]s, the first of which comes with the start.

mod arrivals;
mod closed_plan;
mod open_plan;
mod slots;
mod take_over;
mod timetable;
mod users;

use std::sync::Arc;

use volley_plan::link::Bounds;
use volley_plan::shape::StripeSet;
use volley_plan::{Model, Plan};

pub(crate) use arrivals::Arrivals;
pub(crate) use closed_plan::{ClosedPlan, Numbering};
pub(crate) use open_plan::OpenPlan;
pub(crate) use take_over::TakeOver;
pub(crate) use users::{User, Users};

/// What a worker has to do of the load from a run time on, until the next leg.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    /// It is of what is due from this run time on.
    pub(crate) from_ns: u64,
    /// The worker's own stripes; none where it has nothing to do.
    pub(crate) stripes: StripeSet,
    pub(crate) work: Work,
}

/// What the stripes are of.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Users, and how those begin that are new to the engine.
    Closed(Arc<ClosedPlan>, Arc<TakeOver>),
    /// Arrivals, and what bounds the worker's; nothing where it has no stripes.
    Open(OpenPlan, Option<Bounds>),
}

/// The pace of one worker.
#[derive(Debug)]
pub(crate) enum Pace {
    Closed(Users),
    Open(Arrivals),
}

impl Pace {
    /// The pace of a worker that knows of no leg yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        match &plan.load.model {
            Model::Closed(load) => Self::Closed(Users::new(load, Numbering::of(plan))),
            Model::Open(_) => Self::Open(Arrivals::default()),
        }
    }

    /// When the next leg begins that is known of, in run time.
    #[inline]
    pub(crate) fn change_at_ns(&self) -> u64 {
        match self {
            Self::Closed(users) => users.change_at_ns(),
            Self::Open(arrivals) => arrivals.change_at_ns(),
        }
    }
}
