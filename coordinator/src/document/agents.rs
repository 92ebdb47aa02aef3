//! The agents of a run: what each had to do, what it reported, and whether it was fit to measure. Pure.

use volley_lifecycle::{AgentShare, AgentState, Gap, Leg, Run};
use volley_plan::health::HealthSum;
use volley_plan::link::Share;
use volley_plan::shape::StripeSet;
use volley_plan::words::counted;
use volley_plan::{Load, Model};

use super::build::{Facts, run_ns};
use super::totals::ns_to_s;
use super::{AgentDocument, SecondGap};
use crate::fleet::AgentView;
use crate::words::from_when;

/// Most sentences about the agents' health; how many there are beside is said in one more.
const MAX_NOTES: usize = 20;
/// Most seconds of which it is told what an agent left open: those of an hour.
const MAX_GAPS: usize = 3_600;

/// What of the load is, or was, an agent's: `25 users`, `1 of 3 of the arrivals up to 13.2 s`.
fn share_in_words(agent: &AgentShare, load: &Load) -> String {
    let held = |leg: &&Leg| !leg.share.stripes.is_empty();
    let share = agent.legs().iter().rfind(held).map_or(agent.share(), |leg| &leg.share);
    let from_ns = agent.legs().first().map_or(0, |leg| leg.from_ns);
    let to_ns = agent.legs().last().filter(|leg| !held(leg)).map(|leg| leg.from_ns);
    format!("{}{}", part_in_words(share, load), span_in_words(from_ns, to_ns))
}

fn span_in_words(from_ns: u64, to_ns: Option<u64>) -> String {
    let [from, to] = [Some(from_ns), to_ns].map(|ns| from_when(ns_to_s(ns.unwrap_or(0))));
    match (from_ns, to_ns) {
        (0, None) => String::new(),
        (0, Some(_)) => format!(" up to {to}"),
        (_, None) => format!(" from {from} on"),
        (_, Some(_)) => format!(" from {from} to {to}"),
    }
}

fn part_in_words(share: &Share, load: &Load) -> String {
    match &load.model {
        Model::Closed(closed) => counted(share.users(closed).into(), "user"),
        Model::Open(_) => arrivals_in_words(&share.stripes),
    }
}

fn arrivals_in_words(stripes: &StripeSet) -> String {
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

/// What an agent has at this run time, or had at the end; what it prepares for before it has begun.
fn share_now<'a>(run: &Run, agent: &'a AgentShare, now_ns: u64) -> &'a Share {
    agent.share_at(run_ns(run, now_ns)).unwrap_or_else(|| agent.share())
}

/// The part of the run's load that a share is, 0 to 1.
fn part(share: &Share, load: &Load) -> f64 {
    let stripes = &share.stripes;
    let (held, all) = match &load.model {
        Model::Closed(closed) => (share.users(closed), closed.users.most()),
        Model::Open(_) => {
            (u32::try_from(stripes.held().len()).unwrap_or(u32::MAX), stripes.stripes().count())
        }
    };
    if all == 0 { 0.0 } else { f64::from(held) / f64::from(all) }
}

/// The part of the run's load that is an agent's at this time, 0 to 1.
pub(crate) fn part_now(run: &Run, agent: &AgentShare, now_ns: u64) -> f64 {
    part(share_now(run, agent, now_ns), run.load())
}

pub(super) fn agent_document(facts: &Facts<'_>, agent: &AgentShare) -> AgentDocument {
    let incarnation = agent.facts.incarnation;
    let start_ns = facts.run.start_ns();
    let lost_at_s = match agent.state {
        AgentState::Lost { at_ns, .. } => start_ns.map(|start_ns| ns_to_s(at_ns.saturating_sub(start_ns))),
        _ => None,
    };
    let load = facts.run.load();
    let over = facts.run.outcome().is_some();
    let view = facts.agents.get(&incarnation).filter(|_| !over);
    let drift_ms = view.and_then(|view| drift_ms(view, *facts.offsets.get(&incarnation)?));
    let heard_ago_ns = facts.now_ns.saturating_sub(agent.heard_ns);
    let share = share_now(facts.run, agent, facts.now_ns);
    let users = match &load.model {
        Model::Closed(closed) => share.users(closed),
        Model::Open(_) => 0,
    };
    AgentDocument {
        incarnation,
        name: agent.facts.name.clone(),
        version: agent.facts.version.clone(),
        workers: agent.facts.workers,
        state: agent.state.name().to_owned(),
        share: share_in_words(agent, load),
        part: part(share, load),
        outlier: facts.outliers.get(&incarnation).cloned(),
        users,
        granted: agent.granted,
        started: agent.reported.started,
        completed: agent.reported.ok.saturating_add(agent.reported.failed),
        unknown: unknown(facts.run, agent),
        lost_at_s,
        drift_ms,
        round_trip_ms: view.and_then(AgentView::round_trip_ms),
        last_seen_s: (!over).then(|| ns_to_s(heard_ago_ns)),
        gaps: gaps(facts.run, agent),
        health: agent.reported.health.shown(),
    }
}

/// What an agent left open, of the seconds that are told at all.
fn gaps(run: &Run, agent: &AgentShare) -> Vec<SecondGap> {
    let gaps = run.gap_by_second(agent).into_iter().take(MAX_GAPS);
    gaps.map(|(second, Gap { missed, unknown })| SecondGap { second, missed, unknown }).collect()
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
        _ if agent.state.owes() => has_number.then(|| run.gap(agent).unknown),
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
    use volley_plan::shape::Stripes;

    use super::*;

    #[test]
    fn shares_are_told_in_words() {
        let check = |held, load: &str, expected| {
            let plan = volley_plan::parse(&format!("target: http://h/\nduration: 9s\n{load}")).unwrap();
            let stripes = StripeSet::new(Stripes::default(), held).unwrap();
            assert_eq!(part_in_words(&Share { stripes, bounds: None }, &plan.load), expected);
        };
        check(vec![0], "users: 5", "1 user");
        check((0..2500).collect(), "users: 2500", "2,500 users");
        check((0..2520).collect(), "rate: 1/s", "all of the arrivals");
        check((0..2520).step_by(3).collect(), "rate: 1/s", "1 of 3 of the arrivals");
        check((0..2520).step_by(11).collect(), "rate: 1/s", "9.1 % of the arrivals");
        check(Vec::new(), "rate: 1/s", "none of the arrivals");
        let said =
            [(0, None), (0, Some(13_240_000_000)), (20_000_000_000, None), (500_000_000, Some(900_000_000))];
        let said = said.map(|(from_ns, to_ns)| span_in_words(from_ns, to_ns));
        assert_eq!(said, ["", " up to 13.3 s", " from 20 s on", " from 0.5 s to 0.9 s"]);
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
