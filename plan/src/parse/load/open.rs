//! The open model: its shape, also the one that a number of iterations gives a steady rate, and what bounds it.

use super::course::Stages;
use super::{COUNTS, Context, Settings};
use crate::model::{Amount, HttpOptions, MAX_IN_FLIGHT, OpenLoad, Scenario, Step};
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};
use crate::shape::{Arrivals, MAX_LOAD_TIME, Rate, Schedule, Shape, ShapeError, Stage};
use crate::units::format_duration;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Between what bounds `max_in_flight` lies where the plan names none.
const DEFAULT_IN_FLIGHT: RangeInclusive<u32> = 100..=10_000;

/// What a rate of one millionth of an arrival an hour takes for one arrival, in nanoseconds.
const NS_PER_ARRIVAL: u128 = 3_600_000_000_000_000_000;

impl<'n> Settings<'n> {
    /// The open model.
    pub(super) fn open(
        &self,
        stages: Stages<Rate>,
        place: &Cursor<'n>,
        context: &Context<'_>,
        faults: &mut Collector,
    ) -> Result<OpenLoad, Told> {
        let belongs = "belongs to the closed model (`users`)";
        let fits = self.refuse(&["iterations_per_user", "pacing"], belongs, faults);
        let (amount, warmup, arrivals) = (self.amount?, self.warmup?, self.arrivals?);
        let iterations = match amount {
            Some(Amount::InAll(iterations)) => Some(iterations),
            Some(Amount::PerUser(_)) | None => None,
        };
        let shape = match (stages, iterations) {
            (Stages::Timed(stages), _) => Shape::new(warmup, &stages),
            (Stages::UntilDone(rate), Some(iterations)) => {
                match counted(warmup, rate, iterations, arrivals) {
                    Err(ShapeError::TooLong) => return Err(self.takes_too_long(faults)),
                    shape => shape,
                }
            }
            (Stages::UntilDone(_), None) => {
                return Err(fits.err().unwrap_or_else(|| self.endless(place, faults)));
            }
        };
        let shape = shape.and_then(|shape| Schedule::new(shape.clone(), arrivals, 0).map(|_| shape));
        let shape = shape.map_err(|error| self.shape_fault(error, place, faults))?;
        let default = default_in_flight(&shape, context);
        let max_in_flight = self.max_in_flight?.unwrap_or(default);
        fits.map(|()| OpenLoad { shape, arrivals, iterations, max_in_flight })
    }

    /// Reports a number of iterations that the rate makes only in a longer time than a load may take.
    fn takes_too_long(&self, faults: &mut Collector) -> Told {
        let key = COUNTS.into_iter().find(|key| self.section.get(key).is_some()).unwrap_or_default();
        let long = self.section.fault_of(key, "takes too long at this rate");
        faults.report(long.expected(format!("at most {} with the warm-up", format_duration(MAX_LOAD_TIME))))
    }
}

/// The shape of one steady rate that lasts as long as `n` measured arrivals take.
///
/// Evenly spaced ones take n/rate. The first measured one comes behind one that was due before the warm-up's end, or at
/// 0; so the last one is due before this end, and without a warm-up exactly so many are. Of Poisson arrivals so many
/// are due only on average, so there is time for ten standard deviations more; the last one ends the run.
fn counted(warmup: Duration, rate: Rate, n: u64, arrivals: Arrivals) -> Result<Shape, ShapeError> {
    let per_hour = u128::from(rate.micro_per_hour());
    if per_hour == 0 {
        return Err(ShapeError::NoLoad);
    }
    let time_ns = |n: u64| (u128::from(n) * NS_PER_ARRIVAL).div_ceil(per_hour);
    let time_ns = match arrivals {
        Arrivals::Uniform => time_ns(n),
        Arrivals::Poisson => {
            let more = n.isqrt().saturating_add(1).saturating_mul(10);
            time_ns(n.saturating_add(more)).next_multiple_of(1_000_000)
        }
    };
    let time_ns = u64::try_from(time_ns).map_err(|_| ShapeError::TooLong)?;
    Shape::new(warmup, &[Stage::hold(rate, Duration::from_nanos(time_ns))])
}

/// The bound on iterations in flight of a plan that names none: as many as come while one of the longest lasts that is
/// not cut off by its time-outs.
fn default_in_flight(shape: &Shape, context: &Context<'_>) -> u32 {
    let timeout = context.http.map_or(HttpOptions::DEFAULT_TIMEOUT, |http| http.timeout);
    let scenarios = context.scenarios.unwrap_or_default();
    let longest_ns = scenarios.iter().map(|scenario| longest_ns(scenario, timeout)).max().unwrap_or_default();
    let most = (u128::from(shape.rate_max().micro_per_hour()) * longest_ns).div_ceil(NS_PER_ARRIVAL);
    let most = u32::try_from(most).unwrap_or(MAX_IN_FLIGHT);
    // A plan that names its connections wants them used.
    let connections = context.http.and_then(|http| http.connections).unwrap_or_default();
    most.clamp(*DEFAULT_IN_FLIGHT.start(), *DEFAULT_IN_FLIGHT.end()).max(connections)
}

/// The longest that an iteration of `scenario` takes, in nanoseconds: all time-outs and all pauses.
fn longest_ns(scenario: &Scenario, timeout: Duration) -> u128 {
    let step_ns = |step: &Step| match step {
        Step::Request(_) => timeout.as_nanos(),
        Step::Think(think) => think.most.as_nanos(),
    };
    scenario.steps.iter().map(step_ns).sum()
}
