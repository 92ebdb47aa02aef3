//! Tests of the decider: a world of agents without threads or clocks, walked event by event.

mod adjusting;
mod beliefs;
mod fleet;
mod model;
mod open;
mod properties;
mod restarts;
mod shares;
mod stories;
mod table;
mod unkept;
mod verdicts;
mod without;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_plan::link::{Incarnation, Order, RunId, WindowFacts};
use volley_plan::{Accounts, Verdict};
use volley_stats::Iterations;

use crate::{Action, AgentFacts, AgentShare, Event, Run, Settings};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;

pub(crate) const A: Incarnation = Incarnation(0xa);
pub(crate) const B: Incarnation = Incarnation(0xb);
pub(crate) const C: Incarnation = Incarnation(0xc);

pub(crate) fn facts(incarnation: Incarnation) -> AgentFacts {
    let name = format!("agent-{:x}", incarnation.0);
    let version = "1.0.0".to_owned();
    AgentFacts {
        incarnation,
        name,
        version,
        workers: 1,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    }
}

pub(crate) fn settings() -> Settings {
    Settings { lead_ns: 0, ..Settings::default() }
}

pub(crate) fn new_run(load: &str, agents: &[Incarnation]) -> (Run, Vec<Action>) {
    new_run_with(settings(), load, agents)
}

pub(crate) fn new_run_with(settings: Settings, load: &str, agents: &[Incarnation]) -> (Run, Vec<Action>) {
    let plan = volley_plan::parse(&format!("target: http://127.0.0.1:1/\n{load}\n")).expect("a valid plan");
    let id = RunId::new("r1").expect("a valid name");
    Run::new(0, id, Arc::new(plan), 7, settings, agents.iter().map(|&agent| facts(agent)).collect())
}

/// A run in which every agent has started at time 0.
pub(crate) fn started(load: &str, agents: &[Incarnation]) -> Run {
    let (mut run, _) = new_run(load, agents);
    for &agent in agents {
        run.handle(0, Event::Ready { agent });
    }
    assert_eq!(run.state().name(), "running");
    run
}

/// A window of `n` iterations, each one request that ended ok.
pub(crate) fn window(agent: Incarnation, sequence: u64, n: u64, last: bool) -> Event {
    Event::Window { agent, facts: window_facts(sequence, n, 0, last) }
}

/// What a window says of `started` iterations, each one request that ended ok, and of `missed` ones.
pub(crate) fn window_facts(sequence: u64, started: u64, missed: u64, last: bool) -> WindowFacts {
    WindowFacts {
        sequence,
        iterations: Iterations { started, finished: started, missed },
        started,
        ok: started,
        watermark_s: u32::try_from(sequence).expect("small"),
        latest_ns: sequence * S - MS,
        last,
        ..WindowFacts::default()
    }
}

/// An agent of a run.
pub(crate) fn share_of(run: &Run, agent: Incarnation) -> &AgentShare {
    run.agents().find(|share| share.facts.incarnation == agent).expect("takes part")
}

/// Planned, started, missed and unknown iterations.
pub(crate) fn iterations(run: &Run) -> (Option<u64>, u64, u64, u64) {
    let Accounts { planned, started, missed, unknown, .. } = run.accounts();
    (planned, started, missed, unknown)
}

/// The verdict of a run that is over, and the sentence with it.
pub(crate) fn verdict(run: &Run) -> (Verdict, &str) {
    let outcome = run.outcome().expect("finished");
    (outcome.verdict, outcome.sentence.as_str())
}

/// Pings of these agents every half second from `from_ns` to `to_ns`; they take every order.
pub(crate) fn alive(run: &mut Run, agents: &[Incarnation], from_ns: u64, to_ns: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut now_ns = from_ns;
    while now_ns <= to_ns {
        actions.extend(pass(run, now_ns));
        for &agent in agents {
            let given =
                run.agents().find(|share| share.facts.incarnation == agent).map(AgentShare::last_order);
            actions.extend(run.handle(now_ns, ping(agent, given.unwrap_or(0))));
        }
        now_ns += 500 * MS;
    }
    actions
}

pub(crate) fn ping(agent: Incarnation, acknowledged: u64) -> Event {
    Event::Pinged { agent, acknowledged, start_ns: None }
}

/// What the event log was told.
pub(crate) fn notes(actions: &[Action]) -> Vec<&str> {
    actions
        .iter()
        .filter_map(|action| match action {
            Action::Note(note) => Some(note.text.as_str()),
            _ => None,
        })
        .collect()
}

/// Fires deadlines up to `until_ns`, as a driver would.
pub(crate) fn pass(run: &mut Run, until_ns: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    for _ in 0..1000 {
        match run.deadline_ns().filter(|&deadline_ns| deadline_ns <= until_ns) {
            Some(deadline_ns) => actions.extend(run.handle(deadline_ns, Event::Time)),
            None => return actions,
        }
    }
    panic!("deadlines that never end: {run:?}");
}

/// Actions in short: what and for whom.
pub(crate) fn short(actions: &[Action]) -> Vec<String> {
    let line = |action: &Action| match action {
        Action::Send { agent, order, .. } => format!("send {:x} {}", agent.0, order_name(order)),
        Action::Renew { agent, until_ns } => format!("renew {:x} {}", agent.0, until_ns / MS),
        Action::Acknowledge { agent, sequence } => format!("ack {:x} {sequence}", agent.0),
        Action::Note(_) => "note".to_owned(),
        Action::Free { agent } => format!("free {:x}", agent.0),
        Action::Finished => "finished".to_owned(),
    };
    actions.iter().map(line).collect()
}

fn order_name(order: &Order) -> String {
    match order {
        Order::Prepare { share, .. } => format!("prepare {}", share.stripes.held().len()),
        Order::Start { from_ns: 0, .. } => "start".to_owned(),
        Order::Start { from_ns, .. } => format!("start from {}", from_ns / MS),
        Order::Change { at_ns, share, to, .. } => {
            let to = to.map(|to| format!(" to {to}")).unwrap_or_default();
            format!("change {} {}{to}", at_ns / MS, share.stripes.held().len())
        }
        Order::Grant { from, to, last } => format!("grant {from}..{to}{}", if *last { " last" } else { "" }),
        Order::Stop { at_ns, drain_ns } => format!("stop {}+{}", at_ns / MS, drain_ns / MS),
        Order::Release => "release".to_owned(),
    }
}
