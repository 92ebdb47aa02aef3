//! Whether what is told of a run's agents adds up to what is told of all of them together. Pure.

use volley_plan::words::count;
use volley_stats::Counters;

use super::AgentDocument;

/// How the agents' accounts of a run that is over differ from the whole, in words; nothing where they add up. `unknown` is
/// that of the whole, where each agent's is known as well.
pub(super) fn agents_faults(
    agents: &[AgentDocument],
    counters: &Counters,
    unknown: Option<u64>,
) -> Vec<String> {
    let sum = |of: fn(&AgentDocument) -> u64| agents.iter().map(of).fold(0, u64::saturating_add);
    let completed = counters.ok.saturating_add(counters.failed);
    let of_each: Option<u64> = agents.iter().map(|agent| agent.unknown).sum();
    let sums = [
        Some((sum(|agent| agent.started), counters.started, "requests started")),
        Some((sum(|agent| agent.completed), completed, "requests ended")),
        of_each.zip(unknown).map(|(of_each, unknown)| (of_each, unknown, "iterations unknown")),
    ];
    let differ = sums.into_iter().flatten().filter(|(agents, whole, _)| agents != whole);
    let fault = |(agents, whole, what)| {
        format!("the agents together have {} {what}, and the run has {}", count(agents), count(whole))
    };
    differ.map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::RunDocument;

    #[test]
    fn agents_are_held_against_the_whole() {
        let sample: RunDocument = serde_json::from_str(include_str!("sample_v2.json")).unwrap();
        let sample = sample.progress.agents.into_iter().next().expect("it has an agent");
        let check =
            |agents: &[(u64, u64, Option<u64>)], whole: (u64, u64, Option<u64>), expected: &[&str]| {
                let agent = |&(started, completed, unknown)| AgentDocument {
                    started,
                    completed,
                    unknown,
                    ..sample.clone()
                };
                let agents: Vec<_> = agents.iter().map(agent).collect();
                let counters = Counters { started: whole.0, ok: whole.1, ..Counters::default() };
                assert_eq!(agents_faults(&agents, &counters, whole.2), expected, "{agents:?}");
            };
        check(&[], (0, 0, Some(0)), &[]);
        check(&[(60, 59, Some(2)), (40, 40, Some(0))], (100, 99, Some(2)), &[]);
        check(&[(60, 60, None), (40, 40, Some(0))], (100, 100, Some(7)), &[]);
        check(&[(60, 60, Some(1))], (60, 60, None), &[]);
        let said = [
            "the agents together have 1,060 requests started, and the run has 100",
            "the agents together have 60 requests ended, and the run has 100",
            "the agents together have 1 iterations unknown, and the run has 0",
        ];
        check(&[(1060, 60, Some(1))], (100, 100, Some(0)), &said);
    }
}
