//! What must hold once everything is over.

use std::collections::BTreeMap;

use volley_lifecycle::{Run, StopReason};
use volley_plan::link::Incarnation;
use volley_plan::shape::Rate;
use volley_plan::{Model, OpenLoad};
use volley_stats::SECOND_NS;

use crate::books::{Wrong, must};
use crate::scenario::{Happens, Scenario, Timed};
use crate::tally::Tally;
use crate::totals::Totals;
use crate::world::{ASKED_NS, World};

const MS: u64 = 1_000_000;
/// A way on which a message takes no longer than this is quick.
const QUICK_MS: u64 = 50;
/// The rate is to be back so long after a lease has run out.
const RESTORED_NS: u64 = 2 * SECOND_NS;

/// An adjusted rate.
pub(crate) fn rate(per_second: u32) -> Rate {
    Rate::per_second(per_second.into()).expect("far below the most")
}

/// All of it.
pub(crate) fn at_end(world: &World<'_>) -> Result<Tally, Wrong> {
    let run = world.last_run.as_ref().ok_or_else(|| Wrong("the run was never over".to_owned()))?;
    let mut tally = tally(world, run);
    check_kept(world, run)?;
    if world.has_store_failed() {
        return Ok(tally);
    }
    check_delivery(world)?;
    check_target(world, run)?;
    if let Model::Open(open) = &run.load().model
        && run.start_ns().is_some()
    {
        check_planned(world, run, open)?;
        tally.whole += u64::from(check_whole(world, run)?);
        tally.restored += u64::from(check_restored(world, run, open)?);
    }
    Ok(tally)
}

/// What is kept is what the account says.
fn check_kept(world: &World<'_>, run: &Run) -> Result<(), Wrong> {
    let mut kept = Totals::default();
    for agent in world.store.agents.keys() {
        kept.merge(&world.store.totals(*agent, false));
    }
    let accounts = run.accounts();
    let counted =
        [accounts.started, accounts.requests_started, accounts.ok, accounts.failed, accounts.cancelled];
    must(kept.measured == counted, || {
        format!("kept {:?} and counted {counted:?}: started, requests, ok, failed, cancelled", kept.measured)
    })
}

/// Nothing was delivered that was not measured, and everything that could be was.
fn check_delivery(world: &World<'_>) -> Result<(), Wrong> {
    for host in &world.hosts {
        let alive = host.agent.as_ref().filter(|agent| agent.is_idle()).map(|agent| agent.incarnation);
        for (&agent, produced) in &host.produced {
            let (produced, kept) = (produced.counts(), world.store.totals(agent, true).counts());
            let told = || format!("{agent} measured {produced:?}, of which {kept:?} is kept");
            must(produced.iter().zip(&kept).all(|(produced, kept)| kept <= produced), told)?;
            // Results that the next coordinator knows nothing of any more are let go.
            must(alive != Some(agent) || world.forgot || kept == produced, told)?;
        }
        if alive.is_some() && !world.forgot {
            check_disk(world, &host.saved)?;
        }
    }
    Ok(())
}

/// What processes had on their disk when they ended was delivered by those after them.
fn check_disk(world: &World<'_>, saved: &BTreeMap<Incarnation, u64>) -> Result<(), Wrong> {
    for (agent, sequence) in saved {
        let kept = world.store.agents.get(agent).map_or(0, |kept| kept.windows.len() as u64);
        must(kept >= *sequence, || {
            format!("{agent} had windows up to {sequence} on its disk, and those up to {kept} were delivered")
        })?;
    }
    Ok(())
}

/// Nobody sent more than is reported as started, or unknown.
fn check_target(world: &World<'_>, run: &Run) -> Result<(), Wrong> {
    let (from_s, to_s) = whole_seconds(run);
    let mut silent = 0;
    for agent in world.books.agents() {
        let (sent, all) = (world.books.sent_by(agent), world.store.totals(agent, true));
        for (second, started) in &all.started {
            let sent = sent.get(second).copied().unwrap_or(0);
            must(*started <= sent, || {
                format!("{agent} reports {started} started in second {second} and sent {sent}")
            })?;
        }
        let told = world.store.totals(agent, false).started;
        for (second, sent) in sent.range(from_s..to_s.max(from_s)) {
            silent += sent.saturating_sub(told.get(second).copied().unwrap_or(0));
        }
    }
    let accounts = run.accounts();
    let is_counted = accounts.planned.is_some() && run.start_ns().is_some();
    must(!is_counted || silent <= accounts.unknown, || {
        format!("{silent} iterations were sent and not reported, and only {} are unknown", accounts.unknown)
    })
}

/// The whole seconds of the measured part before the stop.
fn whole_seconds(run: &Run) -> (u32, u32) {
    let second = |ns: u64| u32::try_from(ns / SECOND_NS).unwrap_or(u32::MAX);
    let to_s = match &run.load().model {
        Model::Open(_) => second(run.end_run_ns().unwrap_or(0)),
        Model::Closed(_) => u32::MAX,
    };
    (second(run.load().warmup_ns().saturating_add(SECOND_NS - 1)), to_s)
}

/// An open run plans what was due before its stop, and beside that only what was started before its agents heard of it.
fn check_planned(world: &World<'_>, run: &Run, open: &OpenLoad) -> Result<(), Wrong> {
    let schedule = open.schedule(world.job.seed).expect("it was adjusted from one that has a schedule");
    let is_whole = run.outcome().is_some_and(|outcome| outcome.reason == StopReason::CountReached);
    let until_ns = if is_whole { open.shape.total_ns() } else { run.end_run_ns().unwrap_or(0) };
    let due = open.measured(&schedule, until_ns);
    let due = due.end - due.start;
    let planned = run.accounts().planned.unwrap_or(0);
    let after = open.measured(&schedule, u64::MAX).end - open.measured(&schedule, until_ns).end;
    must((due..=due + after).contains(&planned), || {
        format!("{planned} are planned, and {due} were due before the stop at {until_ns}")
    })?;
    must(planned == due || after > 0, || format!("{planned} are planned of {due}"))
}

/// Where nothing happens but what agents can be told of in time, nothing is missing. True if that was to hold.
fn check_whole(world: &World<'_>, run: &Run) -> Result<bool, Wrong> {
    let scenario = world.scenario();
    if !is_calm(scenario) || !loses_nothing(scenario, run) {
        return Ok(false);
    }
    let accounts = run.accounts();
    must(accounts.missed == 0 && accounts.unknown == 0, || {
        format!("nothing went wrong, and {} are missed and {} unknown", accounts.missed, accounts.unknown)
    })?;
    let outcome = run.outcome();
    must(outcome.is_none_or(|outcome| !outcome.incomplete), || format!("it is incomplete: {outcome:?}"))?;
    Ok(true)
}

/// Ways are quick, and there is room for everything.
fn is_calm(scenario: &Scenario) -> bool {
    let is_quick = scenario.hosts.iter().all(|host| host.way_ms.1 <= QUICK_MS && !host.refuses);
    is_quick && scenario.plan.contains("max_in_flight: 2000")
}

fn loses_nothing(scenario: &Scenario, run: &Run) -> bool {
    let leaves = |event: &Timed| matches!(event.what, Happens::Leave { .. } | Happens::Drain { .. });
    let is_gentle =
        |event: &Timed| leaves(event) || matches!(event.what, Happens::Adjust { .. } | Happens::Stop);
    let is_short = |event: &Timed| match event.what {
        Happens::Kill { for_ms, .. } => for_ms <= 800,
        Happens::Break { .. } => true,
        _ => false,
    };
    // Somebody who takes part has to stay; a host's number is in its agents' names.
    let stays = |name: &str| {
        let gone =
            |event: &Timed| event.what.host().is_some_and(|it| name.starts_with(&format!("host{it}-")));
        !scenario.events.iter().any(gone)
    };
    let any_stays = run
        .agents()
        .any(|agent| stays(&agent.facts.name) && agent.legs().first().is_some_and(|leg| leg.from_ns == 0));
    // The second word ends an agent at once.
    let twice = |event: &Timed| scenario.events.iter().filter(|other| other.what == event.what).count() > 1;
    let is_twice = scenario.events.iter().any(|event| leaves(event) && twice(event));
    let gently = scenario.events.iter().all(is_gentle) && any_stays && !is_twice;
    let one_blow = scenario.events.len() == 1 && scenario.events.iter().all(is_short);
    gently || one_blow
}

/// Where one agent of several is gone and nothing else happens, the rate is back in time. True if that was to hold.
fn check_restored(world: &World<'_>, run: &Run, open: &OpenLoad) -> Result<bool, Wrong> {
    let scenario = world.scenario();
    let [Timed { at_ms, what }] = scenario.events.as_slice() else { return Ok(false) };
    let is_blow = match what {
        Happens::Die { .. } => true,
        Happens::Hang { for_ms, .. } | Happens::Cut { for_ms, .. } => *for_ms > 8_000,
        _ => false,
    };
    let lost = run.agents().filter(|agent| agent.was_lost()).count();
    let at_ns = ASKED_NS + at_ms * MS;
    let Some(start_ns) = world.start_ns.filter(|&start_ns| start_ns < at_ns) else { return Ok(false) };
    if !is_blow || !is_calm(scenario) || lost != 1 || run.agents().count() < 2 {
        return Ok(false);
    }
    let lease_ns = u64::try_from(world.job.plan.agents.lease.as_nanos()).unwrap_or(u64::MAX);
    let back_ns = at_ns - start_ns + lease_ns + RESTORED_NS;
    let schedule = open.schedule(world.job.seed).expect("it was adjusted from one that has a schedule");
    let until_ns = run.end_run_ns().unwrap_or(0);
    let late = schedule.counter().numbers_in(back_ns.min(until_ns)..until_ns);
    let measured = open.measured(&schedule, until_ns);
    let missing =
        (late.start.max(measured.start)..late.end.min(measured.end)).find(|n| !world.books.was_sent(*n));
    must(missing.is_none(), || {
        format!(
            "an agent was gone at {}, and {missing:?} was not sent though due after {back_ns}",
            at_ns - start_ns
        )
    })?;
    Ok(true)
}

fn tally(world: &World<'_>, run: &Run) -> Tally {
    let accounts = run.accounts();
    let name = run.outcome().map_or("not over", |outcome| match outcome.reason {
        StopReason::CountReached => "by count",
        StopReason::DurationOver => "by time",
        StopReason::ThresholdBroken => "threshold broken",
        StopReason::Asked => "asked for",
        StopReason::AgentsLost => "no agent left",
        StopReason::CouldNotRun(_) => "could not run",
        StopReason::StoreFailed(_) => "store failed",
    });
    let windows = world.store.agents.values().flat_map(|kept| &kept.windows);
    Tally {
        runs: 1,
        agents: run.agents().count() as u64,
        lost: run.agents().filter(|agent| agent.was_lost()).count() as u64,
        changes: world.books.changes() as u64,
        sent: world.books.sent_count,
        missed: accounts.missed,
        unknown: accounts.unknown,
        late: windows.clone().filter(|window| window.late).count() as u64,
        windows: windows.count() as u64,
        ends: BTreeMap::from([(name, 1)]),
        ..Tally::default()
    }
}
