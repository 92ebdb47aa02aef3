//! The canonical form of the scenarios: a mapping in the plan's order, which is that of the results.

use crate::model::{Body, BodyCheck, Check, Request, Scenario, Step, Think};
use crate::parse::{escape_template, verb_of};
use crate::units::{format_duration, format_size};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::ops::RangeInclusive;

/// Scenarios by name.
pub(super) struct Scenarios<'p>(pub(super) &'p [Scenario]);

impl Serialize for Scenarios<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.0.iter().map(|scenario| (&scenario.name, CanonicalScenario::of(scenario)));
        serializer.collect_map(named)
    }
}

#[derive(Serialize)]
struct CanonicalScenario<'p> {
    weight: u32,
    steps: Vec<CanonicalStep<'p>>,
}

impl<'p> CanonicalScenario<'p> {
    fn of(scenario: &'p Scenario) -> Self {
        let step = |step: &'p Step| match step {
            Step::Request(request) => CanonicalStep::Request(request),
            Step::Think(think) => CanonicalStep::Think(*think),
        };
        Self { weight: scenario.weight, steps: scenario.steps.iter().map(step).collect() }
    }
}

enum CanonicalStep<'p> {
    Request(&'p Request),
    Think(Think),
}

impl Serialize for CanonicalStep<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Think(think) => map.serialize_entry("think", &written(*think))?,
            Self::Request(request) => write_request(request, &mut map)?,
        }
        map.end()
    }
}

fn write_request<M: SerializeMap>(request: &Request, map: &mut M) -> Result<(), M::Error> {
    let path = escape_template(&request.path);
    match verb_of(&request.method) {
        Some(verb) => map.serialize_entry(verb, &path)?,
        None => {
            map.serialize_entry("method", request.method.as_str())?;
            map.serialize_entry("path", &path)?;
        }
    }
    map.serialize_entry("name", &request.name)?;
    if !request.headers.is_empty() {
        map.serialize_entry("headers", &Headers::of(&request.headers))?;
    }
    match &request.body {
        Body::Inline(body) if body.is_empty() => {}
        Body::Inline(body) => map.serialize_entry("body", &text(body))?,
        Body::File(name) => map.serialize_entry("body_file", &escape_template(name.as_str()))?,
        Body::Filled(bytes) => map.serialize_entry("body_size", &format_size(*bytes))?,
    }
    if let Some(wait) = request.ask_first {
        map.serialize_entry("ask_first", &format_duration(wait))?;
    }
    if request.check != Check::default() {
        map.serialize_entry("check", &CanonicalCheck::of(&request.check))?;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    escape_template(&String::from_utf8_lossy(bytes))
}

#[derive(Serialize)]
struct CanonicalCheck {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    status: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<CanonicalBodyCheck>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum CanonicalBodyCheck {
    Is(String),
    Contains(String),
    Bytes(u64),
}

impl CanonicalCheck {
    fn of(check: &Check) -> Self {
        let body = check.body.as_ref().map(|body| match body {
            BodyCheck::Is(bytes) => CanonicalBodyCheck::Is(text(bytes)),
            BodyCheck::Contains(bytes) => CanonicalBodyCheck::Contains(text(bytes)),
            BodyCheck::Bytes(bytes) => CanonicalBodyCheck::Bytes(*bytes),
        });
        Self { status: check.status.ranges().iter().map(status).collect(), body }
    }
}

/// `404`, `2xx` or `200..204`.
fn status(range: &RangeInclusive<u16>) -> String {
    let (first, last) = (*range.start(), *range.end());
    if first == last {
        first.to_string()
    } else if first.is_multiple_of(100) && last == first + 99 {
        format!("{}xx", first / 100)
    } else {
        format!("{first}..{last}")
    }
}

fn written(think: Think) -> String {
    let (least, most) = (format_duration(think.least), format_duration(think.most));
    if least == most { least } else { format!("{least}..{most}") }
}

/// Header lines as a map, in the order they are sent; a name that is sent more than once has a list.
struct Headers<'p>(Vec<(&'p str, Vec<String>)>);

impl<'p> Headers<'p> {
    fn of(lines: &'p [(String, String)]) -> Self {
        let mut names: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, value) in lines {
            let value = escape_template(value);
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) => values.push(value),
                None => names.push((name, vec![value])),
            }
        }
        Self(names)
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
