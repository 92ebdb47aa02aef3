//! How a load is changed while its run goes on.

use volley_plan::shape::{MAX_RATE, Rate};
use volley_plan::{Adjust, Level, MAX_USERS};

use crate::fields::{delimit, required, undelimit, within_u32};
use crate::limits::MAX_ADJUSTED;
use crate::v1::level;
use crate::{WireError, v1};

impl From<Level> for v1::Level {
    fn from(level: Level) -> Self {
        let level = match level {
            Level::Rate(rate) => level::Level::RateMicroPerHour(rate.micro_per_hour()),
            Level::Users(users) => level::Level::Users(users),
        };
        Self { level: Some(level) }
    }
}

impl TryFrom<v1::Level> for Level {
    type Error = WireError;

    fn try_from(wire: v1::Level) -> Result<Self, WireError> {
        Ok(match required(wire.level, "Level.level")? {
            level::Level::RateMicroPerHour(value) => Self::Rate(rate(value)?),
            level::Level::Users(users) => Self::Users(within_u32(users, 0, MAX_USERS, "Level.users")?),
        })
    }
}

fn rate(value: u64) -> Result<Rate, WireError> {
    let most = MAX_RATE.micro_per_hour();
    let field = "Level.rate_micro_per_hour";
    Rate::from_micro_per_hour(value.into()).map_err(|_| WireError::OutOfRange {
        field,
        value,
        least: 0,
        most,
    })
}

impl From<Adjust> for v1::Adjust {
    fn from(adjust: Adjust) -> Self {
        let Adjust { at_ns, to } = adjust;
        Self { at_ns, to: Some(to.into()) }
    }
}

impl TryFrom<v1::Adjust> for Adjust {
    type Error = WireError;

    fn try_from(wire: v1::Adjust) -> Result<Self, WireError> {
        Ok(Self { at_ns: wire.at_ns, to: required(wire.to, "Adjust.to")?.try_into()? })
    }
}

pub(crate) fn adjusts_to_wire(adjusted: Vec<Adjust>) -> Vec<u8> {
    delimit(adjusted.into_iter().map(v1::Adjust::from))
}

/// By rising time, since each is of what the ones before it made of the load.
pub(crate) fn adjusts_from_wire(bytes: &[u8]) -> Result<Vec<Adjust>, WireError> {
    let field = "Prepare.adjusted";
    let mut adjusted: Vec<Adjust> = Vec::new();
    for wire in undelimit::<v1::Adjust>(bytes, MAX_ADJUSTED, field) {
        let adjust = Adjust::try_from(wire?)?;
        if adjusted.last().is_some_and(|before| before.at_ns > adjust.at_ns) {
            return Err(WireError::Repeated { field });
        }
        adjusted.push(adjust);
    }
    Ok(adjusted)
}
