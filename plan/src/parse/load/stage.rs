//! One stage: what it starts with, what it goes to, how long it takes; or stairs, which are several.

use crate::model::MAX_USERS;
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};
use crate::parse::section::{Belongs, Keys, Section};
use crate::shape::{MAX_LOAD_TIME, Rate, ShapeError, Stage, Stairs};
use std::ops::RangeInclusive;
use std::time::Duration;

const STAGE: Keys = Keys {
    known: &[&["rate", "users", "ramp_to", "for", "steps"]],
    later: &[],
    belongs: &[Belongs { key: "warmup", under: "warmup", hint: "write it beside `stages`" }],
    elsewhere: &[
        ("duration", "for"),
        ("to", "ramp_to"),
        ("target", "ramp_to"),
        ("vus", "users"),
        ("stairs", "steps"),
    ],
};

const STAIRS: Keys = Keys {
    known: &[&["from", "to", "by", "every"]],
    later: &[],
    belongs: &[],
    elsewhere: &[("for", "every"), ("duration", "every"), ("step", "by")],
};

const STAGE_TIME: RangeInclusive<Duration> = Duration::ZERO..=MAX_LOAD_TIME;
const STEP_TIME: RangeInclusive<Duration> = Duration::from_millis(1)..=MAX_LOAD_TIME;

/// What stages are of: rates of the open model, or users of the closed one.
pub(super) trait Level: Copy {
    /// The key of what a stage starts with.
    const KEY: &'static str;
    /// The key that stages of the other model have.
    const OTHER: &'static str;
    /// What a stage may start with, for messages.
    const EXAMPLE: &'static str;

    fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Self, Told>;

    /// The stages that stairs stand for.
    fn stairs(cursor: Cursor<'_>, faults: &mut Collector) -> Result<Vec<Stage<Self>>, Told>;
}

impl Level for Rate {
    const KEY: &'static str = "rate";
    const OTHER: &'static str = "users";
    const EXAMPLE: &'static str = "50/s";

    fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Self, Told> {
        cursor.rate(faults)
    }

    fn stairs(cursor: Cursor<'_>, faults: &mut Collector) -> Result<Vec<Stage<Self>>, Told> {
        let section = Section::open(cursor, &STAIRS, faults)?;
        let mut rate = |key| match section.get(key) {
            Some(cursor) => cursor.rate(faults),
            None => Err(section.missing(key, "a rate, such as 50/s", faults)),
        };
        let (from, to, by) = (rate("from"), rate("to"), rate("by"));
        let every = match section.get("every") {
            Some(cursor) => cursor.duration(&STEP_TIME, faults),
            None => Err(section.missing("every", "how long a step takes, such as 30s", faults)),
        };
        let stairs = Stairs { from: from?, to: to?, by: by?, every: every? };
        stairs.stages().map_err(|error| {
            let flat = (error == ShapeError::FlatStairs).then(|| section.get("by")).flatten();
            let (cursor, expected) = match flat {
                Some(by) => (by, "more than 0/s"),
                None => (section.cursor().clone(), "fewer steps"),
            };
            faults.report(cursor.fault(format!("found {error}")).expected(expected))
        })
    }
}

impl Level for u32 {
    const KEY: &'static str = "users";
    const OTHER: &'static str = "rate";
    const EXAMPLE: &'static str = "10";

    fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Self, Told> {
        cursor.narrow(0..=MAX_USERS, faults)
    }

    fn stairs(cursor: Cursor<'_>, faults: &mut Collector) -> Result<Vec<Stage<Self>>, Told> {
        let stairs = cursor.fault("found stairs in a load of users").expected("stages with `users`");
        Err(faults.report(stairs.hint("write a stage for each step, such as `{ users: 20, for: 30s }`")))
    }
}

/// Takes the stage that stands at `cursor`.
pub(super) fn open<'n>(cursor: Cursor<'n>, faults: &mut Collector) -> Result<Section<'n>, Told> {
    Section::open(cursor, &STAGE, faults)
}

/// What a stage that says only what it starts with holds until the iterations are done; `None` for any other.
pub(super) fn read_unending<V: Level>(
    stage: &Section<'_>,
    faults: &mut Collector,
) -> Option<Result<V, Told>> {
    let ends = ["ramp_to", "for", "steps", V::OTHER].iter().any(|key| stage.has(key));
    let cursor = stage.get(V::KEY).filter(|_| !ends)?;
    Some(V::read(&cursor, faults))
}

/// Reads a stage, or the several that its stairs are. `before` is where the one before it ended, where there is one.
pub(super) fn read<V: Level>(
    stage: &Section<'_>,
    before: Option<Result<V, Told>>,
    faults: &mut Collector,
) -> Result<Vec<Stage<V>>, Told> {
    if stage.get(V::OTHER).is_some() {
        let other = stage.fault_of(V::OTHER, format!("stands in a load whose stages are of `{}`", V::KEY));
        return Err(faults.report(other.expected("one model for all stages")));
    }
    if let Some(cursor) = stage.get("steps") {
        let alone = alone(stage, faults);
        let stairs = V::stairs(cursor, faults)?;
        return alone.map(|()| stairs);
    }
    let from = start(stage, before, faults);
    let to = stage.optional("ramp_to", |cursor| V::read(cursor, faults));
    let duration = match stage.get("for") {
        Some(cursor) => cursor.duration(&STAGE_TIME, faults),
        None => Err(stage.missing("for", "how long the stage takes, such as 1m", faults)),
    };
    let (from, to, duration) = (from?, to?, duration?);
    Ok(vec![Stage::ramp(from, to.unwrap_or(from), duration)])
}

/// What a stage starts with.
fn start<V: Level>(
    stage: &Section<'_>,
    before: Option<Result<V, Told>>,
    faults: &mut Collector,
) -> Result<V, Told> {
    if let Some(cursor) = stage.get(V::KEY) {
        return V::read(&cursor, faults);
    }
    if !stage.has("ramp_to") {
        let expected = format!("what the stage holds, such as {}, or `ramp_to`", V::EXAMPLE);
        return Err(stage.missing(V::KEY, &expected, faults));
    }
    before.unwrap_or_else(|| {
        let expected = format!("what the first stage starts with, such as {}", V::EXAMPLE);
        Err(stage.missing(V::KEY, &expected, faults))
    })
}

/// Stairs have nothing beside them.
fn alone(stage: &Section<'_>, faults: &mut Collector) -> Result<(), Told> {
    let beside = stage.keys().find(|key| ["rate", "ramp_to", "for"].contains(key));
    beside.map_or(Ok(()), |key| {
        let fault = stage.fault_of(key, "stands beside `steps`, which are a stage of their own");
        Err(faults.report(fault.expected("`from`, `to`, `by` and `every` in `steps`")))
    })
}
