//! What people say of a run: nothing is decided by it, and it may change at any time, the run's end included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{RunDocument, RunSummary};

/// Most characters of a note.
const MAX_NOTE_CHARS: usize = 1_000;
/// Most labels of a run.
const MAX_LABELS: usize = 32;
/// Most characters of a label's key, and of its value.
const MAX_LABEL_CHARS: usize = 100;

/// A note and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// A note for people; nothing where there is none.
    pub note: Option<String>,
    /// Labels, to find runs by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A change of marks as JSON merge patch (RFC 7396): what is left out stays, `null` takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarksPatch {
    /// Another note; `null` for none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 1000)]
    pub note: Option<Option<String>>,
    /// Labels to set, each with its value, or `null` to take it away.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>)]
    pub labels: Option<BTreeMap<String, Option<String>>>,
}

/// A field that is there, `null` included.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// Which plan of the library a run is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibraryPlan {
    /// Its name there.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
}

impl Marks {
    /// The marks with a change.
    ///
    /// # Errors
    /// What is too much, in words.
    pub fn patched(mut self, patch: MarksPatch) -> Result<Self, String> {
        if let Some(note) = patch.note {
            self.note = note;
        }
        for (key, value) in patch.labels.unwrap_or_default() {
            match value {
                Some(value) => self.labels.insert(key, value),
                None => self.labels.remove(&key),
            };
        }
        self.checked()
    }

    /// The marks, if they are within bounds.
    ///
    /// # Errors
    /// What is too much, in words.
    pub fn checked(self) -> Result<Self, String> {
        let is_long = |text: &str, most: usize| text.chars().count() > most;
        if self.note.as_ref().is_some_and(|note| is_long(note, MAX_NOTE_CHARS)) {
            return Err(format!("note: at most {MAX_NOTE_CHARS} characters"));
        }
        if self.labels.len() > MAX_LABELS {
            return Err(format!("labels: at most {MAX_LABELS}"));
        }
        for (key, value) in &self.labels {
            if key.is_empty() || key.contains('=') || is_long(key, MAX_LABEL_CHARS) {
                let sentence = format!("labels: a key has 1 to {MAX_LABEL_CHARS} characters, none of them =");
                return Err(sentence);
            }
            if is_long(value, MAX_LABEL_CHARS) {
                return Err(format!("labels: a value has at most {MAX_LABEL_CHARS} characters"));
            }
        }
        Ok(self)
    }
}

/// A label as people write it: `zone=eu`.
///
/// # Errors
/// What is expected.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("label: found {text}, expected KEY=VALUE"))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

impl RunDocument {
    /// What people say of it.
    #[must_use]
    pub fn marks(&self) -> Marks {
        Marks { note: self.note.clone(), labels: self.labels.clone() }
    }

    /// The document with other marks.
    #[must_use]
    pub fn marked(self, Marks { note, labels }: Marks) -> Self {
        Self { note, labels, ..self }
    }
}

impl RunSummary {
    /// The summary with other marks.
    #[must_use]
    pub fn marked(self, Marks { note, labels }: Marks) -> Self {
        Self { note, labels, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, patch: &str, expected: Result<&str, &str>) {
        let before: Marks = serde_json::from_str(before).unwrap();
        let patched = before.patched(serde_json::from_str(patch).unwrap());
        match (patched, expected) {
            (Ok(marks), Ok(expected)) => {
                assert_eq!(serde_json::to_string(&marks).unwrap(), expected, "{patch}");
            }
            (Err(said), Err(part)) => assert!(said.contains(part), "{patch}: {said}"),
            (found, _) => panic!("{patch}: {found:?}"),
        }
    }

    #[test]
    fn a_patch_changes_what_it_names() {
        let before = r#"{"note":"a","labels":{"x":"1","y":"2"}}"#;
        check(before, "{}", Ok(before));
        check(before, r#"{"note":null}"#, Ok(r#"{"note":null,"labels":{"x":"1","y":"2"}}"#));
        check(
            before,
            r#"{"note":"b","labels":{"x":null,"z":""}}"#,
            Ok(r#"{"note":"b","labels":{"y":"2","z":""}}"#),
        );
        check(before, r#"{"labels":null}"#, Ok(before));
        check(before, r#"{"labels":{"a=b":"1"}}"#, Err("none of them ="));
        check(before, r#"{"labels":{"":"1"}}"#, Err("a key has"));
        check(before, &format!(r#"{{"labels":{{"a":"{}"}}}}"#, "é".repeat(101)), Err("a value has"));
        check(before, &format!(r#"{{"note":"{}"}}"#, "é".repeat(1_001)), Err("note: at most"));
        assert!(
            serde_json::from_str::<MarksPatch>(r#"{"notes":"x"}"#).is_err(),
            "what is misspelt is no wish"
        );
    }

    #[test]
    fn a_label_has_a_key() {
        assert_eq!(label(" zone = eu=1 "), Ok(("zone".to_owned(), "eu=1".to_owned())));
        assert!(label("zone").unwrap_err().contains("KEY=VALUE"));
    }
}
