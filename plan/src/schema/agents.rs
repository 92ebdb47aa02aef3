//! `agents`: which agents the run needs.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::scalar::{Duration, Label, ShareBy, Time};

/// Which agents the run needs, and how the load is shared out among them.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Agents {
    /// How many agents must be ready before the run starts. Default: 1.
    #[schemars(range(min = 1, max = 10_000))]
    min: Option<u32>,
    /// How many take part at most, no fewer than `min`; others stay free for other runs. Default: no bound.
    #[schemars(range(min = 1, max = 10_000))]
    max: Option<u32>,
    /// How long the run waits for them, up to 24h. Default: 0s.
    wait: Option<Duration>,
    /// Only agents that have all of these labels take part; 16 at most.
    #[schemars(extend("maxProperties" = 16, "propertyNames" = { "pattern": super::pattern::label() }))]
    labels: Option<BTreeMap<String, Label>>,
    /// What an agent's part of the load is measured by: its `weight` (its workers, unless it was started with another), its
    /// measured `capacity`, or `even`: all get the same. Default: weight.
    share_by: Option<ShareBy>,
    /// Whether agents that join while the run goes on take over a part of its load. Default: false.
    elastic: Option<bool>,
    /// How long an agent may go on without a word from the coordinator, 3s to 1m. Default: 3s.
    lease: Option<Time>,
    /// Whether the run may go on while another one loads the same target. Default: false.
    beside: Option<bool>,
}
