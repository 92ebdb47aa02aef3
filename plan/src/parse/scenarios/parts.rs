//! What a request sends and what its answer must be: the keys that the short form and steps have in common.

use super::check;
use crate::model::{Body, Check, MAX_FILLED_BYTES};
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};
use crate::parse::headers;
use crate::parse::measures::DAY;
use crate::parse::node::Value;
use crate::parse::section::Section;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The keys.
pub(in crate::parse) const KEYS: &[&str] =
    &["headers", "body", "body_file", "body_size", "ask_first", "check"];

/// The keys that give a body, of which one is there at most.
const BODIES: &[&str] = &["body", "body_file", "body_size"];

/// How long the target's word is waited for where the plan only says that it is.
const ASKED_FOR: Duration = Duration::from_secs(1);
const ASK_FIRST: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;

/// A request less its name and its line.
pub(super) struct Parts {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    pub(super) ask_first: Option<Duration>,
    pub(super) check: Check,
}

pub(super) fn read(section: &Section<'_>, faults: &mut Collector) -> Result<Parts, Told> {
    let headers = section.or_default("headers", Vec::new(), |cursor| headers::read(cursor, faults));
    let body = body(section, faults);
    let ask_first = section.or_default("ask_first", None, |cursor| ask_first(cursor, faults));
    let check = section.or_default("check", Check::default(), |cursor| check::read(cursor, faults));
    let parts = Parts { headers: headers?, body: body?, ask_first: ask_first?, check: check? };
    if parts.ask_first.is_some() && parts.body == Body::NONE {
        let idle = section.fault_of("ask_first", "stands in a request without a body");
        return Err(faults.report(idle.expected("a body that is sent once the target says so")));
    }
    Ok(parts)
}

fn body(section: &Section<'_>, faults: &mut Collector) -> Result<Body, Told> {
    let only = section.only_one(BODIES, "one way to give the body", faults)?;
    let Some(cursor) = only.and_then(|key| section.get(key)) else {
        // One that is misspelt gives no body, but was meant to.
        let misspelt = BODIES.iter().find_map(|key| section.told(key));
        return misspelt.map_or(Ok(Body::NONE), Err);
    };
    match only {
        Some("body_file") => cursor.file_name(faults).map(Body::File),
        Some("body_size") => cursor.size(&(1..=MAX_FILLED_BYTES), faults).map(Body::Filled),
        _ => cursor.template(faults).map(|text| Body::Inline(text.into_bytes())),
    }
}

/// `true`, `false`, or how long is waited.
fn ask_first(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Option<Duration>, Told> {
    match &cursor.node.value {
        Value::Plain(plain) if plain == "true" => Ok(Some(ASKED_FOR)),
        Value::Plain(plain) if plain == "false" => Ok(None),
        _ => cursor.duration(&ASK_FIRST, faults).map(Some),
    }
}
