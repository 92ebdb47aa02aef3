//! Relations between keys, as far as a schema can tell them.

use serde_json::{Map, Value, json};

/// None of these keys is there.
pub(super) fn none_of<'k>(keys: impl IntoIterator<Item = &'k str>) -> Value {
    let never: Map<_, _> = keys.into_iter().map(|key| (key.to_owned(), false.into())).collect();
    json!({ "properties": never })
}

/// One of these keys is there at least.
pub(super) fn some_of(keys: &[&str]) -> Value {
    let there: Vec<_> = keys.iter().map(|key| json!({ "required": [key] })).collect();
    json!({ "anyOf": there })
}

/// Of these keys one is there at most, whichever it is.
pub(super) fn at_most_one(keys: &[&str]) -> Value {
    let alone = |key: &&str| {
        let others = keys.iter().copied().filter(|other| other != key);
        ((*key).to_owned(), none_of(others))
    };
    json!({ "dependencies": keys.iter().map(alone).collect::<Map<_, _>>() })
}

/// Where `condition` holds, `rule` does.
pub(super) fn when(condition: &Value, rule: &Value) -> Value {
    json!({ "if": condition, "then": rule })
}
