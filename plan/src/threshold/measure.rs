//! What a metric is of some results.

use volley_stats::{Count, ErrorKind, Histogram, TotalRow};

use super::ratio::Ratio;
use super::{Expectation, Limit, Metric, Point, Selector};

/// The results of one stretch of a run's measured part, those of the selected steps merged over all agents.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Counters and histograms of the selected steps; for metrics of the whole, what is timed of all steps together.
    pub row: &'a TotalRow,
    /// How long the stretch is, in nanoseconds.
    pub length_ns: u64,
    /// Iterations that were due in it and sent by nobody.
    pub missed: u64,
    /// Iterations in it that nobody knows of; `None` where nobody can say how many.
    pub unknown: Option<u64>,
    /// Iterations that were to be begun in it; `None` where the plan says no number.
    pub planned: Option<u64>,
}

impl Expectation {
    /// What the number is, in the unit of the limit; `None` where there are fewer than `min_samples` to tell it from.
    /// A number of failures is told of nothing too: there were none. One that nobody can say is told as `None`.
    #[must_use]
    pub fn measure(&self, sample: &Sample<'_>, min_samples: u64) -> Option<Ratio> {
        let of = |point: Point, histogram: Measured| {
            (histogram.count >= min_samples).then(|| histogram.at(point)).flatten().map(Ratio::whole)
        };
        let counters = &sample.row.counters;
        let share = |part: u64, whole: u64| (whole >= min_samples).then(|| Ratio::new(part, whole)).flatten();
        match self.metric {
            Metric::Latency(point) => of(point, Measured::of(&sample.row.latency, point)),
            Metric::ServiceTime(point) => of(point, service_time(sample.row, point)),
            Metric::Lag(point) => {
                of(point, Measured::of(sample.row.timing.of(volley_stats::Timed::Lag), point))
            }
            Metric::ErrorRate => share(failed(sample.row, &self.of), counters.completed()),
            Metric::CheckRate => {
                let refused = counters.errors.get(ErrorKind::Status) + counters.errors.get(ErrorKind::Check);
                share(counters.ok, counters.ok + refused)
            }
            Metric::StartedRate => per_second(counters.started, sample.length_ns),
            Metric::OkRate => per_second(ok(sample.row, &self.of), sample.length_ns),
            Metric::Errors => Some(Ratio::whole(failed(sample.row, &self.of))),
            Metric::Missed => self.of_planned(sample.missed, sample.planned),
            Metric::Unknown => self.of_planned(sample.unknown?, sample.planned),
        }
    }

    /// Whether it holds of this number.
    #[must_use]
    pub fn holds(&self, value: Ratio) -> bool {
        self.comparison.holds(value, self.limit_value())
    }

    fn of_planned(&self, number: u64, planned: Option<u64>) -> Option<Ratio> {
        match self.limit {
            Limit::Plain(_) => Some(Ratio::whole(number)),
            Limit::OfPlanned(_) => Ratio::new(number, planned?),
        }
    }
}

/// What is asked of a histogram, whatever its counts and digits are.
struct Measured {
    count: u64,
    percentile_ns: Option<u64>,
    mean_ns: Option<f64>,
    max_ns: Option<u64>,
}

impl Measured {
    fn of<C: Count, const D: u8>(histogram: &Histogram<C, D>, point: Point) -> Self {
        let percentile_ns = match point {
            Point::Percentile(thousandths) => histogram.percentile_ns(f64::from(thousandths) / 1_000.0),
            Point::Mean | Point::Max => None,
        };
        let (mean_ns, max_ns) = (histogram.mean_ns(), histogram.max_ns());
        Self { count: histogram.count(), percentile_ns, mean_ns, max_ns }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of nanoseconds, rounded to them"
    )]
    fn at(&self, point: Point) -> Option<u64> {
        match point {
            Point::Percentile(_) => self.percentile_ns,
            Point::Mean => self.mean_ns.map(|ns| ns.round() as u64),
            Point::Max => self.max_ns,
        }
    }
}

/// In the closed model there is no histogram of its own for it.
fn service_time(row: &TotalRow, point: Point) -> Measured {
    let histogram = if row.service_time.is_empty() { &row.latency } else { &row.service_time };
    Measured::of(histogram, point)
}

/// Failed requests of the selected kind, or those that failed with the selected status.
fn failed(row: &TotalRow, of: &Selector) -> u64 {
    match (of.kind, of.status) {
        (Some(kind), _) => row.counters.errors.get(kind),
        (None, Some(status)) => with_status(row, status),
        (None, None) => row.counters.failed,
    }
}

/// Ok requests; with a status, the answers that had it.
fn ok(row: &TotalRow, of: &Selector) -> u64 {
    of.status.map_or(row.counters.ok, |status| with_status(row, status))
}

fn with_status(row: &TotalRow, wanted: u16) -> u64 {
    let statuses = row.counters.statuses.sorted().into_iter();
    statuses.filter(|(status, _)| *status == wanted).map(|(_, count)| count).sum()
}

/// A number over a time, to the microsecond, as a number over one second.
fn per_second(number: u64, length_ns: u64) -> Option<Ratio> {
    Ratio::new(number.saturating_mul(1_000_000), length_ns / 1_000)
}

#[cfg(test)]
mod boundaries;
