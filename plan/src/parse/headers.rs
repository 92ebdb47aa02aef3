//! The `headers` section: names to values, or to lists of values for names that are sent more than once.

use super::cursor::Cursor;
use super::fault::{Collector, Fault, FieldPath, Place, Told, shown};
use super::node::{Entry, Node, Value};
use super::section::doubled;
use crate::model::{MAX_HEADERS, is_token};
use std::collections::BTreeMap;

/// Most bytes of a header's name.
const MAX_NAME_BYTES: usize = 256;
/// Most bytes of a header's value.
const MAX_VALUE_BYTES: usize = 8 * 1024;

/// Headers that say how the message is framed or what becomes of the connection (RFC 9112 section 6, RFC 9110
/// sections 7.6.1, 7.8 and 10.1.1): the engine owns both, and a plan's word would make it misread the answers.
pub(crate) const OWNED: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn read(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Vec<(String, String)>, Told> {
    let Value::Map(entries) = &cursor.node.value else {
        return Err(cursor.wrong("a mapping of names to values", faults));
    };
    let mut first_of: BTreeMap<String, &Entry> = BTreeMap::new();
    let mut lines = Vec::new();
    for entry in entries {
        if check_name(&cursor.path, entry, faults).is_err() {
            continue;
        }
        let lower = entry.key.to_ascii_lowercase();
        if let Some(first) = first_of.get(&lower) {
            let doubled = doubled(&cursor.path, entry, first);
            faults.report(doubled.hint("write a list to send it more than once"));
        } else {
            first_of.insert(lower, entry);
        }
        let values = values(&cursor.path.key(&entry.key), &entry.value);
        if let (true, Some(second)) = (entry.key.eq_ignore_ascii_case("host"), values.get(1)) {
            faults.report(second.fault("found a second `Host`").expected("one (RFC 9112 section 3.2)"));
        }
        for value in values {
            if let Ok(text) = read_value(&value, faults) {
                lines.push((entry.key.clone(), text));
            }
        }
    }
    if lines.len() > MAX_HEADERS {
        let many = cursor.fault(format!("found {} header lines", lines.len()));
        return Err(faults.report(many.expected(format!("at most {MAX_HEADERS}"))));
    }
    Ok(lines)
}

/// The name of a header line that volley itself fills in.
pub(super) fn read_name(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
    let name = cursor.template(faults)?;
    let place = cursor.node.place;
    if let Some(fault) = fault_of_name(&name, place, &cursor.path, &cursor.path) {
        return Err(faults.report(fault));
    }
    if name.eq_ignore_ascii_case("host") {
        return Err(cursor.wrong("a name that is not `Host`", faults));
    }
    Ok(name)
}

fn check_name(path: &FieldPath, entry: &Entry, faults: &mut Collector) -> Result<(), Told> {
    match fault_of_name(&entry.key, entry.key_place, path, &path.key(&entry.key)) {
        Some(fault) => Err(faults.report(fault)),
        None => Ok(()),
    }
}

/// What is wrong with a header's name; `owned` is where it is said that a name is volley's own.
fn fault_of_name(name: &str, place: Place, path: &FieldPath, owned: &FieldPath) -> Option<Fault> {
    let lower = name.to_ascii_lowercase();
    if name.len() > MAX_NAME_BYTES || !is_token(name) {
        let expected = format!("at most {MAX_NAME_BYTES} letters, digits and !#$%&'*+-.^_`|~");
        let detail = format!("found the header name \"{}\"", shown(name));
        return Some(Fault::new(place, path, detail).expected(expected));
    }
    OWNED.contains(&lower.as_str()).then(|| {
        let hint = match lower.as_str() {
            "connection" | "keep-alive" => Some("write `keep_alive: false` to close after each"),
            "expect" => Some("write `ask_first: true` to send the body once the target says so"),
            _ => None,
        };
        let detail = "belongs to the framing, which volley sets itself";
        Fault::new(place, owned, detail).maybe_hint(hint)
    })
}

/// The value, or each item of a list.
fn values<'n>(path: &FieldPath, node: &'n Node) -> Vec<Cursor<'n>> {
    match &node.value {
        Value::List(items) => {
            items.iter().enumerate().map(|(index, item)| Cursor::new(item, path.index(index))).collect()
        }
        _ => vec![Cursor::new(node, path.clone())],
    }
}

/// A field value (RFC 9110 section 5.5). What is said of its characters doesn't repeat it, since it may be a secret.
pub(super) fn read_value(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
    let text = cursor.template(faults)?;
    let detail = if text.len() > MAX_VALUE_BYTES {
        format!("found a value of {} bytes", text.len())
    } else if text.contains(['\r', '\n']) {
        "found a line break".to_owned()
    } else if text.chars().any(|c| c.is_ascii_control() && c != '\t') {
        "found a control character".to_owned()
    } else if text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']) {
        "found white space at an end of the value".to_owned()
    } else {
        return Ok(text);
    };
    let hint = text.ends_with('\n').then_some("a block that ends without its line break begins with `|-`");
    let expected = format!("one line of at most {MAX_VALUE_BYTES} bytes");
    Err(faults.report(cursor.fault(detail).expected(expected).maybe_hint(hint)))
}
