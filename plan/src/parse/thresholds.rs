//! What must hold of a run's numbers: `thresholds`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::cursor::{Cursor, Wrong};
use super::fault::{Collector, Told, shown};
use super::measures::DAY;
use super::node::Value;
use super::section::{Keys, Section};
use crate::model::{Load, Scenario};
use crate::threshold::{Expectation, Limit, MAX_THRESHOLDS, Metric, Threshold};
use crate::units::format_duration;

const THRESHOLD: Keys = Keys {
    known: &[&["expect", "over", "after", "abort", "min_samples"]],
    later: &[],
    belongs: &[],
    elsewhere: &[
        ("threshold", "expect"),
        ("abort_on_fail", "abort"),
        ("abortOnFail", "abort"),
        ("delay", "after"),
        ("window", "over"),
        ("samples", "min_samples"),
    ],
};

const EXPECTED: &str = "a number, an operator and its limit, such as p99 < 300ms";
/// All stretches together, since each is merged anew every second.
const MAX_SPANS: Duration = Duration::from_mins(30);

/// What the rest of the plan says that thresholds are held to; what is at fault itself binds nothing.
pub(super) struct Context<'p> {
    pub(super) load: Option<&'p Load>,
    pub(super) scenarios: Option<&'p [Scenario]>,
}

impl Context<'_> {
    /// How long the measured part is, where the plan says it.
    fn measured(&self) -> Option<Duration> {
        self.load?.measured_ns().map(Duration::from_nanos)
    }
}

pub(super) fn read(
    cursor: &Cursor<'_>,
    context: &Context<'_>,
    faults: &mut Collector,
) -> Result<Vec<Threshold>, Told> {
    let (mut thresholds, mut failed) = (Vec::new(), None);
    for item in cursor.items("a list of thresholds, such as `- p99 < 300ms`", MAX_THRESHOLDS, faults)? {
        let told = faults.count();
        match threshold(&item, context, faults) {
            // Without its misspelt keys it may well be like another one.
            Ok(_) if faults.count() > told => {}
            Ok(threshold) if thresholds.contains(&threshold) => {
                failed = Some(faults.report(item.fault("stands there already")));
            }
            Ok(threshold) => thresholds.push(threshold),
            Err(told) => failed = Some(told),
        }
    }
    let spans: Duration = thresholds.iter().filter_map(|threshold| threshold.over).sum();
    if spans > MAX_SPANS {
        let many =
            cursor.fault(format!("the stretches of all thresholds together are {}", format_duration(spans)));
        failed = Some(faults.report(many.expected(format!("at most {}", format_duration(MAX_SPANS)))));
    }
    failed.map_or(Ok(thresholds), Err)
}

fn threshold(item: &Cursor<'_>, context: &Context<'_>, faults: &mut Collector) -> Result<Threshold, Told> {
    if !matches!(item.node.value, Value::Map(_)) {
        return expectation(item, context, faults).map(Threshold::of);
    }
    let section = Section::open(item.clone(), &THRESHOLD, faults)?;
    let expect = match section.get("expect") {
        Some(cursor) => expectation(&cursor, context, faults),
        None => Err(section.missing("expect", EXPECTED, faults)),
    };
    let measured = context.measured();
    let over = section.optional("over", |cursor| {
        over_what(cursor, expect.as_ref().ok(), faults)?;
        let over = whole_seconds(cursor, &Threshold::SPANS, faults)?;
        let most = measured.filter(|measured| over > *measured);
        refuse(cursor, most, "is longer than what is measured", faults).map(|()| over)
    });
    let abort = section.or_default("abort", false, |cursor| cursor.boolean(faults));
    let has_use =
        section.has("over") || section.told("abort").is_some() || matches!(abort, Ok(true) | Err(_));
    let after = section.or_default("after", Duration::ZERO, |cursor| {
        if !has_use {
            let fault = cursor.fault("stands without `over` and `abort`");
            return Err(
                faults.report(fault.expected("one of them, since the measured part is judged as a whole"))
            );
        }
        let after = whole_seconds(cursor, &(Duration::ZERO..=DAY), faults)?;
        let most = measured.filter(|measured| !after.is_zero() && after >= *measured);
        refuse(cursor, most, "leaves nothing of what is measured", faults).map(|()| after)
    });
    let min_samples =
        section.or_default("min_samples", 1, |cursor| cursor.whole_number(1..=1_000_000_000, faults));
    Ok(Threshold { expect: expect?, over: over?, after: after?, abort: abort?, min_samples: min_samples? })
}

fn whole_seconds(
    cursor: &Cursor<'_>,
    range: &RangeInclusive<Duration>,
    faults: &mut Collector,
) -> Result<Duration, Told> {
    let duration = cursor.duration(range, faults)?;
    if duration.subsec_nanos() > 0 { Err(cursor.wrong("whole seconds", faults)) } else { Ok(duration) }
}

/// Reports a time that does not go with how long the measured part is, where that is said.
fn refuse(
    cursor: &Cursor<'_>,
    measured: Option<Duration>,
    detail: &str,
    faults: &mut Collector,
) -> Result<(), Told> {
    let Some(measured) = measured else { return Ok(()) };
    Err(faults.report(cursor.fault(format!("{detail}, {}", format_duration(measured)))))
}

/// Whether the number is known of a stretch.
fn over_what(cursor: &Cursor<'_>, expect: Option<&Expectation>, faults: &mut Collector) -> Result<(), Told> {
    let of_the_whole = match expect {
        Some(Expectation { metric: Metric::Unknown, .. }) => "what is unknown",
        Some(Expectation { limit: Limit::OfPlanned(_), .. }) => "a share of what is planned",
        _ => return Ok(()),
    };
    let fault = cursor.fault(format!("{of_the_whole} is known of the whole run only"));
    Err(faults.report(fault.expected("no `over`")))
}

/// What must hold, of steps that are there.
fn expectation(
    cursor: &Cursor<'_>,
    context: &Context<'_>,
    faults: &mut Collector,
) -> Result<Expectation, Told> {
    let read = |text: &str| {
        text.parse::<Expectation>()
            .map_err(|error| Wrong::because(&error).hint(error.hint(text).map(|hint| shown(&hint))))
    };
    let expect = cursor.measure(EXPECTED, read, faults)?;
    let Some(scenarios) = context.scenarios else { return Ok(expect) };
    let of = &expect.of;
    if let Some(wanted) = &of.scenario
        && !scenarios.iter().any(|scenario| scenario.name == *wanted)
    {
        let names = scenarios.iter().map(|scenario| scenario.name.as_str());
        return Err(unknown(cursor, "scenario", wanted, names, faults));
    }
    let is_of = |scenario: &&Scenario| of.scenario.as_ref().is_none_or(|wanted| scenario.name == *wanted);
    let steps =
        || scenarios.iter().filter(is_of).flat_map(Scenario::requests).map(|request| request.name.as_str());
    match &of.step {
        Some(wanted) if !steps().any(|name| name == wanted) => {
            Err(unknown(cursor, "step", wanted, steps(), faults))
        }
        _ => Ok(expect),
    }
}

/// Reports a name that the plan doesn't have; `names` are those that it has in its place.
fn unknown<'n>(
    cursor: &Cursor<'_>,
    what: &str,
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
    faults: &mut Collector,
) -> Told {
    // Looking for what was meant takes far longer than the rest, and nobody reads the thousandth fault.
    let near = if faults.is_full() { None } else { nearest(wanted, names) };
    let fault = cursor.fault(format!("the plan has no {what} `{}`", shown(wanted)));
    faults.report(fault.maybe_hint(near.map(|name| format!("did you mean {}?", shown(name)))))
}

/// The one of `names` that differs in a third of its letters at most.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let length = wanted.chars().count();
    let most = (length / 3).max(1);
    let names = names.filter(|name| name.chars().count().abs_diff(length) <= most);
    let near = names.map(|name| (strsim::damerau_levenshtein(wanted, name), name));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}
