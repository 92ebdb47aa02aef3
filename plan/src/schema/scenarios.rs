//! `scenarios`: what an iteration does; the short form has one request with its keys at the top.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::rule::{at_most_one, none_of, some_of, when};
use super::scalar::{
    AskFirst, File, Headers, Method, Name, OneOrMore, Path, Size, SomeText, Status, Text, Think,
};

/// What a request sends and what its answer must be.
#[derive(JsonSchema)]
pub(super) struct Parts {
    /// Names to values; a list of values for a name that is sent more than once. Default: none.
    headers: Option<Headers>,
    /// The body, a text. Default: none.
    body: Option<Text>,
    /// The body, a file that is streamed for each request.
    body_file: Option<File>,
    /// A body of so many bytes, each an `x`, up to 1024GiB.
    body_size: Option<Size>,
    /// Whether the body waits for the target's word (`Expect: 100-continue`), for a second at most (`true`) or so long; then
    /// it is sent all the same. Default: false.
    ask_first: Option<AskFirst>,
    /// What the answer must be. Default: a status below 400.
    check: Option<Check>,
}

/// The keys of [`Parts`].
pub(super) const PARTS: &[&str] = &["headers", "body", "body_file", "body_size", "ask_first", "check"];

/// A body is given in one way, and there is one where the target is asked for leave.
pub(super) fn body_rules() -> [Value; 2] {
    let asks =
        json!({ "required": ["ask_first"], "properties": { "ask_first": { "not": { "const": false } } } });
    let some_text = json!({ "required": ["body"], "properties": { "body": { "minLength": 1 } } });
    let has_body = json!({ "anyOf": [some_text, some_of(&["body_file", "body_size"])] });
    [at_most_one(&["body", "body_file", "body_size"]), when(&asks, &has_body)]
}

/// What the answer must be for its request to be ok.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Check {
    /// The statuses that are allowed: a status (404), a class (2xx), a range (200..204), or a list of them. Default: all below
    /// 400.
    status: Option<OneOrMore<Status, 100, true>>,
    /// What the body must be, its content codings undone. Default: any.
    body: Option<BodyCheck>,
}

/// What the body must be: one of these.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("minProperties" = 1, "maxProperties" = 1))]
struct BodyCheck {
    /// Exactly this text.
    is: Option<Text>,
    /// This text somewhere in it.
    contains: Option<SomeText>,
    /// So many bytes.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    bytes: Option<u64>,
}

/// Names to scenarios, 100 at most.
#[derive(JsonSchema)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 100, "propertyNames" = { "pattern": super::pattern::name() }))]
pub(super) struct Scenarios(BTreeMap<String, Scenario>);

/// A named sequence of steps.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Scenario {
    /// Its part of all iterations, relative to the others' weights. Default: 1.
    #[schemars(range(min = 1, max = 1_000))]
    weight: Option<u32>,
    /// What an iteration does, in order: requests, one at least, and pauses.
    #[schemars(length(min = 1, max = 1_000), extend("contains" = { "not": some_of(&["think"]) }))]
    steps: Vec<Step>,
}

/// The keys that make a request of a step.
const VERBS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options", "method"];

/// A request, written by its verb or by `method` and `path`; or a pause.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = step_rules()))]
struct Step {
    /// A GET request: its path and query.
    get: Option<Path>,
    /// A HEAD request: its path and query.
    head: Option<Path>,
    /// A POST request: its path and query.
    post: Option<Path>,
    /// A PUT request: its path and query.
    put: Option<Path>,
    /// A PATCH request: its path and query.
    patch: Option<Path>,
    /// A DELETE request: its path and query.
    delete: Option<Path>,
    /// An OPTIONS request: its path and query.
    options: Option<Path>,
    /// A request with any method; with `path`.
    method: Option<Method>,
    /// The path and query of a request with `method`.
    path: Option<Path>,
    /// The name of its results, unique in its scenario. Default: method and path without the query.
    name: Option<Name>,
    #[schemars(flatten)]
    parts: Parts,
    /// A pause, up to 24h: of one length, or of any between two bounds.
    think: Option<Think>,
}

fn step_rules() -> Vec<Value> {
    let of_request = VERBS.iter().chain(PARTS).chain(&["path", "name"]).copied();
    let alone = when(&some_of(&["think"]), &none_of(of_request));
    let whole = json!({ "dependencies": { "method": ["path"], "path": ["method"] } });
    let some = some_of(&[VERBS, &["think"]].concat());
    [some, at_most_one(VERBS), whole, alone].into_iter().chain(body_rules()).collect()
}
