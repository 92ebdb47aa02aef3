//! The plan as a whole: its sections, and at the top the keys of the short form of each.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::agents::Agents;
use super::http::{self, Http};
use super::load::{self, Load};
use super::pattern;
use super::rule::{at_most_one, none_of, some_of, when};
use super::scalar::{Method, Name, SomeRate, Target, Time, Version};
use super::scenarios::{self, Scenarios};
use super::thresholds::Threshold;

/// What to send and how hard.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = rules()))]
pub(super) struct Plan {
    /// The version of the format. Default: 1.
    version: Option<Version>,
    /// What people call the plan. Default: the target without its scheme and query.
    name: Option<Name>,
    /// The URL to load; in a plan without `scenarios` also the path and query.
    target: Target,
    /// Open model: iterations begun in a time, over all agents, whether or not the target keeps up.
    rate: Option<SomeRate>,
    /// Closed model: how many users there are, over all agents, each of whom waits for its answer.
    #[schemars(range(min = 1, max = 100_000))]
    users: Option<u32>,
    /// How long the measured load lasts, from 1ms; up to 720h with the warm-up.
    duration: Option<Time>,
    /// How hard the target is loaded, in stages; in place of `rate` or `users` and `duration` at the top.
    load: Option<Load>,
    #[schemars(flatten)]
    shared: load::Shared,
    /// How requests and connections are handled; its keys may stand at the top instead.
    http: Option<Http>,
    #[schemars(flatten)]
    http_at_the_top: Http,
    /// What an iteration does, by names; in place of `method`, `headers`, `body` and the like at the top.
    scenarios: Option<Scenarios>,
    /// The method, as it is sent. Default: GET.
    method: Option<Method>,
    #[schemars(flatten)]
    parts: scenarios::Parts,
    /// Which agents the run needs.
    agents: Option<Agents>,
    /// What must hold of the run's numbers for it to pass.
    #[schemars(length(max = 100), extend("uniqueItems" = true))]
    thresholds: Option<Vec<Threshold>>,
}

/// The keys of the load that stand at the top only.
const STEADY: &[&str] = &["rate", "users", "duration"];

fn rules() -> Vec<Value> {
    let body = scenarios::body_rules();
    [forms(), ends(), at_most_one(load::COUNTS), models()]
        .into_iter()
        .chain([connections_are_of_the_open_model(), tls_needs_https(), users_that_count_stay()])
        .chain(body)
        .collect()
}

/// The same part is not said in both forms; and where steps say their paths, the target has none.
fn forms() -> Value {
    let request = none_of(["method"].iter().chain(scenarios::PARTS).copied());
    let bare = json!({ "properties": { "target": { "pattern": pattern::url("/?") } } });
    json!({ "dependencies": {
        "load": none_of(STEADY.iter().chain(load::SHARED).copied()),
        "http": none_of(http::KEYS.iter().copied()),
        "scenarios": { "allOf": [request, bare] },
    } })
}

/// There is a load, and a run must end.
fn ends() -> Value {
    let ends = some_of(&[&["load", "duration"], load::COUNTS].concat());
    json!({ "allOf": [some_of(&["load", "rate", "users"]), ends] })
}

/// Keys that only the other model has.
fn models() -> Value {
    json!({ "allOf": [
        { "dependencies": { "rate": none_of(["users"]) } },
        when(&some_of(&["rate"]), &load::open_rules()),
        when(&some_of(&["users"]), &load::closed_rules()),
    ] })
}

/// Each user has a connection of its own.
fn connections_are_of_the_open_model() -> Value {
    let staged = json!({ "required": ["load"], "properties": { "load": load::closed_stages() } });
    let closed = json!({ "anyOf": [some_of(&["users"]), staged] });
    when(&closed, &at_top_or_in_http("connections"))
}

fn tls_needs_https() -> Value {
    let plain = json!({ "properties": { "target": { "pattern": "^[Hh][Tt][Tt][Pp]:" } } });
    when(&plain, &at_top_or_in_http("tls"))
}

/// This key stands neither at the top nor in `http`.
fn at_top_or_in_http(key: &str) -> Value {
    json!({ "properties": { key: false, "http": none_of([key]) } })
}

/// A user that counts its iterations can't go to another agent.
fn users_that_count_stay() -> Value {
    let counts = some_of(&["iterations_per_user"]);
    let in_load = json!({ "required": ["load"], "properties": { "load": counts } });
    let stay = json!({ "properties": { "agents": { "properties": { "elastic": { "const": false } } } } });
    when(&json!({ "anyOf": [counts, in_load] }), &stay)
}
