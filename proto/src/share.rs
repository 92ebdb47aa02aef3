//! The part of a plan that is one agent's.

use volley_plan::MAX_IN_FLIGHT;
use volley_plan::link::{Bounds, Share};
use volley_plan::shape::{MAX_STRIPES, StripeSet, Stripes};

use crate::fields::within_u32;
use crate::{WireError, v1};

impl From<Share> for v1::Share {
    fn from(share: Share) -> Self {
        let Share { stripes, bounds } = share;
        Self {
            stripes: stripes.stripes().count(),
            held: stripes.held().to_vec(),
            bounds: bounds.map(Into::into),
        }
    }
}

impl TryFrom<v1::Share> for Share {
    type Error = WireError;

    fn try_from(wire: v1::Share) -> Result<Self, WireError> {
        Ok(Self {
            stripes: stripes(wire.stripes, wire.held)?,
            bounds: wire.bounds.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<Bounds> for v1::Bounds {
    fn from(bounds: Bounds) -> Self {
        let Bounds { max_in_flight, connections } = bounds;
        Self { max_in_flight, connections }
    }
}

impl TryFrom<v1::Bounds> for Bounds {
    type Error = WireError;

    fn try_from(wire: v1::Bounds) -> Result<Self, WireError> {
        let count = |count, field| within_u32(count, 1, MAX_IN_FLIGHT, field);
        Ok(Self {
            max_in_flight: count(wire.max_in_flight, "Bounds.max_in_flight")?,
            connections: wire.connections.map(|most| count(most, "Bounds.connections")).transpose()?,
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
    let stripes = Stripes::new(count).map_err(|_| out_of(count, 1, MAX_STRIPES, "Share.stripes"))?;
    if !held.is_sorted_by(|one, next| one < next) {
        return Err(WireError::Repeated { field: "Share.held" });
    }
    let last = held.last().copied().unwrap_or(0);
    StripeSet::new(stripes, held).map_err(|_| out_of(last, 0, count - 1, "Share.held"))
}
