//! What whoever starts a run says in place of what the plan says: it goes into the tree, so that the plan's own readers find
//! what is wrong with it.

use super::fault::{Collector, Fault, Faults, FieldPath, Place, Told};
use super::node::{Entry, Node, Value};
use super::{plan, tree};
use crate::model::Plan;

/// Parts of the load that are said anew, each as a plan writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Another rate (`500/s`).
    pub rate: Option<String>,
    /// Another number of users.
    pub users: Option<String>,
    /// Another duration of the measured part (`30s`).
    pub duration: Option<String>,
    /// Another number of iterations.
    pub iterations: Option<String>,
}

impl Overrides {
    /// True if nothing is said anew.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads a plan from YAML or JSON, with these said anew. A load of several stages has no one rate or duration, so there
    /// only the number of iterations can be.
    ///
    /// # Errors
    /// All faults at once; those of what is said anew have its name for their place.
    pub fn parse(&self, text: &str) -> Result<Plan, Faults> {
        let mut faults = Collector::default();
        let root = tree(text, &mut faults).and_then(|root| self.apply(root, &mut faults));
        let plan = root.and_then(|root| plan(&root, &mut faults));
        faults.finish(plan)
    }

    fn apply(&self, mut root: Node, faults: &mut Collector) -> Result<Node, Told> {
        let Value::Map(top) = &mut root.value else { return Ok(root) };
        let Some(load) = top.iter_mut().find(|entry| entry.key == "load") else {
            self.set(top, ["rate", "users", "duration", "iterations"]);
            return Ok(root);
        };
        let Value::Map(load) = &mut load.value.value else { return Ok(root) };
        if let Some(iterations) = &self.iterations {
            set(load, "iterations", "iterations", iterations);
        }
        let names = [("rate", &self.rate), ("users", &self.users), ("duration", &self.duration)];
        let Some((name, _)) = names.into_iter().find(|(_, said)| said.is_some()) else { return Ok(root) };
        let stages =
            load.iter_mut().find(|entry| entry.key == "stages").map(|stages| &mut stages.value.value);
        match stages {
            Some(Value::List(stages)) if stages.len() == 1 => {
                if let Some(Value::Map(stage)) = stages.first_mut().map(|stage| &mut stage.value) {
                    self.set(stage, ["rate", "users", "for", ""]);
                }
                Ok(root)
            }
            _ => {
                let fault = Fault::new(
                    Place::Flag(name),
                    &FieldPath::root().key("load"),
                    "the load has several stages",
                );
                Err(faults.report(fault.expected("a load of one stage, or nothing said anew of it")))
            }
        }
    }

    /// Sets what is said anew under these keys. A rate takes the place of users and the other way round, as the names of a
    /// number do; both said anew exclude each other, which the plan's readers find.
    fn set(&self, map: &mut Vec<Entry>, [rate, users, duration, iterations]: [&str; 4]) {
        if self.rate.is_some() || self.users.is_some() {
            map.retain(|entry| entry.key != rate && entry.key != users);
        }
        if let Some(said) = &self.rate {
            set(map, rate, "rate", said);
        }
        if let Some(said) = &self.users {
            set(map, users, "users", said);
        }
        if let Some(said) = &self.duration {
            set(map, duration, "duration", said);
        }
        if let (Some(said), false) = (&self.iterations, iterations.is_empty()) {
            map.retain(|entry| entry.key != "requests");
            set(map, iterations, "iterations", said);
        }
    }
}

fn set(map: &mut Vec<Entry>, key: &str, place: &'static str, said: &str) {
    let place = Place::Flag(place);
    let value = Node { place, value: Value::Plain(said.to_owned()) };
    match map.iter_mut().find(|entry| entry.key == key) {
        Some(entry) => entry.value = value,
        None => map.push(Entry { key: key.to_owned(), key_place: place, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const TARGET: &str = "target: http://h/\n";

    /// `said` are words `name=value`.
    fn check(lines: &str, said: &str, expected: Result<&str, &str>) {
        let of = |name: &str| {
            let found = said.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.map(str::to_owned)
        };
        let (rate, users) = (of("rate"), of("users"));
        let overrides = Overrides { rate, users, duration: of("duration"), iterations: of("iterations") };
        let made = overrides.parse(&format!("{TARGET}{lines}"));
        match (made, expected) {
            (Ok(plan), Ok(lines)) => assert_eq!(plan, parse(&format!("{TARGET}{lines}")).unwrap(), "{said}"),
            (Err(faults), Err(part)) => assert!(faults.to_string().contains(part), "{said}: {faults}"),
            (found, _) => panic!("{lines} {said}: {found:?}"),
        }
    }

    #[test]
    fn what_is_said_anew_takes_the_place_of_what_the_plan_says() {
        let short = "rate: 5/s\nduration: 3s";
        check(short, "", Ok(short));
        check(short, "rate=7/s", Ok("rate: 7/s\nduration: 3s"));
        check(short, "users=7", Ok("users: 7\nduration: 3s"));
        check(short, "duration=9s iterations=4", Ok("rate: 5/s\nduration: 9s\niterations: 4"));
        check("users: 2\nrequests: 9", "iterations=4", Ok("users: 2\niterations: 4"));
        let long = "load: { stages: [{ rate: 5/s, for: 3s }] }";
        check(long, "rate=7/s duration=1m", Ok("load: { stages: [{ rate: 7/s, for: 1m }] }"));
        check(long, "users=7", Ok("load: { stages: [{ users: 7, for: 3s }] }"));
        check(long, "iterations=7", Ok("load: { stages: [{ rate: 5/s, for: 3s }], iterations: 7 }"));
    }

    #[test]
    fn what_is_wrong_has_its_name() {
        let short = "rate: 5/s\nduration: 3s";
        check(short, "rate=7", Err("rate: found"));
        check(short, "users=none", Err("users: found"));
        check(short, "rate=7/s users=3", Err("rate"));
        check(
            "load: { stages: [{ rate: 5/s, for: 3s }, { rate: 6/s, for: 3s }] }",
            "rate=7/s",
            Err("several stages"),
        );
        check("rates: 5/s\nduration: 3s", "rate=7/s", Err("rates"));
    }
}
