//! The document of a run whose coordinator ended in the middle of it, from what had been stored. Pure.

use std::collections::BTreeMap;

use volley_plan::health::HealthSum;
use volley_plan::link::Incarnation;
use volley_plan::{Accounts, Amount, ClosedLoad, Load, Model, OpenLoad, Plan, Verdict};
use volley_stats::{ErrorKind, Iterations, SECOND_NS, Series, TotalRow};
use volley_web::stream::{LogLine, Recent};

use super::adds_up::agents_faults;
use super::agents::health_notes;
use super::build::{planned_iterations, planned_s};
use super::totals::{
    addresses, distribution, errors, latency_ms, ns_to_s, per_second, phases, statuses, steps, warmup, whole,
};
use super::{AgentDocument, RunDocument};

/// What the page of such a run opens with.
pub(crate) const SENTENCE: &str =
    "The coordinator stopped while this run was going on; what had been stored until then is below.";

/// What is left of a run.
pub(crate) struct Remains<'a> {
    /// Its plan, where it can be read.
    pub(crate) plan: Option<&'a Plan>,
    /// Its load, as it was adjusted.
    pub(crate) load: Option<&'a Load>,
    /// The seed of everything random in it.
    pub(crate) seed: u64,
    /// The merged results.
    pub(crate) series: &'a Series,
    /// First and last second of each error kind.
    pub(crate) seen: &'a BTreeMap<ErrorKind, (u32, u32)>,
    /// The last seconds, (from, to), and what happened in them.
    pub(crate) recent: (u32, u32, TotalRow),
    /// By agent.
    pub(crate) agents: &'a BTreeMap<Incarnation, AgentRemains>,
}

/// What is left of one agent's part; counts are of the measured part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AgentRemains {
    /// Iterations that it was granted.
    pub(crate) granted: u64,
    /// Users of the closed model that were its.
    pub(crate) users: u32,
    /// Iterations that it reported as started.
    pub(crate) iterations: u64,
    /// Requests that it reported as started.
    pub(crate) started: u64,
    /// Requests that it reported as ended, ok or failed.
    pub(crate) completed: u64,
    /// How it was.
    pub(crate) health: HealthSum,
}

impl AgentRemains {
    /// Iterations that it had leave for.
    fn permitted(&self, plan: Option<&Plan>) -> u64 {
        let per_user = plan.map_or(0, |plan| match &plan.load.model {
            Model::Closed(ClosedLoad { iterations: Some(Amount::PerUser(n)), .. }) => *n,
            Model::Closed(_) | Model::Open(_) => 0,
        });
        self.granted.max(per_user.saturating_mul(self.users.into()))
    }

    /// What of it was not reported; `None` where nothing says how much that was: only a closed run with a number of
    /// iterations gives each agent a number.
    fn unknown(&self, plan: Option<&Plan>) -> Option<u64> {
        let has_number =
            matches!(plan.map(|plan| &plan.load.model), Some(Model::Closed(c)) if c.planned().is_some());
        has_number.then(|| self.permitted(plan).saturating_sub(self.iterations))
    }
}

/// How far the results of a run reach, in run time.
struct Times {
    warmup_s: f64,
    run_s: f64,
    elapsed_s: f64,
}

impl Times {
    fn of(remains: &Remains<'_>) -> Self {
        let load = remains.load;
        let total_ns = load.and_then(Load::total_ns).unwrap_or(u64::MAX);
        let warmup_ns = load.map_or(0, Load::warmup_ns);
        let run_ns = (u64::from(remains.series.end_s()) * SECOND_NS).min(total_ns);
        let [warmup_s, run_s, elapsed_s] = [warmup_ns, run_ns, run_ns.saturating_sub(warmup_ns)].map(ns_to_s);
        Self { warmup_s, run_s, elapsed_s }
    }
}

/// Closes a document. It is the one that was stored last, so it may be some seconds behind the results.
pub(crate) fn closed(document: RunDocument, remains: &Remains<'_>) -> RunDocument {
    let Remains { plan, series, .. } = *remains;
    let (times, total) = (Times::of(remains), series.whole());
    let old = document.progress;
    let accounts = accounts(&old.accounts, remains, &total);
    let agents: Vec<_> = old.agents.into_iter().map(|agent| closed_agent(agent, remains)).collect();
    // What of each is unknown is not kept, where time has ended its part.
    let of_agents = agents_faults(&agents, &total.counters, None);
    let healths = agents.iter().map(|agent| (agent.name.as_str(), &agent.health));
    let mut log = document.log;
    let text = "The coordinator stopped.".to_owned();
    log.push(LogLine { at_s: times.run_s, text, level: "warn".to_owned() });
    let progress = super::Progress {
        state: "finished".to_owned(),
        over: true,
        verdict: Some(Verdict::Invalid),
        stop_reason: Some("coordinator_stopped".to_owned()),
        sentence: SENTENCE.to_owned(),
        elapsed_s: times.elapsed_s,
        planned_s: plan.and_then(planned_s),
        run_s: times.run_s,
        warmup_s: times.warmup_s,
        stop_s: None,
        adjusted: old.adjusted,
        queue: None,
        planned_requests: plan.and_then(planned_iterations).or(old.planned_requests),
        whole: whole(&accounts, &total, times.elapsed_s),
        warmup: (times.warmup_s > 0.0).then(|| warmup(series)),
        phases: phases(&total),
        distribution: distribution(&total.latency),
        last5: recent(&remains.recent),
        steps: plan.map(|plan| steps(plan, series, times.elapsed_s)).unwrap_or(old.steps),
        errors: errors(&total.counters, remains.seen),
        statuses: statuses(&total.counters),
        addresses: addresses(series),
        health_notes: health_notes(healths, accounts.shortage_in_words()),
        account_faults: [accounts.fault(), total.counters.fault()]
            .into_iter()
            .flatten()
            .chain(of_agents)
            .collect(),
        thresholds: old.thresholds,
        agents,
        accounts,
        delivered_late: old.delivered_late,
        incomplete: old.incomplete,
    };
    RunDocument { progress, log, ..document }
}

fn recent((from_s, to_s, row): &(u32, u32, TotalRow)) -> Recent {
    Recent {
        rate: per_second(row.counters.ok, f64::from(*to_s) - f64::from(*from_s)),
        error_rate: row.counters.error_rate(),
        latency_ms: latency_ms(&row.latency),
    }
}

/// What agents had leave for and didn't report until then is unknown: they may have sent it.
fn accounts(old: &Accounts, remains: &Remains<'_>, total: &TotalRow) -> Accounts {
    let counters = &total.counters;
    let ended = counters.ok.saturating_add(counters.failed).saturating_add(counters.cancelled);
    let requests = Accounts {
        requests_started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        unresolved: counters.started.saturating_sub(ended),
        without_port: counters.errors.get(ErrorKind::LocalPorts),
        without_descriptor: counters.errors.get(ErrorKind::Descriptors),
        ..*old
    };
    let started = remains.series.iterations().started;
    match remains.load.map(|load| &load.model) {
        Some(Model::Open(open)) => Accounts { started, ..of_arrivals(requests, open, remains) },
        Some(Model::Closed(closed)) => of_users(requests, closed.planned(), remains),
        None => of_users(requests, None, remains),
    }
}

fn of_users(requests: Accounts, planned: Option<u64>, remains: &Remains<'_>) -> Accounts {
    let Iterations { started, missed, .. } = remains.series.iterations();
    let unknown = remains.agents.values().filter_map(|agent| agent.unknown(remains.plan)).sum();
    let missed = planned.map_or(missed, |planned| planned.saturating_sub(started).saturating_sub(unknown));
    // Without grants nothing says how much was sent that nobody reported.
    let unknown_is_open = planned.is_none() && (requests.unknown_is_open || !remains.agents.is_empty());
    Accounts { planned, started, missed, unknown, unknown_is_open, ..requests }
}

/// The open model: what was due until the results end and isn't in them is unknown; and beside, what agents had leave
/// for after that, which nobody can say.
fn of_arrivals(requests: Accounts, open: &OpenLoad, remains: &Remains<'_>) -> Accounts {
    let Iterations { started, missed, .. } = remains.series.iterations();
    let until_ns = (u64::from(remains.series.end_s()) * SECOND_NS).min(open.shape.total_ns());
    let due = open.schedule(remains.seed).map(|schedule| open.measured(&schedule, until_ns));
    let due = due.map_or(0, |numbers| numbers.end.saturating_sub(numbers.start));
    // An agent whose clock is a little ahead may have reported the first ones of the next second.
    let planned = due.max(started.saturating_add(missed));
    let unknown = planned - started.saturating_add(missed).min(planned);
    let unknown_is_open = !remains.agents.is_empty();
    Accounts { planned: Some(planned), missed, unknown, unknown_is_open, ..requests }
}

fn closed_agent(agent: AgentDocument, remains: &Remains<'_>) -> AgentDocument {
    let left = remains.agents.get(&agent.incarnation).copied().unwrap_or_default();
    let was_live = matches!(agent.state.as_str(), "preparing" | "ready" | "running");
    AgentDocument {
        granted: left.permitted(remains.plan),
        started: left.started,
        completed: left.completed,
        // Whoever wasn't lost has told all that it did.
        unknown: if was_live || agent.state == "lost" { left.unknown(remains.plan) } else { Some(0) },
        last_seen_s: None,
        drift_ms: None,
        gaps: Vec::new(),
        health: left.health,
        state: if was_live { "lost".to_owned() } else { agent.state },
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
            share: String::new(),
            part: 1.0,
            outlier: None,
            users: 1,
            granted: 0,
            started: 0,
            completed: 0,
            unknown: Some(0),
            lost_at_s: None,
            drift_ms: Some(0.5),
            gaps: Vec::new(),
            round_trip_ms: None,
            last_seen_s: Some(0.1),
            health: HealthSum::default(),
        };
        document.progress.agents = vec![agent(1, "running"), agent(2, "done")];
        document
    }

    /// Closes a run of which 10 requests in each of the seconds after the warm-up are left, three in all; and of agent 1 a
    /// grant of 40, and some health. Expected are planned, unknown and missed.
    fn check(plan: &str, granted: u64, expected: (Option<u64>, u64, u64, bool)) -> RunDocument {
        let parsed = volley_plan::parse(plan).ok();
        let warmup_s = parsed.as_ref().map_or(0, |plan| plan.load.warmup_ns() / SECOND_NS) as u32;
        let mut series = Series::default();
        (warmup_s..warmup_s + 3).for_each(|second| series.add(&suite::window(second, 10)).unwrap());
        (0..warmup_s).for_each(|second| series.add(&suite::warmup_window(second, 7)).unwrap());
        let health = HealthSum { seconds: 3, late_seconds: 3, ..HealthSum::default() };
        let left = AgentRemains { granted, users: 8, iterations: 30, started: 30, completed: 30, health };
        let closed = closed(
            document(plan),
            &Remains {
                plan: parsed.as_ref(),
                load: parsed.as_ref().map(|plan| &plan.load),
                seed: 0,
                series: &series,
                seen: &BTreeMap::new(),
                recent: (warmup_s, warmup_s + 3, series.whole()),
                agents: &BTreeMap::from([(Incarnation(1), left)]),
            },
        );
        let progress = &closed.progress;
        let Accounts { planned, unknown, missed, unknown_is_open, .. } = progress.accounts;
        assert_eq!((planned, unknown, missed, unknown_is_open), expected, "{plan}");
        assert_eq!(progress.whole.unknown, (!unknown_is_open).then_some(unknown));
        assert_eq!((progress.account_faults.len(), progress.whole.ok, progress.elapsed_s), (0, 30, 3.0));
        assert_eq!((progress.over, progress.verdict), (true, Some(Verdict::Invalid)));
        assert_eq!((progress.sentence.as_str(), progress.whole.rate), (SENTENCE, 10.0));
        assert_eq!((progress.last5.rate, progress.health_notes.len()), (10.0, 1));
        closed
    }

    #[test]
    fn what_was_granted_and_not_reported_is_unknown() {
        let plan = "target: http://127.0.0.1:1/\nusers: 1\nrequests: 100";
        let document = check(plan, 40, (Some(100), 10, 60, false));
        let said: Vec<_> =
            document.progress.agents.iter().map(|a| (a.state.as_str(), a.started, a.unknown)).collect();
        assert_eq!(said, [("lost", 30, Some(10)), ("done", 0, Some(0))]);
        assert_eq!(document.log.last().map(|line| line.at_s), Some(3.0));
        // Eight of ten users were its, with four each to do.
        let plan = "target: http://127.0.0.1:1/\nusers: 10\niterations_per_user: 4";
        check(plan, 0, (Some(40), 2, 8, false));
    }

    #[test]
    fn a_timed_run_plans_no_number_and_an_unreadable_plan_is_no_end() {
        let timed = "target: http://127.0.0.1:1/\nusers: 1\nduration: 60s";
        let document = check(timed, 0, (None, 0, 0, true));
        assert_eq!(document.progress.planned_s, Some(60.0));
        let said: Vec<_> = document.progress.agents.iter().map(|a| (a.state.as_str(), a.unknown)).collect();
        assert_eq!(said, [("lost", None), ("done", Some(0))], "as of the run, so of an agent that was lost");
        check("{", 40, (None, 0, 0, true));
    }

    #[test]
    fn the_measured_part_of_the_open_model_is_told() {
        let plan = "target: http://127.0.0.1:1/\nrate: 12/s\nduration: 60s\nwarmup: 5s";
        let document = check(plan, 0, (Some(36), 6, 0, true));
        let progress = document.progress;
        assert_eq!((progress.run_s, progress.warmup_s, progress.planned_s), (8.0, 5.0, Some(60.0)));
        let warmup = progress.warmup.unwrap();
        assert_eq!((warmup.started, warmup.ok), (35, 35));
        assert_eq!(progress.agents[0].unknown, None, "nobody can say what it sent after its last report");
        // Results may reach into a second of which more was due than was sent.
        let plan = "target: http://127.0.0.1:1/\nrate: 5/s\nduration: 60s";
        check(plan, 0, (Some(30), 0, 0, true));
    }
}
