//! Events and actions in short, for a trace.

use volley_lifecycle::{Action, Event};
use volley_plan::link::Order;

/// An event in short.
pub(super) fn told(event: &Event) -> String {
    match event {
        Event::Joined(facts) => format!("{} joined", facts.name),
        Event::Window { agent, facts } => format!(
            "window {} of {agent}: {:?}, watermark {}{}",
            facts.sequence,
            facts.iterations,
            facts.watermark_s,
            if facts.last { ", last" } else { "" }
        ),
        other => format!("{other:?}"),
    }
}

/// Actions in short.
pub(super) fn short(actions: &[Action]) -> String {
    let short = |action: &Action| match action {
        Action::Send { agent, number, order } => format!("send {number} to {agent}: {}", short_order(order)),
        Action::Note(_) => "note".to_owned(),
        other => format!("{other:?}"),
    };
    actions.iter().map(short).collect::<Vec<_>>().join(", ")
}

fn short_order(order: &Order) -> String {
    match order {
        Order::Prepare { share, .. } => format!("prepare {} stripes", share.stripes.held().len()),
        Order::Change { at_ns, share, to, over_ns } => {
            format!("change at {at_ns} to {} stripes, {to:?}, over {over_ns}", share.stripes.held().len())
        }
        other => format!("{other:?}"),
    }
}
