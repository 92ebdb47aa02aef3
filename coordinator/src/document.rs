//! The JSON of one run: what `GET /api/v1/runs/{id}` answers, what the store keeps of a finished run, and what the
//! command line prints its summary from, local and remote alike.
//!
//! Durations are seconds or milliseconds, as the name's end says; times are RFC 3339 in UTC. A number that isn't there
//! is `null`, never NaN or infinite. Percentiles are of ok requests, over all agents' merged histograms. Totals are of the
//! measured part; what the warm-up counted stands apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use volley_plan::health::HealthSum;
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_plan::{Accounts, Adjust, Level, Load, Plan, Verdict};
use volley_stats::SealedWindow;

mod adds_up;
mod agents;
mod build;
mod closed;
mod environment;
mod junit;
mod marks;
mod sentence;
mod span;
mod totals;

/// Parts that the document shares with the event stream: the same words for the same things.
pub use volley_web::stream::{
    AddressTotals, ConnectionTotals, ErrorCount, LogLine, PercentilePoint, Percentiles, PhaseTotals, Recent,
    Standing, StatusCount, StepTotals, ThresholdTotals, WarmupTotals,
};

pub use environment::NOT_VERIFIED;
pub use marks::{LibraryPlan, Marks, MarksPatch, label};

pub(crate) use agents::part_now;
pub(crate) use build::{Facts, progress, run_s};
pub(crate) use closed::{AgentRemains, Remains, closed};
pub(crate) use environment::environment;
pub(crate) use span::{Excerpt, end_s, warmup_s};
pub(crate) use totals::{errors, latency_ms, ns_to_ms, ns_to_s, per_second, s_to_ns, statuses};

/// The version of the document's form; it goes up when a reader of the old form would misread the new one.
///
/// In version 1 an agent's incarnation was a number, and what nobody can know was 0 where it is `null` now.
pub const DOCUMENT_VERSION: u32 = 2;

/// Everything about one run but its seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunDocument {
    /// [`DOCUMENT_VERSION`].
    pub volley: u32,
    /// The run's name.
    pub id: RunId,
    /// The plan's name.
    pub name: String,
    /// What whoever started it noted, or nothing.
    pub note: Option<String>,
    /// Labels, to find it by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Which plan of the library it is of; left out where it is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryPlan>,
    /// When it was asked for.
    pub created_at: String,
    /// Run time 0; `null` before the start.
    pub started_at: Option<String>,
    /// The load in words ("50 users closed, 10 s").
    pub load: String,
    /// Where the load goes.
    pub target: String,
    /// The plan in its canonical form, JSON as text.
    pub plan: String,
    /// SHA-256 of `plan`, 64 hex digits.
    pub plan_hash: String,
    /// What changes while the run goes on.
    #[serde(flatten)]
    pub progress: Progress,
    /// The event log, oldest first.
    pub log: Vec<LogLine>,
    /// Lines that the log's bound turned away.
    pub log_lines_dropped: u64,
}

/// How far a run is, and what it has measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// `queued`, `gathering`, `preparing`, `running`, `draining` or `finished`; `resuming` after the coordinator was started
    /// again.
    pub state: String,
    /// Where it stands while it is queued; left out at other times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
    /// The run is over: nothing below changes any more, except `delivered_late`.
    pub over: bool,
    /// What the numbers say; `null` while the run goes on.
    pub verdict: Option<Verdict>,
    /// Why it stopped: `count_reached`, `duration_over`, `threshold_broken`, `asked`, `agents_lost`, `could_not_run`, `store_failed` or
    /// `coordinator_stopped`.
    pub stop_reason: Option<String>,
    /// An agent was lost on the way.
    pub incomplete: bool,
    /// All of it in a sentence.
    pub sentence: String,
    /// The length of the measured part, so far or in all: from the end of the warm-up to the stop of the load (a timed
    /// run), or to the last completion (a counted one). The drain is not part of it.
    pub elapsed_s: f64,
    /// The planned length of the measured part, where the plan says it.
    pub planned_s: Option<f64>,
    /// Run time so far, or at the end of the load: the warm-up and the measured part.
    #[serde(default)]
    pub run_s: f64,
    /// The length of the warm-up, which comes first; 0 where there is none.
    #[serde(default)]
    pub warmup_s: f64,
    /// Run time at which the load stopped; `null` before.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// How the load was adjusted while it went on, in this order; left out where it wasn't.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjusted: Vec<Adjusted>,
    /// The plan's number of iterations, where it has one: the one that it names, or those that its rates make due (until
    /// the end, once the run is over).
    pub planned_requests: Option<u64>,
    /// The measured part.
    pub whole: Whole,
    /// What the warm-up counted, which is in no total; `null` where there is none.
    #[serde(default)]
    pub warmup: Option<WarmupTotals>,
    /// How late iterations were taken up, and the phases of the requests that were answered: those in which anything was
    /// measured, in the order in which a request goes through them.
    #[serde(default)]
    pub phases: Vec<PhaseTotals>,
    /// Latency of the ok requests by percentile, from the quickest to the slowest; left out where none was ok.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distribution: Vec<PercentilePoint>,
    /// The latest five complete seconds.
    pub last5: Recent,
    /// By step, in the plan's order.
    pub steps: Vec<StepDocument>,
    /// Failed requests by kind, most frequent first.
    pub errors: Vec<ErrorCount>,
    /// Final answers by status, ascending.
    pub statuses: Vec<StatusCount>,
    /// What went to each of the target's addresses, warm-up included, in the order of their texts; `other` stands for
    /// those beyond 64.
    #[serde(default)]
    pub addresses: Vec<AddressTotals>,
    /// What the plan demands, in its order, and how that stands.
    #[serde(default)]
    pub thresholds: Vec<ThresholdTotals>,
    /// By agent.
    pub agents: Vec<AgentDocument>,
    /// What is to be known of the agents' own health, in sentences; empty while all is fine.
    #[serde(default)]
    pub health_notes: Vec<String>,
    /// Planned = started + missed + unknown, and what else must add up.
    pub accounts: Accounts,
    /// Where the account doesn't add up, in words; empty when all is well.
    pub account_faults: Vec<String>,
    /// What arrived after the end: kept, in no total.
    pub delivered_late: Late,
}

impl RunDocument {
    /// The plan; `None` where it cannot be read.
    #[must_use]
    pub fn parsed_plan(&self) -> Option<Plan> {
        volley_plan::parse(&self.plan).ok()
    }

    /// The load that was planned, as it was adjusted; `None` where the plan cannot be read.
    pub(crate) fn load(&self) -> Option<Load> {
        let load = self.parsed_plan()?.load;
        Some(self.progress.adjusted.iter().fold(load, |load, adjusted| {
            let at_ns = s_to_ns(adjusted.at_s);
            // It was adjusted so, so it can be; a damaged text costs what it says of the seconds after it.
            load.adjusted(Adjust { at_ns, to: adjusted.to }).unwrap_or(load)
        }))
    }
}

impl Progress {
    /// Of a run that waits for its turn.
    pub(crate) fn queued(self, place: QueuePlace) -> Self {
        let sentence = match (place.place, place.because.as_str()) {
            (_, "") => "Queued.".to_owned(),
            (1, because) => format!("Queued, next in line: {because}."),
            (nth, because) => format!("Queued, number {nth} in line: {because}."),
        };
        Self { state: "queued".to_owned(), sentence, queue: Some(place), ..self }
    }

    /// Run time so far, or at the end of the load. Documents of version 1 don't have it, and had no warm-up.
    pub(crate) fn run_s(&self) -> f64 {
        self.run_s.max(self.elapsed_s)
    }
}

/// A load that was adjusted: `{"at_s": 12.5, "rate": "500/s"}`, or with `users`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Adjusted {
    /// From which run time on.
    pub at_s: f64,
    /// To what.
    #[serde(flatten)]
    pub to: Level,
}

impl From<&Adjust> for Adjusted {
    fn from(adjust: &Adjust) -> Self {
        Self { at_s: ns_to_s(adjust.at_ns), to: adjust.to }
    }
}

/// Where a run stands that waits for its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuePlace {
    /// Its place among those that wait for the same thing, from 1.
    pub place: u64,
    /// What it waits for.
    pub because: String,
}

/// Totals of requests in the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Whole {
    /// Taken up by a loop.
    pub started: u64,
    /// Ended with a whole answer that the plan allows.
    pub ok: u64,
    /// Ended in an error.
    pub failed: u64,
    /// Cut off by the end of the run.
    pub cancelled: u64,
    /// Iterations that were planned and sent by nobody.
    pub missed: u64,
    /// Iterations permitted to an agent that was lost before it reported them; `null` where nobody can say how many.
    pub unknown: Option<u64>,
    /// Requests that a lost agent had reported as started and not as ended.
    pub unresolved: u64,
    /// Requests that never reached the wire; a part of `failed` and `cancelled`.
    pub never_sent: u64,
    /// Times a request was sent again, because its re-used connection had been closed by the target.
    pub resent: u64,
    /// Ok requests per second. Once the load has stopped: over the time from the end of the warm-up to the stop, or to the
    /// last completion where that is later, so that what the drain brought is divided by its time too. While it goes on:
    /// over the seconds that every agent has reported.
    pub rate: f64,
    /// The seconds that `rate` is over; 0 where there is nothing to divide by, and in documents that don't say it.
    #[serde(default)]
    pub rate_s: f64,
    /// Failed over completed; `null` where nothing completed.
    pub error_rate: Option<f64>,
    /// Bytes written to connections.
    pub bytes_sent: u64,
    /// Bytes read from connections, heads and framing included.
    pub bytes_received: u64,
    /// Bytes of bodies, without framing.
    pub body_bytes: u64,
    /// What was counted of connections.
    #[serde(flatten)]
    pub connections: ConnectionTotals,
    /// Latency of ok requests, from when they were due.
    pub latency_ms: Percentiles,
    /// The quickest ok request.
    pub latency_min_ms: Option<f64>,
    /// The mean of ok requests.
    pub latency_mean_ms: Option<f64>,
    /// Service time of ok requests, from when a loop took them up; in a run of the open model, where it differs from
    /// latency.
    #[serde(default)]
    pub service_ms: Percentiles,
    /// Latency of failed requests.
    pub failed_latency_ms: Percentiles,
    /// How old requests were when the end of the run cut them off.
    #[serde(default)]
    pub cancelled_age_ms: Percentiles,
}

/// One step's totals, and the connections that its requests opened and used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepDocument {
    /// What pages show of it too.
    #[serde(flatten)]
    pub totals: StepTotals,
    /// What was counted of connections.
    #[serde(flatten)]
    pub connections: ConnectionTotals,
}

/// One agent's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentDocument {
    /// The process.
    pub incarnation: Incarnation,
    /// The name for people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Worker threads.
    pub workers: u32,
    /// `preparing`, `ready`, `refused`, `running`, `leaving`, `done`, `left`, `lost`, or `undelivered` where the store failed
    /// before it had delivered all that it did.
    pub state: String,
    /// Its part of the load in words: `25 users`, `1 of 3 of the arrivals`.
    #[serde(default)]
    pub share: String,
    /// The part of the run's load that is its at this time, 0 to 1; 0 in documents that don't say it.
    #[serde(default)]
    pub part: f64,
    /// How it differs from its peers beyond noise, in words; left out where it doesn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier: Option<String>,
    /// Users that it drives; 0 in the open model.
    pub users: u32,
    /// Iterations that it had leave for; 0 in a run without a fixed count.
    pub granted: u64,
    /// Requests that it reported as started.
    pub started: u64,
    /// Requests that it reported as ended, ok or failed.
    pub completed: u64,
    /// Iterations that it had leave for and never reported, once it is lost; `null` where nobody can say how many.
    pub unknown: Option<u64>,
    /// Run time at which it was given up.
    pub lost_at_s: Option<f64>,
    /// How far its clock has drifted from the coordinator's since the run began; `null` once the run is over.
    #[serde(default)]
    pub drift_ms: Option<f64>,
    /// The best of its latest round trips; `null` once the run is over.
    pub round_trip_ms: Option<f64>,
    /// How long ago it was heard; `null` once the run is over.
    pub last_seen_s: Option<f64>,
    /// What it left open when it was lost, by the second in which it was due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<SecondGap>,
    /// How its own process was, over the measured part's seconds; by the second see `/runs/{id}/health`.
    #[serde(default)]
    pub health: HealthSum,
}

/// What a lost agent left open of what was due in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecondGap {
    /// The second of run time.
    pub second: u32,
    /// Arrivals known to have been sent by nobody, beyond those that the agent itself reported.
    pub missed: u64,
    /// Arrivals that it had leave for and did not report.
    pub unknown: u64,
}

/// What arrived after the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Late {
    /// Windows.
    pub windows: u64,
    /// Requests started in them.
    pub started: u64,
    /// Requests ok in them.
    pub ok: u64,
    /// Requests failed in them.
    pub failed: u64,
    /// Requests cancelled in them.
    pub cancelled: u64,
}

impl Late {
    /// Counts one more window.
    pub(crate) fn add(&mut self, window: &SealedWindow) {
        let facts = WindowFacts::counted(window);
        self.windows += 1;
        for (sum, more) in [
            (&mut self.started, facts.started),
            (&mut self.ok, facts.ok),
            (&mut self.failed, facts.failed),
            (&mut self.cancelled, facts.cancelled),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// One run in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// The run's name.
    pub id: RunId,
    /// The plan's name.
    pub name: String,
    /// What whoever started it noted, or nothing.
    pub note: Option<String>,
    /// Labels, to find it by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Which plan of the library it is of; left out where it is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryPlan>,
    /// When it was asked for.
    pub created_at: String,
    /// Run time 0; `null` before the start.
    pub started_at: Option<String>,
    /// The load in words.
    pub load: String,
    /// See [`Progress::state`].
    pub state: String,
    /// See [`Progress::over`].
    pub over: bool,
    /// See [`Progress::verdict`].
    pub verdict: Option<Verdict>,
    /// See [`Progress::incomplete`].
    pub incomplete: bool,
    /// See [`Progress::sentence`].
    pub sentence: String,
    /// See [`Progress::elapsed_s`].
    pub elapsed_s: f64,
    /// See [`Progress::whole`].
    pub whole: Whole,
}

impl From<&RunDocument> for RunSummary {
    fn from(document: &RunDocument) -> Self {
        let RunDocument { id, name, note, labels, library, created_at, started_at, load, progress, .. } =
            document.clone();
        let Progress { state, over, verdict, incomplete, sentence, elapsed_s, whole, .. } = progress;
        Self {
            id,
            name,
            note,
            labels,
            library,
            created_at,
            started_at,
            load,
            state,
            over,
            verdict,
            incomplete,
            sentence,
            elapsed_s,
            whole,
        }
    }
}

#[cfg(test)]
mod tests;
