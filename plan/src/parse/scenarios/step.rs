//! One step: a request, written by its verb or by `method` and `path`, or a pause.

use super::names::Naming;
use super::parts::{self, Parts};
use super::read_method;
use crate::model::{Method, Request, Step, Target};
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Told};
use crate::parse::section::{Keys, Later, Section, later};

/// Methods that a step is written with, each with its path for a value.
const VERBS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options"];

/// What makes a request of a step, of which one is there; `path` comes with `method`.
const REQUESTS: &[&str] = &["get", "head", "post", "put", "patch", "delete", "options", "method"];

/// What requests will have.
pub(in crate::parse) const LATER: &[Later] = &[
    later("extract", "values taken from answers"),
    Later { instead: Some("write `body` and a content-type header"), ..later("form", "form bodies") },
    Later { instead: Some("write `body` and a content-type header"), ..later("json", "JSON bodies") },
];

const STEP: Keys = Keys {
    known: &[VERBS, parts::KEYS, &["method", "path", "name", "think"]],
    later: &[LATER],
    belongs: &[],
    elsewhere: &[
        ("url", "path"),
        ("uri", "path"),
        ("pause", "think"),
        ("sleep", "think"),
        ("wait", "think"),
        ("delay", "think"),
        ("data", "body"),
        ("payload", "body"),
        ("expect_continue", "ask_first"),
        ("checks", "check"),
        ("assert", "check"),
        ("expect", "check"),
    ],
};

/// A request that has no name of its own comes with an empty one.
pub(super) fn read(cursor: Cursor<'_>, naming: &mut Naming, faults: &mut Collector) -> Result<Step, Told> {
    let section = Section::open(cursor, &STEP, faults)?;
    match section.get("think") {
        Some(cursor) => {
            let alone = alone(&section, faults);
            let think = cursor.think(faults)?;
            alone.map(|()| Step::Think(think))
        }
        None => request(&section, naming, faults).map(Step::Request),
    }
}

/// A pause has nothing beside it.
fn alone(section: &Section<'_>, faults: &mut Collector) -> Result<(), Told> {
    let is_of_request = |key: &&str| *key != "think" && STEP.known.iter().any(|group| group.contains(key));
    section.keys().find(is_of_request).map_or(Ok(()), |key| {
        let beside = section.fault_of(key, "stands beside `think`, which is a step of its own");
        Err(faults.report(beside.expected("either a pause or a request")))
    })
}

fn request(section: &Section<'_>, naming: &mut Naming, faults: &mut Collector) -> Result<Request, Told> {
    let line = line(section, faults);
    let name = section.or_default("name", String::new(), |cursor| naming.give(cursor, faults));
    let parts = parts::read(section, faults);
    let (method, path) = line?;
    let name = name?;
    let Parts { headers, body, ask_first, check } = parts?;
    Ok(Request { name, method, path, headers, body, ask_first, check })
}

/// Method and path.
fn line(section: &Section<'_>, faults: &mut Collector) -> Result<(Method, String), Told> {
    let form = "one request a step, written `get: /path` or with another verb, or with `method` and `path`";
    let which = section.only_one(REQUESTS, form, faults)?;
    let Some(which) = which else {
        let misspelt = REQUESTS.iter().chain(&["think"]).find_map(|key| section.told(key));
        return Err(misspelt.unwrap_or_else(|| match section.get("path") {
            Some(_) => section.missing("method", "a method such as GET", faults),
            None => {
                let none = section.cursor().fault("found a step without a request or a pause");
                faults.report(none.expected("`get: /path`, or another verb, or `think: 1s`"))
            }
        }));
    };
    if which == "method" {
        let method = section.get(which).map_or(Ok(Method::get()), |cursor| read_method(&cursor, faults));
        let path = match section.get("path") {
            Some(cursor) => path(&cursor, faults),
            None => Err(section.missing("path", PATH, faults)),
        };
        return Ok((method?, path?));
    }
    let only = section.only_one(&[which, "path"], "the path behind the verb", faults);
    let path = section.get(which).map_or(Ok("/".to_owned()), |cursor| path(&cursor, faults));
    only?;
    Ok((verb(which), path?))
}

/// The method of one of [`VERBS`].
fn verb(verb: &str) -> Method {
    Method::parse(&verb.to_ascii_uppercase()).expect("each of the verbs in upper case is a method")
}

const PATH: &str = "a path that begins with `/`, such as /products?page=1";

/// A path with its query.
fn path(cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
    if cursor.is_null() {
        return Err(cursor.wrong(PATH, faults));
    }
    let text = cursor.template(faults)?;
    if text.starts_with('/') {
        return Target::parse_path(&text).map_err(|error| {
            let fault = cursor.fault(format!("found {error}")).expected(PATH);
            faults.report(fault.maybe_hint(error.hint(&text)))
        });
    }
    // What may hold a password isn't repeated.
    let (found, hint) = if text.contains("://") {
        ("found a URL".to_owned(), "host and port are the target's")
    } else {
        ("found a path without its slash".to_owned(), "write it like /products")
    };
    Err(faults.report(cursor.fault(found).expected(PATH).hint(hint)))
}

/// The verb that a step of this method is written with; `None` for methods that need `method` and `path`.
pub(crate) fn verb_of(method: &Method) -> Option<&'static str> {
    VERBS.iter().copied().find(|verb| verb.to_ascii_uppercase() == method.as_str())
}
