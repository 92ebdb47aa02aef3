//! Shares as they were stored: in today's form, and in those of earlier versions.

use serde::Deserialize;

use super::{Bounds, Share};
use crate::shape::{StripeSet, Stripes, StripesError};

/// What stands in a stored share, whichever version wrote it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    /// Today's form, and the one that stripes had before: with the bounds beside them.
    Stripes {
        stripes: StripeSet,
        bounds: Option<Bounds>,
        max_in_flight: Option<u32>,
        connections: Option<u32>,
    },
    /// Users by their numbers: so many, from the first on, each so far from the one before.
    Users {
        users: u32,
        first_user: u32,
        #[serde(default = "one")]
        every: u32,
    },
}

fn one() -> u32 {
    1
}

impl TryFrom<Written> for Share {
    type Error = StripesError;

    fn try_from(written: Written) -> Result<Self, StripesError> {
        match written {
            Written::Stripes { stripes, bounds, max_in_flight, connections } => {
                let beside = max_in_flight.map(|max_in_flight| Bounds { max_in_flight, connections });
                Ok(Self { stripes, bounds: bounds.or(beside) })
            }
            Written::Users { users, first_user, every } => {
                Ok(Self { stripes: stripes_of(users, first_user, every)?, bounds: None })
            }
        }
    }
}

/// The stripes in which those users are. Where they were dealt to a number of agents that doesn't divide the number of
/// stripes, and there were more users than stripes, other users are in these as well; nobody goes on with such a share.
fn stripes_of(users: u32, first_user: u32, every: u32) -> Result<StripeSet, StripesError> {
    let stripes = Stripes::default();
    let number = |index: u32| u64::from(first_user) + u64::from(index) * u64::from(every);
    // Numbers repeat their stripes after as many as there are stripes.
    let held = (0..users.min(stripes.count())).map(|index| stripes.of(number(index))).collect();
    StripeSet::new(stripes, held)
}
