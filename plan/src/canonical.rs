//! The canonical form of a plan, what agents are sent and what the hash is taken over. It is itself a plan in the
//! same grammar: the long form of each part, with the defaults written out that plans have had from the first.

mod hash;
mod http;
mod load;
mod scenarios;

pub use hash::{PlanHash, PlanHashError};

use crate::model::{AgentsWanted, Plan};
use crate::parse::escape_template;
use crate::threshold::Threshold;
use crate::units::format_duration;
use http::CanonicalHttp;
use load::CanonicalLoad;
use scenarios::Scenarios;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

impl Plan {
    /// The plan as JSON, the same text for the same plan: keys in one order, no white space. A key that came later is left out
    /// where it says the default, so that older plans keep their hash. [`crate::parse`] reads the same plan from it.
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
    agents: CanonicalAgents<'p>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    thresholds: Vec<CanonicalThreshold>,
}

/// A text where nothing else is said.
#[derive(Serialize)]
#[serde(untagged)]
enum CanonicalThreshold {
    Text(String),
    Mapping {
        expect: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        over: Option<Written>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Written>,
        #[serde(skip_serializing_if = "Option::is_none")]
        abort: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        min_samples: Option<u64>,
    },
}

impl CanonicalThreshold {
    fn of(threshold: &Threshold) -> Self {
        let expect = threshold.expect.to_string();
        if *threshold == Threshold::of(threshold.expect.clone()) {
            return Self::Text(expect);
        }
        let defaults = Threshold::of(threshold.expect.clone());
        Self::Mapping {
            expect,
            over: threshold.over.map(Written),
            after: (threshold.after != defaults.after).then_some(Written(threshold.after)),
            abort: (threshold.abort != defaults.abort).then_some(threshold.abort),
            min_samples: (threshold.min_samples != defaults.min_samples).then_some(threshold.min_samples),
        }
    }
}

/// What says the default is left out but for the first two, so that plans which don't say it keep their hash.
#[derive(Serialize)]
struct CanonicalAgents<'p> {
    min: u32,
    wait: Written,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'p BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elastic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<bool>,
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
            thresholds: plan.thresholds.iter().map(CanonicalThreshold::of).collect(),
        }
    }
}

impl<'p> CanonicalAgents<'p> {
    fn of(agents: &'p AgentsWanted) -> Self {
        let defaults = AgentsWanted::default();
        Self {
            min: agents.min,
            wait: Written(agents.wait),
            max: agents.max,
            labels: (agents.labels != defaults.labels).then_some(&agents.labels),
            elastic: (agents.elastic != defaults.elastic).then_some(agents.elastic),
            share_by: (agents.share_by != defaults.share_by).then(|| agents.share_by.name()),
            lease: (agents.lease != defaults.lease).then_some(Written(agents.lease)),
            beside: (agents.beside != defaults.beside).then_some(agents.beside),
        }
    }
}

/// A duration as plans write it.
struct Written(Duration);

impl Serialize for Written {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(self.0))
    }
}
