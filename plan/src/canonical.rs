//! The canonical form of a plan, what agents are sent and what the hash is taken over. It is itself a plan in the
//! same grammar: the long form of each part, with every default written out.

mod hash;
mod load;
mod scenarios;

pub use hash::{PlanHash, PlanHashError};

use crate::model::{AgentsWanted, HttpOptions, Plan};
use crate::parse::escape_template;
use crate::units::format_duration;
use load::CanonicalLoad;
use scenarios::Scenarios;
use serde::Serialize;
use std::time::Duration;

impl Plan {
    /// The plan as JSON, the same text for the same plan: keys in one order, all defaults written out, no white
    /// space. [`crate::parse`] reads the same plan from it.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(&Canonical::of(self))
            .expect("texts, whole numbers and booleans under text keys always have a JSON form")
    }
}

/// The plan file, in its one order.
#[derive(Serialize)]
struct Canonical<'p> {
    version: u32,
    name: &'p str,
    target: String,
    http: CanonicalHttp,
    load: CanonicalLoad,
    scenarios: Scenarios<'p>,
    agents: CanonicalAgents,
}

#[derive(Serialize)]
struct CanonicalHttp {
    keep_alive: bool,
    timeout: Written,
    connect_timeout: Written,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<u32>,
}

#[derive(Serialize)]
struct CanonicalAgents {
    min: u32,
    wait: Written,
}

impl<'p> Canonical<'p> {
    fn of(plan: &'p Plan) -> Self {
        Self {
            version: 1,
            name: &plan.name,
            target: escape_template(&plan.target.to_string()),
            http: CanonicalHttp::of(&plan.http),
            load: CanonicalLoad::of(&plan.load),
            scenarios: Scenarios(&plan.scenarios),
            agents: CanonicalAgents::of(&plan.agents),
        }
    }
}

impl CanonicalHttp {
    fn of(http: &HttpOptions) -> Self {
        Self {
            keep_alive: http.keep_alive,
            timeout: Written(http.timeout),
            connect_timeout: Written(http.connect_timeout),
            connections: http.connections,
        }
    }
}

impl CanonicalAgents {
    fn of(agents: &AgentsWanted) -> Self {
        Self { min: agents.min, wait: Written(agents.wait) }
    }
}

/// A duration as plans write it.
struct Written(Duration);

impl Serialize for Written {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(self.0))
    }
}
