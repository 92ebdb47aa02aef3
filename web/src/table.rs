//! A table of the run page: columns that name a path and a format, rows from the view. The script fills rows by
//! the same columns, which it finds in the `<template>` that each table carries.
//!
//! A column that is optional is hidden while no row has anything in it: no text, or no number but 0.

use askama::Template;
use serde_json::Value;

use crate::format::Format;
use crate::parts::{PERCENTILES, is_nothing, text};

/// One column.
pub(crate) struct Column {
    head: &'static str,
    unit: &'static str,
    path: String,
    format: Format,
    class: &'static str,
    optional: bool,
}

impl Column {
    /// A column of words, set left.
    pub(crate) fn words(head: &'static str, path: &str) -> Self {
        Self { head, unit: "", path: path.to_owned(), format: Format::Text, class: "word", optional: false }
    }

    /// A column of numbers, set right.
    pub(crate) fn number(head: &'static str, unit: &'static str, path: &str, format: Format) -> Self {
        Self { head, unit, path: path.to_owned(), format, class: "num", optional: false }
    }

    /// Whole numbers.
    pub(crate) fn count(head: &'static str, path: &str) -> Self {
        Self::number(head, "", path, Format::Count)
    }

    /// The same, hidden while it is empty.
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    fn is_hidden(&self, rows: &[Value]) -> bool {
        self.optional && rows.iter().all(|row| is_nothing(row, &self.path))
    }

    /// The percentile list.
    pub(crate) fn percentiles() -> impl Iterator<Item = Self> {
        PERCENTILES.iter().map(|p| Self::number(p.label, "ms", &format!("latency_ms/{}", p.key), Format::Ms))
    }
}

struct Row {
    /// What the row's `data-mark` says, for the style sheet.
    mark: String,
    cells: Vec<String>,
}

/// What a table is of, before its rows are known.
pub(crate) struct Kind {
    /// Path of the rows in the view.
    pub(crate) source: &'static str,
    /// What it is called to those who don't see it.
    pub(crate) label: &'static str,
    /// What stands in its place when it has no rows.
    pub(crate) empty: &'static str,
    /// The field of a row that `data-mark` shows, or nothing.
    pub(crate) mark: &'static str,
    pub(crate) columns: Vec<Column>,
}

/// A table with its rows.
#[derive(Template)]
#[template(path = "parts/table.html")]
pub(crate) struct Table {
    kind: Kind,
    /// By column.
    hidden: Vec<bool>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(view: &Value, kind: Kind) -> Self {
        let rows = view.get(kind.source).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let hidden = kind.columns.iter().map(|column| column.is_hidden(rows)).collect();
        let rows = rows.iter().map(|row| kind.row(row)).collect();
        Self { kind, hidden, rows }
    }
}

impl Kind {
    fn row(&self, row: &Value) -> Row {
        let mark = match row.get(self.mark) {
            Some(Value::String(word)) => word.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            _ => String::new(),
        };
        Row { mark, cells: self.columns.iter().map(|c| text(row, &c.path, c.format)).collect() }
    }
}
