//! The canonical form of the scenarios: a mapping in the plan's order, which is that of the results.

use crate::model::{Request, Scenario, Step, Think};
use crate::parse::{escape_template, verb_of};
use crate::units::format_duration;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

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
            Self::Request(request) => {
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
                if !request.body.is_empty() {
                    map.serialize_entry("body", &escape_template(&String::from_utf8_lossy(&request.body)))?;
                }
            }
        }
        map.end()
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
