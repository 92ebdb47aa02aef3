//! The plan: what to send and how hard. Values that exist here are valid; texts become plans in [`crate::parse`].

mod adjust;
mod agents;
mod connect;
mod files;
mod http;
mod load;
mod method;
mod scenario;
mod target;
mod tls;
mod tolerance;
mod zone;

pub use adjust::{Adjust, AdjustError, Level};
pub use agents::{AgentsWanted, MAX_AGENTS, MAX_LABEL_CHARS, MAX_LABELS, ShareBy, is_label};
pub use connect::{
    Connect, Destination, Family, MAX_DESTINATIONS, MAX_SOURCES, MAX_UNIX_BYTES, Proxy, Remote, RemoteError,
    Resolve,
};
pub use files::{FileName, FileNameError};
pub use http::{HttpOptions, HttpVersion};
pub use load::{Amount, ClosedLoad, Load, Model, OpenLoad, Users};
pub use method::{Method, MethodError, is_token};
pub use scenario::{Body, BodyCheck, Check, MAX_FILLED_BYTES, Request, Scenario, Statuses, Step, Think};
pub use target::{Target, TargetError};
pub use tls::{Tls, TlsVersion};
pub use tolerance::{Tolerance, ToleranceError};
pub use zone::ZoneError;

use crate::threshold::Threshold;

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
    /// What must hold of its numbers.
    pub thresholds: Vec<Threshold>,
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

    /// Where connections go: the target, or what the plan names in its place. At least one.
    pub fn destinations(&self) -> Vec<Destination> {
        self.http.connect.destinations(&self.target)
    }

    /// What the load comes to: where connections go, and behind a proxy the target as well.
    pub fn loaded(&self) -> Vec<Destination> {
        let behind = self.behind_proxy().map(Destination::Remote);
        self.destinations().into_iter().chain(behind).collect()
    }

    /// The target, where a proxy is what connects to it.
    pub fn behind_proxy(&self) -> Option<Remote> {
        self.http.connect.proxy.as_ref().map(|_| self.target.remote())
    }

    /// The requests of all scenarios; the place of each is its [`StepId`](volley_stats::StepId).
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.scenarios.iter().flat_map(Scenario::requests)
    }
}

/// The beginning of `name` that fits into [`MAX_NAME_CHARS`].
pub(crate) fn capped_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}
