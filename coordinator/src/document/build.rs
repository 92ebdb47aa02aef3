//! Fills in a run's progress from what the lifecycle decided and the store merged. Pure.

use std::collections::BTreeMap;

use volley_lifecycle::{AgentShare, Outcome, Run, StopReason};
use volley_plan::link::Incarnation;
use volley_plan::{Model, Plan, Verdict};
use volley_stats::{Counters, DecodeError, ErrorKind, SECOND_NS, Series};
use volley_web::stream::{Recent, Standing, ThresholdTotals};

use super::adds_up::agents_faults;
use super::agents::{agent_document, health_notes};
use super::sentence::sentence;
use super::totals::{
    addresses, distribution, errors, latency_ms, ns_to_s, per_second, phases, statuses, steps, warmup, whole,
};
use super::{Adjusted, AgentDocument, Late, Progress};
use crate::fleet::AgentView;
use crate::thresholds::{Thresholds, WholeRun};

/// The span of the short-term figures, in seconds.
const RECENT_S: u32 = 5;

/// What a run's progress is told from.
pub(crate) struct Facts<'a> {
    /// The decider.
    pub(crate) run: &'a Run,
    /// The merged results.
    pub(crate) series: &'a Series,
    /// First and last second of each error kind.
    pub(crate) seen: &'a BTreeMap<ErrorKind, (u32, u32)>,
    /// What the plan demands.
    pub(crate) thresholds: &'a Thresholds,
    /// What arrived after the end.
    pub(crate) late: Late,
    /// The agents as the fleet knows them.
    pub(crate) agents: &'a BTreeMap<Incarnation, AgentView>,
    /// How far the agents' clocks were off when the run began.
    pub(crate) offsets: &'a BTreeMap<Incarnation, i128>,
    /// Those agents that differ from their peers, and how.
    pub(crate) outliers: &'a BTreeMap<Incarnation, String>,
    /// The coordinator's clock.
    pub(crate) now_ns: u64,
}

/// How long a run has gone on, or was, in seconds.
struct Times {
    run_s: f64,
    warmup_s: f64,
    /// Of the measured part.
    elapsed_s: f64,
    /// What rates are over.
    rate_s: f64,
    /// The same in nanoseconds.
    rate_ns: u64,
}

impl Times {
    fn of(run: &Run, now_ns: u64) -> Self {
        let (run_ns, warmup_ns) = (run_ns(run, now_ns), run.load().warmup_ns());
        let elapsed_ns = run_ns.saturating_sub(warmup_ns);
        // So that a rate isn't read too low because its latest part is still on the way.
        let reported_ns = match (u64::from(run.watermark_s()) * SECOND_NS).saturating_sub(warmup_ns) {
            0 => elapsed_ns,
            reported_ns => reported_ns.min(elapsed_ns),
        };
        let rate_ns = run.measured_ns().unwrap_or(reported_ns);
        // Whole nanoseconds until here: differences of fractions would leave dust behind the last digit.
        let [run_s, warmup_s, elapsed_s, rate_s] = [run_ns, warmup_ns, elapsed_ns, rate_ns].map(ns_to_s);
        Self { run_s, warmup_s, elapsed_s, rate_s, rate_ns }
    }
}

/// Everything that changes while a run goes on.
pub(crate) fn progress(facts: &Facts<'_>) -> Progress {
    let Facts { run, series, .. } = *facts;
    let (plan, accounts, total) = (run.plan(), run.accounts(), series.whole());
    let outcome = run.outcome();
    let over = outcome.is_some();
    let times = Times::of(run, facts.now_ns);
    let agents: Vec<_> = run.agents().map(|agent| agent_document(facts, agent)).collect();
    let mut account_faults = if over { account_faults(run, &total.counters, &agents) } else { Vec::new() };
    let last5 = recent(facts, &times).unwrap_or_else(|error| {
        account_faults.push(format!("the latest seconds cannot be read: {error}"));
        Recent::default()
    });
    let thresholds = facts.thresholds.told(&WholeRun { run, series, length_ns: times.rate_ns });
    let healths = run.agents().map(|agent| (agent.facts.name.as_str(), &agent.reported.health));
    let mut progress = Progress {
        state: run.state().name().to_owned(),
        queue: None,
        over,
        verdict: outcome.map(|outcome| verdict(outcome, run, &thresholds)),
        stop_reason: outcome.map(|outcome| reason_name(&outcome.reason).to_owned()),
        incomplete: outcome.map_or_else(|| run.agents().any(AgentShare::was_lost), |o| o.incomplete),
        sentence: String::new(),
        elapsed_s: times.elapsed_s,
        planned_s: planned_s(plan),
        run_s: times.run_s,
        warmup_s: times.warmup_s,
        stop_s: run.end_run_ns().map(ns_to_s),
        adjusted: run.adjusted().iter().map(Adjusted::from).collect(),
        planned_requests: planned_iterations(plan).or(accounts.planned),
        whole: whole(&accounts, &total, times.rate_s),
        warmup: (times.warmup_s > 0.0).then(|| warmup(series)),
        phases: phases(&total),
        distribution: distribution(&total.latency),
        last5,
        steps: steps(plan, series, times.rate_s),
        errors: errors(&total.counters, facts.seen),
        statuses: statuses(&total.counters),
        addresses: addresses(series),
        thresholds,
        agents,
        health_notes: health_notes(healths, accounts.shortage_in_words()),
        accounts,
        account_faults,
        delivered_late: facts.late,
    };
    progress.sentence = sentence(&progress, run);
    progress
}

/// The verdict: that of the decider, which knows whether the numbers can be trusted, and below that what the plan demands of
/// them. What never began is not held against it.
fn verdict(outcome: &Outcome, run: &Run, thresholds: &[ThresholdTotals]) -> Verdict {
    let has_begun = run.end_run_ns().is_some_and(|end_ns| end_ns > 0);
    match outcome.verdict {
        Verdict::None if thresholds.is_empty() || !has_begun => Verdict::None,
        Verdict::None if thresholds.iter().all(|of| of.standing == Standing::Holds) => Verdict::Passed,
        Verdict::None => Verdict::Failed,
        trusted_or_not => trusted_or_not,
    }
}

/// The planned length of the measured part. Where the open model ends by a number, that is what is planned.
pub(super) fn planned_s(plan: &Plan) -> Option<f64> {
    let by_number = matches!(&plan.load.model, Model::Open(open) if open.iterations.is_some());
    plan.load.measured_ns().filter(|_| !by_number).map(ns_to_s)
}

/// The number of iterations that a plan of the closed model names. In the open one the account has what is due, of which
/// a number is only the bound.
pub(super) fn planned_iterations(plan: &Plan) -> Option<u64> {
    match &plan.load.model {
        Model::Closed(closed) => closed.planned(),
        Model::Open(_) => None,
    }
}

fn reason_name(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::CountReached => "count_reached",
        StopReason::DurationOver => "duration_over",
        StopReason::ThresholdBroken => "threshold_broken",
        StopReason::Asked => "asked",
        StopReason::AgentsLost => "agents_lost",
        StopReason::CouldNotRun(_) => "could_not_run",
        StopReason::StoreFailed(_) => "store_failed",
    }
}

/// Run time so far, or at the end of the load, in seconds.
pub(crate) fn run_s(run: &Run, now_ns: u64) -> f64 {
    ns_to_s(run_ns(run, now_ns))
}

/// The same in nanoseconds.
pub(super) fn run_ns(run: &Run, now_ns: u64) -> u64 {
    let so_far = || run.start_ns().map_or(0, |start_ns| now_ns.saturating_sub(start_ns));
    run.end_run_ns().unwrap_or_else(so_far)
}

/// The seconds of the short-term figures, (from, to): the latest complete ones, or the last ones of a run that is over.
fn recent_span(run: &Run, series: &Series, run_s: f64) -> (u32, u32) {
    let begun = whole_seconds_up(run_s);
    let to_s = if run.outcome().is_some() { series.end_s().min(begun) } else { run.watermark_s().min(begun) };
    (to_s.saturating_sub(RECENT_S), to_s)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn whole_seconds_up(seconds: f64) -> u32 {
    seconds.ceil() as u32
}

fn recent(facts: &Facts<'_>, times: &Times) -> Result<Recent, DecodeError> {
    let (from_s, to_s) = recent_span(facts.run, facts.series, times.run_s);
    let row = facts.series.span(from_s, to_s)?;
    // The last second of a run that is over may be a part of one, and the first one may begin in the warm-up.
    let length_s = f64::from(to_s).min(times.run_s) - f64::from(from_s).max(times.warmup_s);
    Ok(Recent {
        rate: per_second(row.counters.ok, length_s.max(0.0)),
        error_rate: row.counters.error_rate(),
        latency_ms: latency_ms(&row.latency),
    })
}

/// What must add up at the end and doesn't.
fn account_faults(run: &Run, counters: &Counters, agents: &[AgentDocument]) -> Vec<String> {
    let accounts = run.accounts();
    let of_agents = agents_faults(agents, counters, Some(accounts.unknown));
    [accounts.fault(), counters.fault()].into_iter().flatten().chain(of_agents).collect()
}
