//! The plan file's JSON Schema, draft-07, which the YAML servers of editors read: completion, descriptions, and most faults
//! while they are typed.
//!
//! It is made from types that mirror what can be written, in its short and its long form, and that nothing else uses: the
//! parser walks a tree, since it reports all faults with their places. `tests/schema.rs` holds the two together: plans,
//! and mutations of them, get the same answer from both, but for what that test names.

#![expect(dead_code, reason = "the types are there for their schema; nobody makes a value of them")]

mod agents;
mod http;
mod load;
mod pattern;
mod plan;
mod rule;
mod scalar;
mod scenarios;
mod thresholds;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

/// The schema, as the text that `volley plan schema` prints.
#[must_use]
pub fn text() -> String {
    let mut settings = SchemaSettings::draft07();
    // Before the others, which wrap what stands beside a reference.
    settings.transforms.insert(0, Box::new(RecursiveTransform(without_null)));
    let mut schema = settings.into_generator().into_root_schema_for::<plan::Plan>();
    schema.insert("title".to_owned(), "A plan of Volley".into());
    format!("{:#}\n", schema.as_value())
}

/// An optional key may be left out; `null` is no value for it.
fn without_null(schema: &mut Schema) {
    let is_null = |value: &Value| *value == "null" || value.get("type").is_some_and(|kind| kind == "null");
    for key in ["type", "anyOf"] {
        let Some(Value::Array(choices)) = schema.get_mut(key) else { continue };
        choices.retain(|choice| !is_null(choice));
        let only = if let [only] = choices.as_slice() { Some(only.clone()) } else { None };
        if let Some(only) = only {
            replace(schema, key, only);
        }
    }
}

/// Puts the one choice that is left in the place of all.
fn replace(schema: &mut Schema, key: &str, only: Value) {
    if key == "type" {
        schema.insert(key.to_owned(), only);
        return;
    }
    schema.remove(key);
    for (key, value) in only.as_object().into_iter().flatten() {
        schema.insert(key.clone(), value.clone());
    }
}
