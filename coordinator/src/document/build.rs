//! Fills in a run's progress from what the lifecycle decided and the store merged. Pure.

use std::collections::BTreeMap;

use volley_lifecycle::{AgentShare, AgentState, Run, StopReason};
use volley_plan::link::Incarnation;
use volley_plan::{Accounts, ClosedLoad, Load, Plan};
use volley_stats::{Count, Counters, DecodeError, ErrorKind, Histogram, SECOND_NS, Series, TotalRow};
use volley_web::stream::{ErrorCount, Percentiles, Recent, StatusCount, StepTotals};

use super::sentence::sentence;
use super::{AgentDocument, Late, Progress, Whole};
use crate::fleet::AgentView;

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
    /// What arrived after the end.
    pub(crate) late: Late,
    /// The agents as the fleet knows them.
    pub(crate) agents: &'a BTreeMap<Incarnation, AgentView>,
    /// The coordinator's clock.
    pub(crate) now_ns: u64,
}

/// Everything that changes while a run goes on.
pub(crate) fn progress(facts: &Facts<'_>) -> Progress {
    let Facts { run, series, .. } = *facts;
    let total = series.whole();
    let load = closed(run.plan());
    let outcome = run.outcome();
    let over = outcome.is_some();
    let elapsed_s = elapsed_s(run, facts.now_ns);
    let mut account_faults = if over { account_faults(run, &total.counters) } else { Vec::new() };
    let last5 = recent(facts, elapsed_s).unwrap_or_else(|error| {
        account_faults.push(format!("the latest seconds cannot be read: {error}"));
        Recent::default()
    });
    let rate_s = run.active_run_ns().map_or_else(|| reported_s(run, elapsed_s), ns_to_s);
    let mut progress = Progress {
        state: run.state().name().to_owned(),
        over,
        verdict: outcome.map(|outcome| outcome.verdict),
        stop_reason: outcome.map(|outcome| reason_name(&outcome.reason).to_owned()),
        incomplete: outcome.map_or_else(|| run.agents().any(AgentShare::was_lost), |o| o.incomplete),
        sentence: String::new(),
        elapsed_s,
        planned_s: load.duration.map(|duration| duration.as_secs_f64()),
        planned_requests: load.requests,
        whole: whole(&run.accounts(), &total, rate_s),
        last5,
        steps: steps(run.plan(), series, rate_s),
        errors: errors(&total.counters, facts.seen),
        statuses: statuses(&total.counters),
        agents: run.agents().map(|agent| agent_document(facts, agent)).collect(),
        accounts: run.accounts(),
        account_faults,
        delivered_late: facts.late,
    };
    progress.sentence = sentence(&progress, run);
    progress
}

pub(super) fn closed(plan: &Plan) -> &ClosedLoad {
    match &plan.load {
        Load::Closed(closed) => closed,
    }
}

fn reason_name(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::CountReached => "count_reached",
        StopReason::DurationOver => "duration_over",
        StopReason::Asked => "asked",
        StopReason::AgentsLost => "agents_lost",
        StopReason::CouldNotRun(_) => "could_not_run",
        StopReason::StoreFailed(_) => "store_failed",
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people and charts; run times stay far below 2^52 ns")]
fn ns_to_s(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

#[expect(clippy::cast_precision_loss, reason = "for people and charts; latencies stay far below 2^52 ns")]
fn ns_to_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The length of the measured part, so far or in all.
pub(crate) fn elapsed_s(run: &Run, now_ns: u64) -> f64 {
    let so_far = || run.start_ns().map_or(0, |start_ns| now_ns.saturating_sub(start_ns));
    ns_to_s(run.end_run_ns().unwrap_or_else(so_far))
}

/// The seconds that all live agents have reported, so that a rate isn't read too low because its latest part is still
/// on the way.
fn reported_s(run: &Run, elapsed_s: f64) -> f64 {
    match run.watermark_s() {
        0 => elapsed_s,
        seconds => f64::from(seconds).min(elapsed_s),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people; counts stay far below 2^52")]
pub(super) fn per_second(count: u64, seconds: f64) -> f64 {
    let rate = count as f64 / seconds;
    if rate.is_finite() { rate } else { 0.0 }
}

/// The one list of percentiles, in milliseconds.
pub(crate) fn latency_ms<C: Count>(histogram: &Histogram<C>) -> Percentiles {
    let at = |percent| histogram.percentile_ns(percent).map(ns_to_ms);
    Percentiles {
        p50: at(50.0),
        p90: at(90.0),
        p95: at(95.0),
        p99: at(99.0),
        p99_9: at(99.9),
        max: histogram.max_ns().map(ns_to_ms),
    }
}

/// The totals of requests. `rate_s` are the seconds that their rate is over.
pub(super) fn whole(accounts: &Accounts, total: &TotalRow, rate_s: f64) -> Whole {
    let counters = &total.counters;
    Whole {
        started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        missed: accounts.missed,
        unknown: accounts.unknown,
        unresolved: accounts.unresolved,
        never_sent: counters.never_sent,
        resent: counters.resent,
        rate: per_second(counters.ok, rate_s),
        error_rate: counters.error_rate(),
        bytes_sent: counters.bytes_sent,
        bytes_received: counters.bytes_received,
        body_bytes: counters.body_bytes,
        connections_opened: counters.connections_opened,
        latency_ms: latency_ms(&total.latency),
        latency_min_ms: total.latency.min_ns().map(ns_to_ms),
        latency_mean_ms: total.latency.mean_ns().map(|ns| ns / 1e6),
        failed_latency_ms: latency_ms(&total.failed_latency),
    }
}

/// The seconds of the short-term figures, (from, to): the latest complete ones, or the last ones of a run that is over.
fn recent_span(run: &Run, series: &Series, elapsed_s: f64) -> (u32, u32) {
    let begun = whole_seconds_up(elapsed_s);
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

fn recent(facts: &Facts<'_>, elapsed_s: f64) -> Result<Recent, DecodeError> {
    let (from_s, to_s) = recent_span(facts.run, facts.series, elapsed_s);
    let row = facts.series.span(from_s, to_s)?;
    // The last second of a run that is over may be a part of one.
    let length_s = f64::from(to_s).min(elapsed_s) - f64::from(from_s);
    Ok(Recent {
        rate: per_second(row.counters.ok, length_s),
        error_rate: row.counters.error_rate(),
        latency_ms: latency_ms(&row.latency),
    })
}

/// The totals by step, in the plan's order.
pub(super) fn steps(plan: &Plan, series: &Series, rate_s: f64) -> Vec<StepTotals> {
    let totals: BTreeMap<_, _> = series.totals().collect();
    let names = plan.scenarios.iter().flat_map(|scenario| &scenario.steps).map(|step| &step.name);
    (0..)
        .zip(names)
        .map(|(id, name)| {
            let nothing = TotalRow::default();
            let row = totals.get(&id).copied().unwrap_or(&nothing);
            StepTotals {
                name: name.clone(),
                started: row.counters.started,
                ok: row.counters.ok,
                failed: row.counters.failed,
                rate: per_second(row.counters.ok, rate_s),
                latency_ms: latency_ms(&row.latency),
            }
        })
        .collect()
}

/// Failed requests by kind, with the first and last second of each.
pub(super) fn errors(counters: &Counters, seen: &BTreeMap<ErrorKind, (u32, u32)>) -> Vec<ErrorCount> {
    let mut errors: Vec<ErrorCount> = counters
        .errors
        .iter()
        .map(|(kind, count)| {
            let (first_s, last_s) = seen.get(&kind).copied().unwrap_or_default();
            ErrorCount {
                kind: kind.name().to_owned(),
                phase: kind.phase().name().to_owned(),
                count,
                first_s: first_s.into(),
                last_s: last_s.into(),
            }
        })
        .collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

/// Final answers by status.
pub(super) fn statuses(counters: &Counters) -> Vec<StatusCount> {
    counters.statuses.sorted().into_iter().map(|(status, count)| StatusCount { status, count }).collect()
}

fn agent_document(facts: &Facts<'_>, agent: &AgentShare) -> AgentDocument {
    let view = facts.agents.get(&agent.facts.incarnation);
    let start_ns = facts.run.start_ns();
    let lost_at_s = match agent.state {
        AgentState::Lost { at_ns, .. } => start_ns.map(|start_ns| ns_to_s(at_ns.saturating_sub(start_ns))),
        _ => None,
    };
    // What it came back and delivered is not unknown any more; without grants nobody can say how much it is.
    let unknown = match agent.state {
        AgentState::Lost { delivered: false, .. } if agent.granted > 0 => agent.unreported(),
        _ => 0,
    };
    let over = facts.run.outcome().is_some();
    let view = view.filter(|_| !over);
    let heard_ago_ns = facts.now_ns.saturating_sub(agent.heard_ns);
    AgentDocument {
        incarnation: agent.facts.incarnation,
        name: agent.facts.name.clone(),
        version: agent.facts.version.clone(),
        workers: agent.facts.workers,
        state: agent.state.name().to_owned(),
        users: agent.share.users,
        granted: agent.granted,
        started: agent.reported.started,
        completed: agent.reported.ok.saturating_add(agent.reported.failed),
        unknown,
        lost_at_s,
        offset_ms: view.and_then(AgentView::offset_ms),
        round_trip_ms: view.and_then(AgentView::round_trip_ms),
        last_seen_s: (!over).then(|| ns_to_s(heard_ago_ns)),
    }
}

/// What must add up and doesn't.
fn account_faults(run: &Run, counters: &Counters) -> Vec<String> {
    [run.accounts().fault(), counters.fault()].into_iter().flatten().collect()
}
