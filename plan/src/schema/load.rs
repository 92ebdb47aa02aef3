//! `load`: how hard the target is loaded. Most of its keys stand at the top of the short form too.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::rule::{at_most_one, none_of, some_of, when};
use super::scalar::{Arrivals, Duration, Rate, SomeRate, Time, Tolerance};

/// The keys of [`Shared`].
pub(super) const SHARED: &[&str] = &[
    "requests",
    "iterations",
    "iterations_per_user",
    "warmup",
    "arrivals",
    "max_in_flight",
    "pacing",
    "tolerate",
    "drain",
];
/// The keys that end a run by a number.
pub(super) const COUNTS: &[&str] = &["requests", "iterations", "iterations_per_user"];
/// What only the open model has, and what only the closed one.
const OF_OPEN: [&str; 2] = ["arrivals", "max_in_flight"];
const OF_CLOSED: [&str; 2] = ["iterations_per_user", "pacing"];

/// The keys of both forms.
#[derive(JsonSchema)]
pub(super) struct Shared {
    /// Ends the run after so many requests, for plans whose iterations send one each.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    requests: Option<u64>,
    /// Ends the run after so many iterations.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    iterations: Option<u64>,
    /// Closed model: ends the run after so many iterations of each user.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    iterations_per_user: Option<u64>,
    /// Goes before the first stage, at what that one starts with; measured, but kept apart from all results. Default: 0s.
    warmup: Option<Duration>,
    /// Open model: `uniform` (evenly spaced) or `poisson` (by chance, at the same rate). Default: uniform.
    arrivals: Option<Arrivals>,
    /// Open model: most iterations in flight, over all agents; an arrival beyond is missed.
    #[schemars(range(min = 1, max = 100_000))]
    max_in_flight: Option<u32>,
    /// Closed model: the least time from the start of a user's iteration to the start of its next, 1us to 24h. Default: none.
    pacing: Option<Time>,
    /// How much of the planned load may be missed or unknown before the run is invalid. Default: 1%.
    tolerate: Option<Tolerance>,
    /// How long requests in flight may still take at the end, up to 24h; then they are cancelled. Default: 10s.
    drain: Option<Duration>,
}

/// How hard the target is loaded, in stages.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = load_rules()))]
pub(super) struct Load {
    /// What is run through, from the first to the last; all of one model.
    #[schemars(length(min = 1, max = 1_000), extend("allOf" = course()))]
    stages: Vec<Stage>,
    #[schemars(flatten)]
    shared: Shared,
}

/// Rates or users for some time.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = stage_rules()))]
struct Stage {
    /// Open model: what the stage starts with.
    rate: Option<Rate>,
    /// Closed model: what the stage starts with.
    #[schemars(range(min = 0, max = 100_000))]
    users: Option<u32>,
    /// What it goes to, evenly: a rate or a number of users. Without it the stage holds what it started with.
    ramp_to: Option<RateOrUsers>,
    /// How long it takes; `0s` is a jump. Only a lone stage that a count ends has none.
    r#for: Option<Duration>,
    /// Stairs of rates, alone in their stage.
    steps: Option<Stairs>,
}

/// A rate of the open model, or a number of users of the closed one.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum RateOrUsers {
    /// A rate.
    Rate(Rate),
    /// Users.
    Users(#[schemars(range(min = 0, max = 100_000))] u32),
}

/// From one rate to another, step by step.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Stairs {
    /// The first rate.
    from: Rate,
    /// The last rate.
    to: Rate,
    /// How much each step differs from the one before it; above 0/s.
    by: SomeRate,
    /// How long each step takes, from 1ms.
    every: Time,
}

fn stage_rules() -> [Value; 3] {
    let alone = none_of(["rate", "users", "ramp_to", "for"]);
    [
        some_of(&["rate", "users", "ramp_to", "steps"]),
        json!({ "dependencies": { "steps": alone, "ramp_to": ["for"] } }),
        when(&endless(), &json!({ "properties": { "users": { "minimum": 1 } } })),
    ]
}

/// What a stage is that only a count ends.
fn endless() -> Value {
    json!({ "not": some_of(&["for", "steps"]) })
}

/// What stages are to each other: all of one model, the first of which says what it starts with, and each of several how
/// long it takes.
fn course() -> [Value; 3] {
    let open = json!({ "properties": { "users": false, "ramp_to": { "type": "string" } } });
    let closed = json!({ "properties": { "rate": false, "steps": false, "ramp_to": { "type": "integer" } } });
    [
        json!({ "anyOf": [{ "items": open }, { "items": closed }] }),
        json!({ "items": [some_of(&["rate", "users", "steps"])] }),
        when(&json!({ "minItems": 2 }), &json!({ "items": some_of(&["for", "steps"]) })),
    ]
}

/// Stages of users.
pub(super) fn closed_stages() -> Value {
    json!({ "required": ["stages"], "properties": { "stages": { "type": "array", "contains": some_of(&["users"]) } } })
}

fn load_rules() -> Vec<Value> {
    let is_endless = json!({ "properties": { "stages": { "contains": endless() } } });
    let model = json!({ "if": closed_stages(), "then": closed_rules(), "else": none_of(OF_CLOSED) });
    vec![at_most_one(COUNTS), when(&is_endless, &some_of(COUNTS)), model]
}

/// What holds beside users. Those who go on from the warm-up to measuring by time can't count what they do.
pub(super) fn closed_rules() -> Value {
    let no_warmup = json!({ "properties": { "warmup": { "pattern": super::pattern::no_time() } } });
    json!({ "allOf": [none_of(OF_OPEN), when(&some_of(COUNTS), &no_warmup)] })
}

/// What holds beside a rate.
pub(super) fn open_rules() -> Value {
    none_of(OF_CLOSED)
}
