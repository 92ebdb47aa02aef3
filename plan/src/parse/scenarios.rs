//! What an iteration does: `scenarios`, or the one request that the keys at the top and the target's path make.

mod check;
mod names;
mod parts;
mod step;

use super::cursor::Cursor;
use super::fault::{Collector, Told};
use super::measures::check_name;
use super::node::{Entry, Value};
use super::section::{Belongs, Keys, Section, doubled, long_form};
use crate::model::{
    MAX_SCENARIOS, MAX_STEPS, MAX_WEIGHT, Method, MethodError, Request, Scenario, Step, Target,
};
use names::Naming;
use parts::Parts;
use std::collections::BTreeMap;

pub(super) use parts::KEYS as PARTS;
pub(super) use step::LATER;
pub(crate) use step::verb_of;

/// The keys of the short form, beside [`PARTS`].
pub(super) const SHORT: &[&str] = &["method"];

/// Most steps of a scenario, pauses included.
const MAX_SCENARIO_STEPS: usize = 1_000;

const SCENARIO: Keys = Keys {
    known: &[&["weight", "steps"]],
    later: &[],
    belongs: &[Belongs {
        key: "name",
        under: "name",
        hint: "a scenario's name is the key that it stands under",
    }],
    elsewhere: &[("flow", "steps"), ("requests", "steps"), ("probability", "weight")],
};

/// The scenarios of the plan; `target` is the one that was read, if it could be.
pub(super) fn read(
    top: &Section<'_>,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Vec<Scenario>, Told> {
    match long_form(top, "scenarios", &[SHORT, PARTS], faults) {
        Some(cursor) => {
            let bare = check_target(top, target, faults);
            let scenarios = scenarios(&cursor, faults)?;
            bare.map(|()| scenarios)
        }
        None => single(top, target, faults).map(|scenario| vec![scenario]),
    }
}

/// The short form: one request to the target.
fn single(top: &Section<'_>, target: Option<&Target>, faults: &mut Collector) -> Result<Scenario, Told> {
    let method = top.or_default("method", Method::get(), |cursor| read_method(cursor, faults));
    let parts = parts::read(top, faults);
    let (method, path) = (method?, target.map_or("/", Target::path_and_query).to_owned());
    let name = Request::default_name(&method, &path);
    let Parts { headers, body, ask_first, check } = parts?;
    let request = Request { name, method, path, headers, body, ask_first, check };
    Ok(Scenario { name: Scenario::DEFAULT_NAME.to_owned(), weight: 1, steps: vec![Step::Request(request)] })
}

/// Each step says its own path, so the target has none.
fn check_target(top: &Section<'_>, target: Option<&Target>, faults: &mut Collector) -> Result<(), Told> {
    let Some(cursor) = top.get("target") else { return Ok(()) };
    if target.is_none_or(|target| target.path_and_query() == "/") {
        return Ok(());
    }
    let fault = cursor.fault("found a path in the target beside `scenarios`, whose steps say theirs");
    Err(faults.report(fault.expected("scheme, host and port only").hint("write the whole path in each step")))
}

fn scenarios(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<Scenario>, Told> {
    let Value::Map(entries) = &cursor.node.value else {
        return Err(cursor.wrong("a mapping of names to scenarios", faults));
    };
    if !(1..=MAX_SCENARIOS).contains(&entries.len()) {
        let found = cursor.fault(format!("found {} scenarios", entries.len()));
        return Err(faults.report(found.expected(format!("1 to {MAX_SCENARIOS}"))));
    }
    let mut first_of: BTreeMap<&str, &Entry> = BTreeMap::new();
    let mut scenarios = Ok(Vec::new());
    for entry in entries {
        if let Some(first) = first_of.get(entry.key.as_str()) {
            faults.report(doubled(&cursor.path, entry, first));
        }
        first_of.entry(&entry.key).or_insert(entry);
        // All are read, also those behind one that has faults.
        match (scenario(cursor, entry, faults), &mut scenarios) {
            (Ok(scenario), Ok(scenarios)) => scenarios.push(scenario),
            (Ok(_), Err(_)) => {}
            (Err(told), _) => scenarios = Err(told),
        }
    }
    let scenarios = scenarios?;
    let requests = scenarios.iter().flat_map(Scenario::requests).count();
    if requests > MAX_STEPS {
        let many = cursor.fault(format!("found {requests} requests in all steps"));
        return Err(faults.report(many.expected(format!("at most {MAX_STEPS}"))));
    }
    Ok(scenarios)
}

fn scenario(parent: &Cursor<'_>, entry: &Entry, faults: &mut Collector) -> Result<Scenario, Told> {
    let cursor = Cursor::new(&entry.value, parent.path.key(&entry.key));
    let name = check_name(&entry.key, entry.key_place, &cursor.path, faults).map(|()| entry.key.clone());
    let section = Section::open(cursor, &SCENARIO, faults)?;
    let weight = section.or_default("weight", 1, |cursor| cursor.narrow(1..=MAX_WEIGHT, faults));
    let steps = match section.get("steps") {
        Some(cursor) => steps(&cursor, faults),
        None => Err(section.missing("steps", "a list of steps, such as `- get: /`", faults)),
    };
    Ok(Scenario { name: name?, weight: weight?, steps: steps? })
}

fn steps(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<Step>, Told> {
    let items = cursor.items("a list of steps, such as `- get: /`", MAX_SCENARIO_STEPS, faults)?;
    let mut naming = Naming::default();
    let mut steps = Ok(Vec::new());
    for item in items {
        match (step::read(item, &mut naming, faults), &mut steps) {
            (Ok(step), Ok(steps)) => steps.push(step),
            (Ok(_), Err(_)) => {}
            (Err(told), _) => steps = Err(told),
        }
    }
    let mut steps = steps?;
    if !steps.iter().any(|step| matches!(step, Step::Request(_))) {
        let none = cursor.fault("found no request");
        return Err(faults.report(none.expected("one step at least that sends one, such as `get: /`")));
    }
    naming.name_the_rest(&mut steps);
    Ok(steps)
}

/// The value of `method`, at the top or in a step.
fn read_method(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Method, Told> {
    let text = cursor.text(faults)?;
    Method::parse(text).map_err(|error| {
        let fault = cursor.fault(format!("found {error}")).expected("a method such as GET");
        let hint = matches!(error, MethodError::Case)
            .then(|| format!("did you mean {}?", text.to_ascii_uppercase()));
        faults.report(fault.maybe_hint(hint))
    })
}
