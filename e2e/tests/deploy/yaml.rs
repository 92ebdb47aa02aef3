//! YAML as JSON, which tests ask more easily.

use saphyr::{LoadableYamlNode as _, ScalarOwned, YamlOwned};
use serde_json::{Map, Value};

use super::text;

/// The documents of a file.
pub(crate) fn documents(name: &str) -> Vec<Value> {
    let documents = YamlOwned::load_from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    documents.iter().map(json).collect()
}

/// The only document of a file.
pub(crate) fn document(name: &str) -> Value {
    let mut documents = documents(name);
    assert_eq!(documents.len(), 1, "{name}");
    documents.remove(0)
}

fn json(node: &YamlOwned) -> Value {
    match node {
        YamlOwned::Value(scalar) => match scalar {
            ScalarOwned::Null => Value::Null,
            ScalarOwned::Boolean(value) => (*value).into(),
            ScalarOwned::Integer(value) => (*value).into(),
            ScalarOwned::FloatingPoint(value) => value.into_inner().into(),
            ScalarOwned::String(value) => value.clone().into(),
        },
        YamlOwned::Sequence(items) => items.iter().map(json).collect(),
        YamlOwned::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| (scalar(&json(key)), json(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => panic!("{other:?} is nothing that these files have"),
    }
}

/// A scalar as a text.
pub(crate) fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A list of scalars.
pub(crate) fn list(value: &Value) -> Vec<String> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(scalar).collect()
}
