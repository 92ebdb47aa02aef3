//! From what the coordinator knows to what pages and streams show.

use std::collections::BTreeMap;

use volley_plan::{Accounts, Adjust, Level, Model, Plan, Verdict};
use volley_stats::{DecodeError, ErrorKind, MergedSecond, Second, Timed};
use volley_web::stream::{AgentShare, ErrorCount, LogLine, PhaseTotals, Snapshot, Tick, Totals};
use volley_web::{AdjustForm, Agent, Fault, PlanLink, PlanRow, PlanRun, RunLink, RunPage, RunRow};

use crate::at_work::AtWork;
use crate::document::{
    Adjusted, AgentDocument, Excerpt, Progress, RunDocument, RunSummary, Whole, environment, latency_ms,
    ns_to_ms, ns_to_s,
};
use crate::fleet::AgentView;
use crate::past::Past;
use crate::store::Strain;
use crate::store::library::SavedPlan;
use crate::timeline::Timeline;
use crate::words::from_when;

/// One tick of the stream: what happened from one second up to another, mostly the next. When it was sent, its sender
/// adds.
pub(crate) fn tick(
    (from_s, to_s): (u32, u32),
    merged: &MergedSecond,
    strain: Strain,
    timeline: &Timeline<'_>,
) -> Tick {
    let counters = &merged.row.counters;
    let Second { iterations, warmup, users, in_flight, connections } = merged.scalars;
    let lag = merged.row.timing.of(Timed::Lag);
    let is_warmup = timeline.is_warmup(to_s);
    // Like the row: of the measured part, or of the warm-up where the span lies in it.
    let told = if is_warmup { warmup } else { iterations };
    let gap = timeline.gap(from_s, to_s);
    Tick {
        second: from_s.into(),
        span_s: to_s.saturating_sub(from_s).into(),
        elapsed_s: 0.0,
        warmup: is_warmup,
        planned: timeline.planned(from_s, to_s),
        missed: told.missed.saturating_add(gap.missed),
        unknown: gap.unknown,
        iterations: told.started,
        started: counters.started,
        ok: counters.ok,
        failed: counters.failed,
        cancelled: counters.cancelled,
        users: users.into(),
        in_flight: in_flight.into(),
        connections: connections.into(),
        bytes_received: counters.bytes_received,
        latency_ms: latency_ms(&merged.row.latency),
        service_ms: latency_ms(&merged.row.service_time),
        lag_p99_ms: lag.percentile_ns(99.0).map(ns_to_ms),
        lag_max_ms: lag.max_ns().map(ns_to_ms),
        busiest_cpu: strain.busiest(),
        stolen: strain.stolen(),
        errors: counters.errors.iter().map(|(kind, count)| (kind.name().to_owned(), count)).collect(),
        complete: true,
    }
}

/// The whole-run snapshot of the stream.
pub(crate) fn snapshot(progress: Progress) -> Snapshot {
    let verdict = progress.verdict.map(verdict_name);
    let run_s = progress.run_s();
    // A run that ended early had planned no more than it did until then.
    let planned_requests = if progress.over { progress.accounts.planned } else { progress.planned_requests };
    Snapshot {
        verdict,
        state: progress.state,
        over: progress.over,
        sentence: progress.sentence,
        incomplete: progress.incomplete,
        elapsed_s: progress.elapsed_s,
        planned_s: progress.planned_s,
        run_s,
        warmup_s: progress.warmup_s,
        stop_s: progress.stop_s,
        planned_requests,
        adjusted: progress.adjusted.last().map(adjusted_in_words),
        whole: totals(&progress.whole, &progress.accounts, progress.phases),
        warmup: progress.warmup,
        distribution: progress.distribution,
        last5: progress.last5,
        steps: progress.steps.into_iter().map(|step| step.totals).collect(),
        errors: progress.errors.into_iter().map(with_words).collect(),
        statuses: progress.statuses,
        addresses: progress.addresses,
        thresholds: progress.thresholds,
        agents: progress.agents.into_iter().map(agent_share).collect(),
        health_notes: progress.health_notes,
    }
}

/// The snapshot of a run with the numbers of some seconds alone.
pub(crate) fn span_snapshot(excerpt: &Excerpt) -> Result<Snapshot, DecodeError> {
    let past = Past::of(&excerpt.document);
    Ok(snapshot(excerpt.progress(&past.timeline())?))
}

/// Documents of earlier versions have the kinds of errors only.
fn with_words(mut error: ErrorCount) -> ErrorCount {
    if error.words.is_empty() {
        let kind = ErrorKind::from_name(&error.kind);
        error.words = kind.map(ErrorKind::words).unwrap_or_default().to_owned();
    }
    error
}

/// What a load was adjusted to, and when: `500/s from 12.3 s on`.
fn adjusted_in_words(adjusted: &Adjusted) -> String {
    format!("{} from {} on", adjusted.to, from_when(adjusted.at_s))
}

fn verdict_name(verdict: Verdict) -> String {
    verdict.name().to_owned()
}

fn totals(whole: &Whole, accounts: &Accounts, phases: Vec<PhaseTotals>) -> Totals {
    Totals {
        planned: accounts.planned,
        iterations: accounts.started,
        started: whole.started,
        ok: whole.ok,
        failed: whole.failed,
        cancelled: whole.cancelled,
        missed: whole.missed,
        // Documents of version 1 have a number there even so.
        unknown: whole.unknown.filter(|_| !accounts.unknown_is_open),
        unresolved: whole.unresolved,
        rate: whole.rate,
        rate_s: whole.rate_s,
        error_rate: whole.error_rate,
        latency_ms: whole.latency_ms,
        service_ms: whole.service_ms,
        cancelled_age_ms: whole.cancelled_age_ms,
        phases,
        connections: whole.connections,
    }
}

fn agent_share(agent: AgentDocument) -> AgentShare {
    let health = agent.health;
    let share = |ns: u64| (health.span_ns > 0).then(|| ns_to_s(ns) / ns_to_s(health.span_ns));
    let known = |value: u64| (value > 0).then_some(value);
    AgentShare {
        ok: !matches!(agent.state.as_str(), "lost" | "refused"),
        name: agent.name,
        state: agent.state,
        version: agent.version,
        cores: agent.workers.into(),
        share: agent.share,
        part: agent.part,
        outlier: agent.outlier,
        users: agent.users.into(),
        granted: agent.granted,
        started: agent.started,
        unknown: agent.unknown,
        drift_ms: agent.drift_ms,
        round_trip_ms: agent.round_trip_ms,
        last_seen_s: agent.last_seen_s,
        cpu: share(health.cpu_ns),
        busiest_cpu: share(health.busiest_cpu_ns),
        lag_p99_ms: known(health.lag_p99_max_ns).map(ns_to_ms),
        lag_max_ms: known(health.lag_max_ns).map(ns_to_ms),
        seconds: health.seconds,
        late_seconds: health.late_seconds,
        stall_max_ms: (health.seconds > 0).then(|| ns_to_ms(health.stall_max_ns)),
        stolen: share(health.stolen_ns),
        throttled: share(health.throttled_ns),
        resident_bytes: known(health.resident_bytes_max),
        descriptors: known(health.descriptors_max.into()),
        descriptors_limit: known(health.descriptors_limit.into()),
        local_ports: known(health.local_ports.into()),
    }
}

/// The page of one run.
pub(crate) fn run_page(document: RunDocument, ticks: Vec<Tick>) -> RunPage {
    let adjust = if document.progress.over { AdjustForm::default() } else { adjust_form(&document) };
    let environment = document.parsed_plan().as_ref().map(environment).unwrap_or_default();
    let log: Vec<LogLine> = document.log;
    RunPage {
        adjust,
        environment,
        id: document.id.to_string(),
        name: document.name,
        target: document.target,
        load: document.load,
        started_at: document.started_at.unwrap_or_default(),
        note: document.note.unwrap_or_default(),
        labels: labels(document.labels),
        library: document.library.map(|of| PlanLink { name: of.name, version: of.version }),
        plan: document.plan,
        run: snapshot(document.progress),
        ticks,
        log,
        ..RunPage::default()
    }
}

/// How the load of a run can be adjusted while it goes on, as its plan says.
fn adjust_form(document: &RunDocument) -> AdjustForm {
    let Some(load) = document.load() else { return AdjustForm::default() };
    let (is_rate, to) = match &load.model {
        Model::Open(open) => (true, Level::Rate(open.shape.rate_max())),
        Model::Closed(closed) => (false, Level::Users(closed.users.most())),
    };
    // To what it is anyhow: whatever stands against that stands against all else.
    let why_not = load.adjusted(Adjust { at_ns: 0, to }).err().map(|error| error.to_string());
    AdjustForm { is_rate, why_not: why_not.unwrap_or_default() }
}

/// One row of the list of runs.
pub(crate) fn run_row(run: RunSummary) -> RunRow {
    let has_started = run.started_at.is_some();
    RunRow {
        id: run.id.to_string(),
        name: run.name,
        waits: if run.state == "queued" { run.sentence } else { String::new() },
        state: run.state,
        over: run.over,
        verdict: run.verdict.map(verdict_name),
        incomplete: run.incomplete,
        started_at: run.started_at.unwrap_or_default(),
        duration_s: has_started.then_some(run.elapsed_s),
        load: run.load,
        requests: run.whole.ok + run.whole.failed,
        latency_ms: run.whole.latency_ms,
        error_rate: run.whole.error_rate,
        note: run.note.unwrap_or_default(),
        labels: labels(run.labels),
    }
}

fn labels(labels: BTreeMap<String, String>) -> Vec<String> {
    labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// One row of the list of plans, with the runs that are told of it.
pub(crate) fn plan_row<'a>(plan: SavedPlan, runs: impl Iterator<Item = &'a RunSummary>) -> PlanRow {
    let parsed = volley_plan::parse(&plan.text).ok();
    PlanRow {
        name: plan.name.to_string(),
        version: plan.version,
        saved_at: plan.saved_at,
        load: parsed.as_ref().map(Plan::load_in_words).unwrap_or_default(),
        target: parsed.as_ref().map(Plan::url).unwrap_or_default(),
        runs: runs.map(plan_run).collect(),
    }
}

/// A run as the page of its plan tells it.
pub(crate) fn plan_run(run: &RunSummary) -> PlanRun {
    PlanRun {
        id: run.id.to_string(),
        state: run.state.clone(),
        verdict: run.verdict.map(verdict_name),
        started_at: run.started_at.clone().unwrap_or_default(),
        version: run.library.as_ref().map(|of| of.version),
        sentence: run.sentence.clone(),
    }
}

/// One row of the list of agents. `run_name` is the name of the plan that it works for.
pub(crate) fn agent_row(agent: AgentView, at_work: AtWork, run_name: Option<String>) -> Agent {
    let (round_trip_ms, drift_ms) = (agent.round_trip_ms(), agent.drift_ms());
    let last_seen_s = Some(agent.heard_ago_s());
    let labels = agent.facts.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let run =
        agent.run.map(|id| RunLink { name: run_name.unwrap_or_else(|| id.to_string()), id: id.to_string() });
    Agent {
        ok: matches!(agent.state, "idle" | "busy" | "draining"),
        id: agent.facts.incarnation.to_string(),
        labels: labels.collect::<Vec<_>>().join(", "),
        name: agent.facts.name,
        state: agent.state.to_owned(),
        draining: agent.draining,
        leaving: agent.leaving,
        gone: agent.state == "gone",
        version: agent.facts.version,
        cores: agent.facts.workers.into(),
        weight: agent.facts.weight.map(u64::from),
        capacity: agent.facts.capacity.map(u64::from),
        run,
        part: at_work.part,
        outlier: at_work.outlier.unwrap_or_default(),
        cpu: at_work.cpu,
        lag_p99_ms: at_work.lag_p99_ms,
        descriptors: at_work.descriptors,
        descriptors_limit: at_work.descriptors_limit,
        local_ports: at_work.local_ports,
        drift_ms,
        last_seen_s,
        round_trip_ms,
    }
}

/// One fault of a plan, as the form shows it.
pub(crate) fn fault(fault: &volley_plan::Fault) -> Fault {
    let place = match (fault.line(), fault.column()) {
        (Some(line), Some(column)) if fault.field.is_empty() => format!("{line}:{column}"),
        (Some(line), Some(column)) => format!("{line}:{column} {}", fault.field),
        _ if fault.field.is_empty() => fault.place.to_string(),
        _ => fault.field.clone(),
    };
    let expected =
        fault.expected.as_ref().map(|expected| format!(", expected {expected}")).unwrap_or_default();
    Fault {
        place,
        detail: format!("{}{expected}", fault.detail),
        hint: fault.hint.clone().unwrap_or_default(),
    }
}
