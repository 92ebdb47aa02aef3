//! `thresholds`: what must hold of the run's numbers.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::rule::{some_of, when};
use super::scalar::{Duration, Expectation, Time};

/// Something that must hold for the run to pass.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Threshold {
    /// Of the whole measured part.
    Text(Expectation),
    /// With more to say.
    Mapping(Mapping),
}

/// What must hold, over which stretch, and what happens where it doesn't.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, extend("allOf" = [after_has_a_use()]))]
pub(super) struct Mapping {
    /// What must hold.
    expect: Expectation,
    /// A stretch of 1s to 10m, in whole seconds: judged at each second, on the stretch before it. Default: the whole
    /// measured part.
    over: Option<Time>,
    /// So much of the measured part isn't judged, in whole seconds; with `over` or `abort`. Default: 0s.
    after: Option<Duration>,
    /// Whether the run is stopped as soon as it doesn't hold. Default: false.
    abort: Option<bool>,
    /// Fewer samples (requests that the number is of) are no data. Default: 1.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    min_samples: Option<u32>,
}

/// The measured part as a whole has nothing that isn't judged.
fn after_has_a_use() -> Value {
    let aborts = json!({ "required": ["abort"], "properties": { "abort": { "const": true } } });
    when(&some_of(&["after"]), &json!({ "anyOf": [some_of(&["over"]), aborts] }))
}
