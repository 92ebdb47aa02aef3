//! The plan: what to send and how hard. Values that exist here are valid; texts become plans in [`crate::parse`].

mod adjust;
mod agents;
mod load;
mod method;
mod scenario;
mod target;
mod tolerance;

pub use adjust::{Adjust, AdjustError, Level};
pub use agents::{AgentsWanted, MAX_AGENTS, MAX_LABEL_CHARS, MAX_LABELS, ShareBy, is_label};
pub use load::{Amount, ClosedLoad, Load, Model, OpenLoad, Users};
pub use method::{Method, MethodError, is_token};
pub use scenario::{Request, Scenario, Step, Think};
pub use target::{Target, TargetError};
pub use tolerance::{Tolerance, ToleranceError};

use std::time::Duration;

/// Most bytes of a plan's text, and of its canonical form.
pub const MAX_PLAN_BYTES: usize = 1 << 20;
/// Most users of the closed model.
pub const MAX_USERS: u32 = 100_000;
/// Most iterations of a plan with a fixed count.
pub const MAX_ITERATIONS: u64 = 1_000_000_000_000;
/// Most iterations that the open model may have in flight, and most connections.
pub const MAX_IN_FLIGHT: u32 = 100_000;
/// Most steps of a plan that send a request: results are kept apart for each.
pub const MAX_STEPS: usize = 200;
/// Most scenarios of a plan.
pub const MAX_SCENARIOS: usize = 100;
/// Highest weight of a scenario.
pub const MAX_WEIGHT: u32 = 1_000;
/// Most header lines of one step.
pub const MAX_HEADERS: usize = 100;
/// Most characters of a name: of a plan, a scenario or a step.
pub const MAX_NAME_CHARS: usize = 200;

/// What should happen in a run. Made by [`crate::parse`], [`crate::parse_bytes`] or [`crate::QuickPlan`], which
/// let only valid ones through; that is why it can't be put together by hand elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What people call it, at most [`MAX_NAME_CHARS`] characters.
    pub name: String,
    /// Where the requests go. Its path is `/`: what is asked for there, the steps say.
    pub target: Target,
    /// How requests and connections are handled.
    pub http: HttpOptions,
    /// How hard the target is loaded.
    pub load: Load,
    /// What an iteration does: one of these, by their weights. Never empty, and one request at least in all.
    pub scenarios: Vec<Scenario>,
    /// Which agents the run needs.
    pub agents: AgentsWanted,
}

impl Plan {
    /// What is loaded, as people read it: the whole URL where the plan sends one request only, else the target.
    pub fn url(&self) -> String {
        let target = self.target.to_string();
        let mut requests = self.requests();
        match (requests.next(), requests.next()) {
            (Some(only), None) => format!("{}{}", target.trim_end_matches('/'), only.path),
            _ => target,
        }
    }

    /// The load as lists of runs show it: `50 users closed, 10 s`.
    pub fn load_in_words(&self) -> String {
        self.load.in_words(self.iterations_noun())
    }

    /// What an iteration is called where people read of it: `request` where each is one request and nothing else.
    pub fn iterations_noun(&self) -> &'static str {
        let is_single = |scenario: &Scenario| matches!(scenario.steps.as_slice(), [Step::Request(_)]);
        if self.scenarios.iter().all(is_single) { "request" } else { "iteration" }
    }

    /// The requests of all scenarios; the place of each is its [`StepId`](volley_stats::StepId).
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.scenarios.iter().flat_map(Scenario::requests)
    }
}

/// How requests and connections are handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// The most that a whole request may take, connecting included.
    pub timeout: Duration,
    /// The most that connecting may take.
    pub connect_timeout: Duration,
    /// In the open model, most connections that are open at the same time, over all agents: 1 to [`MAX_IN_FLIGHT`];
    /// an iteration waits for one. `None` bounds them by what is in flight. In the closed model, where each user has
    /// one of its own, it is always `None`.
    pub connections: Option<u32>,
    /// The header line in which each request tells the number of its iteration, twenty digits long; none where it is not
    /// to tell. With it a target's log says which requests of a run reached it.
    pub number_header: Option<String>,
}

impl HttpOptions {
    /// The time-out of a request whose plan names none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
    /// The time-out of connecting where the plan names none; a shorter `timeout` bounds it.
    pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            keep_alive: true,
            timeout: Self::DEFAULT_TIMEOUT,
            connect_timeout: Self::DEFAULT_CONNECT_TIMEOUT,
            connections: None,
            number_header: None,
        }
    }
}

/// The beginning of `name` that fits into [`MAX_NAME_CHARS`].
pub(crate) fn capped_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}
