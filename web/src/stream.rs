//! What a run's event stream says, as JSON: `tick` is [`Tick`], `state` is [`Snapshot`], `log` is [`LogLine`].
//!
//! Durations are seconds or milliseconds, as the name's end says; a rate is per second; a share is a fraction of one.
//! Percentiles are of ok requests, in milliseconds, absent where no request was ok. Latency counts from when a request
//! was due; service time, which only the open model keeps apart, from when the loop took it up.
//!
//! Seconds are run time, which begins with the warm-up; totals, and the times that people read, are of the measured
//! part.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The one list of percentiles that every table and chart shows, keyed by their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tick {
    /// Number of the second from the run's start: 0 covers 0 s to 1 s. Where more than one is covered, the first.
    pub second: u64,
    /// Seconds that are covered, mostly 1; counts are of all of them. 0 stands for 1.
    #[serde(default)]
    pub span_s: u64,
    /// Run time when it was sent.
    pub elapsed_s: f64,
    /// The span lies in the warm-up: its counts are no part of the totals. Where the warm-up ends within a span, its counts
    /// are of what is measured.
    #[serde(default)]
    pub warmup: bool,
    /// Iterations that the plan has due in the span; the open model only.
    #[serde(default)]
    pub planned: Option<f64>,
    /// Iterations due and sent by nobody.
    #[serde(default)]
    pub missed: u64,
    /// Iterations that a lost agent had leave for and never reported.
    #[serde(default)]
    pub unknown: u64,
    /// Iterations started.
    #[serde(default)]
    pub iterations: u64,
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed, of every kind.
    pub failed: u64,
    /// Requests cut off by the end of the run.
    pub cancelled: u64,
    /// Users at the span's beginning; 0 in the open model.
    #[serde(default)]
    pub users: u64,
    /// Requests in flight at the span's end.
    pub in_flight: u64,
    /// Connections open at the span's end.
    pub connections: u64,
    /// Bytes read from the target.
    pub bytes_received: u64,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
    /// Service time of the ok requests; the open model only.
    #[serde(default)]
    pub service_ms: Percentiles,
    /// 99th percentile of how late iterations were taken up.
    #[serde(default)]
    pub lag_p99_ms: Option<f64>,
    /// The largest lag.
    #[serde(default)]
    pub lag_max_ms: Option<f64>,
    /// Share of the time that the busiest worker of all agents ran, 0 to 1.
    #[serde(default)]
    pub busiest_cpu: Option<f64>,
    /// Share of the processors' time that the host of an agent's machine took away, 0 to 1; the most of all agents.
    #[serde(default)]
    pub stolen: Option<f64>,
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

/// Totals of the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Totals {
    /// Iterations planned, where the plan says how many; once the run is over, those planned until its end.
    #[serde(default)]
    pub planned: Option<u64>,
    /// Iterations started: planned = these + missed + unknown. In a plan of one request each they are `started` too.
    #[serde(default)]
    pub iterations: u64,
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
    /// Permitted to an agent that was lost before it reported; absent where nobody can say how many.
    pub unknown: Option<u64>,
    /// Started by an agent that was lost before their end was reported.
    pub unresolved: u64,
    /// Ok requests per second.
    pub rate: f64,
    /// The seconds that it is over: to the stop, or to the last completion where that is later.
    #[serde(default)]
    pub rate_s: f64,
    /// Failed over completed; absent where nothing completed.
    pub error_rate: Option<f64>,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
    /// Service time of the ok requests; the open model only.
    #[serde(default)]
    pub service_ms: Percentiles,
    /// How old the cancelled requests were.
    #[serde(default)]
    pub cancelled_age_ms: Percentiles,
    /// Lag, and the phases of the requests that were answered, in the order in which a request goes through them.
    #[serde(default)]
    pub phases: Vec<PhaseTotals>,
    /// Connections of the measured part.
    #[serde(flatten)]
    pub connections: ConnectionTotals,
}

/// What was counted of connections to the target. What a document of an earlier version doesn't say is absent, not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConnectionTotals {
    /// Connections opened; one whose TLS handshake failed is among them.
    pub connections_opened: u64,
    /// Times a request was written on a connection that had served another one before.
    pub connections_reused: Option<u64>,
    /// Kept connections that the target closed: while they lay idle, or under a request without a byte of an answer.
    pub connections_closed: Option<u64>,
    /// TLS handshakes that were completed.
    pub handshakes: Option<u64>,
    /// Those of them that took an earlier session up again.
    pub handshakes_resumed: Option<u64>,
}

impl ConnectionTotals {
    /// Handshakes that began from nothing; absent where handshakes are.
    pub(crate) fn handshakes_full(&self) -> Option<u64> {
        Some(self.handshakes?.saturating_sub(self.handshakes_resumed?))
    }
}

/// How a threshold stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It holds, as far as is known.
    Holds,
    /// It does not. One over a stretch stays so.
    Broken,
    /// There is nothing yet to judge it by; in the end, that fails it.
    #[default]
    NoData,
}

/// A threshold, and what was measured of it. Numbers are in its `unit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ThresholdTotals {
    /// As it was written: `p99 < 300ms`.
    pub expect: String,
    /// Over which stretch it is judged, each second anew; `null` over the whole measured part.
    pub over_s: Option<f64>,
    /// So much of the measured part isn't judged.
    pub after_s: f64,
    /// It stops the run.
    pub abort: bool,
    /// How it stands.
    pub standing: Standing,
    /// `ms`, `share` (of one), `per_second` or `count`.
    pub unit: String,
    /// What it is held against.
    pub limit: f64,
    /// The number that decides: of the measured part, or of the stretch that came nearest to the limit, or went farthest
    /// beyond it; `null` without data.
    pub value: Option<f64>,
    /// The number of the latest stretch, or of the measured part so far.
    pub latest: Option<f64>,
    /// What is left until the limit, as a share of it; below 0 beyond it, `null` where there is none.
    pub margin: Option<f64>,
    /// Run time at which it was first found broken while the run went on.
    pub broken_at_s: Option<f64>,
    /// What is measured, as it was written: `p99`, `p95{step=list}`.
    pub metric: String,
    /// Over what, in words.
    pub scope: String,
    /// `value` in words; empty without data.
    pub value_words: String,
    /// `latest` in words; empty without data.
    pub latest_words: String,
    /// `limit` in words.
    pub limit_words: String,
    /// `standing` in words.
    pub standing_words: String,
}

/// What went to one of the target's addresses, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AddressTotals {
    /// The address, literal: `127.0.0.1:80`, `[::1]:80`, `unix:/run/app.sock`; `other` for those beyond the bound.
    pub address: String,
    /// Connections opened to it.
    pub connections: u64,
    /// Attempts to connect to it that failed, TLS handshakes among them; another address may have served the request.
    pub failures: u64,
    /// Requests of which a byte at least was written on a connection to it; one that was sent again counts again.
    pub requests: u64,
}

/// A point of the distribution of latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PercentilePoint {
    /// Which percentile, 0 to 100.
    pub percentile: f64,
    /// What it is.
    pub latency_ms: f64,
}

/// One of the things that are timed of each request or iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PhaseTotals {
    /// `lag`, `wait`, `resolve`, `connect`, `tls`, `send`, `first_byte` or `receive`.
    pub name: String,
    /// How many went through it.
    pub count: u64,
    /// How long it took.
    pub latency_ms: Percentiles,
}

/// What happened in the warm-up, which is no part of the totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WarmupTotals {
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed, of every kind.
    pub failed: u64,
    /// Requests cut off by the end of the run.
    pub cancelled: u64,
    /// Iterations due and sent by nobody.
    pub missed: u64,
}

/// The last five seconds, to be kept apart from whole-run numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Recent {
    /// Ok requests per second.
    pub rate: f64,
    /// Failed over completed; absent where nothing completed.
    pub error_rate: Option<f64>,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
}

/// One step's totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepTotals {
    /// The name of its scenario, literal.
    #[serde(default)]
    pub scenario: String,
    /// The step's name, literal.
    pub name: String,
    /// Requests started.
    pub started: u64,
    /// Requests completed well.
    pub ok: u64,
    /// Requests failed.
    pub failed: u64,
    /// Ok requests per second.
    pub rate: f64,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
}

/// Failures of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorCount {
    /// The kind, as in [`Tick::errors`].
    pub kind: String,
    /// The phase of the request in which it shows.
    pub phase: String,
    /// What happened, in words; empty in documents that don't say it.
    #[serde(default)]
    pub words: String,
    /// How many.
    pub count: u64,
    /// Second in which the first was seen.
    pub first_s: u64,
    /// Second in which the last was seen.
    pub last_s: u64,
}

/// Answers of one HTTP status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatusCount {
    /// The status code.
    pub status: u16,
    /// How many.
    pub count: u64,
}

/// One agent's part in the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// Its part of the load in words: "25 users", "1 of 3 of the arrivals".
    #[serde(default)]
    pub share: String,
    /// The part of the load that is its at this time, 0 to 1.
    #[serde(default)]
    pub part: f64,
    /// How it differs from its peers beyond noise, in words; absent where it doesn't.
    #[serde(default)]
    pub outlier: Option<String>,
    /// Users it drives; 0 in the open model.
    pub users: u64,
    /// Iterations granted to it.
    pub granted: u64,
    /// Requests it started.
    pub started: u64,
    /// Permitted, and unreported when it was lost; absent where nobody can say how many.
    pub unknown: Option<u64>,
    /// How far its clock has drifted from the coordinator's since the run began.
    #[serde(default)]
    pub drift_ms: Option<f64>,
    /// Best round trip of the last several pings.
    pub round_trip_ms: Option<f64>,
    /// Seconds since it was last heard.
    pub last_seen_s: Option<f64>,
    /// CPU of its process, in processors (1.5 is one and a half), on average.
    #[serde(default)]
    pub cpu: Option<f64>,
    /// Share of the time that its busiest worker ran, 0 to 1, on average.
    #[serde(default)]
    pub busiest_cpu: Option<f64>,
    /// The worst second's 99th percentile of how late iterations were taken up.
    #[serde(default)]
    pub lag_p99_ms: Option<f64>,
    /// The largest lag.
    #[serde(default)]
    pub lag_max_ms: Option<f64>,
    /// Seconds that it has reported of its own health.
    #[serde(default)]
    pub seconds: u64,
    /// Those of them in which it was late.
    #[serde(default)]
    pub late_seconds: u64,
    /// The longest that an event loop of it stood still.
    #[serde(default)]
    pub stall_max_ms: Option<f64>,
    /// Share of the processors' time that its machine's host took away, 0 to 1.
    #[serde(default)]
    pub stolen: Option<f64>,
    /// Share of the time for which a CPU quota kept it from running, 0 to 1.
    #[serde(default)]
    pub throttled: Option<f64>,
    /// Most memory that was resident, in bytes.
    #[serde(default)]
    pub resident_bytes: Option<u64>,
    /// Most descriptors that were open.
    #[serde(default)]
    pub descriptors: Option<u64>,
    /// How many may be open.
    #[serde(default)]
    pub descriptors_limit: Option<u64>,
    /// Local ports for connections to the target.
    #[serde(default)]
    pub local_ports: Option<u64>,
}

/// The whole-run snapshot: about once a second, and on each change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
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
    /// Measured time so far, or at the end; 0 during the warm-up.
    pub elapsed_s: f64,
    /// Planned length of the measured part, where the plan has one.
    pub planned_s: Option<f64>,
    /// Run time so far, or at the end, the warm-up included.
    #[serde(default)]
    pub run_s: f64,
    /// How long the warm-up takes, which comes first; 0 where there is none.
    #[serde(default)]
    pub warmup_s: f64,
    /// Run time at which no more iterations were started. What came later is the drain, which averages leave out.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Planned iterations, where the plan has a number of them.
    pub planned_requests: Option<u64>,
    /// What the load was adjusted to last, and when, in words; absent where it wasn't.
    #[serde(default)]
    pub adjusted: Option<String>,
    /// The measured part.
    pub whole: Totals,
    /// The warm-up, where there is one.
    #[serde(default)]
    pub warmup: Option<WarmupTotals>,
    /// Latency of the ok requests by percentile, ascending from the quickest to the slowest; empty where none was ok.
    #[serde(default)]
    pub distribution: Vec<PercentilePoint>,
    /// The last five seconds.
    pub last5: Recent,
    /// By step, in the plan's order.
    pub steps: Vec<StepTotals>,
    /// By kind, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// By status, ascending.
    pub statuses: Vec<StatusCount>,
    /// By address, in the order of their texts.
    #[serde(default)]
    pub addresses: Vec<AddressTotals>,
    /// What the plan demands, in its order, and how that stands.
    #[serde(default)]
    pub thresholds: Vec<ThresholdTotals>,
    /// By agent.
    pub agents: Vec<AgentShare>,
    /// What is to be known of the generator's health, in sentences; empty while all is fine.
    #[serde(default)]
    pub health_notes: Vec<String>,
}

/// One line of the run's event log, also drawn as a mark in the charts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// Run time.
    pub at_s: f64,
    /// What happened, literal.
    pub text: String,
    /// `info` or `warn`.
    pub level: String,
}
