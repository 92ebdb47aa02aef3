//! The part of a plan that is one agent's.

use serde::{Deserialize, Serialize};

use crate::shape::StripeSet;

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

impl Share {
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
            Self::Arrivals(share) => share.connections.unwrap_or(u32::MAX).min(share.max_in_flight),
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
}
