//! What an agent is called by plans that want only some.

use std::collections::BTreeMap;

use crate::fields::{delimit, name, undelimit};
use crate::limits::{MAX_LABEL_BYTES, MAX_LABELS};
use crate::{WireError, v1};

pub(crate) fn labels_to_wire(labels: BTreeMap<String, String>) -> Vec<u8> {
    delimit(labels.into_iter().map(|(key, value)| v1::Label { key, value }))
}

/// Keys ascend, so that none comes twice.
pub(crate) fn labels_from_wire(bytes: &[u8]) -> Result<BTreeMap<String, String>, WireError> {
    let field = "Hello.labels";
    let mut labels = BTreeMap::new();
    for wire in undelimit::<v1::Label>(bytes, MAX_LABELS, field) {
        let v1::Label { key, value } = wire?;
        let key = name(key, MAX_LABEL_BYTES, "Label.key")?;
        let value = name(value, MAX_LABEL_BYTES, "Label.value")?;
        if labels.last_key_value().is_some_and(|(before, _)| *before >= key) {
            return Err(WireError::Repeated { field });
        }
        labels.insert(key, value);
    }
    Ok(labels)
}
