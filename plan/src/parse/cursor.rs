//! One value of the tree and the way to it: reads scalars of each kind, and says what is there instead.

use super::fault::{Collector, Fault, FieldPath, Told, shown};
use super::node::{Node, Value};
use super::scalar::{Core, core, is_simple_number, yaml_1_1};
use super::template;
use crate::units::{format_duration, parse_duration};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// What is wrong with a value with a unit.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// What stands behind `found …`; empty where the value lies outside of what is expected.
    reason: String,
    /// What was most likely meant.
    hint: Option<String>,
}

impl Wrong {
    pub(super) fn because(reason: &impl Display) -> Self {
        Self { reason: format!(", {reason}"), hint: None }
    }

    pub(super) fn hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Cursor<'n> {
    pub(super) node: &'n Node,
    pub(super) path: FieldPath,
}

impl<'n> Cursor<'n> {
    pub(super) fn new(node: &'n Node, path: FieldPath) -> Self {
        Self { node, path }
    }

    pub(super) fn fault(&self, detail: impl Into<String>) -> Fault {
        Fault::new(self.node.place, &self.path, detail)
    }

    /// A fault of the key `key`, which isn't there, of the mapping that stands here.
    pub(super) fn fault_at(&self, key: &str, detail: impl Into<String>) -> Fault {
        Fault::new(self.node.place, &self.path.key(key), detail)
    }

    /// Reports that something else stands here, unless that was reported already.
    pub(super) fn wrong(&self, expected: &str, faults: &mut Collector) -> Told {
        match &self.node.value {
            Value::Bad(told) => *told,
            value => faults.report(self.fault(format!("found {}", describe(value))).expected(expected)),
        }
    }

    /// Whether nothing stands here, or `null`.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.node.value, Value::Plain(plain) if core(plain) == Core::Null)
    }

    pub(super) fn whole_number(
        &self,
        range: RangeInclusive<u64>,
        faults: &mut Collector,
    ) -> Result<u64, Told> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let hint = match &self.node.value {
            Value::Plain(plain) => {
                let digits = plain.strip_prefix('+').unwrap_or(plain);
                if is_simple_number(digits) {
                    if let Some(number) = digits.parse().ok().filter(|number| range.contains(number)) {
                        return Ok(number);
                    }
                    None
                } else {
                    (core(plain) == Core::Number || yaml_1_1(plain).is_some())
                        .then_some("write plain decimal digits")
                }
            }
            Value::Text(text) if is_simple_number(text) => Some("leave the quotes out"),
            Value::Bad(told) => return Err(*told),
            _ => None,
        };
        let found = format!("found {}", describe(&self.node.value));
        Err(faults.report(self.fault(found).expected(expected).maybe_hint(hint)))
    }

    pub(super) fn boolean(&self, faults: &mut Collector) -> Result<bool, Told> {
        match &self.node.value {
            Value::Plain(plain) => match core(plain) {
                Core::Bool(value) => Ok(value),
                _ => Err(self.wrong("true or false", faults)),
            },
            _ => Err(self.wrong("true or false", faults)),
        }
    }

    pub(super) fn duration(
        &self,
        range: &RangeInclusive<Duration>,
        faults: &mut Collector,
    ) -> Result<Duration, Told> {
        let (least, most) = (format_duration(*range.start()), format_duration(*range.end()));
        let expected = format!("a duration from {least} to {most}, such as 1m30s");
        let read = |text: &str| match parse_duration(text) {
            Ok(duration) if range.contains(&duration) => Ok(duration),
            Ok(_) => Err(Wrong::default()),
            Err(error) => Err(Wrong::because(&error).hint(error.hint(&shown(text)))),
        };
        self.measure(&expected, read, faults)
    }

    /// A value with a unit, quoted or not, as `read` reads it.
    pub(super) fn measure<T>(
        &self,
        expected: &str,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
        faults: &mut Collector,
    ) -> Result<T, Told> {
        let text = match &self.node.value {
            Value::Plain(plain) if core(plain) != Core::Null => plain,
            Value::Text(text) => text,
            _ => return Err(self.wrong(expected, faults)),
        };
        read(text).map_err(|Wrong { reason, hint }| {
            let found = format!("found `{}`{reason}", shown(text));
            faults.report(self.fault(found).expected(expected).maybe_hint(hint))
        })
    }

    /// The items of a list of at most `most`. `expected` says what a list of what.
    pub(super) fn items(
        &self,
        expected: &str,
        most: usize,
        faults: &mut Collector,
    ) -> Result<Vec<Self>, Told> {
        let Value::List(items) = &self.node.value else { return Err(self.wrong(expected, faults)) };
        if items.len() > most {
            let many = self.fault(format!("found {} entries", items.len()));
            return Err(faults.report(many.expected(format!("at most {most}"))));
        }
        Ok(items.iter().enumerate().map(|(index, item)| Self::new(item, self.path.index(index))).collect())
    }

    /// The items of a list of at most `most` and at least one, or the one value that stands here.
    pub(super) fn one_or_more(&self, most: usize, faults: &mut Collector) -> Result<Vec<Self>, Told> {
        match &self.node.value {
            Value::List(items) if items.is_empty() => {
                Err(faults.report(self.fault("found an empty list").expected("one entry at least")))
            }
            Value::List(_) => self.items("a list", most, faults),
            _ => Ok(vec![self.clone()]),
        }
    }

    /// A text: quoted, or a plain scalar that everybody reads as the same text.
    pub(super) fn text(&self, faults: &mut Collector) -> Result<&'n str, Told> {
        let plain = match &self.node.value {
            Value::Text(text) => return Ok(text),
            Value::Plain(plain) => plain,
            _ => return Err(self.wrong_text(faults)),
        };
        let meaning = core(plain);
        let other = match (meaning, yaml_1_1(plain)) {
            (Core::Null, _) => return Err(self.wrong_text(faults)),
            (_, Some(other)) => Some(other),
            (Core::Bool(_), None) if !matches!(plain.as_str(), "true" | "false") => Some("a boolean"),
            (Core::Number, None) if !is_simple_number(plain) => Some("a number"),
            (Core::Bool(_) | Core::Number | Core::Text, None) => None,
        };
        other.map_or(Ok(plain), |other| {
            let plain = shown(plain);
            let trap = self.fault(format!("found `{plain}`, which some YAML readers take for {other}"));
            Err(faults.report(trap.expected("a text").hint(format!("write \"{plain}\" in quotes"))))
        })
    }

    /// A text in which `$${` stands for `${`.
    pub(super) fn template(&self, faults: &mut Collector) -> Result<String, Told> {
        template::unescape(self.text(faults)?).map_err(|_| {
            let variable = self.fault("found `${`, but this version has no variables yet");
            faults.report(variable.hint("write $${ for a literal ${"))
        })
    }

    fn wrong_text(&self, faults: &mut Collector) -> Told {
        let hint = match &self.node.value {
            Value::Bad(told) => return *told,
            Value::List(_) | Value::Map(_) => "quote it, or write it as a block (`|`)",
            Value::Plain(_) | Value::Text(_) => "write \"\" for an empty text",
        };
        let found = self.fault(format!("found {}", describe(&self.node.value)));
        faults.report(found.expected("a text").hint(hint))
    }
}

/// A value as messages name it.
fn describe(value: &Value) -> String {
    match value {
        Value::Plain(plain) if plain.is_empty() => "nothing".to_owned(),
        Value::Plain(plain) => format!("`{}`", shown(plain)),
        Value::Text(text) => format!("the text \"{}\"", shown(text)),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a mapping".to_owned(),
        Value::Bad(_) => "what can't be read".to_owned(),
    }
}
