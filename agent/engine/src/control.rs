//! What all workers of an engine look at: the times they must keep, what each has to do, and the iterations they may start.
//!
//! Workers read the times before each batch of work and write nothing but what they claim of granted iterations, a chunk at
//! a time. The times have cache lines of their own, so that a claim of one worker costs the others nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use volley_plan::allow::Denied;
use volley_plan::link::Share;
use volley_plan::{Amount, Level, Load, Model};
use volley_stats::SECOND_NS;

use crate::deal::{Admitted, Deal};
use crate::dial::Site;
use crate::limit::{Claim, Limit, Pool, Wish};
use crate::pace::Leg;
use crate::{Command, nanoseconds, sentence};

#[cfg(test)]
mod tests;

/// A time that does not come.
pub(crate) const NEVER: u64 = u64::MAX;

/// Times on the agent's clock, in nanoseconds. Only [`Control::obey`] and [`Control::quit`] write them.
#[derive(Debug)]
#[repr(align(128))]
struct Times {
    start: AtomicU64,
    begin: AtomicU64,
    lease_until: AtomicU64,
    settled: AtomicU64,
    owned_until: AtomicU64,
    stop_at: AtomicU64,
    cancel_at: AtomicU64,
    /// How many legs were laid out, for all workers.
    legs: AtomicU64,
}

/// How long the plan itself lets the run last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedEnd {
    /// Whether iterations that were begun go on past it, for as long as the drain takes: where a number of them ends the run.
    pub(crate) lets_finish: bool,
    pub(crate) duration_ns: u64,
    pub(crate) drain_ns: u64,
}

/// What is laid out for one worker.
#[derive(Debug, Default)]
struct Desk {
    /// Rung when something changed that the worker may be waiting for.
    bell: Notify,
    /// What it has to do, as far as it hasn't taken note of it.
    legs: Mutex<VecDeque<Leg>>,
}

/// Shared by all workers of an engine.
#[derive(Debug)]
pub(crate) struct Control {
    times: Times,
    limit: Limit,
    deal: Mutex<Deal>,
    desks: Vec<Desk>,
}

/// No critical section here leaves anything half done, so what a panicking thread left is as good as any.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    pub(crate) fn new(deal: Deal) -> Self {
        let times = Times {
            start: AtomicU64::new(NEVER),
            begin: AtomicU64::new(NEVER),
            lease_until: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            owned_until: AtomicU64::new(0),
            stop_at: AtomicU64::new(NEVER),
            cancel_at: AtomicU64::new(NEVER),
            legs: AtomicU64::new(0),
        };
        let desks = std::iter::repeat_with(Desk::default).take(deal.workers()).collect();
        Self { times, limit: limit(deal.load(), &deal), deal: Mutex::new(deal), desks }
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.desks.len()
    }

    /// Run time 0, or [`NEVER`] while nobody has said when.
    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.times.start.load(Ordering::Acquire)
    }

    /// From when on there is anything to do for this engine; [`NEVER`] like [`Self::start_ns`].
    #[inline]
    pub(crate) fn begin_ns(&self) -> u64 {
        match self.start_ns() {
            NEVER => NEVER,
            _ => self.times.begin.load(Ordering::Relaxed),
        }
    }

    /// The second of run time that it begins in; 0 before anybody has said when.
    pub(crate) fn first_second(&self) -> u32 {
        let from_ns = match self.start_ns() {
            NEVER => 0,
            start_ns => self.begin_ns().saturating_sub(start_ns),
        };
        u32::try_from(from_ns / SECOND_NS).unwrap_or(u32::MAX)
    }

    /// Nothing is sent from then on. Whoever sees a lease sees all that was ordered before it was given.
    #[inline]
    pub(crate) fn lease_until_ns(&self) -> u64 {
        self.times.lease_until.load(Ordering::Acquire)
    }

    /// What was due before and has not been taken up is sent by nobody: the lease had run out, and was renewed then.
    #[inline]
    pub(crate) fn settled_ns(&self) -> u64 {
        self.times.settled.load(Ordering::Relaxed)
    }

    /// The latest time of a stop that was ordered: what was due before is this engine's, with or without a lease.
    pub(crate) fn owned_until_ns(&self) -> u64 {
        self.times.owned_until.load(Ordering::Relaxed)
    }

    /// No iteration and no step starts from then on.
    #[inline]
    pub(crate) fn stop_at_ns(&self) -> u64 {
        self.times.stop_at.load(Ordering::Relaxed)
    }

    /// What is in flight then is cut off.
    #[inline]
    pub(crate) fn cancel_at_ns(&self) -> u64 {
        self.times.cancel_at.load(Ordering::Relaxed)
    }

    /// The bell of one worker.
    pub(crate) fn bell(&self, worker: usize) -> &Notify {
        &self.desks[worker].bell
    }

    /// How often something was laid out for the workers.
    #[inline]
    pub(crate) fn legs_laid_out(&self) -> u64 {
        self.times.legs.load(Ordering::Relaxed)
    }

    /// What a worker has to do and has not taken yet, in its order.
    pub(crate) fn take_legs(&self, worker: usize) -> VecDeque<Leg> {
        std::mem::take(&mut *locked(&self.desks[worker].legs))
    }

    /// Iterations for a worker, and what is to be asked for.
    pub(crate) fn claim(&self, now_ns: u64) -> (Claim, Option<Wish>) {
        self.limit.claim(now_ns)
    }

    /// Whether every iteration that was or will be granted has been claimed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.limit.is_exhausted()
    }

    /// The most connections that the share takes, as it is now.
    pub(crate) fn slots_max(&self) -> u32 {
        locked(&self.deal).slots_max()
    }

    /// Those of the target's addresses that may be loaded so hard as the load is; they are connected to from now on.
    ///
    /// # Errors
    /// None of them may be: what is said of the first.
    pub(crate) fn admit(&self, sites: Vec<Site>) -> Result<Admitted, Denied> {
        locked(&self.deal).admit(sites)
    }

    /// Takes a command at `now_ns` and wakes the workers.
    ///
    /// # Errors
    /// Why the change that was ordered can't be made, in a sentence: what there is to do ends where it would have begun.
    pub(crate) fn obey(&self, command: Command, now_ns: u64) -> Result<(), String> {
        let done = self.act(command, now_ns);
        self.ring();
        done
    }

    fn act(&self, command: Command, now_ns: u64) -> Result<(), String> {
        match command {
            Command::Start { at_ns, from_ns, lease_until_ns } => self.start(at_ns, from_ns, lease_until_ns),
            Command::Change { at_ns, share, to, over_ns } => {
                return self.change(at_ns, share, to, over_ns);
            }
            Command::Grant { from, to, last } => self.limit.grant(from..to, last),
            Command::Lease { until_ns } => self.renew(self.on_clock(until_ns), now_ns),
            Command::Stop { at_ns, drain_ns } => match self.start_ns() {
                NEVER => self.stop(0, 0),
                _ => {
                    let at_ns = self.on_clock(at_ns);
                    self.times.owned_until.fetch_max(at_ns, Ordering::Relaxed);
                    self.stop(at_ns, drain_ns);
                }
            },
        }
        Ok(())
    }

    /// Ends everything now.
    pub(crate) fn quit(&self) {
        self.stop(0, 0);
        self.ring();
    }

    fn start(&self, at_ns: u64, from_ns: u64, lease_until_ns: u64) {
        if self.start_ns() != NEVER {
            return;
        }
        let deal = locked(&self.deal);
        self.end_as_planned(&deal, at_ns);
        self.lay_out(deal.legs_from(from_ns));
        self.times.begin.store(at_ns.saturating_add(from_ns), Ordering::Relaxed);
        self.times.lease_until.fetch_max(at_ns.saturating_add(lease_until_ns), Ordering::Release);
        // Last, since a worker that sees it acts upon the others.
        self.times.start.store(at_ns, Ordering::Release);
    }

    /// Before the start it is the share that the run starts with. One that is none of this plan ends what there is to do,
    /// since what was due from then on may be anybody's.
    fn change(&self, at_ns: u64, share: Share, to: Option<Level>, over_ns: u64) -> Result<(), String> {
        let mut deal = locked(&self.deal);
        let start_ns = self.start_ns();
        match deal.change(at_ns, share, to, over_ns) {
            Ok(legs) => {
                self.limit.serves(deal.users());
                if start_ns != NEVER {
                    self.end_as_planned(&deal, start_ns);
                    self.lay_out(legs);
                }
                Ok(())
            }
            Err(error) => {
                tracing::error!(%error, "a change of share that can't be made ends the share");
                self.stop(self.on_clock(at_ns), nanoseconds(deal.load().drain));
                Err(sentence(&error))
            }
        }
    }

    fn lay_out(&self, legs: Vec<Leg>) {
        for (desk, leg) in self.desks.iter().zip(legs) {
            locked(&desk.legs).push_back(leg);
        }
        self.times.legs.fetch_add(1, Ordering::Release);
    }

    /// A lease that ran out and is given anew does not cover the time between: what was due then is not sent any more. How far
    /// the lease reaches is how far it is certain whose that was: one that comes late may be over, and the share with it.
    fn renew(&self, until_ns: u64, now_ns: u64) {
        let lease_until_ns = self.lease_until_ns();
        if until_ns <= lease_until_ns {
            return;
        }
        if now_ns >= lease_until_ns {
            self.times.settled.fetch_max(now_ns.min(until_ns), Ordering::Relaxed);
        }
        self.times.lease_until.fetch_max(until_ns, Ordering::Release);
    }

    fn end_as_planned(&self, deal: &Deal, start_ns: u64) {
        let Some(end) = deal.planned_end() else { return };
        let end_ns = start_ns.saturating_add(end.duration_ns);
        if end.lets_finish {
            self.times.cancel_at.fetch_min(end_ns.saturating_add(end.drain_ns), Ordering::Relaxed);
        } else {
            self.stop(end_ns, end.drain_ns);
        }
    }

    fn stop(&self, at_ns: u64, drain_ns: u64) {
        self.times.stop_at.fetch_min(at_ns, Ordering::Relaxed);
        self.times.cancel_at.fetch_min(at_ns.saturating_add(drain_ns), Ordering::Relaxed);
    }

    /// Run time as a time on the agent's clock. A lease before the start gives no leave.
    fn on_clock(&self, run_ns: u64) -> u64 {
        match self.start_ns() {
            NEVER => 0,
            start_ns => start_ns.saturating_add(run_ns),
        }
    }

    /// Has all workers look round.
    pub(crate) fn ring(&self) {
        for desk in &self.desks {
            desk.bell.notify_one();
        }
    }
}

/// What bounds the iterations of a load.
fn limit(load: &Load, deal: &Deal) -> Limit {
    match &load.model {
        Model::Closed(closed) if matches!(closed.iterations, Some(Amount::InAll(_))) => {
            Limit::Granted(Mutex::new(Pool::new(deal.workers(), deal.users())))
        }
        _ => Limit::Unlimited,
    }
}
