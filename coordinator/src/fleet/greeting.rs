//! What an agent must say of itself to be let in.

use thiserror::Error;
use volley_plan::link::{Hello, PROTOCOL};
use volley_proto::limits::{
    MAX_CAPACITY, MAX_LABEL_BYTES, MAX_LABELS, MAX_NAME_BYTES, MAX_WEIGHT, MAX_WORKERS,
};

use super::{MAX_AGENTS, VERSION};

/// Why an agent may not join.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It speaks another vocabulary, or is another build of it.
    #[error(
        "agent {name} speaks protocol {protocol} (volley {version}), this coordinator protocol {PROTOCOL} (volley \
         {VERSION}); install the same version on both"
    )]
    Version { name: String, protocol: u32, version: String },
    /// A field of its greeting is out of bounds.
    #[error("the agent's {field} must be 1 to {most}")]
    Field { field: &'static str, most: usize },
    /// It has too many labels.
    #[error("an agent has at most {MAX_LABELS} labels, not {0}")]
    Labels(usize),
    /// There are too many.
    #[error("this coordinator has {MAX_AGENTS} agents already, the most it takes")]
    Full,
}

/// Looks at a greeting.
///
/// # Errors
/// [`Refusal`] names what is wrong with it.
pub(super) fn check(hello: &Hello) -> Result<(), Refusal> {
    let of = |field, most| Refusal::Field { field, most };
    let fits = |text: &str, most| !text.is_empty() && text.len() <= most;
    if !fits(&hello.name, MAX_NAME_BYTES) {
        return Err(of("name's length in bytes", MAX_NAME_BYTES));
    }
    if !fits(&hello.version, MAX_NAME_BYTES) {
        return Err(of("version's length in bytes", MAX_NAME_BYTES));
    }
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        let Hello { protocol, version, name, .. } = hello.clone();
        return Err(Refusal::Version { name, protocol, version });
    }
    if hello.labels.len() > MAX_LABELS {
        return Err(Refusal::Labels(hello.labels.len()));
    }
    if !hello.labels.iter().all(|(key, value)| fits(key, MAX_LABEL_BYTES) && fits(value, MAX_LABEL_BYTES)) {
        return Err(of("labels' length in bytes, of each key and value,", MAX_LABEL_BYTES));
    }
    let numbers = [
        ("number of workers", Some(hello.workers), MAX_WORKERS),
        ("weight", hello.weight, MAX_WEIGHT),
        ("capacity", hello.capacity, MAX_CAPACITY),
    ];
    for (field, number, most) in numbers {
        if number.is_some_and(|number| !(1..=most).contains(&number)) {
            return Err(of(field, most as usize));
        }
    }
    Ok(())
}
