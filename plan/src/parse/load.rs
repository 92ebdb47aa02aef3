//! How hard the target is loaded: `load` with its stages, or its keys at the top with one steady rate or number of
//! users.

mod course;
mod open;
mod stage;

use super::agents;
use super::cursor::Cursor;
use super::fault::{Collector, Told};
use super::measures::DAY;
use super::section::{Belongs, Keys, Section, long_form};
use crate::model::{
    Amount, ClosedLoad, HttpOptions, Load, MAX_IN_FLIGHT, MAX_ITERATIONS, Model, Scenario, Tolerance, Users,
};
use crate::shape::{Arrivals, MAX_LOAD_TIME, ShapeError, UserShape};
use crate::units::format_duration;
use course::{Course, Stages};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The keys of the short form only.
pub(super) const STEADY: &[&str] = &["rate", "users", "duration"];

/// The keys of both forms.
pub(super) const SHARED: &[&str] = &[
    "requests",
    "iterations",
    "iterations_per_user",
    "warmup",
    "arrivals",
    "max_in_flight",
    "pacing",
    "tolerate",
    "drain",
];

const IN_STAGES: &str = "write it in `stages`, or leave `load` out and write its keys at the top";

const LOAD: Keys = Keys {
    known: &[&["stages"], SHARED],
    later: &[],
    belongs: &[
        Belongs { key: "rate", under: "stages", hint: IN_STAGES },
        Belongs { key: "users", under: "stages", hint: IN_STAGES },
        Belongs { key: "duration", under: "stages", hint: "write `for` in each of `stages`" },
        Belongs { key: "connections", under: "connections", hint: "write it under `http`, or at the top" },
        agents::ELASTIC,
    ],
    elsewhere: ELSEWHERE,
};

/// What other tools call keys of both forms.
pub(super) const ELSEWHERE: &[(&str, &str)] =
    &[("warm_up", "warmup"), ("pace", "pacing"), ("think", "pacing")];

const WAIT: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const WARMUP: RangeInclusive<Duration> = Duration::ZERO..=MAX_LOAD_TIME;
const PACING: RangeInclusive<Duration> = Duration::from_micros(1)..=DAY;

/// What of the rest of the plan the load depends on.
pub(super) struct Context<'c> {
    pub(super) http: Option<&'c HttpOptions>,
    pub(super) scenarios: Option<&'c [Scenario]>,
}

/// Whether the load stands at the top, or in a section of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Short,
    Long,
}

/// The keys of both forms, as far as they could be read.
struct Settings<'n> {
    section: Section<'n>,
    form: Form,
    amount: Result<Option<Amount>, Told>,
    warmup: Result<Duration, Told>,
    arrivals: Result<Arrivals, Told>,
    max_in_flight: Result<Option<u32>, Told>,
    pacing: Result<Option<Duration>, Told>,
    tolerate: Result<Tolerance, Told>,
    drain: Result<Duration, Told>,
}

pub(super) fn read(top: &Section<'_>, context: &Context<'_>, faults: &mut Collector) -> Result<Load, Told> {
    let (course, settings) = match long_form(top, "load", &[STEADY, SHARED], faults) {
        Some(cursor) => {
            let section = Section::open(cursor, &LOAD, faults)?;
            (course::stages(&section, faults), Settings::read(section, Form::Long, context, faults))
        }
        None => (course::steady(top, faults), Settings::read(top.clone(), Form::Short, context, faults)),
    };
    let course = course.inspect_err(|_| settings.check_end(faults))?;
    let model = match course {
        Course::Closed { stages, place } => settings.closed(stages, &place, faults).map(Model::Closed),
        Course::Open { stages, place } => settings.open(stages, &place, context, faults).map(Model::Open),
    };
    Ok(Load { model: model?, drain: settings.drain?, tolerate: settings.tolerate? })
}

impl<'n> Settings<'n> {
    fn read(section: Section<'n>, form: Form, context: &Context<'_>, faults: &mut Collector) -> Self {
        Self {
            amount: amount(&section, context, faults),
            warmup: section.or_default("warmup", Duration::ZERO, |cursor| cursor.duration(&WARMUP, faults)),
            arrivals: section.or_default("arrivals", Arrivals::Uniform, |cursor| cursor.arrivals(faults)),
            max_in_flight: section
                .optional("max_in_flight", |cursor| cursor.narrow(1..=MAX_IN_FLIGHT, faults)),
            pacing: section.optional("pacing", |cursor| cursor.duration(&PACING, faults)),
            tolerate: section.or_default("tolerate", Tolerance::default(), |cursor| cursor.tolerance(faults)),
            drain: section.or_default("drain", Load::DEFAULT_DRAIN, |cursor| cursor.duration(&WAIT, faults)),
            section,
            form,
        }
    }

    /// The closed model.
    fn closed(
        &self,
        stages: Stages<u32>,
        place: &Cursor<'n>,
        faults: &mut Collector,
    ) -> Result<ClosedLoad, Told> {
        let fits = self.refuse(&["arrivals", "max_in_flight"], "belongs to the open model (`rate`)", faults);
        let (iterations, warmup) = (self.amount?, self.warmup?);
        if iterations.is_some() && !warmup.is_zero() {
            let counted = self.section.fault_of("warmup", "stands beside a number of iterations");
            let expected =
                "a closed load that only its time ends, since users go on from warm-up to measuring by time";
            return Err(faults.report(counted.expected(expected)));
        }
        let users = match stages {
            Stages::Timed(stages) => Users::Staged(
                UserShape::new(warmup, &stages).map_err(|error| self.shape_fault(error, place, faults))?,
            ),
            // Nobody would ever do them.
            Stages::UntilDone(0) => return Err(self.shape_fault(ShapeError::NoLoad, place, faults)),
            Stages::UntilDone(users) if iterations.is_some() => Users::Steady(users),
            Stages::UntilDone(_) => return Err(self.endless(place, faults)),
        };
        let closed = ClosedLoad { users, iterations, pacing: self.pacing? };
        if closed.planned().is_some_and(|planned| planned > MAX_ITERATIONS) {
            let many = self.section.fault_of("iterations_per_user", "makes too many iterations of all users");
            return Err(faults.report(many.expected(format!("at most {MAX_ITERATIONS} in all"))));
        }
        fits.map(|()| closed)
    }

    /// Reports that nothing ends the run, where that wasn't reported yet. `place` is the stage that goes on.
    fn endless(&self, place: &Cursor<'n>, faults: &mut Collector) -> Told {
        let misspelt = COUNTS.iter().chain(&["duration"]).find_map(|key| self.section.told(key));
        misspelt.unwrap_or_else(|| match self.form {
            Form::Short => self.section.missing(
                "duration",
                "`duration`, `requests` or `iterations`, since a run must end",
                faults,
            ),
            Form::Long => {
                let expected = "how long it takes, or `iterations` beside `stages`, since a run must end";
                faults.report(place.fault_at("for", "missing").expected(expected))
            }
        })
    }

    /// Reports that nothing ends the run, where what goes on until then can't be told.
    fn check_end(&self, faults: &mut Collector) {
        let ends = COUNTS.iter().chain(&["duration", "load"]).any(|key| self.section.has(key));
        if self.form == Form::Short && !ends {
            self.endless(self.section.cursor(), faults);
        }
    }

    /// Reports keys that only the other model has.
    fn refuse(&self, keys: &[&str], why: &str, faults: &mut Collector) -> Result<(), Told> {
        let there = keys.iter().filter(|key| self.section.get(key).is_some());
        let told = there.map(|key| faults.report(self.section.fault_of(key, why)));
        told.last().map_or(Ok(()), Err)
    }

    /// Reports what stages lack, where it is written.
    fn shape_fault(&self, error: ShapeError, place: &Cursor<'n>, faults: &mut Collector) -> Told {
        let longest = format!("at most {} with the warm-up", format_duration(MAX_LOAD_TIME));
        let (key, expected) = match error {
            ShapeError::EmptyWarmup => ("warmup", "a first stage that starts above zero, or no warm-up"),
            ShapeError::TooManyPoisson => ("arrivals", "fewer, or uniform ones"),
            ShapeError::TooLong => ("warmup", longest.as_str()),
            ShapeError::NoTime => ("", "one with a `for` above 0s at least"),
            ShapeError::NoLoad => ("", "more than zero at some time"),
            ShapeError::FlatStairs => ("", "a `by` above zero"),
            ShapeError::TooManyStages | ShapeError::TooManyUsers | ShapeError::TooOftenAdjusted => {
                ("", "fewer")
            }
        };
        let cursor = self.section.get(key).unwrap_or_else(|| place.clone());
        faults.report(cursor.fault(format!("found {error}")).expected(expected))
    }
}

/// The keys that end a run by a number of iterations.
const COUNTS: [&str; 3] = ["requests", "iterations", "iterations_per_user"];

/// The number of iterations that ends the run.
fn amount(
    section: &Section<'_>,
    context: &Context<'_>,
    faults: &mut Collector,
) -> Result<Option<Amount>, Told> {
    let mut number = |key| section.optional(key, |cursor| cursor.whole_number(1..=MAX_ITERATIONS, faults));
    let [requests, iterations, per_user] = COUNTS.map(&mut number);
    section.only_one(&COUNTS, "only one number that ends the run", faults)?;
    let requests = requests?;
    if requests.is_some() && context.scenarios.is_some_and(|all| all.iter().any(sends_several)) {
        let several =
            section.fault_of("requests", "counts requests, but an iteration of this plan sends several");
        return Err(faults.report(several.expected("`iterations`")));
    }
    Ok(requests.or(iterations?).map(Amount::InAll).or(per_user?.map(Amount::PerUser)))
}

fn sends_several(scenario: &Scenario) -> bool {
    scenario.requests().nth(1).is_some()
}
