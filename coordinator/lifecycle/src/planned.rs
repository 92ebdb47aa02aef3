//! What a run plans of its measured part, and how that is counted.

use volley_plan::shape::{StripeSet, Stripes};
use volley_plan::{Load, Model, Users};

use crate::arrivals::Arrivals;
use crate::user_time::user_ms;

/// What a run plans.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Planned {
    /// So many iterations, in all or by all users together.
    Iterations(u64),
    /// Users times time: a closed run that only its time ends.
    UserTime {
        /// Users times milliseconds.
        planned_ms: u64,
        /// The run time until which they are planned: the plan's end, or when somebody stopped it.
        until_ns: u64,
    },
    /// The arrivals of the open model.
    Arrivals(Box<Arrivals>),
}

impl Planned {
    pub(crate) fn of(load: &Load, seed: u64) -> Self {
        match &load.model {
            Model::Open(open) => Self::Arrivals(Box::new(Arrivals::new(open, seed))),
            Model::Closed(closed) => match (closed.planned(), &closed.users) {
                (Some(iterations), _) => Self::Iterations(iterations),
                (None, Users::Staged(shape)) => {
                    let until_ns = shape.total_ns();
                    Self::UserTime { planned_ms: user_ms(shape, &all_users(), 0..until_ns), until_ns }
                }
                // No parsed plan: it has neither a number nor an end.
                (None, Users::Steady(_)) => Self::Iterations(0),
            },
        }
    }
}

/// All users of a load, in one hand.
pub(crate) fn all_users() -> StripeSet {
    Stripes::default().all()
}
