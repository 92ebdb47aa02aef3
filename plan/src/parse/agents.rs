//! Which agents a run needs: `agents`.

use super::cursor::{Cursor, Wrong};
use super::fault::{Collector, Fault, Told, shown};
use super::measures::DAY;
use super::node::{Entry, Value};
use super::section::{Belongs, Keys, Section, doubled};
use crate::model::{
    AgentsWanted, Amount, ClosedLoad, Load, MAX_AGENTS, MAX_LABEL_CHARS, MAX_LABELS, Model, ShareBy, is_label,
};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

const AGENTS: Keys = Keys {
    known: &[&["min", "max", "wait", "labels", "elastic", "share_by", "lease", "beside"]],
    later: &[],
    belongs: &[],
    elsewhere: &[("weight", "share_by"), ("label", "labels"), ("timeout", "wait")],
};

/// Where the key of elastic shares belongs, for sections in which it is looked for.
pub(super) const ELASTIC: Belongs =
    Belongs { key: "elastic", under: "agents", hint: "write it under `agents`" };

const WAIT: RangeInclusive<Duration> = Duration::ZERO..=DAY;

/// What use the rest of the plan has for agents.
pub(super) struct Uses {
    /// How many can have something to do.
    most: u32,
    /// Why no more.
    expected: &'static str,
    /// Whether each user does a number of iterations.
    counts_by_user: bool,
}

impl Uses {
    /// Where the load is at fault itself, it binds nothing.
    pub(super) fn of(load: Option<&Load>, connections: Option<u32>) -> Self {
        let bound = |most, expected| Self { most, expected, counts_by_user: false };
        match load.map(|load| &load.model) {
            None => bound(MAX_AGENTS, ""),
            Some(Model::Closed(closed)) => {
                let counts_by_user =
                    matches!(closed, ClosedLoad { iterations: Some(Amount::PerUser(_)), .. });
                Self { counts_by_user, ..bound(closed.users.most(), "no more agents than users") }
            }
            Some(Model::Open(open)) => match connections {
                Some(connections) if connections < open.max_in_flight => {
                    bound(connections, "no more agents than connections")
                }
                _ => bound(open.max_in_flight, "no more agents than `max_in_flight`"),
            },
        }
    }
}

pub(super) fn read(cursor: &Cursor<'_>, uses: &Uses, faults: &mut Collector) -> Result<AgentsWanted, Told> {
    let section = Section::open(cursor.clone(), &AGENTS, faults)?;
    let defaults = AgentsWanted::default();
    let min = section.or_default("min", defaults.min, |cursor| enough(cursor, uses, faults));
    let at_least = min.as_ref().map_or(1, |min| *min);
    let max = section.optional("max", |cursor| no_fewer(cursor, at_least, faults));
    let wait = section.or_default("wait", defaults.wait, |cursor| cursor.duration(&WAIT, faults));
    let labels = section.or_default("labels", defaults.labels, |cursor| labels(cursor, faults));
    let elastic = section.or_default("elastic", defaults.elastic, |cursor| elastic(cursor, uses, faults));
    let share_by = section.or_default("share_by", defaults.share_by, |cursor| cursor.share_by(faults));
    let lease =
        section.or_default("lease", defaults.lease, |cursor| cursor.duration(&AgentsWanted::LEASES, faults));
    let beside = section.or_default("beside", defaults.beside, |cursor| cursor.boolean(faults));
    Ok(AgentsWanted {
        min: min?,
        max: max?,
        wait: wait?,
        labels: labels?,
        elastic: elastic?,
        share_by: share_by?,
        lease: lease?,
        beside: beside?,
    })
}

/// How many agents are enough: one without its part of the load would have nothing to do.
fn enough(cursor: &Cursor<'_>, uses: &Uses, faults: &mut Collector) -> Result<u32, Told> {
    let min = cursor.narrow(1..=MAX_AGENTS, faults)?;
    if min <= uses.most { Ok(min) } else { Err(cursor.wrong(uses.expected, faults)) }
}

/// How many agents are too many.
fn no_fewer(cursor: &Cursor<'_>, min: u32, faults: &mut Collector) -> Result<u32, Told> {
    let max = cursor.narrow(1..=MAX_AGENTS, faults)?;
    if max >= min { Ok(max) } else { Err(cursor.wrong("no fewer agents than `min`", faults)) }
}

/// Whether agents may join the run while it goes on. Whoever leaves users to another can't leave it what they have done.
fn elastic(cursor: &Cursor<'_>, uses: &Uses, faults: &mut Collector) -> Result<bool, Told> {
    let elastic = cursor.boolean(faults)?;
    if elastic && uses.counts_by_user {
        let fault = cursor.fault("stands beside `iterations_per_user`");
        let expected =
            "`iterations` or `duration`, since a user that counts its iterations stays with its agent";
        return Err(faults.report(fault.expected(expected)));
    }
    Ok(elastic)
}

/// Names to texts, all of which an agent must have.
fn labels(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<BTreeMap<String, String>, Told> {
    let Value::Map(entries) = &cursor.node.value else {
        return Err(cursor.wrong("a mapping of labels to values, such as `zone: eu`", faults));
    };
    if entries.len() > MAX_LABELS {
        let many = cursor.fault(format!("found {} labels", entries.len()));
        return Err(faults.report(many.expected(format!("at most {MAX_LABELS}"))));
    }
    let mut first_of: BTreeMap<&str, &Entry> = BTreeMap::new();
    let mut labels = BTreeMap::new();
    let mut failed = None;
    for entry in entries {
        if let Some(first) = first_of.insert(&entry.key, entry) {
            failed = Some(faults.report(doubled(&cursor.path, entry, first)));
        }
        match label(cursor, entry, faults) {
            Ok(value) => drop(labels.insert(entry.key.clone(), value)),
            Err(told) => failed = Some(told),
        }
    }
    failed.map_or(Ok(labels), Err)
}

/// The value of a label.
fn label(cursor: &Cursor<'_>, entry: &Entry, faults: &mut Collector) -> Result<String, Told> {
    let value = Cursor::new(&entry.value, cursor.path.key(&entry.key));
    let expected = format!("1 to {MAX_LABEL_CHARS} letters, digits and -._/");
    if !is_label(&entry.key) {
        let detail = format!("found the label \"{}\"", shown(&entry.key));
        return Err(faults.report(Fault::new(entry.key_place, &cursor.path, detail).expected(expected)));
    }
    let text = value.text(faults)?;
    if is_label(text) { Ok(text.to_owned()) } else { Err(value.wrong(&expected, faults)) }
}

impl Cursor<'_> {
    fn share_by(&self, faults: &mut Collector) -> Result<ShareBy, Told> {
        let read = |text: &str| {
            let found = ShareBy::ALL.into_iter().find(|by| by.name() == text);
            found.ok_or_else(|| Wrong::default().hint(likely_share_by(text)))
        };
        self.measure("`weight`, `capacity` or `even`", read, faults)
    }
}

fn likely_share_by(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let likely = match lower.as_str() {
        "cores" | "workers" => Some(ShareBy::Weight),
        "equal" | "none" => Some(ShareBy::Even),
        _ => ShareBy::ALL.into_iter().find(|by| strsim::damerau_levenshtein(by.name(), &lower) <= 2),
    };
    likely.map(|by| format!("did you mean {}?", by.name()))
}
