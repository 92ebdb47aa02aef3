//! Holds the plan's JSON Schema to the parser: plans that are right, plans that are wrong, and mutations of both get the
//! same answer from the two, but for what `exceptions.rs` names.

mod corpus;
mod exceptions;
mod mutations;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;
use volley_plan::{Faults, parse, schema};

use corpus::{bad_plans, canonical, good_plans};
use exceptions::is_beyond_the_schema;
use mutations::mutations;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema::text()).expect("the schema is JSON");
    jsonschema::draft7::meta::validate(&schema).expect("the schema is one of draft-07");
    jsonschema::draft7::new(&schema).expect("the schema can be used")
}

#[test]
fn the_committed_schema_is_current() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("plan.schema.json");
    let fresh = schema::text();
    if std::env::var_os("VOLLEY_BLESS").is_some() {
        fs::write(&committed, &fresh).expect("the schema can be written");
    }
    let kept = fs::read_to_string(&committed).expect("the schema is committed");
    assert!(
        kept == fresh,
        "plan/plan.schema.json is not what the types say: run this test with VOLLEY_BLESS=1, or \
         `volley plan schema > plan/plan.schema.json`"
    );
}

/// What the two say of a plan: whether they agree, by the schema's reach.
#[derive(Debug, PartialEq, Eq)]
enum Answers {
    Accepted,
    Refused,
    /// By the parser alone, for a reason that the exceptions name.
    BeyondTheSchema,
}

/// Asks both.
fn ask(validator: &Validator, plan: &Value) -> Result<Answers, String> {
    let text = plan.to_string();
    let refusal = validator.validate(plan).err().map(|error| format!("{error} at {}", error.instance_path()));
    match (parse(&text), refusal) {
        (Ok(_), None) => Ok(Answers::Accepted),
        (Err(_), Some(_)) => Ok(Answers::Refused),
        (Ok(_), Some(refusal)) => Err(format!("only the schema refuses: {refusal}\n{text}")),
        (Err(Faults(faults)), None) if faults.iter().all(is_beyond_the_schema) => {
            Ok(Answers::BeyondTheSchema)
        }
        (Err(faults), None) => Err(format!("only the parser refuses:\n{faults}\n{text}")),
    }
}

#[test]
fn right_plans_are_right_for_both() {
    let validator = validator();
    for plan in good_plans() {
        assert_eq!(ask(&validator, &plan), Ok(Answers::Accepted), "{plan:#}");
        let canonical = canonical(&plan);
        assert_eq!(ask(&validator, &canonical), Ok(Answers::Accepted), "{canonical:#}");
    }
}

/// The names of all keys that the schema has, of whatever mapping.
fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    if schema["additionalProperties"] == false {
        found.extend(schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()));
    }
    let inner = schema.as_object().into_iter().flatten().map(|(_, value)| value);
    inner.chain(schema.as_array().into_iter().flatten()).for_each(|value| keys(value, found));
}

fn used(plan: &Value, found: &mut BTreeSet<String>) {
    found.extend(plan.as_object().into_iter().flatten().map(|(key, _)| key.clone()));
    let inner = plan.as_object().into_iter().flatten().map(|(_, value)| value);
    inner.chain(plan.as_array().into_iter().flatten()).for_each(|value| used(value, found));
}

#[test]
fn the_right_plans_use_every_key() {
    let (mut known, mut there) = (BTreeSet::new(), BTreeSet::new());
    keys(&serde_json::from_str(&schema::text()).expect("JSON"), &mut known);
    good_plans().iter().for_each(|plan| used(plan, &mut there));
    let unused: Vec<_> = known.difference(&there).collect();
    assert!(unused.is_empty() && known.len() > 80, "no plan here uses {unused:?}");
}

#[test]
fn wrong_plans_are_wrong_for_both() {
    let validator = validator();
    let (mut refused, mut beyond, mut wrong) = (0, 0, Vec::new());
    for plan in bad_plans() {
        match ask(&validator, &plan) {
            Ok(Answers::Accepted) => wrong.push(format!("this is a plan: {plan}")),
            Ok(Answers::Refused) => refused += 1,
            Ok(Answers::BeyondTheSchema) => beyond += 1,
            Err(error) => wrong.push(error),
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
    assert!(refused > 150 && beyond < refused / 2, "{refused} refused, {beyond} by the parser alone");
}

#[test]
fn mutations_get_the_same_answer_from_both() {
    let validator = validator();
    let (mut accepted, mut refused, mut beyond, mut wrong) = (0, 0, 0, Vec::new());
    for plan in good_plans() {
        for mutation in mutations(&plan) {
            match ask(&validator, &mutation.of(&plan)) {
                Ok(Answers::Accepted) => accepted += 1,
                Ok(Answers::Refused) => refused += 1,
                Ok(Answers::BeyondTheSchema) => beyond += 1,
                Err(error) => wrong.push(format!("{mutation:?}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(accepted > 5_000 && refused > 50_000, "{accepted} accepted, {refused} refused");
    assert!(beyond * 100 < refused, "the parser alone refuses {beyond}, both {refused}");
}

proptest! {
    /// Mutations of mutations, of whatever form.
    #[test]
    fn several_mutations_get_the_same_answer_from_both(
        which: prop::sample::Index,
        is_canonical: bool,
        picks in prop::collection::vec(any::<prop::sample::Index>(), 2..5),
    ) {
        static VALIDATOR: LazyLock<Validator> = LazyLock::new(validator);
        let plans = good_plans();
        let plan = which.get(&plans);
        let start = if is_canonical { canonical(plan) } else { plan.clone() };
        let mutated = picks.iter().fold(start, |plan, pick| pick.get(&mutations(&plan)).of(&plan));
        prop_assert_eq!(ask(&VALIDATOR, &mutated).err(), None);
    }
}
