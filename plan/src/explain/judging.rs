//! Who sends, and how the run is judged.

use super::rows::Rows;
use crate::Plan;
use crate::model::{AgentsWanted, ShareBy};
use crate::threshold::{Comparison, Selector, Threshold};
use crate::units::duration_in_words;
use crate::words::{count, counted};

pub(super) fn tell(plan: &Plan, rows: &mut Rows) {
    if plan.agents != AgentsWanted::default() {
        rows.tell("agents", &agents(&plan.agents));
    }
    if plan.thresholds.is_empty() {
        rows.tell("verdict", "nothing is demanded of the numbers");
    } else {
        let all = "passed if all of these hold, else failed, with exit code 99:".to_owned();
        let each = plan.thresholds.iter().map(|threshold| format!("- {}", demand(threshold)));
        rows.list("verdict", std::iter::once(all).chain(each));
    }
    rows.tell("invalid", &invalid(plan));
}

fn agents(wanted: &AgentsWanted) -> String {
    let most = wanted.max.map(|max| format!(", at most {}", count(max.into()))).unwrap_or_default();
    let waits = if wanted.wait.is_zero() {
        String::new()
    } else {
        format!(", waited for {}", duration_in_words(wanted.wait))
    };
    let by = match wanted.share_by {
        ShareBy::Weight => "by their weights, which are their workers unless they were given others",
        ShareBy::Capacity => "by the capacity that they measured",
        ShareBy::Even => "evenly",
    };
    let mut text =
        format!("{} at least{most}{waits}; they share the load {by}", counted(wanted.min.into(), "agent"));
    if !wanted.labels.is_empty() {
        let labels: Vec<_> = wanted.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        text += &format!("; only those labelled {}", labels.join(", "));
    }
    if wanted.elastic {
        text += "; those that join later take over a part of it";
    }
    text += &format!("; one that isn't heard of for {} is lost", duration_in_words(wanted.lease));
    text + if wanted.beside { "; another run may load the same target meanwhile" } else { "" }
}

/// A threshold in words: `p99 of step list is below 300 ms, over each 10 s`.
fn demand(threshold: &Threshold) -> String {
    let expect = &threshold.expect;
    let stands = match expect.comparison {
        Comparison::Less => "is below",
        Comparison::AtMost => "is at most",
        Comparison::More => "is above",
        Comparison::AtLeast => "is at least",
    };
    let mut text =
        format!("{}{} {stands} {}", expect.metric.in_words(), of(&expect.of), expect.limit_in_words());
    if let crate::threshold::Limit::OfPlanned(_) = expect.limit {
        text += " of what is planned";
    }
    if let Some(over) = threshold.over {
        text += &format!(", over each {}", duration_in_words(over));
    }
    if !threshold.after.is_zero() {
        text += &format!(", from {} on", duration_in_words(threshold.after));
    }
    if threshold.min_samples > 1 {
        text += &format!(", told from {} at least", counted(threshold.min_samples, "sample"));
    }
    text + if threshold.abort { "; the run is stopped once it isn't so" } else { "" }
}

fn of(selector: &Selector) -> String {
    let Selector { scenario, step, status, kind } = selector;
    let parts = [
        step.as_ref().map(|name| format!(" of step {name}")),
        scenario.as_ref().map(|name| format!(" of scenario {name}")),
        status.map(|status| format!(" with status {status}")),
        kind.map(|kind| format!(" by {}", kind.words())),
    ];
    parts.into_iter().flatten().collect()
}

/// What would make the numbers worthless.
fn invalid(plan: &Plan) -> String {
    let noun = plan.iterations_noun();
    let tolerate = plan.load.tolerate;
    format!(
        "if nothing succeeds, if more than {tolerate} of the planned {noun}s are missed or unknown, or if the generator \
         itself is late, starved, or out of ports or descriptors"
    )
}
