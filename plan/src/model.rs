//! The plan: what to send and how hard. Values that exist here are valid; texts become plans in [`crate::parse`].

mod method;
mod target;

pub use method::{Method, MethodError, is_token};
pub use target::{Target, TargetError};

use crate::units::duration_in_words;
use crate::words::counted;
use std::time::Duration;

/// Most bytes of a plan's text, and of its canonical form.
pub const MAX_PLAN_BYTES: usize = 1 << 20;
/// Most users of the closed model.
pub const MAX_USERS: u32 = 100_000;
/// Most requests of a plan with a fixed count.
pub const MAX_REQUESTS: u64 = 1_000_000_000_000;
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
    /// Where the requests go.
    pub target: Target,
    /// How requests and connections are handled.
    pub http: HttpOptions,
    /// How hard the target is loaded.
    pub load: Load,
    /// What the users do; one scenario of one step in this version.
    pub scenarios: Vec<Scenario>,
    /// Which agents the run needs.
    pub agents: AgentsWanted,
}

impl Plan {
    /// The load as lists of runs show it: `50 users closed, 10 s`.
    pub fn load_in_words(&self) -> String {
        match &self.load {
            Load::Closed(closed) => closed.in_words(),
        }
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
        }
    }
}

/// How hard the target is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Load {
    /// Each user waits for its answer before it goes on.
    Closed(ClosedLoad),
}

/// The closed model. At least one of `requests` and `duration` is there; whichever is reached first ends the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedLoad {
    /// How many users go at the same time, 1 to [`MAX_USERS`].
    pub users: u32,
    /// How many requests are sent, exactly, by all agents together.
    pub requests: Option<u64>,
    /// How long new requests are started.
    pub duration: Option<Duration>,
    /// How long requests in flight may still take once no new ones are started; then they are cancelled.
    pub drain: Duration,
}

impl ClosedLoad {
    /// The drain time of a plan that names none.
    pub const DEFAULT_DRAIN: Duration = Duration::from_secs(10);

    fn in_words(&self) -> String {
        let users = counted(self.users.into(), "user");
        let amount = match (self.requests, self.duration) {
            (Some(requests), Some(duration)) => {
                format!("{}, at most {}", counted(requests, "request"), duration_in_words(duration))
            }
            (Some(requests), None) => counted(requests, "request"),
            (None, Some(duration)) => duration_in_words(duration),
            (None, None) => "without end".to_owned(),
        };
        format!("{users} closed, {amount}")
    }
}

/// A named sequence of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// What people call it.
    pub name: String,
    /// Its part of all iterations, relative to the other scenarios' weights; at least 1.
    pub weight: u32,
    /// What one iteration does, in order.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// The name of the scenario that the short form stands for.
    pub const DEFAULT_NAME: &'static str = "main";
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The key of its results; [`Step::default_name`] where the plan gives none.
    pub name: String,
    /// The request method.
    pub method: Method,
    /// Path and query, as in the request line: begins with `/`, holds no space and no fragment.
    pub path: String,
    /// Header lines in the order they are sent. Names are tokens; values hold no control characters; none of them
    /// belongs to the framing or the connection, which the engine owns. `Host` may be among them.
    pub headers: Vec<(String, String)>,
    /// The body, UTF-8 in every plan that was parsed; empty for a request without one.
    pub body: Vec<u8>,
}

impl Step {
    /// The name of a step that has none: method and path without the query, since queries tend to carry ids.
    pub fn default_name(method: &Method, path: &str) -> String {
        let without_query = path.split_once('?').map_or(path, |(before, _)| before);
        capped_name(&format!("{method} {without_query}"))
    }
}

/// The beginning of `name` that fits into [`MAX_NAME_CHARS`].
pub(crate) fn capped_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Which agents a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsWanted {
    /// How many must be ready before the run starts, at least 1.
    pub min: u32,
    /// How long the run waits for them; zero refuses it at once.
    pub wait: Duration,
}

impl Default for AgentsWanted {
    fn default() -> Self {
        Self { min: 1, wait: Duration::ZERO }
    }
}
