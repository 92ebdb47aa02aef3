//! The tree that a plan's text is read into: values with their places, keys doubled or not, nothing resolved yet.

use super::fault::{Place, Told};

/// A value and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    /// A scalar without quotes: what it means is decided by who reads it. JSON's numbers and words are such.
    Plain(String),
    /// A text: quoted, or a YAML block scalar.
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Something that was already reported.
    Bad(Told),
}

/// A key of a mapping with its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_place: Place,
    pub(super) value: Node,
}
