//! The part of a plan that is one agent's.

use serde::{Deserialize, Serialize};

use crate::model::{Model, Plan};
use crate::shape::{StripeSet, Stripes};

/// The part of a plan that is one agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Share {
    /// Of the closed model.
    Users(UserShare),
    /// Of the open model.
    Arrivals(ArrivalShare),
}

/// Some of the closed model's users, which are numbered from 0 over the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserShare {
    /// How many.
    pub users: u32,
    /// The number of the first.
    pub first_user: u32,
    /// From each number to the next: users are dealt like cards, so that a ramp rises alike on all agents.
    #[serde(default = "one")]
    pub every: u32,
}

fn one() -> u32 {
    1
}

impl UserShare {
    /// The numbers of the users.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.users).map(move |index| self.first_user + index * self.every)
    }

    /// Deals these users out like cards to `hands`, and gives what hand `hand` gets.
    #[must_use]
    pub fn dealt(self, hand: u32, hands: u32) -> Self {
        let hands = hands.max(1);
        Self {
            users: self.users / hands + u32::from(hand < self.users % hands),
            first_user: self.first_user.saturating_add(hand.saturating_mul(self.every)),
            every: self.every.saturating_mul(hands),
        }
    }
}

/// Some of the open model's arrivals, with the agent's part of what bounds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalShare {
    /// The stripes whose arrivals these are.
    pub stripes: StripeSet,
    /// Most iterations in flight here.
    pub max_in_flight: u32,
    /// Most connections here, where the plan bounds them; at least 1.
    pub connections: Option<u32>,
}

impl ArrivalShare {
    /// Deals these arrivals out like cards to `hands`, and what bounds them evenly and exactly; gives what hand `hand`
    /// gets.
    #[must_use]
    pub fn dealt(&self, hand: u32, hands: u32) -> Self {
        let hands = hands.max(1);
        let part = |whole: u32| whole / hands + u32::from(hand < whole % hands);
        Self {
            stripes: self.stripes.dealt(hand as usize, hands as usize),
            max_in_flight: part(self.max_in_flight),
            connections: self.connections.map(part),
        }
    }

    /// Most connections that it may have open at the same time.
    #[must_use]
    pub fn most_connections(&self) -> u32 {
        self.connections.unwrap_or(u32::MAX).min(self.max_in_flight)
    }

    /// To how many hands it can be dealt: each needs a stripe, an iteration in flight and a connection.
    #[must_use]
    pub fn hands_max(&self) -> u32 {
        u32::try_from(self.stripes.held().len()).unwrap_or(u32::MAX).min(self.most_connections())
    }
}

impl Share {
    /// All of a plan's load, in one hand.
    #[must_use]
    pub fn all(plan: &Plan) -> Self {
        match &plan.load.model {
            Model::Closed(closed) => {
                Self::Users(UserShare { users: closed.users.most(), first_user: 0, every: 1 })
            }
            Model::Open(open) => Self::Arrivals(ArrivalShare {
                stripes: Stripes::default().all(),
                max_in_flight: open.max_in_flight,
                connections: plan.http.connections,
            }),
        }
    }

    /// Deals it out like cards to `hands`, and gives what hand `hand` gets. All hands together have what is here.
    #[must_use]
    pub fn dealt(&self, hand: u32, hands: u32) -> Self {
        match self {
            Self::Users(share) => Self::Users(share.dealt(hand, hands)),
            Self::Arrivals(share) => Self::Arrivals(share.dealt(hand, hands)),
        }
    }

    /// To how many hands it can be dealt, so that each has something to do.
    #[must_use]
    pub fn hands_max(&self) -> u32 {
        match self {
            Self::Users(share) => share.users,
            Self::Arrivals(share) => share.hands_max(),
        }
    }

    /// Users of the closed model; 0 in the open one.
    #[must_use]
    pub fn users(&self) -> u32 {
        match self {
            Self::Users(share) => share.users,
            Self::Arrivals(_) => 0,
        }
    }

    /// Most connections that it may have open at the same time.
    #[must_use]
    pub fn most_connections(&self) -> u32 {
        match self {
            Self::Users(share) => share.users,
            Self::Arrivals(share) => share.most_connections(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_an_earlier_version_is_read() {
        let share: Share = serde_json::from_str(r#"{"users":3,"first_user":4}"#).expect("a share");
        assert_eq!(share, Share::Users(UserShare { users: 3, first_user: 4, every: 1 }));
    }

    #[test]
    fn users_are_dealt_like_cards() {
        let all = UserShare { users: 10, first_user: 0, every: 1 };
        let second = all.dealt(1, 3);
        assert_eq!(second.numbers().collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(all.dealt(0, 3).numbers().collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert_eq!(second.dealt(1, 2).numbers().collect::<Vec<_>>(), [4]);
        assert_eq!(all.dealt(11, 12).users, 0);
    }

    #[test]
    fn arrivals_are_dealt_exactly() {
        let text = "target: http://h/\nrate: 10/s\nduration: 1s\nmax_in_flight: 11\nconnections: 4";
        let all = Share::all(&crate::parse(text).expect("a plan"));
        assert_eq!((all.hands_max(), all.most_connections(), all.users()), (4, 4, 0));
        let hands = [0, 1, 2].map(|hand| match all.dealt(hand, 3) {
            Share::Arrivals(share) => (share.stripes.held().len(), share.max_in_flight, share.connections),
            Share::Users(_) => panic!("users of the open model"),
        });
        assert_eq!(hands, [(840, 4, Some(2)), (840, 4, Some(1)), (840, 3, Some(1))]);
    }
}
