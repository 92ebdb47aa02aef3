//! A mapping with known keys: finds doubled, unknown and not-yet-built ones, and hands out the values.

use super::cursor::Cursor;
use super::fault::{Collector, Fault, FieldPath, Told, shown};
use super::node::{Entry, Value};

/// The keys of a mapping.
pub(super) struct Keys {
    /// Those that this version reads.
    pub(super) known: &'static [&'static str],
    /// Those that belong to the plan's language but that this version doesn't have yet.
    pub(super) later: &'static [Later],
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

impl Keys {
    /// Longest key, in bytes, for which a similar one is looked for.
    const MAX_MISSPELT_BYTES: usize = 40;

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
        let all = || self.known.iter().copied().chain(self.later.iter().map(|later| later.key));
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
pub(super) struct Section<'n> {
    cursor: Cursor<'n>,
    entries: &'n [Entry],
    /// Keys that are there in another spelling, and were reported so.
    misspelt: Vec<(&'static str, Told)>,
}

impl<'n> Section<'n> {
    /// Takes the mapping at `cursor` and reports every key that can't be there.
    pub(super) fn open(cursor: Cursor<'n>, keys: &Keys, faults: &mut Collector) -> Result<Self, Told> {
        let Value::Map(entries) = &cursor.node.value else {
            return Err(cursor.wrong("a mapping (`key: value`)", faults));
        };
        let mut section = Self { cursor, entries, misspelt: Vec::new() };
        for (index, entry) in entries.iter().enumerate() {
            section.check_key(index, entry, keys, faults);
        }
        Ok(section)
    }

    fn check_key(&mut self, index: usize, entry: &Entry, keys: &Keys, faults: &mut Collector) {
        let key = entry.key.as_str();
        let fault = |detail: String| Fault::new(entry.key_place, &self.cursor.path.key(key), detail);
        if keys.known.contains(&key) {
            let first = self.entries.iter().take(index).find(|earlier| earlier.key == key);
            if let Some(first) = first {
                faults.report(doubled(&self.cursor.path, entry, first));
            }
        } else if let Some(later) = keys.later.iter().find(|later| later.key == key) {
            let detail = format!("this version does not have {} yet", later.what);
            faults.report(fault(detail).maybe_hint(later.instead));
        } else {
            let near = keys.nearest(key);
            let unknown = fault(format!("unknown key `{}`", shown(key)));
            let told = faults.report(unknown.maybe_hint(near.map(|near| format!("did you mean {near}?"))));
            self.misspelt.extend(near.map(|near| (near, told)));
        }
    }

    /// The value of a key; of its first, where it is doubled.
    pub(super) fn get(&self, key: &str) -> Option<Cursor<'n>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Cursor::new(&entry.value, self.cursor.path.key(key)))
    }

    /// Whether a key is there, if only misspelt.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
            || self.misspelt.iter().any(|(near, _)| *near == key)
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

    /// Reports that a key isn't there, unless a misspelt one was reported. The place is the mapping's.
    pub(super) fn missing(&self, key: &str, expected: &str, faults: &mut Collector) -> Told {
        if let Some((_, told)) = self.misspelt.iter().find(|(near, _)| *near == key) {
            return *told;
        }
        let missing = Fault::new(self.cursor.node.place, &self.cursor.path.key(key), "missing");
        faults.report(missing.expected(expected))
    }
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
        known: &["users", "duration", "headers", "timeout", "connect_timeout", "keep_alive"],
        later: &[Later { key: "thresholds", what: "thresholds", instead: None }],
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
            ("threshold", Some("thresholds")),
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
