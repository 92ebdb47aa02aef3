//! From texts to plans: a tree that knows its places is read first (YAML or JSON), then each section takes its keys
//! from it and reports every fault, so that all are known at once.

mod agents;
mod cursor;
mod fault;
mod headers;
mod http;
mod json;
mod load;
mod measures;
mod node;
mod overrides;
mod quick;
mod scalar;
mod scenarios;
mod section;
mod sections;
mod template;
mod thresholds;
mod yaml;

pub(crate) use fault::shown;
pub use fault::{Fault, Faults, MAX_FAULTS, Place};
pub(crate) use headers::OWNED as OWNED_HEADERS;
pub use overrides::Overrides;
pub use quick::{QuickConnect, QuickPlan, QuickTls};
pub(crate) use scenarios::verb_of;
pub(crate) use template::escape as escape_template;

use crate::model::{MAX_PLAN_BYTES, Plan};
use fault::{Collector, FieldPath, Stop, Told};
use node::Node;

/// Deepest nesting of lists and mappings in a plan's text.
const MAX_DEPTH: usize = 32;
/// Most values in a plan's text.
const MAX_NODES: usize = 100_000;

/// Reads a plan from YAML (1.2, core schema) or JSON.
///
/// # Errors
/// All faults of the text at once, in the order of their places.
pub fn parse(text: &str) -> Result<Plan, Faults> {
    let mut faults = Collector::default();
    let plan = tree(text, &mut faults).and_then(|root| plan(&root, &mut faults));
    faults.finish(plan)
}

/// Reads a plan from the bytes of a file or of a request, which may not even be text.
///
/// # Errors
/// As [`parse`]; bytes that aren't UTF-8 are a fault too.
pub fn parse_bytes(bytes: &[u8]) -> Result<Plan, Faults> {
    std::str::from_utf8(bytes).map_or_else(
        |error| {
            let (good, _) = bytes.split_at(error.valid_up_to());
            let place = Place::after(&String::from_utf8_lossy(good));
            Err(Fault::new(place, &FieldPath::root(), "not UTF-8").alone())
        },
        parse,
    )
}

/// Reads the sections of a tree, whether it came from a text or from flags.
fn plan(root: &Node, faults: &mut Collector) -> Result<Plan, Told> {
    let plan = sections::plan(root, faults)?;
    // What agents are sent must be a plan too. Escapes can make it longer than the text that was written.
    let canonical_bytes = plan.canonical_json().len();
    if canonical_bytes > MAX_PLAN_BYTES {
        let detail = format!("found a plan of {canonical_bytes} bytes once written out as JSON");
        let fault = Fault::new(root.place, &FieldPath::root(), detail);
        return Err(faults.report(fault.expected(format!("at most {MAX_PLAN_BYTES}"))));
    }
    Ok(plan)
}

/// Reads the tree. Text that begins like JSON is read as JSON, since YAML readers stumble over some of it (halves of
/// surrogate pairs); a YAML flow mapping begins alike, so what isn't JSON after all is read as YAML.
fn tree(text: &str, faults: &mut Collector) -> Result<Node, Told> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(stop) = check_text(text) {
        return Err(faults.report(stop.into_fault()));
    }
    let Some(inside) = text.trim_start().strip_prefix('{') else {
        return yaml::read(text, faults).map_err(|stop| faults.report(stop.into_fault()));
    };
    json::read(text).or_else(|no_json| {
        yaml::read(text, faults).map_err(|no_yaml| {
            let meant_json = inside.trim_start().starts_with('"');
            faults.report(if meant_json { no_json } else { no_yaml }.into_fault())
        })
    })
}

/// What must hold of any text, before a reader sees it.
fn check_text(text: &str) -> Option<Stop> {
    if text.len() > MAX_PLAN_BYTES {
        let too_long = format!("found a plan of {} bytes, expected at most {MAX_PLAN_BYTES}", text.len());
        return Some(Stop::new(Place::START, too_long));
    }
    // Neither YAML nor JSON knows these, and the YAML reader takes a NUL for the end.
    let is_bad = |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    let (before, rest) = text.find(is_bad).map(|at| text.split_at(at))?;
    let bad = Stop::new(Place::after(before), format!("found the control character {:?}", first_char(rest)));
    Some(Stop { hint: Some("write it as an escape in double quotes"), ..bad })
}

fn first_char(text: &str) -> char {
    text.chars().next().unwrap_or_default()
}
