//! What is wrong with a plan: faults with their place, and the collector that gathers all of them.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use std::fmt;

/// Most faults that are reported of one plan; how many more there are is said in a last one.
pub const MAX_FAULTS: usize = 100;

/// Where a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a text: line and column, both counted from 1, the column in characters.
    Text {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// In an argument of the command line: the flag as it is shown to people (`-c`).
    Flag(&'static str),
}

impl Place {
    pub(super) const START: Self = Self::Text { line: 1, column: 1 };

    /// The place of what follows `before`, where that is how the text begins.
    pub(super) fn after(before: &str) -> Self {
        let last_line = before.rsplit('\n').next().unwrap_or_default();
        Self::at(before.matches('\n').count() + 1, last_line.chars().count() + 1)
    }

    pub(super) fn at(line: usize, column: usize) -> Self {
        let bounded = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self::Text { line: bounded(line), column: bounded(column) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { line, column } => write!(f, "{line}:{column}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One thing that is wrong with a plan. Displays in one line, without the file's name, which it doesn't know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// The field as people write it (`agents.min`); empty for the plan as a whole.
    pub field: String,
    /// The field as a JSON pointer (RFC 6901: `/agents/min`); empty for the plan as a whole.
    pub pointer: String,
    /// What was found, or what is wrong.
    pub detail: String,
    /// What would have been right, where `detail` doesn't say it already.
    pub expected: Option<String>,
    /// What was most likely meant, or how to write it.
    pub hint: Option<String>,
}

impl Fault {
    pub(super) fn new(place: Place, path: &FieldPath, detail: impl Into<String>) -> Self {
        Self {
            place,
            field: path.field.clone(),
            pointer: path.pointer.clone(),
            detail: detail.into(),
            expected: None,
            hint: None,
        }
    }

    pub(super) fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        self.maybe_hint(Some(hint))
    }

    pub(super) fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into), ..self }
    }

    pub(super) fn alone(self) -> Faults {
        Faults(vec![self])
    }

    /// The line, counted from 1; none in an argument of the command line.
    pub fn line(&self) -> Option<u32> {
        match self.place {
            Place::Text { line, .. } => Some(line),
            Place::Flag(_) => None,
        }
    }

    /// The column in characters, counted from 1; none in an argument of the command line.
    pub fn column(&self) -> Option<u32> {
        match self.place {
            Place::Text { column, .. } => Some(column),
            Place::Flag(_) => None,
        }
    }

    /// What was found and what was expected, in one sentence.
    fn sentence(&self) -> String {
        self.expected
            .as_ref()
            .map_or_else(|| self.detail.clone(), |expected| format!("{}, expected {expected}", self.detail))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        // A parameter of the field's own name says where it is already.
        let is_named = matches!(self.place, Place::Flag(name) if name == self.field);
        if !self.field.is_empty() && !is_named {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.sentence())?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}

/// As an entry of `errors` in problem details (RFC 9457): pointer, line, column, detail, hint.
impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_struct("Fault", 5)?;
        entry.serialize_field("pointer", &self.pointer)?;
        entry.serialize_field("line", &self.line())?;
        entry.serialize_field("column", &self.column())?;
        entry.serialize_field("detail", &self.sentence())?;
        entry.serialize_field("hint", &self.hint)?;
        entry.end()
    }
}

/// Why a text can't be read as a tree at all: the one fault of the plan as a whole that ends the reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) place: Place,
    pub(super) detail: String,
    pub(super) expected: Option<&'static str>,
    pub(super) hint: Option<&'static str>,
}

impl Stop {
    pub(super) fn new(place: Place, detail: impl Into<String>) -> Self {
        Self { place, detail: detail.into(), expected: None, hint: None }
    }

    pub(super) fn into_fault(self) -> Fault {
        Fault {
            expected: self.expected.map(str::to_owned),
            hint: self.hint.map(str::to_owned),
            ..Fault::new(self.place, &FieldPath::root(), self.detail)
        }
    }
}

/// All faults of a plan, at least one, in the order of their places. Displays with one line a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// The faults with the name of the file in front of each: `plan.yaml:3:5: users: …`.
    pub fn in_file(&self, file: &str) -> String {
        self.lines(&format!("{file}:"))
    }

    fn lines(&self, prefix: &str) -> String {
        self.0.iter().map(|fault| format!("{prefix}{fault}")).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(""))
    }
}

impl std::error::Error for Faults {}

/// Proof that a fault was reported: only a [`Collector`] gives it out. A reader that can't give its value returns
/// this instead, so no plan can be refused without a reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told(());

/// Gathers faults.
#[derive(Debug, Default)]
pub(super) struct Collector {
    faults: Vec<Fault>,
    not_shown: usize,
}

impl Collector {
    pub(super) fn report(&mut self, fault: Fault) -> Told {
        if self.is_full() {
            self.not_shown += 1;
        } else {
            self.faults.push(fault);
        }
        Told(())
    }

    /// How many were reported.
    pub(super) fn count(&self) -> usize {
        self.faults.len() + self.not_shown
    }

    /// Whether further faults are counted only.
    pub(super) fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }

    /// The value, if nothing was reported meanwhile; else all faults.
    pub(super) fn finish<T>(mut self, value: Result<T, Told>) -> Result<T, Faults> {
        match value {
            Ok(value) if self.faults.is_empty() => Ok(value),
            _ => {
                self.faults.sort_by_key(|fault| fault.place);
                if let (1.., Some(last)) = (self.not_shown, self.faults.last()) {
                    let detail = format!("{} more faults are not shown", self.not_shown);
                    self.faults.push(Fault::new(last.place, &FieldPath::root(), detail));
                }
                Err(Faults(self.faults))
            }
        }
    }
}

/// The way from the plan to a field, kept in both its written forms.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldPath {
    field: String,
    pointer: String,
}

impl FieldPath {
    pub(super) fn root() -> Self {
        Self::default()
    }

    pub(super) fn key(&self, key: &str) -> Self {
        let dot = if self.field.is_empty() { "" } else { "." };
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self {
            field: format!("{}{dot}{}", self.field, shown(key)),
            pointer: format!("{}/{escaped}", self.pointer),
        }
    }

    pub(super) fn index(&self, index: usize) -> Self {
        Self { field: format!("{}[{index}]", self.field), pointer: format!("{}/{index}", self.pointer) }
    }
}

/// A text from a plan as messages show it: its beginning, control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut shown = String::new();
    for c in text.chars().take(MAX_CHARS) {
        if c.is_control() {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
