//! What an iteration does: the steps of a scenario, one after the other.

use super::{FileName, Method, capped_name};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Most bytes of a body that is made of nothing but filling.
pub const MAX_FILLED_BYTES: u64 = 1 << 40;

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
    /// belongs to the framing or the connection, which the engine owns. `Host` may be among them, and nothing of `Expect`.
    pub headers: Vec<(String, String)>,
    /// What is sent behind the head.
    pub body: Body,
    /// Whether the target is asked before the body is sent (`Expect: 100-continue`, RFC 9110 section 10.1.1), and how
    /// long its word is waited for: then the body is sent all the same. `None` sends it at once.
    pub ask_first: Option<Duration>,
    /// What the answer must be.
    pub check: Check,
}

/// What a request sends behind its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// These bytes, UTF-8 in every plan that was parsed; empty for a request without a body.
    Inline(Vec<u8>),
    /// A file on the machine that sends, streamed from there.
    File(FileName),
    /// So many bytes, at most [`MAX_FILLED_BYTES`], each an `x`.
    Filled(u64),
}

impl Body {
    /// No body.
    pub const NONE: Self = Self::Inline(Vec::new());
}

/// What an answer must be for its request to be ok. The default: any status below 400, any body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    /// The statuses that are allowed; empty for all below 400.
    pub status: Statuses,
    /// What the body must be, after its content codings are undone. Without it the body is not looked at, and its
    /// codings stay.
    pub body: Option<BodyCheck>,
}

/// What a body must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyCheck {
    /// Exactly this.
    Is(Vec<u8>),
    /// This somewhere in it; not empty.
    Contains(Vec<u8>),
    /// So many bytes.
    Bytes(u64),
}

/// Statuses by ranges, in the order in which the plan has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Those in any of these ranges, each within 200 to 999.
    pub fn new(ranges: Vec<RangeInclusive<u16>>) -> Self {
        Self(ranges)
    }

    /// The ranges.
    pub fn ranges(&self) -> &[RangeInclusive<u16>] {
        &self.0
    }

    /// Whether a status is allowed: one of these, or below 400 where none are named.
    #[inline]
    pub fn allow(&self, status: u16) -> bool {
        if self.0.is_empty() { status < 400 } else { self.0.iter().any(|range| range.contains(&status)) }
    }
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
