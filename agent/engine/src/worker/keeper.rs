//! The keeper of a worker: it looks at the clock when something is due, and does it.
//!
//! Start, arrivals, seconds, pauses, time-outs, stop and the end of the drain all hang on its one timer. It comes round
//! every 50 ms at least, so that a thread that didn't run is noticed.

use std::io;
use std::rc::Rc;

use super::Worker;
use crate::control::NEVER;
use crate::pace::{Arrivals, Pace};
use crate::timer::Timer;

/// The longest that a keeper rests, in nanoseconds.
const HEARTBEAT_NS: u64 = 50_000_000;

impl Worker {
    /// Keeps the worker's times until nothing is left to do.
    pub(super) async fn keep(self: &Rc<Self>, timer: &Timer) -> io::Result<()> {
        let mut rang = false;
        let mut heartbeat_ns = 0;
        loop {
            let now_ns = self.clock.now_ns();
            self.look(now_ns);
            // In the second in which it ended, where what it made late is filed too.
            self.note_stall(now_ns);
            if rang {
                self.wake_parked();
            }
            if self.is_over() {
                return Ok(());
            }
            if now_ns >= heartbeat_ns {
                heartbeat_ns = now_ns.saturating_add(HEARTBEAT_NS);
            }
            rang = self.rest(timer, now_ns, heartbeat_ns).await?;
        }
    }

    /// Waits until something is due or the bell rings; says whether it rang.
    async fn rest(&self, timer: &Timer, now_ns: u64, heartbeat_ns: u64) -> io::Result<bool> {
        let bell = self.control.bell(self.index);
        let due_ns = self.next_due_ns(now_ns);
        let until_ns = self.look_at_ns().min(heartbeat_ns).min(due_ns);
        self.rests_until_ns.set(until_ns);
        if until_ns == due_ns && self.spinning.before_due(due_ns.saturating_sub(now_ns)) {
            self.spinning.polls(now_ns);
            // Lets the other tasks run and looks at the sockets, without waiting for them.
            return Ok(tokio::select! {
                biased;
                () = bell.notified() => true,
                () = tokio::task::yield_now() => false,
            });
        }
        let head_start_ns = if until_ns == due_ns { self.spinning.head_start_ns() } else { 0 };
        let set_to_ns = until_ns.saturating_sub(head_start_ns);
        timer.set(set_to_ns)?;
        tokio::select! {
            biased;
            () = bell.notified() => return Ok(true),
            fired = timer.fired() => fired?,
        }
        self.spinning.woke(self.clock.now_ns().saturating_sub(set_to_ns));
        Ok(false)
    }

    /// Does all that is due at `now_ns`. What was due in a second is filed before that second is closed.
    fn look(self: &Rc<Self>, now_ns: u64) {
        self.take_word();
        // Not before it knows what it has to do, which it may see a moment later than the start.
        if !self.has_begun() && self.legs_taken.get() > 0 && now_ns >= self.control.begin_ns() {
            self.begin();
        }
        self.change_users(now_ns);
        self.take_up_due(now_ns);
        // Where iterations may go on to their end there is no stop before the drain is over.
        let stop_ns = self.control.stop_at_ns().min(self.control.cancel_at_ns());
        if now_ns >= stop_ns {
            self.stop(now_ns);
        }
        self.make_slots(now_ns);
        self.roll(now_ns);
        if now_ns >= self.control.cancel_at_ns() && !self.is_cancelled.replace(true) {
            self.cancel(now_ns);
        }
        while let Some(slot) = self.alarms.take_due(now_ns) {
            self.deadlines.wake(slot);
        }
        self.deadlines.scan(now_ns);
    }

    /// Run time begins, as far as it is this engine's.
    fn begin(&self) {
        let start_ns = self.control.start_ns();
        self.began_ns.set(start_ns);
        let mut recorder = self.recorder.borrow_mut();
        recorder.begin(start_ns, self.control.begin_ns() - start_ns);
        self.second_end_ns.set(recorder.end_ns());
        self.wake_parked();
    }

    pub(super) fn wake_parked(&self) {
        for slot in self.parked.take() {
            self.deadlines.wake(slot);
        }
    }

    /// When the next arrival is due that there is a lease for. Without one the bell rings when it comes.
    fn next_due_ns(&self, now_ns: u64) -> u64 {
        let Pace::Open(arrivals) = &self.pace else { return NEVER };
        let due_ns = if self.has_begun() { self.clock_ns(arrivals.due_ns()) } else { NEVER };
        let lease_until_ns = self.lease_until_ns.get();
        if now_ns < lease_until_ns && due_ns < lease_until_ns { due_ns } else { NEVER }
    }

    /// When [`Self::look`] has something to do besides arrivals.
    fn look_at_ns(&self) -> u64 {
        let control = &self.control;
        let unless = |is_done: bool, at_ns: u64| if is_done { NEVER } else { at_ns };
        let slot_ns = match &self.pace {
            Pace::Open(arrivals) => arrivals.slot_at_ns(),
            Pace::Closed(_) => NEVER,
        };
        [
            unless(self.has_begun(), control.begin_ns()),
            unless(self.has_stopped.get(), self.clock_ns(self.pace.change_at_ns())),
            unless(self.has_stopped.get(), control.stop_at_ns()),
            unless(self.is_cancelled.get(), control.cancel_at_ns()),
            self.second_end_ns.get(),
            self.alarms.next_ns(),
            slot_ns,
        ]
        .into_iter()
        .fold(self.deadlines.scan_at_ns(), u64::min)
    }

    /// Enters in the books how much too late the keeper comes round.
    fn note_stall(&self, now_ns: u64) {
        let rests_until_ns = self.rests_until_ns.get();
        if now_ns > rests_until_ns && self.has_begun() {
            self.recorder.borrow_mut().stalled(now_ns - rests_until_ns);
        }
    }

    fn is_over(&self) -> bool {
        if !self.has_begun() {
            return self.is_cancelled.get();
        }
        let has_ended = self.has_stopped.get() || self.is_cancelled.get();
        match &self.pace {
            Pace::Closed(users) => {
                let has_done_all = || users.have_own_numbers() || self.control.is_exhausted();
                users.are_gone() && (has_ended || has_done_all())
            }
            Pace::Open(arrivals) => arrivals.is_done() && (has_ended || self.will_get_no_more(arrivals)),
        }
    }

    /// Whether a number of iterations ends the run and its last one is due within the lease: whatever change of share this
    /// worker hasn't heard of takes effect after that.
    fn will_get_no_more(&self, arrivals: &Arrivals) -> bool {
        arrivals.ends_at_ns().is_some_and(|ends_at_ns| self.has_lease(self.clock_ns(ends_at_ns)))
    }
}
