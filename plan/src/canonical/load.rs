//! The canonical form of the load: `load` with its stages.

use super::Written;
use crate::model::{Amount, ClosedLoad, Load, Model, OpenLoad, Users};
use crate::shape::{Arrivals, Rate, Stage};
use serde::{Serialize, Serializer};
use std::time::Duration;

/// Keys that only one of the models has are left out in the other.
#[derive(Serialize)]
pub(super) struct CanonicalLoad {
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<Written>,
    warmup: Written,
    stages: Vec<CanonicalStage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iterations_per_user: Option<u64>,
    tolerate: String,
    drain: Written,
}

/// A stage: what it holds, or where it starts and goes to. One of users that lasts until the iterations are done has no
/// `for`.
#[derive(Serialize)]
struct CanonicalStage {
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<WrittenRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp_to: Option<Level>,
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    duration: Option<Written>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Level {
    Rate(WrittenRate),
    Users(u32),
}

/// A rate as plans write it.
struct WrittenRate(Rate);

impl Serialize for WrittenRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl CanonicalLoad {
    pub(super) fn of(load: &Load) -> Self {
        let model = match &load.model {
            Model::Open(open) => Self::of_open(open),
            Model::Closed(closed) => Self::of_closed(closed),
        };
        Self {
            warmup: Written(Duration::from_nanos(load.warmup_ns())),
            tolerate: load.tolerate.to_string(),
            drain: Written(load.drain),
            ..model
        }
    }

    /// Nothing but stages.
    fn of_stages(stages: Vec<CanonicalStage>) -> Self {
        Self {
            arrivals: None,
            max_in_flight: None,
            pacing: None,
            warmup: Written(Duration::ZERO),
            stages,
            iterations: None,
            iterations_per_user: None,
            tolerate: String::new(),
            drain: Written(Duration::ZERO),
        }
    }

    fn of_open(open: &OpenLoad) -> Self {
        let arrivals = match open.arrivals {
            Arrivals::Uniform => "uniform",
            Arrivals::Poisson => "poisson",
        };
        Self {
            arrivals: Some(arrivals),
            max_in_flight: Some(open.max_in_flight),
            iterations: open.iterations,
            ..Self::of_stages(open.shape.stages().map(of_rates).collect())
        }
    }

    fn of_closed(closed: &ClosedLoad) -> Self {
        let stages = match &closed.users {
            Users::Staged(shape) => shape.stages().map(of_users).collect(),
            Users::Steady(users) => {
                vec![CanonicalStage { rate: None, users: Some(*users), ramp_to: None, duration: None }]
            }
        };
        let (in_all, per_user) = match closed.iterations {
            Some(Amount::InAll(iterations)) => (Some(iterations), None),
            Some(Amount::PerUser(iterations)) => (None, Some(iterations)),
            None => (None, None),
        };
        Self {
            pacing: closed.pacing.map(Written),
            iterations: in_all,
            iterations_per_user: per_user,
            ..Self::of_stages(stages)
        }
    }
}

fn of_rates(stage: Stage<Rate>) -> CanonicalStage {
    CanonicalStage {
        rate: Some(WrittenRate(stage.from)),
        users: None,
        ramp_to: (stage.from != stage.to).then_some(Level::Rate(WrittenRate(stage.to))),
        duration: Some(Written(stage.duration)),
    }
}

fn of_users(stage: Stage<u32>) -> CanonicalStage {
    CanonicalStage {
        rate: None,
        users: Some(stage.from),
        ramp_to: (stage.from != stage.to).then_some(Level::Users(stage.to)),
        duration: Some(Written(stage.duration)),
    }
}
