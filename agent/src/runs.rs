//! The run at hand, the ones before it, and the journal of them all: orders and leases go in, reports come out.

use std::collections::VecDeque;
use std::sync::Arc;

use volley_engine::{Clock, Event, Setup, Spin};
use volley_plan::Plan;
use volley_plan::link::{FromAgent, Lease, Order, Progress, Report, RunId, Share};

use crate::journal::Journal;
use crate::run::{Launch, Launched, Run};

/// Most earlier runs whose orders are still known, so that a repeated `Prepare` can't start them again.
const MAX_PAST: usize = 16;

/// A run that this agent no longer works for.
#[derive(Debug)]
struct Past {
    run: RunId,
    taken: u64,
}

/// The threads that each engine is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// How many, at least 1.
    pub(crate) workers: usize,
    /// Whether those that have nothing to do spin before they sleep.
    pub(crate) spin: Spin,
}

/// All runs of this agent.
pub(crate) struct Runs {
    clock: Clock,
    threads: Threads,
    launch: Launch,
    at_hand: Option<Run>,
    past: VecDeque<Past>,
    journal: Journal,
}

impl Runs {
    pub(crate) fn new(clock: Clock, threads: Threads, launch: Launch) -> Self {
        Self { clock, threads, launch, at_hand: None, past: VecDeque::new(), journal: Journal::default() }
    }

    /// Takes an order if it is the next of its run; says whether it was. One that came before is a repeat; one too far
    /// ahead shows that others were lost, and the coordinator sends them all again.
    pub(crate) fn order(&mut self, run: &RunId, number: u64, order: Order) -> bool {
        let known = self.taken(run);
        if number.checked_sub(1) != Some(known.unwrap_or(0)) {
            tracing::debug!(%run, number, taken = known, "an order that is not the next was ignored");
            return false;
        }
        match (known, order) {
            (None, Order::Prepare { plan, hash, share, seed }) => {
                self.displace();
                self.prepare(run.clone(), &plan, &hash, share, seed);
            }
            (None, order) => {
                tracing::warn!(%run, ?order, "a run's first order must be to prepare; it was ignored");
                return false;
            }
            (Some(_), Order::Release) => self.release(run, number),
            (Some(_), order) => self.obey(run, number, &order),
        }
        true
    }

    fn taken(&self, run: &RunId) -> Option<u64> {
        let at_hand = self.at_hand.iter().find(|known| known.id == *run).map(|known| known.taken);
        at_hand.or_else(|| self.past.iter().find(|past| past.run == *run).map(|past| past.taken))
    }

    fn obey(&mut self, run: &RunId, number: u64, order: &Order) {
        match &mut self.at_hand {
            Some(known) if known.id == *run => {
                known.taken = number;
                known.obey(order);
            }
            _ => self.note_past(run, number),
        }
    }

    fn prepare(&mut self, run: RunId, plan: &str, hash: &str, share: Share, seed: u64) {
        if let Some(given_up) = self.journal.open(&run) {
            tracing::warn!(run = %given_up, "its undelivered results were given up to make room for a new run's");
        }
        let plan = checked_plan(plan, hash);
        let engine = plan.map(|plan| self.launch_engine(plan, share, seed));
        if let Err(reason) = &engine {
            tracing::warn!(%run, reason, "the run was refused");
        }
        self.at_hand = Some(Run::prepared(run, engine));
    }

    fn launch_engine(&self, plan: Plan, share: Share, seed: u64) -> Launched {
        let Threads { workers, spin } = self.threads;
        (self.launch)(Setup { plan: Arc::new(plan), share, workers, seed, clock: self.clock, spin })
    }

    /// Ends the run at hand for another one. What it measured stays in the journal.
    fn displace(&mut self) {
        if let Some(run) = &self.at_hand {
            tracing::warn!(run = %run.id, "the run at hand was given up for another one");
        }
        self.drop_at_hand();
    }

    fn drop_at_hand(&mut self) {
        let Some(mut run) = self.at_hand.take() else { return };
        for (window, last) in run.dismiss() {
            self.journal.push(&run.id, &window, last);
        }
        self.note_past(&run.id, run.taken);
    }

    fn release(&mut self, run: &RunId, number: u64) {
        if self.at_hand.as_ref().is_some_and(|known| known.id == *run) {
            self.drop_at_hand();
        }
        self.note_past(run, number);
        self.journal.forget(run);
    }

    fn note_past(&mut self, run: &RunId, taken: u64) {
        self.past.retain(|past| past.run != *run);
        if self.past.len() == MAX_PAST {
            self.past.pop_front();
        }
        self.past.push_back(Past { run: run.clone(), taken });
    }

    pub(crate) fn lease(&mut self, lease: &Lease) {
        if let Some(run) = self.at_hand.as_mut().filter(|run| run.id == lease.run) {
            run.renew(lease.until_ns);
        }
    }

    pub(crate) fn acknowledge(&mut self, run: &RunId, sequence: u64) {
        self.journal.acknowledge(run, sequence);
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        self.at_hand.as_ref().map(|run| Progress { run: run.id.clone(), acknowledged: run.taken })
    }

    /// Waits for what the engine at hand tells next. Safe to drop at any point.
    pub(crate) async fn next_event(&mut self) -> Option<Event> {
        match &mut self.at_hand {
            Some(run) => run.next_event().await,
            None => std::future::pending().await,
        }
    }

    /// Takes what [`Self::next_event`] gave.
    pub(crate) fn hear(&mut self, event: Option<Event>) {
        let Some(run) = &mut self.at_hand else { return };
        if let Some((window, last)) = run.hear(event) {
            self.journal.push(&run.id, &window, last);
        }
    }

    /// True while a run depends on the coordinator.
    pub(crate) fn needs_contact(&self) -> bool {
        self.at_hand.as_ref().is_some_and(Run::needs_contact)
    }

    /// Stops the run at hand, since the coordinator has been silent for too long.
    pub(crate) fn abandon(&mut self, now_ns: u64) {
        let Some(run) = &mut self.at_hand else { return };
        tracing::warn!(run = %run.id, "the coordinator has been out of reach for too long; the run is stopped here");
        if !run.abandon(now_ns) {
            self.drop_at_hand();
        }
    }

    /// Stops the run at hand, since the agent is about to end. What was measured is then to be delivered.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        if let Some(run) = &mut self.at_hand {
            run.abandon(now_ns);
        }
    }

    /// True while something was measured, or is still being measured, that the coordinator may not have.
    pub(crate) fn owes_windows(&self) -> bool {
        self.at_hand.as_ref().is_some_and(Run::is_running) || !self.journal.is_delivered()
    }

    pub(crate) fn reconnected(&mut self) {
        self.journal.reconnected();
        if let Some(run) = &mut self.at_hand {
            run.reconnected();
        }
    }

    pub(crate) fn has_report(&self) -> bool {
        self.at_hand.as_ref().is_some_and(Run::has_report) || self.journal.has_next()
    }

    /// What is to be said next. Wishes come before windows, so that no worker waits for its grant behind them.
    pub(crate) fn next_report(&mut self) -> Option<FromAgent> {
        if let Some(run) = &mut self.at_hand
            && let Some(report) = run.next_report()
        {
            return Some(FromAgent::Report { run: run.id.clone(), report });
        }
        let numbered = self.journal.next()?;
        let report =
            Report::Window { sequence: numbered.sequence, window: numbered.window, last: numbered.last };
        Some(FromAgent::Report { run: numbered.run, report })
    }
}

/// The plan, read again here and found to be the one that the coordinator means; or why not.
fn checked_plan(text: &str, hash: &str) -> Result<Plan, String> {
    let plan = volley_plan::parse(text)
        .map_err(|faults| format!("the plan can't be read on the agent: {faults}"))?;
    let here = plan.hash().to_string();
    if here == hash {
        return Ok(plan);
    }
    Err(format!(
        "the plan's hash is {here} on the agent and {hash} on the coordinator, so they would not run the same"
    ))
}

#[cfg(test)]
mod tests;
