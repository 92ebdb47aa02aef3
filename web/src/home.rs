//! The home page: the runs, newest first, and the form that starts one.

use askama::Template;

use crate::format::{Format, count, maybe};
use crate::parts::{Badge, encoded, readable_time};
use crate::stream::Percentiles;

/// The states that a run can be in, in their order.
pub(crate) const STATES: [&str; 7] =
    ["queued", "gathering", "preparing", "running", "draining", "resuming", "finished"];

/// `/`. Its forms post (urlencoded) to `/runs`: either `plan`, or `url`, `model` (`users` or `rate`), `users`, `rate`,
/// `connections`, `requests`, `duration` and `warmup`. The fields of the model that wasn't chosen are sent too, and don't
/// count.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "home.html")]
pub struct HomePage {
    /// The runs of this page, newest first.
    pub runs: Vec<RunRow>,
    /// Runs in all.
    pub runs_in_all: u64,
    /// Which runs are listed.
    pub filter: RunFilter,
    /// The run that this page begins after; empty on the first one.
    pub before: String,
    /// The run that leads to older ones, the last of this page; empty where there are none.
    pub older: String,
    /// What the form holds: empty at first, what was typed after a refusal.
    pub form: NewRun,
    /// Why the last form was refused, all faults at once.
    pub faults: Vec<Fault>,
    /// Agents that could take part in a run now.
    pub agents_ready: u64,
    /// Agents that work for a run.
    pub agents_busy: u64,
    /// The command that adds an agent, shown where there is none.
    pub add_agent_command: String,
    /// The command that starts a first run, shown where there is no run.
    pub first_run_command: String,
    /// A plan that the empty list offers to run at a press.
    pub sample: Option<Sample>,
}

impl HomePage {
    /// The whole page as HTML.
    pub fn render(&self) -> Result<String, askama::Error> {
        Template::render(self)
    }

    /// Where this page is, filter and all.
    fn address(&self) -> String {
        self.filter.address(&self.before)
    }

    fn older_address(&self) -> String {
        self.filter.address(&self.older)
    }
}

/// What is asked of the list, as typed.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs in this state; empty for any.
    pub state: String,
    /// Only runs of this plan; likewise.
    pub plan: String,
    /// Only runs with this label, `key=value`; likewise.
    pub label: String,
    /// What is wrong with it, in words; empty where nothing is.
    pub fault: String,
}

impl RunFilter {
    fn is_any(&self) -> bool {
        self.fields().iter().any(|(_, value)| !value.is_empty())
    }

    fn fields(&self) -> [(&'static str, &str); 3] {
        [("state", &self.state), ("plan", &self.plan), ("label", &self.label)]
    }

    /// The address of a page with this filter, after a run.
    fn address(&self, before: &str) -> String {
        let given = self.fields().into_iter().chain([("before", before)]);
        let given = given.filter(|(_, value)| !value.is_empty());
        let query = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>();
        if query.is_empty() { "/".to_owned() } else { format!("/?{}", query.join("&")) }
    }
}

/// One run in the list.
#[derive(Clone, Debug, Default)]
pub struct RunRow {
    /// The run's id, as in its address.
    pub id: String,
    /// The plan's name, literal.
    pub name: String,
    /// The run's state, in a word.
    pub state: String,
    /// What the run waits for, in a sentence; empty where it doesn't.
    pub waits: String,
    /// The run is over.
    pub over: bool,
    /// `passed`, `failed`, `invalid` or `none`; absent while the run goes on.
    pub verdict: Option<String>,
    /// An agent was lost.
    pub incomplete: bool,
    /// Start, RFC 3339 in UTC; empty where it hasn't started.
    pub started_at: String,
    /// How long it took, or has taken so far.
    pub duration_s: Option<f64>,
    /// The load in words ("50 users closed").
    pub load: String,
    /// Requests completed, ok or failed.
    pub requests: u64,
    /// Latency of the ok requests.
    pub latency_ms: Percentiles,
    /// Failed over completed; absent where nothing completed.
    pub error_rate: Option<f64>,
    /// The run's note, or nothing.
    pub note: String,
    /// The run's labels, each `key=value`, literal.
    pub labels: Vec<String>,
}

impl RunRow {
    fn badge(&self) -> Badge<'_> {
        Badge::new(&self.state, self.verdict.as_deref())
    }

    fn started(&self) -> String {
        readable_time(&self.started_at)
    }

    fn duration(&self) -> String {
        maybe(Format::Seconds, self.duration_s)
    }

    fn requests(&self) -> String {
        count(self.requests)
    }

    fn ms(&self, value: &Option<f64>) -> String {
        maybe(Format::Ms, *value)
    }

    fn errors(&self) -> String {
        maybe(Format::Percent, self.error_rate)
    }

    fn has_errors(&self) -> bool {
        self.error_rate.is_some_and(|rate| rate > 0.0)
    }
}

/// The form's fields, as typed.
#[derive(Clone, Debug, Default)]
pub struct NewRun {
    /// The target's URL.
    pub url: String,
    /// `rate` for the open model; anything else is the closed one.
    pub model: String,
    /// Users of the closed model.
    pub users: String,
    /// Rate of the open model, with its unit.
    pub rate: String,
    /// Most connections of the open model; may be empty.
    pub connections: String,
    /// Requests in all; may be empty.
    pub requests: String,
    /// Duration in the plan's units; may be empty.
    pub duration: String,
    /// Length of the warm-up, likewise.
    pub warmup: String,
    /// A whole plan, YAML or JSON, instead of the fields above.
    pub plan: String,
}

impl NewRun {
    fn is_open(&self) -> bool {
        self.model == "rate"
    }

    /// The fields that are rarely wanted hold something.
    fn has_more(&self) -> bool {
        !self.connections.is_empty() || !self.warmup.is_empty()
    }
}

/// One fault of what was sent.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// Where: a field, or line and column; may be empty.
    pub place: String,
    /// What is wrong, and what was expected.
    pub detail: String,
    /// What may have been meant; may be empty.
    pub hint: String,
}

/// A plan that can be run as it is.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// What the button says.
    pub label: String,
    /// The plan, YAML or JSON.
    pub plan: String,
}
