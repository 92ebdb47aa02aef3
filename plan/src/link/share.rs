//! The part of a plan that is one agent's, and how a load is dealt out.

mod deal;
mod stored;

use serde::{Deserialize, Serialize};

use crate::model::{ClosedLoad, Load, Model, Plan};
use crate::shape::{StripeSet, Stripes};

/// The part of a plan that is one agent's: arrival n of the open model, and user n of the closed one, belongs to stripe
/// n mod S.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "stored::Written")]
pub struct Share {
    /// The stripes that are the agent's.
    pub stripes: StripeSet,
    /// What bounds its iterations; `None` in the closed model, where users do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// An agent's part of what bounds the iterations of the open model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Most iterations in flight here, at least 1.
    pub max_in_flight: u32,
    /// Most connections here, where the plan bounds them; at least 1.
    pub connections: Option<u32>,
}

impl Bounds {
    /// Most connections that may be open at the same time.
    #[must_use]
    pub fn most_connections(self) -> u32 {
        self.connections.unwrap_or(u32::MAX).min(self.max_in_flight)
    }
}

/// Who gets a part when a load is dealt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// How much beside the others. 0 counts as 1.
    pub weight: u32,
    /// What it has already, of which it keeps as much as its part allows; nothing at first.
    pub holds: Option<StripeSet>,
}

impl Share {
    /// All of a plan's load, in one hand.
    #[must_use]
    pub fn all(plan: &Plan) -> Self {
        let bounds = match &plan.load.model {
            Model::Closed(_) => None,
            Model::Open(open) => {
                Some(Bounds { max_in_flight: open.max_in_flight, connections: plan.http.connections })
            }
        };
        Self { stripes: Stripes::default().all(), bounds }
    }

    /// Deals it out: gives one share for each of the `hands`, in their order, all of which together are this one.
    ///
    /// Stripes and bounds are in proportion to weights, each part within one of its exact proportion; and each hand has
    /// something to do where there are no more than [`Self::hands_max`]. Nobody holds anything at first; then stripes are
    /// interleaved as evenly as can be, and like cards where weights are equal. Who holds something keeps as much of it as
    /// its part allows, and what is left is interleaved among those that hold less than theirs. The same hands get the
    /// same again.
    #[must_use]
    pub fn dealt(&self, load: &Load, hands: &[Hand]) -> Vec<Self> {
        let stripes = deal::stripes(&self.stripes, load, hands);
        let bounds = deal::bounds(self.bounds, hands);
        stripes.into_iter().zip(bounds).map(|(stripes, bounds)| Self { stripes, bounds }).collect()
    }

    /// The users of the closed model that are in it, of `load`'s most.
    #[must_use]
    pub fn users(&self, load: &ClosedLoad) -> u32 {
        let users = self.stripes.count_in(0..u64::from(load.users.most()));
        // Not more than the load's, which are 32 bits wide.
        u32::try_from(users).unwrap_or(u32::MAX)
    }

    /// The numbers of those users, rising.
    pub fn user_numbers<'s>(&'s self, load: &ClosedLoad) -> impl Iterator<Item = u32> + use<'s> {
        self.stripes.numbers_below(load.users.most())
    }

    /// The most slots that it can keep busy, each with a connection.
    #[must_use]
    pub fn slots_max(&self, load: &Load) -> u32 {
        match (&load.model, self.bounds) {
            (Model::Closed(closed), _) => self.users(closed),
            (Model::Open(_), Some(bounds)) => bounds.most_connections(),
            (Model::Open(_), None) => 0,
        }
    }

    /// To how many hands it can be dealt, so that each has something to do: a user, or a stripe, an iteration in flight
    /// and a connection.
    #[must_use]
    pub fn hands_max(&self, load: &Load) -> u32 {
        let stripes = u32::try_from(self.stripes.held().len()).unwrap_or(u32::MAX);
        stripes.min(self.slots_max(load))
    }
}

#[cfg(test)]
mod tests;
