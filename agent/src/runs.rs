//! The run at hand, the ones before it, and the results of them all: orders and leases go in, reports come out.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use volley_engine::{Clock, Event, Listening, Setup, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::{FromAgent, Incarnation, Lease, Order, Progress, RunId, Share};
use volley_plan::{Adjust, Plan};
use volley_stats::{Second, Tally, Window};

use crate::agent::ORPHAN;
use crate::crash::crash_at;
use crate::disk::{Answer, Job, Source};
use crate::journal::Journal;
use crate::launch::{Launch, Launched};
use crate::leftovers::Leftovers;
use crate::permit::Permit;
use crate::run::Run;

/// Most earlier runs whose orders are still known, so that a repeated `Prepare` can't start them again.
const MAX_PAST: usize = 16;

/// A run that this agent no longer works for.
#[derive(Debug)]
struct Past {
    run: RunId,
    taken: u64,
}

/// What each engine is made with.
#[derive(Clone, Debug)]
pub struct Means {
    /// The agent's clock.
    pub clock: Clock,
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Whether those that have nothing to do spin before they sleep.
    pub spin: Spin,
    /// What may be sent to.
    pub allow: Arc<AllowList>,
    /// The folder for files that plans name.
    pub files: Option<PathBuf>,
    /// Who is told of each request, if somebody is.
    pub listener: Option<Listening>,
}

/// What an order to prepare says.
struct Prepare {
    plan: String,
    hash: String,
    share: Share,
    seed: u64,
    adjusted: Vec<Adjust>,
}

/// All runs of this agent.
pub struct Runs {
    means: Means,
    launch: Launch,
    at_hand: Option<Run>,
    past: VecDeque<Past>,
    journal: Journal,
    leftovers: Leftovers,
    /// What all windows of this process add up to.
    sent: Arc<Tally>,
    /// The latest second that the engine at hand has told of.
    latest: Second,
    /// No further run is taken.
    leaving: bool,
}

impl Runs {
    /// No runs yet. With `has_disk`, windows are sent only once [`Self::answer`] has said that they are kept.
    #[must_use]
    pub fn new(means: Means, launch: Launch, has_disk: bool) -> Self {
        Self {
            means,
            launch,
            at_hand: None,
            past: VecDeque::new(),
            journal: Journal::new(has_disk),
            leftovers: Leftovers::default(),
            sent: Arc::default(),
            latest: Second::default(),
            leaving: false,
        }
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
            (None, Order::Prepare { plan, hash, share, seed, adjusted }) => {
                self.displace();
                self.prepare(run.clone(), Prepare { plan, hash, share, seed, adjusted });
                crash_at("preparing");
            }
            (None, order) => {
                tracing::warn!(%run, ?order, "a run's first order must be to prepare; it was ignored");
                return false;
            }
            (Some(_), Order::Release) => self.release(run, number),
            (Some(_), order) => self.obey(run, number, order),
        }
        true
    }

    fn taken(&self, run: &RunId) -> Option<u64> {
        let at_hand = self.at_hand.iter().find(|known| known.id == *run).map(|known| known.taken);
        at_hand.or_else(|| self.past.iter().find(|past| past.run == *run).map(|past| past.taken))
    }

    fn obey(&mut self, run: &RunId, number: u64, order: Order) {
        match &mut self.at_hand {
            Some(known) if known.id == *run => {
                known.taken = number;
                known.obey(order);
            }
            _ => {
                if matches!(order, Order::Start { .. }) {
                    self.end_unbegun(run);
                }
                self.note_past(run, number);
            }
        }
    }

    /// The run is to start, and was given up here before it did. Its last word is that nothing was done, since the coordinator
    /// would wait for one.
    fn end_unbegun(&mut self, run: &RunId) {
        tracing::warn!(%run, "the run starts, and was given up here before; its part of it ends with nothing done");
        self.open_journal(run);
        self.keep(run, &Window::default(), true);
    }

    /// Makes room for a run's results.
    fn open_journal(&mut self, run: &RunId) {
        if let Some(given_up) = self.journal.open(run) {
            tracing::warn!(run = %given_up, "its undelivered results were given up to make room for a new run's");
        }
    }

    fn prepare(&mut self, run: RunId, order: Prepare) {
        self.open_journal(&run);
        let permit = self.permit(&order);
        if let Err(reason) = &permit {
            tracing::warn!(%run, reason, "the run was refused");
        }
        let engine = permit.map(|permit| {
            let engine = self.launch_engine(&permit, order);
            (permit, engine)
        });
        self.at_hand = Some(Run::prepared(run, engine));
    }

    /// Whether this agent may and will do it, or why not.
    fn permit(&self, order: &Prepare) -> Result<Permit, String> {
        if self.leaving {
            return Err("this agent is about to end".to_owned());
        }
        let plan = checked_plan(&order.plan, &order.hash)?;
        Permit::ask(plan, &order.adjusted, &self.means.allow)
    }

    fn launch_engine(&self, permit: &Permit, order: Prepare) -> Launched {
        let Means { clock, workers, spin, .. } = self.means;
        let Prepare { share, seed, adjusted, .. } = order;
        let (plan, allow) = (permit.plan(), Arc::new(permit.addresses()));
        let (files, listener) = (self.means.files.clone(), self.means.listener.clone());
        (self.launch)(Setup { plan, share, adjusted, allow, workers, seed, clock, spin, files, listener })
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
            self.keep(&run.id, &window, last);
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

    /// Windows up to this one are the coordinator's now. The largest number there is says that it knows nothing of the run.
    pub(crate) fn acknowledge(&mut self, run: RunId, of: Option<Incarnation>, sequence: u64) {
        if of.is_some() {
            self.leftovers.acknowledge(&Source { run, of }, sequence);
        } else if sequence == u64::MAX {
            tracing::warn!(%run, "the coordinator knows nothing of this run, so it is forgotten here too");
            match self.taken(&run) {
                Some(taken) => self.release(&run, taken),
                None => self.journal.forget(&run),
            }
        } else {
            self.journal.acknowledge(&run, sequence);
        }
    }

    /// The run at hand, and how far this agent is with it.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        self.at_hand.as_ref().map(|run| Progress {
            run: run.id.clone(),
            acknowledged: run.taken,
            start_ns: run.start_ns,
        })
    }

    /// Waits for what the engine at hand tells next. Safe to drop at any point.
    pub(crate) async fn next_event(&mut self) -> Option<Event> {
        match &mut self.at_hand {
            Some(run) => run.next_event().await,
            None => std::future::pending().await,
        }
    }

    /// What the engine at hand has told already, without waiting, for [`Self::hear`]; `None` if there is nothing.
    pub fn ready_event(&mut self) -> Option<Option<Event>> {
        self.at_hand.as_mut()?.ready_event()
    }

    /// Takes what the engine at hand tells; `None` if it ended without a last word.
    pub fn hear(&mut self, event: Option<Event>) {
        let Some(run) = &mut self.at_hand else { return };
        if let Some((window, last)) = run.hear(event) {
            if last {
                crash_at("draining");
            }
            let id = run.id.clone();
            self.keep(&id, &window, last);
        }
    }

    /// Counts a window, and keeps it until it is delivered.
    fn keep(&mut self, run: &RunId, window: &Window, last: bool) {
        Arc::make_mut(&mut self.sent).add(window);
        let latest = window.seconds.last_key_value().map(|(_, second)| *second);
        self.latest = latest.filter(|_| !last).unwrap_or_default();
        self.journal.push(run, window, last);
    }

    /// What the disk is to do next. Each job is answered by [`Self::answer`], in their order.
    pub fn next_job(&mut self) -> Option<Job> {
        self.journal.next_job().or_else(|| self.leftovers.next_job())
    }

    /// Takes what the disk answers; `None` if it is gone for good.
    pub fn answer(&mut self, answer: Option<Answer>) {
        match answer {
            Some(Answer::Found(sources)) => self.leftovers.found(sources),
            Some(Answer::Kept { run, sequence }) => {
                crash_at("window-saved");
                self.journal.kept(&run, sequence);
            }
            Some(Answer::Failed { run, reason }) => {
                if self.journal.unkept(&run) {
                    tracing::warn!(%run, reason, "results can't be kept on disk, so this run's stay in memory only");
                }
            }
            Some(Answer::Left { source, window }) => self.leftovers.read(&source, window),
            Some(Answer::Done) => {}
            None => {
                tracing::error!("the disk's thread broke down; results are kept in memory only");
                self.journal.without_disk();
            }
        }
    }

    /// True while windows wait for the disk to keep them.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.journal.waits_for_disk()
    }

    /// The disk has not answered for long, so nothing waits for it any more until it does.
    pub(crate) fn disk_hangs(&mut self) {
        tracing::warn!(
            "the disk does not answer; results are kept in memory only until a run begins after it did"
        );
        self.journal.without_disk();
    }

    /// The disk answers again: what further runs measure is kept there.
    pub(crate) fn disk_is_back(&mut self) {
        tracing::info!("the disk answers again; results of further runs are kept on it");
        self.journal.with_disk();
    }

    /// True while a run depends on the coordinator.
    #[must_use]
    pub fn needs_contact(&self) -> bool {
        self.at_hand.as_ref().is_some_and(Run::needs_contact)
    }

    /// Stops the run at hand, since the coordinator has been silent for too long.
    pub fn abandon(&mut self, now_ns: u64) {
        let Some(run) = &mut self.at_hand else { return };
        tracing::warn!(run = %run.id, "the coordinator has been out of reach for too long; the run is stopped here");
        let why = format!("it had no word of the coordinator for {} s", ORPHAN.as_secs());
        if !run.abandon(now_ns, why) {
            self.drop_at_hand();
        }
    }

    /// Takes no further run, since the agent is about to end.
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
    }

    /// Stops the run at hand, since the agent ends now. What was measured is then to be delivered.
    pub fn stop(&mut self, now_ns: u64) {
        self.leave();
        if let Some(run) = &mut self.at_hand {
            run.abandon(now_ns, "it was told to end at once".to_owned());
        }
    }

    /// How long the run at hand may take to its end from the word to end it on.
    pub(crate) fn patience(&self) -> Duration {
        self.at_hand.as_ref().map_or(Duration::ZERO, Run::patience)
    }

    /// True while there is a run that something may still come of, or something of this process is not delivered.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.at_hand.as_ref().is_some_and(|run| !run.is_over()) || !self.journal.is_delivered()
    }

    /// True while something was measured, or is still being measured, that the coordinator may not have.
    #[must_use]
    pub fn owes_windows(&self) -> bool {
        self.at_hand.as_ref().is_some_and(Run::is_running) || !self.journal.is_delivered()
    }

    /// How many windows of this process are not acknowledged.
    #[must_use]
    pub fn owed_windows(&self) -> usize {
        self.journal.owed()
    }

    /// How many runs of earlier processes are not delivered whole.
    #[must_use]
    pub fn leftovers(&self) -> usize {
        self.leftovers.len()
    }

    /// What all windows of this process add up to.
    pub(crate) fn sent(&self) -> Arc<Tally> {
        Arc::clone(&self.sent)
    }

    /// The latest second that the engine at hand has told of.
    pub(crate) fn latest(&self) -> Second {
        self.latest
    }

    /// Another ping interval has gone by.
    pub(crate) fn beat(&mut self) {
        self.leftovers.beat();
    }

    pub(crate) fn reconnected(&mut self) {
        self.journal.reconnected();
        self.leftovers.reconnected();
        if let Some(run) = &mut self.at_hand {
            run.reconnected();
        }
    }

    pub(crate) fn has_report(&self) -> bool {
        let of_run = self.at_hand.as_ref().is_some_and(Run::has_report);
        of_run || self.journal.has_next() || self.leftovers.has_next()
    }

    /// What is to be said next. Wishes come before windows, so that no worker waits for its grant behind them; what earlier
    /// processes left comes last.
    pub(crate) fn next_report(&mut self) -> Option<FromAgent> {
        if let Some(run) = &mut self.at_hand
            && let Some(report) = run.next_report()
        {
            return Some(FromAgent::Report { run: run.id.clone(), of: None, report });
        }
        let window = self.journal.next().or_else(|| self.leftovers.next())?;
        Some(window.into_report())
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
