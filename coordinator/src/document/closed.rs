//! The document of a run whose coordinator ended in the middle of it, from what had been stored. Pure.

use std::collections::BTreeMap;

use volley_plan::link::Incarnation;
use volley_plan::{Accounts, Verdict};
use volley_stats::{ErrorKind, Iterations, Series, TotalRow};
use volley_web::stream::{LogLine, Recent};

use super::build::{closed as closed_load, errors, latency_ms, per_second, statuses, steps, whole};
use super::{AgentDocument, RunDocument};

/// What the page of such a run opens with.
pub(crate) const SENTENCE: &str =
    "The coordinator stopped while this run was going on; what had been stored until then is below.";

/// What is left of a run.
pub(crate) struct Remains<'a> {
    /// The merged results.
    pub(crate) series: &'a Series,
    /// First and last second of each error kind.
    pub(crate) seen: &'a BTreeMap<ErrorKind, (u32, u32)>,
    /// The last seconds, (from, to), and what happened in them.
    pub(crate) recent: (u32, u32, TotalRow),
    /// By agent.
    pub(crate) agents: &'a BTreeMap<Incarnation, AgentRemains>,
}

/// What is left of one agent's part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AgentRemains {
    /// Iterations that it had leave for.
    pub(crate) granted: u64,
    /// Iterations that it reported as started.
    pub(crate) iterations: u64,
    /// Requests that it reported as started.
    pub(crate) started: u64,
    /// Requests that it reported as ended, ok or failed.
    pub(crate) completed: u64,
}

/// Closes a document. It is the one that was stored last, so it may be some seconds behind the results.
pub(crate) fn closed(document: RunDocument, remains: &Remains<'_>) -> RunDocument {
    let plan = volley_plan::parse(&document.plan).ok();
    let load = plan.as_ref().map(closed_load);
    let (series, total) = (remains.series, remains.series.whole());
    let planned_s = load.and_then(|load| load.duration).map(|duration| duration.as_secs_f64());
    let planned_requests = load.and_then(|load| load.requests);
    let elapsed_s = f64::from(series.end_s()).min(planned_s.unwrap_or(f64::MAX));
    let old = document.progress;
    let accounts = accounts(planned_requests, &old.accounts, remains, &total);
    let (from_s, to_s, recent) = &remains.recent;
    let recent = Recent {
        rate: per_second(recent.counters.completed(), f64::from(*to_s) - f64::from(*from_s)),
        error_rate: recent.counters.error_rate(),
        latency_ms: latency_ms(&recent.latency),
    };
    let agents = old.agents.into_iter().map(|agent| closed_agent(agent, remains)).collect();
    let mut log = document.log;
    let text = "The coordinator stopped.".to_owned();
    log.push(LogLine { at_s: elapsed_s, text, level: "warn".to_owned() });
    let progress = super::Progress {
        state: "finished".to_owned(),
        over: true,
        verdict: Some(Verdict::Invalid),
        stop_reason: Some("coordinator_stopped".to_owned()),
        sentence: SENTENCE.to_owned(),
        elapsed_s,
        planned_s,
        planned_requests,
        whole: whole(&accounts, &total, elapsed_s),
        last5: recent,
        steps: plan.map(|plan| steps(&plan, series, elapsed_s)).unwrap_or(old.steps),
        errors: errors(&total.counters, remains.seen),
        statuses: statuses(&total.counters),
        agents,
        accounts,
        account_faults: [accounts.fault(), total.counters.fault()].into_iter().flatten().collect(),
        delivered_late: old.delivered_late,
        incomplete: old.incomplete,
    };
    RunDocument { progress, log, ..document }
}

/// What agents had leave for and didn't report until then is unknown: they may have sent it.
fn accounts(planned: Option<u64>, old: &Accounts, remains: &Remains<'_>, total: &TotalRow) -> Accounts {
    let Iterations { started, missed, .. } = remains.series.iterations();
    let unknown = remains.agents.values().map(|agent| agent.granted.saturating_sub(agent.iterations)).sum();
    let counters = &total.counters;
    let ended = counters.ok.saturating_add(counters.failed).saturating_add(counters.cancelled);
    let missed = planned.map_or(missed, |planned| planned.saturating_sub(started).saturating_sub(unknown));
    Accounts {
        planned,
        started,
        missed,
        unknown,
        // Without grants nothing says how much was sent that nobody reported.
        unknown_is_open: planned.is_none() && (old.unknown_is_open || !remains.agents.is_empty()),
        requests_started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        unresolved: counters.started.saturating_sub(ended),
        ..*old
    }
}

fn closed_agent(agent: AgentDocument, remains: &Remains<'_>) -> AgentDocument {
    let left = remains.agents.get(&agent.incarnation).copied().unwrap_or_default();
    let was_live = matches!(agent.state.as_str(), "preparing" | "ready" | "running");
    AgentDocument {
        state: if was_live { "lost".to_owned() } else { agent.state },
        granted: left.granted,
        started: left.started,
        completed: left.completed,
        unknown: left.granted.saturating_sub(left.iterations),
        last_seen_s: None,
        ..agent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite;

    fn document(plan: &str) -> RunDocument {
        let mut document = suite::document("r");
        document.plan = plan.to_owned();
        document.progress.state = "running".to_owned();
        let agent = |incarnation, state: &str| AgentDocument {
            incarnation: Incarnation(incarnation),
            name: format!("agent {incarnation}"),
            version: "1".to_owned(),
            workers: 1,
            state: state.to_owned(),
            users: 1,
            granted: 0,
            started: 0,
            completed: 0,
            unknown: 0,
            lost_at_s: None,
            offset_ms: Some(0.5),
            round_trip_ms: None,
            last_seen_s: Some(0.1),
        };
        document.progress.agents = vec![agent(1, "running"), agent(2, "done")];
        document
    }

    /// Closes a run of which 30 requests in three seconds are left, and of agent 1 a grant of 40.
    fn check(plan: &str, expected: [Option<u64>; 3]) -> RunDocument {
        let mut series = Series::default();
        (0..3).for_each(|second| series.add(&suite::window(second, 10)).unwrap());
        let left = AgentRemains { granted: 40, iterations: 30, started: 30, completed: 30 };
        let closed = closed(
            document(plan),
            &Remains {
                series: &series,
                seen: &BTreeMap::new(),
                recent: (0, 3, series.whole()),
                agents: &BTreeMap::from([(Incarnation(1), left)]),
            },
        );
        let accounts = closed.progress.accounts;
        assert_eq!([accounts.planned, Some(accounts.unknown), Some(accounts.missed)], expected);
        assert_eq!(
            (closed.progress.account_faults.len(), accounts.unknown_is_open),
            (0, expected[0].is_none())
        );
        assert_eq!((closed.progress.over, closed.progress.verdict), (true, Some(Verdict::Invalid)));
        assert_eq!((closed.progress.sentence.as_str(), closed.progress.whole.ok), (SENTENCE, 30));
        assert_eq!((closed.progress.whole.rate, closed.progress.last5.rate), (10.0, 10.0));
        closed
    }

    #[test]
    fn what_was_granted_and_not_reported_is_unknown() {
        let plan = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 100";
        let document = check(plan, [Some(100), Some(10), Some(60)]);
        let said: Vec<_> =
            document.progress.agents.iter().map(|a| (a.state.as_str(), a.started, a.unknown)).collect();
        assert_eq!(said, [("lost", 30, 10), ("done", 0, 0)]);
        assert_eq!(document.log.last().map(|line| line.at_s), Some(3.0));
    }

    #[test]
    fn a_timed_run_plans_no_number_and_an_unreadable_plan_is_no_end() {
        let timed = "target: http://127.0.0.1:1/\nusers: 1\nduration: 60s";
        let document = check(timed, [None, Some(10), Some(0)]);
        assert_eq!((document.progress.planned_s, document.progress.elapsed_s), (Some(60.0), 3.0));
        check("{", [None, Some(10), Some(0)]);
    }
}
