//! The part of a plan that is one agent's.

use volley_plan::link::{ArrivalShare, Share, UserShare};
use volley_plan::shape::{MAX_STRIPES, StripeSet, Stripes};
use volley_plan::{MAX_IN_FLIGHT, MAX_USERS};

use crate::fields::{required, within, within_u32};
use crate::v1::share;
use crate::{WireError, v1};

impl From<Share> for v1::Share {
    fn from(share: Share) -> Self {
        let share = match share {
            Share::Users(users) => share::Share::Users(users.into()),
            Share::Arrivals(arrivals) => share::Share::Arrivals(arrivals.into()),
        };
        Self { share: Some(share) }
    }
}

impl TryFrom<v1::Share> for Share {
    type Error = WireError;

    fn try_from(wire: v1::Share) -> Result<Self, WireError> {
        Ok(match required(wire.share, "Share.share")? {
            share::Share::Users(users) => Self::Users(users.try_into()?),
            share::Share::Arrivals(arrivals) => Self::Arrivals(arrivals.try_into()?),
        })
    }
}

impl From<UserShare> for v1::UserShare {
    fn from(share: UserShare) -> Self {
        let UserShare { users, first_user, every } = share;
        Self { users, first_user, every }
    }
}

impl TryFrom<v1::UserShare> for UserShare {
    type Error = WireError;

    fn try_from(wire: v1::UserShare) -> Result<Self, WireError> {
        let users = within_u32(wire.users, 0, MAX_USERS, "UserShare.users")?;
        let every = within_u32(wire.every, 1, u32::MAX, "UserShare.every")?;
        let last = u64::from(wire.first_user) + u64::from(users.saturating_sub(1)) * u64::from(every);
        within(last, 0, u32::MAX.into(), "UserShare's last user")?;
        Ok(Self { users, first_user: wire.first_user, every })
    }
}

impl From<ArrivalShare> for v1::ArrivalShare {
    fn from(share: ArrivalShare) -> Self {
        Self {
            stripes: share.stripes.stripes().count(),
            held: share.stripes.held().to_vec(),
            max_in_flight: share.max_in_flight,
            connections: share.connections,
        }
    }
}

impl TryFrom<v1::ArrivalShare> for ArrivalShare {
    type Error = WireError;

    fn try_from(wire: v1::ArrivalShare) -> Result<Self, WireError> {
        let count = |count, field| within_u32(count, 1, MAX_IN_FLIGHT, field);
        Ok(Self {
            stripes: stripes(wire.stripes, wire.held)?,
            max_in_flight: count(wire.max_in_flight, "ArrivalShare.max_in_flight")?,
            connections: wire.connections.map(|most| count(most, "ArrivalShare.connections")).transpose()?,
        })
    }
}

/// Ascending, so that none comes twice.
fn stripes(count: u32, held: Vec<u32>) -> Result<StripeSet, WireError> {
    let out_of = |value: u32, least: u32, most: u32, field| WireError::OutOfRange {
        field,
        value: value.into(),
        least: least.into(),
        most: most.into(),
    };
    let stripes = Stripes::new(count).map_err(|_| out_of(count, 1, MAX_STRIPES, "ArrivalShare.stripes"))?;
    if !held.is_sorted_by(|one, next| one < next) {
        return Err(WireError::Repeated { field: "ArrivalShare.held" });
    }
    let last = held.last().copied().unwrap_or(0);
    StripeSet::new(stripes, held).map_err(|_| out_of(last, 0, count - 1, "ArrivalShare.held"))
}
