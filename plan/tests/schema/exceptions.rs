//! What the parser refuses and no schema of draft-07 can, each with the reason.

use volley_plan::Fault;
use volley_plan::units::{parse_duration, parse_size};

/// Whether a fault is one of those.
pub(super) fn is_beyond_the_schema(fault: &Fault) -> bool {
    is_out_of_range(fault)
        || EXCEPTIONS.iter().any(|(_, details)| details.iter().any(|one| is_said(fault, one)))
}

/// Faults by the reason why a schema doesn't see them. A `*` stands for what differs; what was expected is told where the
/// detail alone says too little.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    (
        "a duration, rate or number is held against another one",
        &[
            "is longer than `timeout`, so it would never be reached",
            "is longer than what is measured, *",
            "leaves nothing of what is measured, *",
            "found * connections for * iterations in flight",
            "found `*`, expected no fewer agents than `min`",
            "found `*`, expected no more agents than *",
        ],
    ),
    (
        "several of them are added up or multiplied",
        &[
            "found stages of more than 30 days in all",
            "found more than 1000 stages",
            "found more than 1000000000 Poisson arrivals",
            "makes too many iterations of all users",
            "takes too long at this rate",
            "the stretches of all thresholds together are *",
        ],
    ),
    (
        "one stage at least is above zero, and one takes time",
        &[
            "found no stage that takes time",
            "found no load in any stage",
            "found a warm-up without load, since the first stage starts at zero",
        ],
    ),
    ("steps are counted over a scenario", &["counts requests, but an iteration of this plan sends several"]),
    (
        "a name is looked up, or compared with others",
        &[
            "the plan has no step `*`",
            "the plan has no scenario `*`",
            "the same stands before it already",
            "the name is doubled, it stands at * already",
        ],
    ),
    (
        "an address has a family, and a text is an address or a name by rules that take a program (IDNA, RFC 4007)",
        &[
            "excludes *, which is to be connected to",
            "found *, which `family` excludes",
            "found *, from which none of the addresses can be reached",
            "stands where only addresses are connected to",
            "found neither a name nor an address before the port",
            "found what is neither a name nor an address",
            "found not a URL: invalid international domain name",
            "found not a URL: invalid IPv4 address",
            "found a zone behind an address that has none",
        ],
    ),
    (
        "the text of a threshold decides over the keys beside it",
        &[
            "a share of what is planned is known of the whole run only",
            "what is unknown is known of the whole run only",
            "found the text \"*s\", expected whole seconds",
        ],
    ),
];

fn is_said(fault: &Fault, pattern: &str) -> bool {
    let said = match &fault.expected {
        Some(expected) if pattern.contains(", expected ") => format!("{}, expected {expected}", fault.detail),
        _ => fault.detail.clone(),
    };
    let (first, rest) = pattern.split_once('*').unwrap_or((pattern, ""));
    let Some(behind) = said.strip_prefix(first) else { return false };
    match rest.split_once('*') {
        None if !pattern.contains('*') => behind.is_empty(),
        None => behind.ends_with(rest),
        Some((middle, last)) => behind.split_once(middle).is_some_and(|(_, end)| end.ends_with(last)),
    }
}

/// A value of the right form that is too small or too large: patterns know digits and no numbers.
fn is_out_of_range(fault: &Fault) -> bool {
    let found = fault.detail.strip_prefix("found `").and_then(|rest| rest.strip_suffix('`'));
    let expected = fault.expected.as_deref().unwrap_or_default();
    match found {
        Some(found) if expected.starts_with("a size from ") => parse_size(found).is_ok(),
        Some(found) if ["a duration ", "`once`, "].iter().any(|kind| expected.starts_with(kind)) => {
            found.split("..").all(|bound| parse_duration(bound).is_ok())
        }
        _ => false,
    }
}
