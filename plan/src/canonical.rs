//! The canonical form of a plan, what agents are sent and what the hash is taken over. It is itself a plan in the
//! same grammar, with every default written out.

use crate::model::{Load, Plan, Step};
use crate::parse::escape_template;
use crate::units::format_duration;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

impl Plan {
    /// The plan as JSON, the same text for the same plan: keys in one order, all defaults written out, no white
    /// space. [`crate::parse`] reads the same plan from it.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(&Canonical::of(self))
            .expect("texts, whole numbers and booleans under text keys always have a JSON form")
    }

    /// The SHA-256 of [`Plan::canonical_json`]; coordinator and agents compare it.
    pub fn hash(&self) -> PlanHash {
        PlanHash(Sha256::digest(self.canonical_json()).into())
    }
}

/// What tells a plan from every other one: the SHA-256 of its canonical form. Displays as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanHash([u8; 32]);

impl PlanHash {
    /// The hash with these bytes, as they came over the wire or from the store.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanHash({self})")
    }
}

impl Serialize for PlanHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text is not a plan hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a plan hash is 64 hex digits")]
pub struct PlanHashError;

impl FromStr for PlanHash {
    type Err = PlanHashError;

    fn from_str(text: &str) -> Result<Self, PlanHashError> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(PlanHashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (hex_digit(pair[0])? << 4) | hex_digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Result<u8, PlanHashError> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(PlanHashError)
}

/// The short form of the plan file, in its one order.
#[derive(Serialize)]
struct Canonical<'p> {
    version: u32,
    name: &'p str,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'p str>,
    #[serde(skip_serializing_if = "Headers::is_empty")]
    headers: Headers<'p>,
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
    users: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<String>,
    drain: String,
    keep_alive: bool,
    timeout: String,
    connect_timeout: String,
    agents: CanonicalAgents,
}

#[derive(Serialize)]
struct CanonicalAgents {
    min: u32,
    wait: String,
}

impl<'p> Canonical<'p> {
    fn of(plan: &'p Plan) -> Self {
        let Load::Closed(load) = &plan.load;
        let step = plan.scenarios.iter().flat_map(|scenario| &scenario.steps).next();
        Self {
            version: 1,
            name: &plan.name,
            target: escape_template(&plan.target.to_string()),
            method: step.map(|step| step.method.as_str()),
            headers: Headers::of(step),
            body: step.map(|step| escape_template(&String::from_utf8_lossy(&step.body))).unwrap_or_default(),
            users: load.users,
            requests: load.requests,
            duration: load.duration.map(format_duration),
            drain: format_duration(load.drain),
            keep_alive: plan.http.keep_alive,
            timeout: format_duration(plan.http.timeout),
            connect_timeout: format_duration(plan.http.connect_timeout),
            agents: CanonicalAgents { min: plan.agents.min, wait: format_duration(plan.agents.wait) },
        }
    }
}

/// Header lines as a map, in the order they are sent; a name that is sent more than once has a list.
struct Headers<'p>(Vec<(&'p str, Vec<String>)>);

impl<'p> Headers<'p> {
    fn of(step: Option<&'p Step>) -> Self {
        let mut names: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, value) in step.iter().flat_map(|step| &step.headers) {
            let value = escape_template(value);
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) => values.push(value),
                None => names.push((name, vec![value])),
            }
        }
        Self(names)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, values) in &self.0 {
            match values.as_slice() {
                [value] => map.serialize_entry(name, value)?,
                values => map.serialize_entry(name, values)?,
            }
        }
        map.end()
    }
}
