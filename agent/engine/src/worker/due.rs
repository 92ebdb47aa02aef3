//! What a keeper does with arrivals that are due: it takes them up, or enters them in the books as missed.
//!
//! Whose an arrival is its due time alone decides, so each leg is dealt with up to where the next one begins, however late.
//! Without a lease nothing is taken up, and what is due meanwhile is undecided: it may have become another agent's. It is
//! decided, and missed, where the lease is renewed; and where a change or an ordered stop says up to when it is this
//! engine's.

use std::rc::Rc;

use volley_plan::shape::Arrival;
use volley_stats::Part;

use super::Worker;
use crate::exchange::Marks;
use crate::http1::Outcome;
use crate::pace::{Arrivals, Pace};
use crate::recorder::{Asked, Ended, Ending, Traffic};
use crate::slot::Slot;
use crate::turn::Turn;

impl Worker {
    /// Takes up every arrival that is due by now: with a lease, and as long as it can still be sent.
    pub(super) fn take_up_due(self: &Rc<Self>, now_ns: u64) {
        let Pace::Open(arrivals) = &self.pace else { return };
        let control = &self.control;
        if !self.has_begun() || now_ns >= control.cancel_at_ns() {
            return;
        }
        let has_lease = self.has_lease(now_ns);
        let until_ns = self.run_ns(control.stop_at_ns().min(now_ns + 1));
        let settled_ns = self.run_ns(control.settled_ns()).min(until_ns);
        loop {
            let change_at_ns = arrivals.change_at_ns();
            let changes = change_at_ns < until_ns;
            let leg_until_ns = change_at_ns.min(until_ns);
            let missed_until_ns =
                if changes && !has_lease { leg_until_ns } else { settled_ns.min(leg_until_ns) };
            self.miss_before(arrivals, missed_until_ns);
            if has_lease {
                self.admit_before(arrivals, leg_until_ns, now_ns);
            }
            if !changes {
                return;
            }
            self.change_arrivals(arrivals);
        }
    }

    #[inline]
    fn admit_before(self: &Rc<Self>, arrivals: &Arrivals, until_ns: u64, now_ns: u64) {
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
        let part = self.part_at(due_ns);
        let turn = Turn { n: arrival.n, due_ns, part, taken_ns: now_ns, is_queued: false };
        // One that waits for a connection is entered once it has one.
        if let Some(slot) = arrivals.admit(turn) {
            self.enter(&turn);
            self.deadlines.wake(slot);
        }
    }

    /// Goes over to the next leg.
    fn change_arrivals(&self, arrivals: &Arrivals) {
        for slot in arrivals.change() {
            self.deadlines.wake(slot);
        }
    }

    /// Makes slots for turns that wait.
    pub(super) fn make_slots(self: &Rc<Self>, now_ns: u64) {
        let Pace::Open(arrivals) = &self.pace else { return };
        while let Some(slot) = arrivals.new_slot(now_ns) {
            // It lives as long as the worker's runtime.
            drop(tokio::task::spawn_local(Slot::for_arrivals(self, slot).run()));
        }
    }

    #[inline]
    fn miss_before(&self, arrivals: &Arrivals, until_ns: u64) {
        while let Some(arrival) = arrivals.take_before(until_ns) {
            self.miss(arrival);
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

    /// No iteration starts any more.
    pub(super) fn stop(&self, now_ns: u64) {
        if let Pace::Open(arrivals) = &self.pace {
            self.close(arrivals, now_ns);
        }
        if !self.has_stopped.replace(true) {
            self.wake_parked();
            self.wake_sleepers();
        }
    }

    /// Ends the arrivals. Those that were due before the stop and not taken up are missed, as soon as it is certain that they
    /// are this engine's: by then it has a lease, or was given one, or was told to stop.
    fn close(&self, arrivals: &Arrivals, now_ns: u64) {
        let control = &self.control;
        let stop_ns = control.stop_at_ns();
        let until_ns = self.run_ns(stop_ns);
        let word_ns = control.settled_ns().max(control.owned_until_ns());
        if self.has_begun() && (self.has_lease(now_ns) || word_ns >= stop_ns.min(control.cancel_at_ns())) {
            while arrivals.change_at_ns() < until_ns {
                self.miss_before(arrivals, arrivals.change_at_ns());
                self.change_arrivals(arrivals);
            }
            self.miss_before(arrivals, until_ns);
        }
        if arrivals.due_ns().min(arrivals.change_at_ns()) >= until_ns {
            arrivals.close();
        }
    }

    /// Cuts off what is in flight. What waited for a connection and never got one was sent by nobody: it is missed.
    pub(super) fn cancel(&self, now_ns: u64) {
        self.deadlines.expire_all();
        self.wake_parked();
        self.wake_sleepers();
        let Pace::Open(arrivals) = &self.pace else { return };
        while let Some(turn) = arrivals.take_back() {
            if turn.is_queued {
                self.miss_due(turn.due_ns, turn.part);
            } else {
                self.cancel_waiting(&turn, now_ns);
            }
        }
    }

    /// Enters in the books that a turn's first request was cut off before its slot, which was woken, came to it.
    fn cancel_waiting(&self, turn: &Turn, now_ns: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.lagged(turn.part, turn.taken_ns.saturating_sub(turn.due_ns));
        let Some(step) = self.script.first_request(turn.n) else { return };
        recorder.request_ended(&Ended {
            asked: Asked { step, part: turn.part, due_ns: turn.due_ns, taken_ns: now_ns },
            at_ns: now_ns,
            waited_ns: None,
            opened: None,
            marks: Marks::default(),
            traffic: Traffic::default(),
            ending: Ending::Cancelled,
            outcome: Outcome::default(),
        });
    }
}
