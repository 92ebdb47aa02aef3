//! The plan as a whole and its smaller sections. Every one is read even when another is at fault.

use super::cursor::Cursor;
use super::fault::{Collector, FieldPath, Told};
use super::node::Node;
use super::section::{Belongs, Keys, Section, later};
use super::{agents, http, load, scenarios, thresholds};
use crate::model::{AgentsWanted, Plan, Target, capped_name};

const TOP: Keys = Keys {
    known: &[
        &["version", "name", "target", "http", "load", "scenarios", "agents", "thresholds"],
        scenarios::SHORT,
        scenarios::PARTS,
        load::STEADY,
        load::SHARED,
        http::KEYS,
        http::SHORT,
    ],
    later: &[
        &[later("data", "data rows"), later("variables", "variables"), later("secrets", "secrets")],
        scenarios::LATER,
        http::LATER,
    ],
    belongs: &[
        Belongs { key: "stages", under: "load", hint: "write it under `load`" },
        Belongs { key: "steps", under: "scenarios", hint: "write it under a name under `scenarios`" },
        agents::ELASTIC,
    ],
    elsewhere: &[
        ("url", "target"),
        ("uri", "target"),
        ("concurrency", "users"),
        ("vus", "users"),
        ("rps", "rate"),
        ("qps", "rate"),
        ("warm_up", "warmup"),
        http::ELSEWHERE[0],
        http::ELSEWHERE[1],
        http::ELSEWHERE[2],
    ],
};

pub(super) fn plan(root: &Node, faults: &mut Collector) -> Result<Plan, Told> {
    let top = Section::open(Cursor::new(root, FieldPath::root()), &TOP, faults)?;
    let version = version(&top, faults);
    let target = target(&top, faults);
    let name = top.optional("name", |cursor| cursor.name(faults));
    let http = http::read(&top, target.as_ref().ok(), faults);
    let scenarios = scenarios::read(&top, target.as_ref().ok(), faults);
    let context = load::Context {
        http: http.as_ref().ok().map(|http| &http.options),
        scenarios: scenarios.as_deref().ok(),
    };
    let load = load::read(&top, &context, faults);
    let connections = match (&http, &load) {
        (Ok(http), Ok(load)) => http::check_connections(http, load, faults),
        _ => Ok(()),
    };
    let http_version = match (&http, &scenarios) {
        (Ok(http), Ok(scenarios)) => http::check_version(http, scenarios, faults),
        _ => Ok(()),
    };
    let uses =
        agents::Uses::of(load.as_ref().ok(), http.as_ref().ok().and_then(|http| http.options.connections));
    let agents =
        top.or_default("agents", AgentsWanted::default(), |cursor| agents::read(cursor, &uses, faults));
    let context = thresholds::Context { load: load.as_ref().ok(), scenarios: scenarios.as_deref().ok() };
    let thresholds =
        top.or_default("thresholds", Vec::new(), |cursor| thresholds::read(cursor, &context, faults));

    version?;
    connections?;
    http_version?;
    let target = target?;
    Ok(Plan {
        name: name?.unwrap_or_else(|| default_name(&target)),
        target: target.without_path(),
        http: http?.options,
        load: load?,
        scenarios: scenarios?,
        agents: agents?,
        thresholds: thresholds?,
    })
}

/// The name of a plan that has none: its target without the query.
fn default_name(target: &Target) -> String {
    let path = target.path_and_query();
    let without_query = path.split_once('?').map_or(path, |(before, _)| before);
    capped_name(&format!("{}{without_query}", target.authority()))
}

fn version(top: &Section<'_>, faults: &mut Collector) -> Result<u64, Told> {
    top.or_default("version", 1, |cursor| {
        let version = cursor.whole_number(1..=u64::from(u32::MAX), faults)?;
        if version != 1 {
            let newer = cursor.fault(format!("found the plan version {version}"));
            return Err(faults.report(newer.expected("1, the one that this version of volley reads")));
        }
        Ok(version)
    })
}

fn target(top: &Section<'_>, faults: &mut Collector) -> Result<Target, Told> {
    let expected = "the URL to load, such as http://127.0.0.1:8080/";
    let Some(cursor) = top.get("target") else {
        return Err(top.missing("target", expected, faults));
    };
    if cursor.is_null() {
        return Err(cursor.wrong(expected, faults));
    }
    let text = cursor.template(faults)?;
    Target::parse(&text).map_err(|error| {
        let fault = cursor.fault(format!("found {error}")).expected("an http:// or https:// URL");
        faults.report(fault.maybe_hint(error.hint(&text)))
    })
}
