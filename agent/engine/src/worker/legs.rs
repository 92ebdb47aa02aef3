//! How a worker goes from one leg to the next: it hears what is laid out for it, and goes over when its time has come.

use std::rc::Rc;

use super::Worker;
use crate::pace::{Leg, Pace, User, Work};
use crate::slot::Slot;

impl Worker {
    /// Takes the words that were said since: first the lease, so that it never has a lease without the change that had to be
    /// known before it was given.
    pub(super) fn take_word(self: &Rc<Self>) {
        let lease_until_ns = self.control.lease_until_ns();
        let laid_out = self.control.legs_laid_out();
        if self.legs_taken.replace(laid_out) != laid_out {
            self.take_legs();
        }
        self.lease_until_ns.set(lease_until_ns);
    }

    #[cold]
    fn take_legs(self: &Rc<Self>) {
        for leg in self.control.take_legs(self.index) {
            self.learn(leg);
        }
        // Whose time is another one now notices it.
        self.wake_sleepers();
    }

    fn learn(self: &Rc<Self>, leg: Leg) {
        let Leg { from_ns, stripes, work } = leg;
        match (&self.pace, work) {
            (Pace::Open(arrivals), Work::Open(plan, bounds)) => {
                arrivals.learn(from_ns, &stripes, &plan, bounds);
            }
            (Pace::Closed(users), Work::Closed(plan, take_over)) => {
                for (number, slot) in users.learn(from_ns, stripes, &plan, take_over) {
                    let user = User::new(users, number, from_ns, self.has_begun(), &self.gauges);
                    // It lives as long as the worker's runtime.
                    drop(tokio::task::spawn_local(Slot::for_user(self, slot, user).run()));
                }
            }
            // All legs are of the one plan.
            (Pace::Open(_), Work::Closed(..)) | (Pace::Closed(_), Work::Open(..)) => {}
        }
    }

    /// Has users notice that a leg has begun; those that were given away go.
    pub(super) fn change_users(&self, now_ns: u64) {
        let Pace::Closed(users) = &self.pace else { return };
        let now_run_ns = self.run_ns(now_ns);
        if self.has_begun() && now_run_ns >= users.change_at_ns() {
            users.change(now_run_ns);
            self.wake_sleepers();
            self.wake_parked();
        }
    }
}
