//! What all workers of an engine look at: the times they must keep, and the iterations they may start.
//!
//! Workers read it before each request and write it only when they claim iterations, a chunk at a time. The times have
//! a cache line of their own, so that a claim of one worker costs the others nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::Command;
use crate::limit::{Claim, Limit, Wish};

/// A time that does not come.
pub(crate) const NEVER: u64 = u64::MAX;

/// Times on the agent's clock, in nanoseconds. Only [`Control::obey`] and [`Control::quit`] write them.
#[derive(Debug)]
#[repr(align(128))]
struct Times {
    start: AtomicU64,
    lease_until: AtomicU64,
    stop_at: AtomicU64,
    cancel_at: AtomicU64,
}

/// How long the plan itself lets the run last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedEnd {
    /// Whether iterations that were begun go on past it, for as long as the drain takes: where a number of them ends the run.
    pub(crate) lets_finish: bool,
    pub(crate) duration_ns: u64,
    pub(crate) drain_ns: u64,
}

/// Shared by all workers of an engine.
#[derive(Debug)]
pub(crate) struct Control {
    times: Times,
    planned_end: Option<PlannedEnd>,
    limit: Limit,
    /// One for each worker: rung when something changed that its users may be waiting for.
    bells: Vec<Notify>,
}

impl Control {
    pub(crate) fn new(limit: Limit, planned_end: Option<PlannedEnd>, workers: usize) -> Self {
        let times = Times {
            start: AtomicU64::new(NEVER),
            lease_until: AtomicU64::new(0),
            stop_at: AtomicU64::new(NEVER),
            cancel_at: AtomicU64::new(NEVER),
        };
        let bells = std::iter::repeat_with(Notify::new).take(workers).collect();
        Self { times, planned_end, limit, bells }
    }

    /// Run time 0, or [`NEVER`] while nobody has said when.
    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.times.start.load(Ordering::Acquire)
    }

    /// Nothing is sent from then on.
    #[inline]
    pub(crate) fn lease_until_ns(&self) -> u64 {
        self.times.lease_until.load(Ordering::Relaxed)
    }

    /// No iteration and no step starts from then on.
    #[inline]
    pub(crate) fn stop_at_ns(&self) -> u64 {
        self.times.stop_at.load(Ordering::Relaxed)
    }

    /// What is in flight then is cut off.
    pub(crate) fn cancel_at_ns(&self) -> u64 {
        self.times.cancel_at.load(Ordering::Relaxed)
    }

    /// The bell of one worker.
    pub(crate) fn bell(&self, worker: usize) -> &Notify {
        &self.bells[worker]
    }

    /// Iterations for a worker, and what is to be asked for.
    pub(crate) fn claim(&self, now_ns: u64) -> (Claim, Option<Wish>) {
        self.limit.claim(now_ns)
    }

    /// Takes a command and wakes the workers.
    pub(crate) fn obey(&self, command: Command) {
        match command {
            Command::Start { at_ns, lease_until_ns } => self.start(at_ns, lease_until_ns),
            Command::Grant { from, to, last } => self.limit.grant(from..to, last),
            Command::Lease { until_ns } => {
                self.times.lease_until.fetch_max(self.on_clock(until_ns), Ordering::Relaxed);
            }
            Command::Stop { at_ns, drain_ns } => match self.start_ns() {
                NEVER => self.stop(0, 0),
                _ => self.stop(self.on_clock(at_ns), drain_ns),
            },
        }
        self.ring();
    }

    /// Ends everything now.
    pub(crate) fn quit(&self) {
        self.stop(0, 0);
        self.ring();
    }

    fn start(&self, at_ns: u64, lease_until_ns: u64) {
        if self.start_ns() != NEVER {
            return;
        }
        if let Some(end) = self.planned_end {
            let end_ns = at_ns.saturating_add(end.duration_ns);
            if end.lets_finish {
                self.times.cancel_at.fetch_min(end_ns.saturating_add(end.drain_ns), Ordering::Relaxed);
            } else {
                self.stop(end_ns, end.drain_ns);
            }
        }
        self.times.lease_until.fetch_max(at_ns.saturating_add(lease_until_ns), Ordering::Relaxed);
        // Last, since a worker that sees it acts upon the others.
        self.times.start.store(at_ns, Ordering::Release);
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

    fn ring(&self) {
        for bell in &self.bells {
            bell.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: PlannedEnd = PlannedEnd { lets_finish: false, duration_ns: 1000, drain_ns: 10 };

    /// Start, lease, stop and cancel after these commands.
    fn check(planned_end: Option<PlannedEnd>, commands: &[Command], expected: [u64; 4]) {
        let control = Control::new(Limit::Unlimited, planned_end, 1);
        for &command in commands {
            control.obey(command);
        }
        let times =
            [control.start_ns(), control.lease_until_ns(), control.stop_at_ns(), control.cancel_at_ns()];
        assert_eq!(times, expected, "{commands:?}");
    }

    #[test]
    fn commands_set_the_times() {
        let start = Command::Start { at_ns: 500, lease_until_ns: 300 };
        let stop = |at_ns, drain_ns| Command::Stop { at_ns, drain_ns };
        let lease = |until_ns| Command::Lease { until_ns };
        check(None, &[], [NEVER, 0, NEVER, NEVER]);
        check(None, &[start], [500, 800, NEVER, NEVER]);
        check(Some(END), &[start], [500, 800, 1500, 1510]);
        check(Some(END), &[start, start, lease(400), lease(350)], [500, 900, 1500, 1510]);
        check(Some(END), &[start, Command::Start { at_ns: 7, lease_until_ns: 1 }], [500, 800, 1500, 1510]);
        check(Some(END), &[start, stop(100, 5)], [500, 800, 600, 605]);
        check(Some(END), &[start, stop(1000, 0)], [500, 800, 1500, 1500]);
        check(Some(END), &[start, stop(2000, 900)], [500, 800, 1500, 1510]);
        check(None, &[start, stop(100, u64::MAX)], [500, 800, 600, u64::MAX]);
        let counted = PlannedEnd { lets_finish: true, ..END };
        check(Some(counted), &[start], [500, 800, NEVER, 1510]);
        check(Some(counted), &[start, stop(100, 5)], [500, 800, 600, 605]);
        check(None, &[stop(100, 5)], [NEVER, 0, 0, 0]);
        check(Some(END), &[lease(9), stop(100, 5), start], [500, 800, 0, 0]);
    }
}
