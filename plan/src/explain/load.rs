//! How hard a plan loads its target, when, and until when.

use std::fmt::Display;
use std::time::Duration;

use super::rows::Rows;
use crate::Plan;
use crate::model::{Amount, ClosedLoad, Model, OpenLoad, Scenario, Users};
use crate::shape::{Arrivals, Rate, Stage};
use crate::units::duration_in_words;
use crate::words::{count, counted};

/// Most stages that are told one by one.
const MAX_STAGES: usize = 20;

pub(super) fn tell(plan: &Plan, rows: &mut Rows) {
    let noun = plan.iterations_noun();
    match &plan.load.model {
        Model::Open(open) => tell_open(open, noun, rows),
        Model::Closed(closed) => tell_closed(closed, noun, rows),
    }
    if let Some(requests) = requests(plan) {
        rows.tell("", &requests);
    }
    rows.tell("end", &end(plan));
}

fn tell_open(open: &OpenLoad, noun: &str, rows: &mut Rows) {
    let spread = match open.arrivals {
        Arrivals::Uniform => "evenly spaced",
        Arrivals::Poisson => "by chance (Poisson), at the same rate on average",
    };
    rows.tell(
        "model",
        &format!("open: {noun}s begin when they are due, {spread}, whether or not the target keeps up"),
    );
    rows.tell("latency", "counts from when a request was due, so a target that stalls shows in everything that was due meanwhile");
    let shape = &open.shape;
    let about = if open.arrivals == Arrivals::Poisson { "about " } else { "" };
    let due = |from_ns, to_ns| format!(": {about}{}", counted(shape.arrivals_in(from_ns..to_ns), noun));
    let warmup = (shape.warmup_ns() > 0).then(|| {
        let rate = shape.rate_at(0).in_words();
        format!("{} of warm-up at {rate}{}, kept apart", time(shape.warmup_ns()), due(0, shape.warmup_ns()))
    });
    rows.list("stages", stages(warmup, shape.warmup_ns(), shape.stages(), Rate::in_words, due));
    let most = counted(open.max_in_flight.into(), noun);
    rows.tell(
        "bound",
        &format!("{most} in flight at most; what is due beyond is missed, and never sent later"),
    );
    rows.tell("in all", &in_all(open, noun));
}

/// How many are measured.
fn in_all(open: &OpenLoad, noun: &str) -> String {
    let measured_ns = open.shape.total_ns() - open.shape.warmup_ns();
    let due = open.shape.arrivals_in(open.shape.warmup_ns()..open.shape.total_ns());
    let about = if open.arrivals == Arrivals::Poisson { "about " } else { "" };
    match open.iterations {
        Some(iterations) if iterations <= due => format!("{}, exactly", counted(iterations, noun)),
        _ => format!("{about}{} in {}", counted(due, noun), time(measured_ns)),
    }
}

fn tell_closed(closed: &ClosedLoad, noun: &str, rows: &mut Rows) {
    let next = match closed.pacing {
        None => "its next at once".to_owned(),
        Some(cycle) => format!(
            "its next {} after it began the last one, or at once where that is over",
            duration_in_words(cycle)
        ),
    };
    rows.tell("model", &format!("closed: each user sends, waits for its answer, and begins {next}"));
    rows.tell("latency", "counts from when a request is taken up: a target that stalls is asked less often, and what users would have felt meanwhile is in no number");
    match &closed.users {
        Users::Steady(users) => rows.tell("users", &counted((*users).into(), "user")),
        Users::Staged(shape) => {
            let warmup = (shape.warmup_ns() > 0).then(|| {
                format!(
                    "{} of warm-up with {}, kept apart",
                    time(shape.warmup_ns()),
                    users(shape.users_at(0))
                )
            });
            let nothing = |_, _| String::new();
            rows.list("stages", stages(warmup, shape.warmup_ns(), shape.stages(), users, nothing));
        }
    }
    rows.tell("in all", &closed_in_all(closed, noun));
}

fn users(level: u32) -> String {
    counted(level.into(), "user")
}

fn closed_in_all(closed: &ClosedLoad, noun: &str) -> String {
    let or_less =
        if matches!(closed.users, Users::Staged(_)) { ", unless the time is over before" } else { "" };
    match closed.iterations {
        None => format!("as many {noun}s as the target answers"),
        Some(Amount::InAll(iterations)) => format!("{}, exactly{or_less}", counted(iterations, noun)),
        Some(Amount::PerUser(iterations)) => format!(
            "{} of each user, {} in all{or_less}",
            counted(iterations, noun),
            count(closed.planned().unwrap_or_default())
        ),
    }
}

/// The warm-up and each stage, with the run time at which it begins.
fn stages<V: Copy + PartialEq>(
    warmup: Option<String>,
    warmup_ns: u64,
    stages: impl Iterator<Item = Stage<V>>,
    level: impl Fn(V) -> String,
    due: impl Fn(u64, u64) -> String,
) -> Vec<String> {
    let mut lines: Vec<_> = warmup.into_iter().map(|said| at(0, said)).collect();
    let mut begin_ns = warmup_ns;
    let mut untold = 0;
    for stage in stages {
        let end_ns = begin_ns + u64::try_from(stage.duration.as_nanos()).unwrap_or(u64::MAX);
        let (from, to) = (level(stage.from), level(stage.to));
        let (what, during) =
            if stage.from == stage.to { (from, "for") } else { (format!("from {from} to {to}"), "in") };
        if lines.len() < MAX_STAGES {
            lines.push(at(
                begin_ns,
                format!("{what} {during} {}{}", duration_in_words(stage.duration), due(begin_ns, end_ns)),
            ));
        } else {
            untold += 1;
        }
        begin_ns = end_ns;
    }
    lines.extend((untold > 0).then(|| format!("and {} more", counted(untold, "stage"))));
    lines
}

fn at(ns: u64, what: impl Display) -> String {
    format!("at {}: {what}", time(ns))
}

/// When the load stops, and what becomes of what is in flight then.
fn end(plan: &Plan) -> String {
    let noun = plan.iterations_noun();
    let counted = match &plan.load.model {
        Model::Closed(closed) => closed.iterations.is_some(),
        Model::Open(open) => open.iterations.is_some(),
    };
    let when = match (plan.load.total_ns(), counted) {
        (None, _) => format!("once all {noun}s are done"),
        (Some(total_ns), true) => format!("once all {noun}s are begun, or after {}", time(total_ns)),
        (Some(total_ns), false) => format!("after {}", time(total_ns)),
    };
    let drain = if plan.load.drain.is_zero() {
        "requests in flight are cut off then, and counted so".to_owned()
    } else {
        format!(
            "requests in flight have {} more, then they are cut off and counted so",
            duration_in_words(plan.load.drain)
        )
    };
    format!("{when}; {drain}")
}

fn time(ns: u64) -> String {
    duration_in_words(Duration::from_nanos(ns))
}

/// How many requests the measured iterations make, where they are told and differ.
fn requests(plan: &Plan) -> Option<String> {
    if plan.iterations_noun() == "request" {
        return None;
    }
    let iterations = match &plan.load.model {
        Model::Closed(closed) => closed.planned()?,
        Model::Open(open) => {
            let due = open.shape.arrivals_in(open.shape.warmup_ns()..open.shape.total_ns());
            open.iterations.map_or(due, |iterations| iterations.min(due))
        }
    };
    let of = |scenario: &Scenario| u128::from(scenario.weight) * scenario.requests().count() as u128;
    let sent: u128 = plan.scenarios.iter().map(of).sum();
    let weights: u128 = plan.scenarios.iter().map(|scenario| u128::from(scenario.weight)).sum();
    let requests = u64::try_from(u128::from(iterations) * sent / weights).unwrap_or(u64::MAX);
    Some(format!("that is about {}", counted(requests, "request")))
}
