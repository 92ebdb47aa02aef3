//! Thresholds: what must hold of a run's merged numbers for it to pass, such as `p95{step=list} < 120ms`.

mod measure;
mod ratio;
mod text;
mod words;

use std::time::Duration;

use volley_stats::ErrorKind;

pub use measure::Sample;
pub use ratio::Ratio;
pub use text::ExpectationError;

/// Most thresholds of a plan.
pub const MAX_THRESHOLDS: usize = 100;

/// Something that a plan demands of the measured part of its run, judged on the results of all agents together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    /// What must hold.
    pub expect: Expectation,
    /// Over which stretch: of each so many whole seconds on end, or (`None`) of the whole measured part.
    pub over: Option<Duration>,
    /// So much of the measured part isn't judged before the run is over; whole seconds.
    pub after: Duration,
    /// The run is stopped once it doesn't hold.
    pub abort: bool,
    /// Fewer samples than this are no data; 1 at least.
    pub min_samples: u64,
}

impl Threshold {
    /// How long a stretch may be that is judged again each second.
    pub const SPANS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(10);

    /// One of the whole measured part, with nothing else said.
    #[must_use]
    pub fn of(expect: Expectation) -> Self {
        Self { expect, over: None, after: Duration::ZERO, abort: false, min_samples: 1 }
    }
}

/// A number of the run, and what it must be. Its text is `METRIC{KEY=VALUE,…} OPERATOR LIMIT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Which number.
    pub metric: Metric,
    /// Of which requests.
    pub of: Selector,
    /// How it must stand to the limit.
    pub comparison: Comparison,
    /// The limit, in the metric's [unit](Metric::unit).
    pub limit: Limit,
}

/// A number that thresholds know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Latency of ok requests, from when they were due: `p99`, `mean`, `max`.
    Latency(Point),
    /// Service time of ok requests, from when the loop took them up; in the closed model the latency: `service_p99`.
    ServiceTime(Point),
    /// How late iterations were taken up by the generator: `lag_p99`.
    Lag(Point),
    /// Failed over completed requests; with `status` or `kind`, those of them over completed: `error_rate`.
    ErrorRate,
    /// Answers that passed their step's check (without one: a status below 400) over whole answers: `check_rate`.
    CheckRate,
    /// Requests taken up a second: `started_rate`.
    StartedRate,
    /// Ok requests a second: `ok_rate`.
    OkRate,
    /// Failed requests: `errors`.
    Errors,
    /// Iterations that were due and sent by nobody: `missed`.
    Missed,
    /// Iterations permitted to an agent that was lost before it reported them: `unknown`.
    Unknown,
}

/// A point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The value at or below which so many thousandths of a per cent lie, 0 to 100,000; `p99.9` is 99,900.
    Percentile(u32),
    /// The arithmetic mean.
    Mean,
    /// The largest value.
    Max,
}

/// What a metric is measured in, and so its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; written as a duration.
    Time,
    /// A share of one; written as a percentage or a fraction.
    Share,
    /// Requests a second; written as a rate.
    PerSecond,
    /// A number.
    Count,
}

impl Metric {
    /// What its limit is in. A count may also be held against [what was planned](Limit::OfPlanned).
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Latency(_) | Self::ServiceTime(_) | Self::Lag(_) => Unit::Time,
            Self::ErrorRate | Self::CheckRate => Unit::Share,
            Self::StartedRate | Self::OkRate => Unit::PerSecond,
            Self::Errors | Self::Missed | Self::Unknown => Unit::Count,
        }
    }

    /// True if it is of all requests together and knows no steps.
    #[must_use]
    pub fn is_of_the_whole(self) -> bool {
        matches!(self, Self::Lag(_) | Self::Missed | Self::Unknown)
    }

    /// True if it can be of one status or one kind of error.
    #[must_use]
    pub fn counts_outcomes(self) -> bool {
        matches!(self, Self::ErrorRate | Self::OkRate | Self::Errors)
    }
}

/// Which requests are meant: those of which all that is named is so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Of this scenario.
    pub scenario: Option<String>,
    /// Of this step, in whichever scenario.
    pub step: Option<String>,
    /// With this status.
    pub status: Option<u16>,
    /// Failed in this way.
    pub kind: Option<ErrorKind>,
}

impl Selector {
    /// Whether requests of this step are meant.
    #[must_use]
    pub fn wants(&self, scenario: &str, step: &str) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
        is(&self.scenario, scenario) && is(&self.step, step)
    }
}

/// How a number must stand to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// All of them, those with two characters first.
    pub const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Less, Self::More];

    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(self, value: Ratio, limit: Ratio) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
        }
    }

    /// True if less is better.
    #[must_use]
    pub fn is_upper(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }
}

/// The number that a metric is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// In the metric's [unit](Metric::unit): nanoseconds, a share of one, requests a second, or a number.
    Plain(Ratio),
    /// A share of the planned iterations, for [`Metric::Missed`] and [`Metric::Unknown`]: `missed < 1%`.
    OfPlanned(Ratio),
}

impl Expectation {
    /// What its limit is in, which is what its number is in: a count that is held against what was planned is a share.
    #[must_use]
    pub fn limit_unit(&self) -> Unit {
        match self.limit {
            Limit::Plain(_) => self.metric.unit(),
            Limit::OfPlanned(_) => Unit::Share,
        }
    }

    /// The limit as a number in [its unit](Self::limit_unit).
    #[must_use]
    pub fn limit_value(&self) -> Ratio {
        let (Limit::Plain(limit) | Limit::OfPlanned(limit)) = self.limit;
        limit
    }
}
