//! The agents of a run: what each had to do, what it reported, and whether it was fit to measure. Pure.

use volley_lifecycle::{AgentShare, AgentState, Run};
use volley_plan::Model;
use volley_plan::health::HealthSum;
use volley_plan::link::{ArrivalShare, Share};
use volley_plan::words::counted;

use super::AgentDocument;
use super::build::Facts;
use super::totals::ns_to_s;
use crate::fleet::AgentView;

/// Most sentences about the agents' health; how many there are beside is said in one more.
const MAX_NOTES: usize = 20;

/// An agent's part of the load: `25 users`, `1 of 3 of the arrivals`.
fn share_in_words(share: &Share) -> String {
    match share {
        Share::Users(users) => counted(users.users.into(), "user"),
        Share::Arrivals(arrivals) => arrivals_in_words(arrivals),
    }
}

fn arrivals_in_words(ArrivalShare { stripes, .. }: &ArrivalShare) -> String {
    let (held, all) = (stripes.held().len(), stripes.stripes().count() as usize);
    match all.checked_div(held) {
        None => "none of the arrivals".to_owned(),
        Some(1) if held == all => "all of the arrivals".to_owned(),
        Some(parts) if parts * held == all => format!("1 of {parts} of the arrivals"),
        Some(_) => {
            let tenths = held * 1000 / all;
            format!("{}.{} % of the arrivals", tenths / 10, tenths % 10)
        }
    }
}

pub(super) fn agent_document(facts: &Facts<'_>, agent: &AgentShare) -> AgentDocument {
    let incarnation = agent.facts.incarnation;
    let start_ns = facts.run.start_ns();
    let lost_at_s = match agent.state {
        AgentState::Lost { at_ns, .. } => start_ns.map(|start_ns| ns_to_s(at_ns.saturating_sub(start_ns))),
        _ => None,
    };
    let over = facts.run.outcome().is_some();
    let view = facts.agents.get(&incarnation).filter(|_| !over);
    let drift_ms = view.and_then(|view| drift_ms(view, *facts.offsets.get(&incarnation)?));
    let heard_ago_ns = facts.now_ns.saturating_sub(agent.heard_ns);
    AgentDocument {
        incarnation,
        name: agent.facts.name.clone(),
        version: agent.facts.version.clone(),
        workers: agent.facts.workers,
        state: agent.state.name().to_owned(),
        share: share_in_words(&agent.share),
        users: agent.share.users(),
        granted: agent.granted,
        started: agent.reported.started,
        completed: agent.reported.ok.saturating_add(agent.reported.failed),
        unknown: unknown(facts.run, agent),
        lost_at_s,
        drift_ms,
        round_trip_ms: view.and_then(AgentView::round_trip_ms),
        last_seen_s: (!over).then(|| ns_to_s(heard_ago_ns)),
        health: agent.reported.health.shown(),
    }
}

/// How far an agent's clock has drifted since its offset was `first_ns`, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "for people; a drift need not be exact to the nanosecond")]
fn drift_ms(view: &AgentView, first_ns: i128) -> Option<f64> {
    // The offset is the coordinator's clock minus the agent's, so a clock that runs fast makes it smaller.
    view.offset_ns.map(|now_ns| (first_ns - now_ns) as f64 / 1e6)
}

/// What a lost agent may have done that it has not reported; `None` where nobody can say how much.
fn unknown(run: &Run, agent: &AgentShare) -> Option<u64> {
    let has_number = match &run.plan().load.model {
        Model::Closed(closed) => closed.iterations.is_some(),
        Model::Open(_) => true,
    };
    match agent.state {
        AgentState::Lost { delivered: false, .. } => has_number.then(|| run.gap(agent).unknown),
        _ => Some(0),
    }
}

/// What is to be known of the agents' health.
pub(super) fn health_notes<'a>(
    agents: impl Iterator<Item = (&'a str, &'a HealthSum)>,
    shortage: Option<String>,
) -> Vec<String> {
    let of_agents = agents.flat_map(|(name, health)| {
        let late = health.invalid_because(name);
        late.into_iter().chain(health.notes(name))
    });
    let mut notes: Vec<_> = shortage.into_iter().chain(of_agents).map(|note| sentence(&note)).collect();
    let more = notes.len().saturating_sub(MAX_NOTES);
    if more > 0 {
        notes.truncate(MAX_NOTES);
        notes.push(format!("There is more to say of other agents: {}.", counted(more as u64, "note")));
    }
    notes
}

/// With a capital letter and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use volley_plan::link::UserShare;
    use volley_plan::shape::Stripes;

    use super::*;

    #[test]
    fn shares_are_told_in_words() {
        let users = |users| Share::Users(UserShare { users, first_user: 0, every: 1 });
        let arrivals = |hand, hands| {
            let stripes = Stripes::default().all().dealt(hand, hands);
            Share::Arrivals(ArrivalShare { stripes, max_in_flight: 1, connections: None })
        };
        let check = |share, expected| assert_eq!(share_in_words(&share), expected);
        check(users(1), "1 user");
        check(users(2500), "2,500 users");
        check(arrivals(0, 1), "all of the arrivals");
        check(arrivals(2, 3), "1 of 3 of the arrivals");
        check(arrivals(0, 11), "9.1 % of the arrivals");
        check(arrivals(2999, 3000), "none of the arrivals");
    }

    #[test]
    fn notes_are_sentences_and_bounded() {
        let fit = HealthSum { seconds: 10, ..HealthSum::default() };
        let late = HealthSum { late_seconds: 5, lag_max_ns: 90_000_000, causes: [5, 0, 0, 0, 0, 0], ..fit };
        assert_eq!(health_notes([("a", &fit)].into_iter(), None), Vec::<String>::new());
        let notes = health_notes([("a", &late)].into_iter(), Some("the generator lacked".to_owned()));
        assert_eq!(notes.len(), 2);
        assert_eq!(notes[0], "The generator lacked.");
        assert!(
            notes[1].starts_with("Agent a was late in 5 of 10 seconds, by up to 90 ms: a CPU quota"),
            "{notes:?}"
        );
        assert!(notes[1].ends_with('.'));
        let many = health_notes(std::iter::repeat_n(("a", &late), 25), None);
        assert_eq!((many.len(), many[20].as_str()), (21, "There is more to say of other agents: 5 notes."));
    }
}
