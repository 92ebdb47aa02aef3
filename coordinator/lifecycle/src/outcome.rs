//! How a run ended: the verdict with its reasons, and what else is worth a line of the event log.

use volley_plan::words::{count, counted};
use volley_plan::{Model, Verdict};

use crate::agent::AgentShare;
use crate::event::{Action, Level};
use crate::run::Run;
use crate::state::{Outcome, StopReason};

/// So many late agents are named in a verdict; the rest are counted.
const LATE_AGENTS_NAMED: usize = 3;
/// So many agents that are gone are named in a sentence; the rest are counted.
const GONE_AGENTS_NAMED: usize = 10;
/// Why agents miss arrivals in a run whose coordinator was started again.
const NO_LEASE: &str = "most likely agents had no lease while the coordinator was started again";
/// Most lines that the event log gets about the health of agents.
const HEALTH_NOTES: usize = 20;

impl Run {
    pub(crate) fn outcome_for(&self, reason: StopReason) -> Outcome {
        let lost = self.names_of(AgentShare::was_lost);
        let mut reasons = self.invalid_because(&reason, &lost);
        let verdict = if reasons.is_empty() { Verdict::None } else { Verdict::Invalid };
        let incomplete = !lost.is_empty();
        if incomplete {
            reasons.push(format!("lost {}: {}", counted(lost.len() as u64, "agent"), some_of(&lost)));
        }
        Outcome { reason, verdict, incomplete, sentence: reasons.join("; ") }
    }

    fn names_of(&self, is_so: impl Fn(&AgentShare) -> bool) -> Vec<&str> {
        let agents = self.agents.values().filter(|agent| is_so(agent));
        agents.map(|agent| agent.facts.name.as_str()).collect()
    }

    /// Why the measurement can't be trusted.
    fn invalid_because(&self, reason: &StopReason, lost: &[&str]) -> Vec<String> {
        if self.was_called_off(reason) {
            return Vec::new();
        }
        let stopped = match reason {
            StopReason::CouldNotRun(why) => Some(why.clone()),
            StopReason::StoreFailed(why) => Some(format!("results could not be kept: {why}")),
            StopReason::AgentsLost => {
                let gone = self.names_of(AgentShare::is_gone);
                Some(format!("no agent was left ({})", some_of(&gone)))
            }
            StopReason::CountReached
            | StopReason::DurationOver
            | StopReason::ThresholdBroken
            | StopReason::Asked => None,
        };
        let account = if self.ended_in_warmup(reason) {
            Some("it was over before its warm-up was, so nothing was measured".to_owned())
        } else if stopped.is_none() {
            let missed_because = self.missed_because(lost);
            let accounts = self.accounts_for(Some(reason));
            accounts.invalid_because(self.load.tolerate, missed_because.as_deref())
        } else {
            None
        };
        [stopped, account].into_iter().flatten().chain(self.late_agents()).collect()
    }

    /// Why agents that were there and on time took arrivals up and could not begin them.
    fn missed_because(&self, lost: &[&str]) -> Option<String> {
        let Model::Open(open) = &self.load.model else { return None };
        if self.was_resumed {
            return Some(NO_LEASE.to_owned());
        }
        if !lost.is_empty() || self.agents.values().any(|agent| agent.reported.health.is_late()) {
            return None;
        }
        let connections = self.plan.http.connections;
        let carry = connections.map(|n| format!(" and `connections` ({}) carry", count(n.into())));
        Some(format!(
            "most likely more were waiting for the target than `max_in_flight` ({}) permits{}",
            count(open.max_in_flight.into()),
            carry.unwrap_or_default()
        ))
    }

    /// True if somebody stopped it before it began, so that there is nothing to trust or not to trust.
    fn was_called_off(&self, reason: &StopReason) -> bool {
        let sent_any = self.agents.values().any(|agent| agent.was_lost() || agent.reported.started > 0);
        *reason == StopReason::Asked && self.end_run_ns().unwrap_or(0) == 0 && !sent_any
    }

    fn ended_in_warmup(&self, reason: &StopReason) -> bool {
        let as_planned = matches!(reason, StopReason::CountReached | StopReason::DurationOver);
        let warmup_ns = self.load.warmup_ns();
        !as_planned && warmup_ns > 0 && self.end_run_ns().is_some_and(|end_ns| end_ns <= warmup_ns)
    }

    /// The agents that were unfit to measure, each in a sentence.
    fn late_agents(&self) -> Vec<String> {
        let sentence = |agent: &AgentShare| agent.reported.health.invalid_because(&agent.facts.name);
        let mut late: Vec<_> = self.agents.values().filter_map(sentence).collect();
        let unnamed = late.len().saturating_sub(LATE_AGENTS_NAMED);
        late.truncate(LATE_AGENTS_NAMED);
        if unnamed > 0 {
            late.push(format!("{} more late", counted(unnamed as u64, "agent")));
        }
        late
    }

    /// What of the generator's state is worth knowing beside the verdict.
    pub(crate) fn note_health(&self, now_ns: u64, outcome: &Outcome, out: &mut Vec<Action>) {
        let notes = |agent: &AgentShare| agent.reported.health.notes(&agent.facts.name);
        let mut notes: Vec<_> = self.agents.values().flat_map(notes).collect();
        let untold = notes.len().saturating_sub(HEALTH_NOTES);
        notes.truncate(HEALTH_NOTES);
        if untold > 0 {
            notes.push(format!("{} on the health of agents left out", counted(untold as u64, "more note")));
        }
        let shortage = self.accounts_for(Some(&outcome.reason)).shortage_in_words();
        notes.extend(shortage.filter(|shortage| !outcome.sentence.contains(shortage)));
        for note in notes {
            self.note(now_ns, Level::Warn, note, out);
        }
    }
}

fn some_of(names: &[&str]) -> String {
    match names.split_at_checked(GONE_AGENTS_NAMED) {
        None | Some((_, [])) => names.join(", "),
        Some((named, others)) => format!("{} and {} more", named.join(", "), count(others.len() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_does_not_name_a_thousand_agents() {
        let names = vec!["a"; 1011];
        for (named, expected) in [
            (2, "a, a"),
            (10, "a, a, a, a, a, a, a, a, a, a"),
            (1011, "a, a, a, a, a, a, a, a, a, a and 1,001 more"),
        ] {
            assert_eq!(some_of(&names[..named]), expected);
        }
    }
}
