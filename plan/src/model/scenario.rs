//! What an iteration does: the steps of a scenario, one after the other.

use super::{Method, capped_name};
use std::time::Duration;

/// A named sequence of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// What people call it; unique in its plan.
    pub name: String,
    /// Its part of all iterations, relative to the other scenarios' weights: 1 to [`MAX_WEIGHT`](super::MAX_WEIGHT).
    pub weight: u32,
    /// What one iteration does, in order.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// The name of the scenario that the short form stands for.
    pub const DEFAULT_NAME: &'static str = "main";

    /// Its requests, in order.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.steps.iter().filter_map(|step| match step {
            Step::Request(request) => Some(request),
            Step::Think(_) => None,
        })
    }
}

/// One step of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A request is sent and its answer waited for.
    Request(Request),
    /// A pause.
    Think(Think),
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The key of its results, unique in its scenario; [`Request::default_name`] where the plan gives none.
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

impl Request {
    /// The name of a request that has none: method and path without the query, since queries tend to carry ids.
    pub fn default_name(method: &Method, path: &str) -> String {
        let without_query = path.split_once('?').map_or(path, |(before, _)| before);
        capped_name(&format!("{method} {without_query}"))
    }
}

/// A pause of a length between two bounds, both included, each length as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Think {
    /// The shortest.
    pub least: Duration,
    /// The longest; the same for a pause of one length.
    pub most: Duration,
}
