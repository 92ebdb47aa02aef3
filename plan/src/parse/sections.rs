//! The sections of a plan, one function each. Every one is read even when another is at fault.

use super::cursor::Cursor;
use super::fault::{Collector, FieldPath, Told};
use super::headers;
use super::node::Node;
use super::section::{Keys, Later, Section};
use crate::model::{
    AgentsWanted, ClosedLoad, HttpOptions, Load, MAX_NAME_CHARS, MAX_REQUESTS, MAX_USERS, Method,
    MethodError, Plan, Scenario, Step, Target, capped_name,
};
use std::ops::RangeInclusive;
use std::time::Duration;

const TOP: Keys = Keys {
    known: &[
        "version",
        "name",
        "target",
        "method",
        "headers",
        "body",
        "users",
        "requests",
        "duration",
        "drain",
        "keep_alive",
        "timeout",
        "connect_timeout",
        "agents",
    ],
    later: &[
        later("rate", "the open model"),
        Later { instead: Some("write `users` with `duration` or `requests`"), ..later("load", "stages") },
        later("scenarios", "scenarios"),
        later("thresholds", "thresholds"),
        later("data", "data rows"),
        later("variables", "variables"),
        later("secrets", "secrets"),
        Later {
            instead: Some("write `timeout`, `connect_timeout` and `keep_alive` at the top"),
            ..later("http", "the `http` section")
        },
        Later { instead: Some("write `requests`"), ..later("iterations", "iterations") },
        later("connections", "a bound on connections"),
        later("max_in_flight", "a bound on requests in flight"),
        later("arrivals", "the open model"),
        later("warmup", "warm-up"),
        later("tolerate", "a bound on missed and unknown"),
        later("first_byte_timeout", "a time-out for the first byte"),
        later("redirects", "following redirects"),
        later("cookies", "cookies"),
        later("check", "checks"),
        later("elastic", "elastic shares"),
    ],
    elsewhere: &[("url", "target"), ("uri", "target"), ("concurrency", "users"), ("vus", "users")],
};

const AGENTS: Keys =
    Keys { known: &["min", "wait"], later: &[later("labels", "labels of agents")], elsewhere: &[] };

const fn later(key: &'static str, what: &'static str) -> Later {
    Later { key, what, instead: None }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DURATION: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(30 * 24 * 60 * 60);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;
const WAIT: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const MAX_AGENTS: u32 = 10_000;

pub(super) fn plan(root: &Node, faults: &mut Collector) -> Result<Plan, Told> {
    let top = Section::open(Cursor::new(root, FieldPath::root()), &TOP, faults)?;
    let version = version(&top, faults);
    let target = target(&top, faults);
    let name = name(&top, faults);
    let method = method(&top, faults);
    let headers = top.or_default("headers", Vec::new(), |cursor| headers::read(cursor, faults));
    let body = top.or_default("body", String::new(), |cursor| cursor.template(faults));
    let http = http(&top, faults);
    let load = load(&top, faults);
    // Where the number of users is at fault itself, it binds nothing.
    let users = load.as_ref().map_or(MAX_AGENTS, |load| load.users);
    let agents = top.or_default("agents", AgentsWanted::default(), |cursor| agents(cursor, users, faults));

    version?;
    let (target, method) = (target?, method?);
    let path = target.path_and_query().to_owned();
    let step = Step {
        name: Step::default_name(&method, &path),
        method,
        path,
        headers: headers?,
        body: body?.into_bytes(),
    };
    Ok(Plan {
        name: name?.unwrap_or_else(|| default_name(&target)),
        target,
        http: http?,
        load: Load::Closed(load?),
        scenarios: vec![Scenario { name: Scenario::DEFAULT_NAME.to_owned(), weight: 1, steps: vec![step] }],
        agents: agents?,
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
        let fault = cursor.fault(format!("found {error}")).expected("an http:// URL");
        faults.report(fault.maybe_hint(error.hint(&text)))
    })
}

fn name(top: &Section<'_>, faults: &mut Collector) -> Result<Option<String>, Told> {
    top.or_default("name", None, |cursor| {
        let name = cursor.text(faults)?;
        let length = name.chars().count();
        let detail = if length == 0 || length > MAX_NAME_CHARS {
            format!("found a name of {length} characters")
        } else if name.contains(char::is_control) {
            "found a line break or control character".to_owned()
        } else {
            return Ok(Some(name.to_owned()));
        };
        let expected = format!("one line of 1 to {MAX_NAME_CHARS} characters");
        Err(faults.report(cursor.fault(detail).expected(expected)))
    })
}

fn method(top: &Section<'_>, faults: &mut Collector) -> Result<Method, Told> {
    top.or_default("method", Method::get(), |cursor| {
        let text = cursor.text(faults)?;
        Method::parse(text).map_err(|error| {
            let fault = cursor.fault(format!("found {error}")).expected("a method such as GET");
            let hint = matches!(error, MethodError::Case)
                .then(|| format!("did you mean {}?", text.to_ascii_uppercase()));
            faults.report(fault.maybe_hint(hint))
        })
    })
}

fn http(top: &Section<'_>, faults: &mut Collector) -> Result<HttpOptions, Told> {
    let defaults = HttpOptions::default();
    let keep_alive = top.or_default("keep_alive", defaults.keep_alive, |cursor| cursor.boolean(faults));
    let timeout = top.or_default("timeout", defaults.timeout, |cursor| cursor.duration(&TIMEOUT, faults));
    let longest = timeout.unwrap_or(*TIMEOUT.end());
    let connect_timeout =
        top.or_default("connect_timeout", defaults.connect_timeout.min(longest), |cursor| {
            let connect_timeout = cursor.duration(&TIMEOUT, faults)?;
            if connect_timeout > longest {
                let fault = cursor.fault("is longer than `timeout`, so it would never be reached");
                return Err(faults.report(fault));
            }
            Ok(connect_timeout)
        });
    Ok(HttpOptions { keep_alive: keep_alive?, timeout: timeout?, connect_timeout: connect_timeout? })
}

fn load(top: &Section<'_>, faults: &mut Collector) -> Result<ClosedLoad, Told> {
    let users = users(top, faults);
    let requests =
        top.or_default("requests", None, |cursor| cursor.whole_number(1..=MAX_REQUESTS, faults).map(Some));
    let duration = top.or_default("duration", None, |cursor| cursor.duration(&DURATION, faults).map(Some));
    let drain = top.or_default("drain", ClosedLoad::DEFAULT_DRAIN, |cursor| cursor.duration(&WAIT, faults));
    // A plan whose load is written in a form that isn't there yet was told so; these would only mislead.
    if !["requests", "duration", "load", "iterations"].iter().any(|key| top.has(key)) {
        return Err(top.missing("duration", "`duration` or `requests`, since a run must end", faults));
    }
    Ok(ClosedLoad { users: users?, requests: requests?, duration: duration?, drain: drain? })
}

fn users(top: &Section<'_>, faults: &mut Collector) -> Result<u32, Told> {
    match top.get("users") {
        Some(cursor) => narrow(&cursor, 1..=u64::from(MAX_USERS), faults),
        // Reported as not there yet, so no plan comes of it, whatever the number.
        None if ["rate", "load"].iter().any(|key| top.has(key)) => Ok(1),
        None => Err(top.missing("users", "the number of users, such as 10", faults)),
    }
}

fn agents(cursor: &Cursor<'_>, users: u32, faults: &mut Collector) -> Result<AgentsWanted, Told> {
    let section = Section::open(cursor.clone(), &AGENTS, faults)?;
    let defaults = AgentsWanted::default();
    let min = section.or_default("min", defaults.min, |cursor| enough(cursor, users, faults));
    let wait = section.or_default("wait", defaults.wait, |cursor| cursor.duration(&WAIT, faults));
    Ok(AgentsWanted { min: min?, wait: wait? })
}

/// How many agents are enough: an agent without a user would have nothing to do.
fn enough(cursor: &Cursor<'_>, users: u32, faults: &mut Collector) -> Result<u32, Told> {
    let min = narrow(cursor, 1..=u64::from(MAX_AGENTS), faults)?;
    if min <= users { Ok(min) } else { Err(cursor.wrong("no more agents than users", faults)) }
}

/// A whole number within a range that fits 32 bits.
fn narrow(cursor: &Cursor<'_>, range: RangeInclusive<u64>, faults: &mut Collector) -> Result<u32, Told> {
    let number = cursor.whole_number(range, faults)?;
    u32::try_from(number).map_err(|_| cursor.wrong("a number of 32 bits", faults))
}
