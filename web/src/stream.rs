//! What a run's event stream says, as JSON: `tick` is [`Tick`], `state` is [`Snapshot`], `log` is [`LogLine`].
//!
//! Durations are seconds or milliseconds, as the name's end says; a rate is per second; a share of errors is a
//! fraction of one. Percentiles are of ok requests, in milliseconds, absent where no request was ok.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The one list of percentiles that every table and chart shows, keyed by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median, ms.
    #[serde(rename = "50")]
    pub p50: Option<f64>,
    /// 90th percentile, ms.
    #[serde(rename = "90")]
    pub p90: Option<f64>,
    /// 95th percentile, ms.
    #[serde(rename = "95")]
    pub p95: Option<f64>,
    /// 99th percentile, ms.
    #[serde(rename = "99")]
    pub p99: Option<f64>,
    /// 99.9th percentile, ms.
    #[serde(rename = "99.9")]
    pub p99_9: Option<f64>,
    /// The slowest, ms.
    #[serde(rename = "100")]
    pub max: Option<f64>,
}

/// One second of the run, all steps and agents merged; in a long run, one minute. Sent again, corrected, when late rows
/// arrive. One that covers others takes their place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Number of the second from the run's start: 0 covers 0 s to 1 s. Where more than one is covered, the first.
    pub second: u64,
    /// Seconds that are covered, mostly 1; counts are of all of them. 0 stands for 1.
    #[serde(default)]
    pub span_s: u64,
    /// Run time when it was sent.
    pub elapsed_s: f64,
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed, of every kind.
    pub failed: u64,
    /// Requests cut off by the end of the run.
    pub cancelled: u64,
    /// Requests in flight at the span's end.
    pub in_flight: u64,
    /// Connections open at the span's end.
    pub connections: u64,
    /// Bytes read from the target.
    pub bytes_received: u64,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
    /// Failed requests by kind.
    pub errors: BTreeMap<String, u64>,
    /// Every live agent has reported this second: charts draw up to the last such one.
    pub complete: bool,
}

impl Tick {
    /// How many seconds it covers.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.span_s.max(1)
    }
}

/// Totals from the run's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed, of every kind.
    pub failed: u64,
    /// Requests cut off by the end of the run.
    pub cancelled: u64,
    /// Due, and sent by nobody.
    pub missed: u64,
    /// Permitted to an agent that was lost before it reported.
    pub unknown: u64,
    /// Started by an agent that was lost before their end was reported.
    pub unresolved: u64,
    /// Requests completed (ok or failed) per second.
    pub rate: f64,
    /// Failed over completed; absent where nothing completed.
    pub error_rate: Option<f64>,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
}

/// The last five seconds, to be kept apart from whole-run numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Requests completed (ok or failed) per second.
    pub rate: f64,
    /// Failed over completed; absent where nothing completed.
    pub error_rate: Option<f64>,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
}

/// One step's totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTotals {
    /// The step's name, literal.
    pub name: String,
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed.
    pub failed: u64,
    /// Requests completed per second.
    pub rate: f64,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
}

/// Failures of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The kind, as in [`Tick::errors`].
    pub kind: String,
    /// The phase of the request in which it shows.
    pub phase: String,
    /// How many.
    pub count: u64,
    /// Second in which the first was seen.
    pub first_s: u64,
    /// Second in which the last was seen.
    pub last_s: u64,
}

/// Answers of one HTTP status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusCount {
    /// The status code.
    pub status: u16,
    /// How many.
    pub count: u64,
}

/// One agent's part in the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentShare {
    /// The agent's name, literal.
    pub name: String,
    /// The agent's state, in a word.
    pub state: String,
    /// Counts as one of the agents that are well (`2 / 3` in the strip).
    pub ok: bool,
    /// Its version of Volley.
    pub version: String,
    /// Worker threads.
    pub cores: u64,
    /// Users it drives.
    pub users: u64,
    /// Iterations granted to it.
    pub granted: u64,
    /// Requests it started.
    pub started: u64,
    /// Granted, and unreported when it was lost.
    pub unknown: u64,
    /// Its clock minus the coordinator's.
    pub offset_ms: Option<f64>,
    /// Best round trip of the last several pings.
    pub round_trip_ms: Option<f64>,
    /// Seconds since it was last heard.
    pub last_seen_s: Option<f64>,
}

/// The whole-run snapshot: about once a second, and on each change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The run's state, in a word.
    pub state: String,
    /// The run is over: no further event but `end` follows.
    pub over: bool,
    /// The sentence the page opens with.
    pub sentence: String,
    /// `passed`, `failed`, `invalid` or `none`; absent while the run goes on.
    pub verdict: Option<String>,
    /// An agent was lost: shown beside the verdict.
    pub incomplete: bool,
    /// Run time so far, or at the end.
    pub elapsed_s: f64,
    /// Planned duration, where the plan has one.
    pub planned_s: Option<f64>,
    /// Planned requests, where the plan has a fixed count.
    pub planned_requests: Option<u64>,
    /// From the start.
    pub whole: Totals,
    /// The last five seconds.
    pub last5: Recent,
    /// By step, in the plan's order.
    pub steps: Vec<StepTotals>,
    /// By kind, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// By status, ascending.
    pub statuses: Vec<StatusCount>,
    /// By agent.
    pub agents: Vec<AgentShare>,
}

/// One line of the run's event log, also drawn as a mark in the charts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Run time.
    pub at_s: f64,
    /// What happened, literal.
    pub text: String,
    /// `info` or `warn`.
    pub level: String,
}
