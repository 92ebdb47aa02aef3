//! A mapping with known keys: finds doubled, unknown and not-yet-built ones, and hands out the values.

use super::cursor::Cursor;
use super::fault::{Collector, Fault, FieldPath, Told, shown};
use super::node::{Entry, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The keys of a mapping, in groups that are named where they are read.
pub(super) struct Keys {
    /// Those that this version reads.
    pub(super) known: &'static [&'static [&'static str]],
    /// Those that belong to the plan's language but that this version doesn't have yet.
    pub(super) later: &'static [&'static [Later]],
    /// Those that belong into another mapping.
    pub(super) belongs: &'static [Belongs],
    /// What other tools call some of the known ones.
    pub(super) elsewhere: &'static [(&'static str, &'static str)],
}

/// A key that this version doesn't have yet.
pub(super) struct Later {
    pub(super) key: &'static str,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// What to write until then, if anything does.
    pub(super) instead: Option<&'static str>,
}

pub(super) const fn later(key: &'static str, what: &'static str) -> Later {
    Later { key, what, instead: None }
}

/// A key that belongs into another mapping.
pub(super) struct Belongs {
    pub(super) key: &'static str,
    /// The key of this mapping that is there instead of it.
    pub(super) under: &'static str,
    /// How to write it.
    pub(super) hint: &'static str,
}

impl Keys {
    /// Longest key, in bytes, for which a similar one is looked for.
    const MAX_MISSPELT_BYTES: usize = 40;

    fn is_known(&self, key: &str) -> bool {
        self.known.iter().any(|group| group.contains(&key))
    }

    fn later(&self, key: &str) -> Option<&'static Later> {
        self.later.iter().copied().flatten().find(|later| later.key == key)
    }

    /// The key that `misspelt` most likely stands for: one that differs in a third of its letters at most, or that
    /// it begins.
    fn nearest(&self, misspelt: &str) -> Option<&'static str> {
        let written = misspelt.to_lowercase().replace('-', "_");
        if !(2..=Self::MAX_MISSPELT_BYTES).contains(&written.len()) {
            return None;
        }
        if let Some((_, key)) = self.elsewhere.iter().find(|(other, _)| *other == written) {
            return Some(key);
        }
        let all = || {
            let later = self.later.iter().copied().flatten().map(|later| later.key);
            self.known.iter().copied().flatten().copied().chain(later)
        };
        let most = (written.len() / 3).max(1);
        all()
            .map(|key| (strsim::damerau_levenshtein(&written, key), key))
            .filter(|(distance, _)| *distance <= most)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, key)| key)
            .or_else(|| all().find(|key| written.len() > 2 && key.starts_with(&written)))
    }
}

/// A mapping, its keys checked.
#[derive(Clone)]
pub(super) struct Section<'n> {
    cursor: Cursor<'n>,
    entries: &'n [Entry],
    /// Keys that are there in another spelling or form, and were reported so.
    misspelt: Vec<(&'static str, Told)>,
}

impl<'n> Section<'n> {
    /// Takes the mapping at `cursor` and reports every key that can't be there.
    pub(super) fn open(cursor: Cursor<'n>, keys: &Keys, faults: &mut Collector) -> Result<Self, Told> {
        let Value::Map(entries) = &cursor.node.value else {
            return Err(cursor.wrong("a mapping (`key: value`)", faults));
        };
        let mut section = Self { cursor, entries, misspelt: Vec::new() };
        let mut first_of = BTreeMap::new();
        for entry in entries {
            let first = *first_of.entry(entry.key.as_str()).or_insert(entry);
            if !keys.is_known(&entry.key) {
                section.refuse(entry, keys, faults);
            } else if !std::ptr::eq(first, entry) {
                faults.report(doubled(&section.cursor.path, entry, first));
            }
        }
        Ok(section)
    }

    /// Reports a key that can't be there.
    fn refuse(&mut self, entry: &Entry, keys: &Keys, faults: &mut Collector) {
        let key = entry.key.as_str();
        let fault = |detail: String| Fault::new(entry.key_place, &self.cursor.path.key(key), detail);
        if let Some(later) = keys.later(key) {
            let detail = format!("this version does not have {} yet", later.what);
            faults.report(fault(detail).maybe_hint(later.instead));
        } else if let Some(belongs) = keys.belongs.iter().find(|belongs| belongs.key == key) {
            let told = faults.report(fault("does not belong here".to_owned()).hint(belongs.hint));
            self.misspelt.push((belongs.under, told));
        } else {
            // Looking for what was meant takes far longer than the rest, and nobody reads the thousandth fault.
            let near = if faults.is_full() { None } else { keys.nearest(key) };
            let unknown = fault(format!("unknown key `{}`", shown(key)));
            let told = faults.report(unknown.maybe_hint(near.map(|near| format!("did you mean {near}?"))));
            self.misspelt.extend(near.map(|near| (near, told)));
        }
    }

    /// The mapping itself.
    pub(super) fn cursor(&self) -> &Cursor<'n> {
        &self.cursor
    }

    /// The keys that are there, in the order in which they are written.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'n str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// The value of a key; of its first, where it is doubled.
    pub(super) fn get(&self, key: &str) -> Option<Cursor<'n>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Cursor::new(&entry.value, self.cursor.path.key(key)))
    }

    /// Whether a key is there, if only misspelt.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key) || self.told(key).is_some()
    }

    /// What was reported of a key that is there in another spelling.
    pub(super) fn told(&self, key: &str) -> Option<Told> {
        self.misspelt.iter().find(|(near, _)| *near == key).map(|(_, told)| *told)
    }

    /// The value of a key as `read` reads it, or `default` where the key isn't there.
    pub(super) fn or_default<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Cursor<'n>) -> Result<T, Told>,
    ) -> Result<T, Told> {
        self.get(key).map_or(Ok(default), |cursor| read(&cursor))
    }

    /// The value of a key as `read` reads it, where the key is there.
    pub(super) fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Cursor<'n>) -> Result<T, Told>,
    ) -> Result<Option<T>, Told> {
        self.get(key).map(|cursor| read(&cursor)).transpose()
    }

    /// Reports that a key isn't there, unless a misspelt one was reported. The place is the mapping's.
    pub(super) fn missing(&self, key: &str, expected: &str, faults: &mut Collector) -> Told {
        self.told(key).unwrap_or_else(|| {
            let missing = Fault::new(self.cursor.node.place, &self.cursor.path.key(key), "missing");
            faults.report(missing.expected(expected))
        })
    }

    /// A fault of a key that is there, placed at the key; at the mapping, if it isn't.
    pub(super) fn fault_of(&self, key: &str, detail: impl Into<String>) -> Fault {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        let place = entry.map_or(self.cursor.node.place, |entry| entry.key_place);
        Fault::new(place, &self.cursor.path.key(key), detail)
    }

    /// Reports the second of some keys of which only one may be there.
    pub(super) fn only_one(
        &self,
        keys: &[&'static str],
        expected: &str,
        faults: &mut Collector,
    ) -> Result<Option<&'static str>, Told> {
        let mut there = self.keys().filter_map(|key| keys.iter().find(|one| **one == key).copied());
        let Some(first) = there.next() else { return Ok(None) };
        let Some(second) = there.find(|key| *key != first) else { return Ok(Some(first)) };
        let fault = self.fault_of(second, format!("stands beside `{first}`"));
        Err(faults.report(fault.expected(expected)))
    }
}

/// The section of a part of the plan that has two forms: under the key `long` a mapping of its own, or else, with the
/// keys `short`, the `top` itself. Keys of both together are reported.
pub(super) fn long_form<'n>(
    top: &Section<'n>,
    long: &'static str,
    short: &[&[&str]],
    faults: &mut Collector,
) -> Option<Cursor<'n>> {
    let cursor = top.get(long)?;
    let both: BTreeSet<_> = top.keys().filter(|key| short.iter().any(|group| group.contains(key))).collect();
    for key in both {
        let fault =
            top.fault_of(key, format!("stands beside `{long}`, which says the same part in its long form"));
        faults.report(fault.expected(format!("only one of `{key}` and `{long}`")));
    }
    Some(cursor)
}

/// The fault of a key that was there before.
pub(super) fn doubled(path: &FieldPath, second: &Entry, first: &Entry) -> Fault {
    let detail = format!("the key is doubled, it stands at {} already", first.key_place);
    Fault::new(second.key_place, &path.key(&second.key), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys = Keys {
        known: &[&["users", "duration", "headers"], &["timeout", "connect_timeout", "keep_alive"]],
        later: &[&[later("variables", "variables")]],
        belongs: &[],
        elsewhere: &[("concurrency", "users")],
    };

    #[test]
    fn misspelt_keys_find_what_was_meant() {
        for (misspelt, meant) in [
            ("usrs", Some("users")),
            ("user", Some("users")),
            ("Users", Some("users")),
            ("duraton", Some("duration")),
            ("header", Some("headers")),
            ("time-out", Some("timeout")),
            ("connect-timeout", Some("connect_timeout")),
            ("keepalive", Some("keep_alive")),
            ("variable", Some("variables")),
            ("dur", Some("duration")),
            ("concurrency", Some("users")),
            ("colour", None),
            ("us", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(KEYS.nearest(misspelt), meant, "{misspelt}");
        }
    }
}
