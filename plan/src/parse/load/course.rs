//! The course of a load: one steady rate or number of users, or a list of stages, all of one kind.

use super::stage::{self, Level};
use crate::model::MAX_USERS;
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};
use crate::parse::section::Section;
use crate::shape::{MAX_LOAD_TIME, MAX_STAGES, Rate, Stage};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What there is at what time, and where faults of the whole are placed.
pub(super) enum Course<'n> {
    Open { stages: Stages<Rate>, place: Cursor<'n> },
    Closed { stages: Stages<u32>, place: Cursor<'n> },
}

/// Stages, or one that lasts until the iterations are done.
pub(super) enum Stages<V> {
    Timed(Vec<Stage<V>>),
    UntilDone(V),
}

const DURATION: RangeInclusive<Duration> = Duration::from_millis(1)..=MAX_LOAD_TIME;

const ONE_MODEL: &str = "`rate` (the open model) or `users` (the closed one), not both";

/// The short form.
pub(super) fn steady<'n>(top: &Section<'n>, faults: &mut Collector) -> Result<Course<'n>, Told> {
    let rate = top.optional("rate", |cursor| cursor.rate(faults));
    let users = top.optional("users", |cursor| cursor.narrow(1..=MAX_USERS, faults));
    let duration = top.optional("duration", |cursor| cursor.duration(&DURATION, faults));
    let which = top.only_one(&["rate", "users"], ONE_MODEL, faults)?;
    let place = which.and_then(|key| top.get(key)).unwrap_or_else(|| top.cursor().clone());
    let (rate, users, duration) = (rate?, users?, duration?);
    match (rate, users) {
        (Some(rate), _) => Ok(Course::Open { stages: Stages::steady(rate, duration), place }),
        (None, Some(users)) => Ok(Course::Closed { stages: Stages::steady(users, duration), place }),
        (None, None) => {
            let either = "`rate`, such as 200/s (the open model), or `users`, such as 10 (the closed one)";
            let misspelt = ["rate", "load"].iter().find_map(|key| top.told(key));
            Err(misspelt.unwrap_or_else(|| top.missing("users", either, faults)))
        }
    }
}

impl<V: Copy> Stages<V> {
    fn steady(level: V, duration: Option<Duration>) -> Self {
        duration.map_or(Self::UntilDone(level), |duration| Self::Timed(vec![Stage::hold(level, duration)]))
    }
}

/// The long form: `stages` of the section `load`.
pub(super) fn stages<'n>(load: &Section<'n>, faults: &mut Collector) -> Result<Course<'n>, Told> {
    let expected = "a list of stages, such as `- { rate: 50/s, for: 1m }`";
    let Some(place) = load.get("stages") else {
        return Err(load.missing("stages", expected, faults));
    };
    let mut sections = Vec::new();
    let mut failed = None;
    for item in place.items(expected, MAX_STAGES, faults)? {
        match stage::open(item, faults) {
            Ok(section) => sections.push(section),
            Err(told) => failed = Some(told),
        }
    }
    let course = if is_closed(&sections) {
        read_all(&sections, faults)
            .map(|stages| Course::Closed { place: place_of(&stages, &sections, place), stages })
    } else {
        read_all(&sections, faults)
            .map(|stages| Course::Open { place: place_of(&stages, &sections, place), stages })
    };
    failed.map_or(course, Err)
}

/// The first stage that names its model decides which one the others have to have.
fn is_closed(sections: &[Section<'_>]) -> bool {
    let decides = |stage: &Section<'_>| {
        let is_open = stage.has("rate") || stage.has("steps");
        if is_open { Some(false) } else { stage.has("users").then_some(true) }
    };
    sections.iter().find_map(decides).unwrap_or(false)
}

/// Reads stages one after another: each may begin where the one before it ended.
fn read_all<V: Level>(sections: &[Section<'_>], faults: &mut Collector) -> Result<Stages<V>, Told> {
    if let [only] = sections
        && let Some(level) = stage::read_unending(only, faults)
    {
        return level.map(Stages::UntilDone);
    }
    let mut stages: Vec<Stage<V>> = Vec::new();
    let mut before = None;
    let mut failed = None;
    for section in sections {
        match stage::read(section, before, faults) {
            Ok(read) => {
                before = read.last().map(|stage| Ok(stage.to));
                stages.extend(read);
            }
            Err(told) => {
                before = Some(Err(told));
                failed = Some(told);
            }
        }
        if stages.len() > MAX_STAGES {
            // Too many already, which the shape says; steps of further stairs would only take memory.
            break;
        }
    }
    failed.map_or(Ok(Stages::Timed(stages)), Err)
}

/// Faults of a lone stage that doesn't end stand there, those of several at the list.
fn place_of<'n, V>(stages: &Stages<V>, sections: &[Section<'n>], list: Cursor<'n>) -> Cursor<'n> {
    match (stages, sections) {
        (Stages::UntilDone(_), [only]) => only.cursor().clone(),
        _ => list,
    }
}
