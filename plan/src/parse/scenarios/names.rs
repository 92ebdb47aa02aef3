//! The names of a scenario's requests, which are the keys of their results: each is there once.

use crate::model::{MAX_NAME_CHARS, Request, Step};
use crate::parse::cursor::Cursor;
use crate::parse::fault::{Collector, Place, Told};
use std::collections::{BTreeMap, BTreeSet};

/// The names that the plan gives, with their places.
#[derive(Debug, Default)]
pub(super) struct Naming {
    given: BTreeMap<String, Place>,
}

impl Naming {
    /// Takes the name that stands at `cursor`.
    pub(super) fn give(&mut self, cursor: &Cursor<'_>, faults: &mut Collector) -> Result<String, Told> {
        let name = cursor.name(faults)?;
        if let Some(first) = self.given.get(&name) {
            let doubled = cursor.fault(format!("the name is doubled, it stands at {first} already"));
            return Err(faults.report(doubled.expected("a name of its own for each request of a scenario")));
        }
        self.given.insert(name.clone(), cursor.node.place);
        Ok(name)
    }

    /// Gives the requests that have no name yet their default one; with a number behind it where that is taken.
    pub(super) fn name_the_rest(self, steps: &mut [Step]) {
        let mut taken: BTreeSet<String> = self.given.into_keys().collect();
        for step in steps {
            let Step::Request(request) = step else { continue };
            if request.name.is_empty() {
                request.name = free_name(&Request::default_name(&request.method, &request.path), &taken);
                taken.insert(request.name.clone());
            }
        }
    }
}

/// `name`, or the first of `name (2)`, `name (3)`, … that isn't taken; the name is cut where it gets too long.
fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    let numbered = |number: usize| {
        let number = format!(" ({number})");
        let room = MAX_NAME_CHARS - number.len();
        name.chars().take(room).chain(number.chars()).collect::<String>()
    };
    // One of one more than are taken is free.
    (2..taken.len() + 3).map(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}
