//! The keeper of a worker: it looks at the clock when something is due, and does it.
//!
//! Start, arrivals, seconds, pauses, time-outs, stop and the end of the drain all hang on its one timer. It comes round
//! every 50 ms at least, so that a thread that didn't run is noticed.

use std::io;
use std::rc::Rc;

use volley_plan::shape::Arrival;
use volley_stats::Part;

use super::Worker;
use crate::control::NEVER;
use crate::exchange::Marks;
use crate::http1::Outcome;
use crate::pace::{Arrivals, Pace};
use crate::recorder::{Asked, Ended, Ending, Traffic};
use crate::slot::Slot;
use crate::timer::Timer;
use crate::turn::Turn;

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
        if !self.has_begun() && now_ns >= self.control.start_ns() {
            self.begin();
        }
        self.take_up_due(now_ns);
        // Where iterations may go on to their end there is no stop before the drain is over.
        let stop_ns = self.control.stop_at_ns().min(self.control.cancel_at_ns());
        if now_ns >= stop_ns && !self.has_stopped.replace(true) {
            self.stop();
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

    /// Run time begins.
    fn begin(&self) {
        let start_ns = self.control.start_ns();
        self.began_ns.set(start_ns);
        let mut recorder = self.recorder.borrow_mut();
        recorder.begin(start_ns);
        self.second_end_ns.set(recorder.end_ns());
        self.wake_parked();
    }

    /// Takes up every arrival that is due by now: with a lease, and as long as it can still be sent.
    pub(super) fn take_up_due(self: &Rc<Self>, now_ns: u64) {
        let Pace::Open(arrivals) = &self.pace else { return };
        let control = &self.control;
        if !self.has_begun() || now_ns >= control.lease_until_ns() || now_ns >= control.cancel_at_ns() {
            return;
        }
        let until_ns = self.run_ns(control.stop_at_ns().min(now_ns + 1));
        while let Some(arrival) = arrivals.take_before(until_ns) {
            self.admit(arrivals, arrival, now_ns);
        }
    }

    /// Takes an arrival up, or misses it where too many iterations are in flight.
    #[inline]
    fn admit(self: &Rc<Self>, arrivals: &Arrivals, arrival: Arrival, now_ns: u64) {
        if arrivals.is_full() {
            return self.miss(arrival);
        }
        let due_ns = self.clock_ns(arrival.due_ns);
        let turn = Turn { n: arrival.n, due_ns, part: self.part_at(due_ns), queued_ns: None };
        // One that waits for a connection is entered once it has one.
        if let Some(slot) = arrivals.admit(turn, now_ns) {
            self.enter(&turn);
            self.deadlines.wake(slot);
        }
    }

    /// Makes slots for turns that wait.
    fn make_slots(self: &Rc<Self>, now_ns: u64) {
        let Pace::Open(arrivals) = &self.pace else { return };
        while let Some(slot) = arrivals.new_slot(now_ns) {
            // It lives as long as the worker's runtime.
            drop(tokio::task::spawn_local(Slot::for_arrivals(self, slot).run()));
        }
    }

    fn miss(&self, arrival: Arrival) {
        let due_ns = self.clock_ns(arrival.due_ns);
        self.miss_due(due_ns, self.part_at(due_ns));
    }

    fn miss_due(&self, due_ns: u64, part: Part) {
        self.open_second(due_ns);
        self.recorder.borrow_mut().iteration_missed(due_ns, part);
    }

    /// No iteration starts any more. Arrivals that were due before and not taken up are missed.
    fn stop(&self) {
        if let (Pace::Open(arrivals), true) = (&self.pace, self.has_begun()) {
            let stop_ns = self.run_ns(self.control.stop_at_ns());
            while let Some(arrival) = arrivals.take_before(stop_ns) {
                self.miss(arrival);
            }
            arrivals.close();
        }
        self.wake_parked();
        self.wake_sleepers();
    }

    /// Cuts off what is in flight. What waited for a connection and never got one was sent by nobody: it is missed.
    fn cancel(&self, now_ns: u64) {
        self.deadlines.expire_all();
        self.wake_parked();
        self.wake_sleepers();
        let Pace::Open(arrivals) = &self.pace else { return };
        while let Some(turn) = arrivals.take_back() {
            match turn.queued_ns {
                Some(_) => self.miss_due(turn.due_ns, turn.part),
                None => self.cancel_waiting(&turn, now_ns),
            }
        }
    }

    /// Enters in the books that a turn's first request was cut off before its slot, which was woken, came to it.
    fn cancel_waiting(&self, turn: &Turn, now_ns: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.lagged(turn.part, now_ns.saturating_sub(turn.due_ns));
        let Some(step) = self.script.first_request(turn.n) else { return };
        recorder.request_ended(&Ended {
            asked: Asked { step, part: turn.part, due_ns: turn.due_ns, taken_ns: now_ns },
            at_ns: now_ns,
            waited_ns: None,
            connecting_ns: None,
            marks: Marks::default(),
            traffic: Traffic::default(),
            ending: Ending::Cancelled,
            outcome: Outcome::default(),
        });
    }

    fn wake_parked(&self) {
        for slot in self.parked.take() {
            self.deadlines.wake(slot);
        }
    }

    /// When the next arrival is due that there is a lease for. Without one the bell rings when it comes.
    fn next_due_ns(&self, now_ns: u64) -> u64 {
        let Pace::Open(arrivals) = &self.pace else { return NEVER };
        let due_ns = if self.has_begun() { self.clock_ns(arrivals.due_ns()) } else { NEVER };
        let lease_until_ns = self.control.lease_until_ns();
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
            unless(self.has_begun(), control.start_ns()),
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
        let is_done = match &self.pace {
            Pace::Closed(users) => users.are_gone(),
            Pace::Open(arrivals) => arrivals.is_done(),
        };
        is_done && (self.ends_by_count || self.has_stopped.get() || self.is_cancelled.get())
    }
}
