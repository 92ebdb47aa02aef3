//! What an answer must be: `check`.

use crate::model::{BodyCheck, Check, MAX_FILLED_BYTES, Statuses};
use crate::parse::cursor::{Cursor, Wrong};
use crate::parse::fault::{Collector, Told};
use crate::parse::node::Value;
use crate::parse::section::{Keys, Section};
use std::ops::RangeInclusive;

const CHECK: Keys = Keys {
    known: &[&["status", "body"]],
    later: &[],
    belongs: &[],
    elsewhere: &[("code", "status"), ("statuses", "status"), ("status_code", "status"), ("content", "body")],
};

const BODY: Keys = Keys {
    known: &[BODY_KEYS],
    later: &[],
    belongs: &[],
    elsewhere: &[
        ("equals", "is"),
        ("exact", "is"),
        ("text", "is"),
        ("includes", "contains"),
        ("has", "contains"),
        ("length", "bytes"),
        ("size", "bytes"),
    ],
};

/// The ways to check a body, of which one is there.
const BODY_KEYS: &[&str] = &["is", "contains", "bytes"];

/// Most statuses, or ranges of them, that a check names.
const MAX_STATUSES: usize = 100;

const EXPECTED_BODY: &str = "one of `is: text`, `contains: text` and `bytes: 11`";

pub(super) fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Check, Told> {
    if !matches!(cursor.node.value, Value::Map(_)) {
        return Err(cursor.wrong("a mapping, such as `{ status: 200 }`", faults));
    }
    let section = Section::open(cursor.clone(), &CHECK, faults)?;
    let status = section.or_default("status", Statuses::default(), |cursor| statuses(cursor, faults));
    let body = section.optional("body", |cursor| body(cursor, faults));
    Ok(Check { status: status?, body: body? })
}

/// One status, one range of them, or a list of both.
fn statuses(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Statuses, Told> {
    let (mut ranges, mut failed) = (Vec::new(), None);
    for item in cursor.one_or_more(MAX_STATUSES, faults)? {
        match item.measure("a status from 200 to 999, a class such as 2xx, or 200..204", range, faults) {
            Ok(range) => ranges.push(range),
            Err(told) => failed = Some(told),
        }
    }
    failed.map_or(Ok(Statuses::new(ranges)), Err)
}

fn range(text: &str) -> Result<RangeInclusive<u16>, Wrong> {
    let status = |text: &str| {
        let is_number = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_number)
    };
    let class = text.strip_suffix("xx").filter(|class| class.len() == 1);
    let range = match (class.and_then(|class| class.parse::<u16>().ok()), text.split_once("..")) {
        (Some(class), _) => class * 100..=class * 100 + 99,
        (None, Some((first, last))) => {
            let (first, last) = status(first).zip(status(last)).ok_or_else(Wrong::default)?;
            first..=last
        }
        (None, None) => status(text).map(|status| status..=status).ok_or_else(|| likely(text))?,
    };
    if (100..200).contains(range.start()) {
        return Err(Wrong::because(&"a status that no answer ends with"));
    }
    if range.is_empty() || *range.start() < 200 {
        return Err(Wrong::default());
    }
    Ok(range)
}

/// `2XX`, `2**` and the like.
fn likely(text: &str) -> Wrong {
    let mut chars = text.chars();
    let class = chars.next().filter(char::is_ascii_digit);
    let is_class = text.len() == 3 && chars.all(|c| !c.is_ascii_digit());
    Wrong::default().hint(class.filter(|_| is_class).map(|class| format!("did you mean {class}xx?")))
}

fn body(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<BodyCheck, Told> {
    if !matches!(cursor.node.value, Value::Map(_)) {
        return Err(cursor.wrong(EXPECTED_BODY, faults));
    }
    let section = Section::open(cursor.clone(), &BODY, faults)?;
    let only = section.only_one(BODY_KEYS, EXPECTED_BODY, faults)?;
    let Some((key, cursor)) = only.and_then(|key| Some((key, section.get(key)?))) else {
        let misspelt = BODY_KEYS.iter().find_map(|key| section.told(key));
        return Err(misspelt.unwrap_or_else(|| {
            faults.report(section.cursor().fault("found no check of the body").expected(EXPECTED_BODY))
        }));
    };
    match key {
        "bytes" => cursor.whole_number(0..=MAX_FILLED_BYTES, faults).map(BodyCheck::Bytes),
        "is" => cursor.template(faults).map(|text| BodyCheck::Is(text.into_bytes())),
        _ => contains(&cursor, faults).map(BodyCheck::Contains),
    }
}

/// What is to be found; there is nothing to find in every text.
fn contains(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<u8>, Told> {
    let text = cursor.template(faults)?;
    if text.is_empty() { Err(cursor.wrong("a text that isn't empty", faults)) } else { Ok(text.into_bytes()) }
}
