//! The closed model within one worker: who may begin its next iteration, and when.
//!
//! A user is there in the spans of time that the plan gives it, as far as it is this worker's. It begins an iteration when
//! it is through with the one before, when its pace lets it, and when the limit does: the iterations that were granted, its
//! own number, or none.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use volley_plan::shape::StripeSet;
use volley_plan::{Amount, ClosedLoad};

use super::timetable::{Timetable, UserLeg};
use super::{ClosedPlan, Numbering, TakeOver};
use crate::control::NEVER;
use crate::limit::Claim;
use crate::nanoseconds;
use crate::recorder::Gauges;
use crate::turn::{Next, Turn};
use crate::worker::{Leave, Worker};

/// What the users of a worker have in common.
#[derive(Debug)]
pub(crate) struct Users {
    timetable: RefCell<Timetable>,
    /// Counts the legs that were heard of, so that each user notices.
    legs: Cell<u32>,
    /// When the next leg begins; [`NEVER`] where none is known of.
    change_at_ns: Cell<u64>,
    /// The least time from start to start of a user's iterations; 0 for none.
    pacing_ns: u64,
    /// How iterations are told apart where none are granted.
    numbering: Cell<Numbering>,
    /// How many iterations each user does, where the plan says so.
    each: Option<u64>,
    /// Whether iterations are granted.
    is_granted: bool,
    /// Iterations claimed and not started.
    claimed: RefCell<Range<u64>>,
    /// What was granted is used up, and no more will come.
    is_exhausted: Cell<bool>,
    present: RefCell<Present>,
}

/// The users that have a slot.
#[derive(Debug, Default)]
struct Present {
    numbers: HashSet<u32>,
    /// Places of slots that have left, and how many there have been.
    free: Vec<usize>,
    slots: usize,
}

impl Users {
    pub(crate) fn new(load: &ClosedLoad, numbering: Numbering) -> Self {
        Self {
            timetable: RefCell::default(),
            legs: Cell::new(0),
            change_at_ns: Cell::new(NEVER),
            pacing_ns: load.pacing.map_or(0, nanoseconds),
            numbering: Cell::new(numbering),
            each: match load.iterations {
                Some(Amount::PerUser(iterations)) => Some(iterations),
                Some(Amount::InAll(_)) | None => None,
            },
            is_granted: matches!(load.iterations, Some(Amount::InAll(_))),
            claimed: RefCell::new(0..0),
            is_exhausted: Cell::new(false),
            present: RefCell::default(),
        }
    }

    /// From `from_ns` on, in run time, the users of these stripes are the worker's. Gives those that need a slot, by
    /// number, each with the place of that.
    pub(crate) fn learn(
        &self,
        from_ns: u64,
        stripes: StripeSet,
        plan: &Arc<ClosedPlan>,
        take_over: Arc<TakeOver>,
    ) -> Vec<(u32, usize)> {
        self.numbering.set(plan.numbering);
        let numbers: Vec<u32> = stripes.numbers_below(plan.load.users.most()).collect();
        let plan = Arc::clone(plan);
        let mut timetable = self.timetable.borrow_mut();
        timetable.push(UserLeg { from_ns, stripes, plan, take_over });
        self.legs.set(self.legs.get().wrapping_add(1));
        self.change_at_ns.set(self.change_at_ns.get().min(from_ns));
        let mut present = self.present.borrow_mut();
        let comes = |&number: &u32| timetable.span(number, from_ns).is_some();
        numbers
            .into_iter()
            .filter(comes)
            .filter_map(|number| Some((number, present.enter(number)?)))
            .collect()
    }

    /// When the next leg begins, in run time.
    #[inline]
    pub(crate) fn change_at_ns(&self) -> u64 {
        self.change_at_ns.get()
    }

    /// A leg has begun by `now_ns`.
    pub(crate) fn change(&self, now_ns: u64) {
        self.change_at_ns.set(self.timetable.borrow().change_after(now_ns));
    }

    /// Whether there is no user that might begin anything.
    pub(crate) fn are_gone(&self) -> bool {
        self.present.borrow().numbers.is_empty()
    }

    /// A user has left this slot for good.
    pub(crate) fn left(&self, number: u32, slot: usize) {
        let mut present = self.present.borrow_mut();
        present.numbers.remove(&number);
        present.free.push(slot);
    }

    /// Whether each user has a number of iterations of its own.
    pub(crate) fn have_own_numbers(&self) -> bool {
        self.each.is_some()
    }

    /// The first span of time of a user that ends after `after_ns` of run time.
    fn span(&self, number: u32, after_ns: u64) -> Option<Range<u64>> {
        self.timetable.borrow().span(number, after_ns)
    }

    /// When this user is first given away after `after_ns`, in run time.
    fn given_away_ns(&self, number: u32, after_ns: u64) -> u64 {
        self.timetable.borrow().given_away_ns(number, after_ns)
    }

    /// The number of an iteration that may be started.
    #[inline]
    fn claim(&self, worker: &Worker, now_ns: u64) -> Claimed {
        if let Some(n) = self.claimed.borrow_mut().next() {
            return Claimed::Number(n);
        }
        self.claim_more(worker, now_ns)
    }

    #[cold]
    fn claim_more(&self, worker: &Worker, now_ns: u64) -> Claimed {
        if self.is_exhausted.get() {
            return Claimed::Exhausted;
        }
        match worker.claim(now_ns) {
            Claim::Got(mut range) => {
                let first = range.next();
                *self.claimed.borrow_mut() = range;
                first.map_or(Claimed::Later, Claimed::Number)
            }
            Claim::Wait => Claimed::Later,
            Claim::Exhausted => {
                self.is_exhausted.set(true);
                // Those who wait for their time to come wait in vain.
                worker.wake_sleepers();
                Claimed::Exhausted
            }
        }
    }
}

impl Present {
    /// A place for the slot of a user, unless it has one.
    fn enter(&mut self, number: u32) -> Option<usize> {
        if !self.numbers.insert(number) {
            return None;
        }
        Some(self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        }))
    }
}

enum Claimed {
    Number(u64),
    Later,
    Exhausted,
}

/// One user: its times and its iterations.
#[derive(Debug)]
pub(crate) struct User {
    /// Its number in the fleet.
    number: u32,
    gauges: Rc<Gauges>,
    /// How many legs it has taken note of.
    legs: u32,
    /// Its span of time, in run time: the one that it is in, or the next one.
    span: Option<Range<u64>>,
    /// When it is given away, in run time.
    given_away_ns: u64,
    /// Whether it is counted among the users that are there.
    is_there: bool,
    /// From when on, in run time, it is here.
    from_ns: u64,
    /// Iterations that it began.
    begun: u64,
    /// When its pace lets it begin the next one, on the agent's clock; 0 for at once.
    pace_ns: u64,
}

impl User {
    /// The user with this number, which is the worker's from `from_ns` of run time on. One whose time begins with the run,
    /// as far as it is this engine's, is there already.
    pub(crate) fn new(
        users: &Users,
        number: u32,
        from_ns: u64,
        has_begun: bool,
        gauges: &Rc<Gauges>,
    ) -> Self {
        let span = users.span(number, from_ns);
        let is_there = !has_begun && span.as_ref().is_some_and(|span| span.start <= from_ns);
        if is_there {
            gauges.users.up();
        }
        let given_away_ns = users.given_away_ns(number, from_ns);
        let (gauges, legs) = (Rc::clone(gauges), users.legs.get());
        Self { number, gauges, legs, span, given_away_ns, is_there, from_ns, begun: 0, pace_ns: 0 }
    }

    /// Its number in the fleet.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether its time has come and is not over.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Whether it was given away and is another engine's, or another worker's, by now: it finishes its current request, and
    /// no more.
    pub(crate) fn is_given_away(&mut self, users: &Users, worker: &Worker, now_ns: u64) -> bool {
        self.take_note(users, worker, now_ns);
        worker.run_ns(now_ns) >= self.given_away_ns
    }

    /// Takes note of the legs that were heard of since it looked.
    #[inline]
    fn take_note(&mut self, users: &Users, worker: &Worker, now_ns: u64) {
        if self.legs != users.legs.get() {
            self.look_again(users, worker.run_ns(now_ns));
        }
    }

    /// Whose time it is must notice that it is over, by now or long since.
    #[cold]
    fn look_again(&mut self, users: &Users, now_ns: u64) {
        self.legs = users.legs.get();
        let present = self.span.as_ref().filter(|_| self.is_there);
        let after_ns = present.map_or(now_ns, |span| span.start);
        self.enter_span_after(users, after_ns);
    }

    fn enter_span_after(&mut self, users: &Users, after_ns: u64) {
        self.span = users.span(self.number, after_ns);
        self.given_away_ns = users.given_away_ns(self.number, after_ns);
    }

    /// Its time has come, at `at_ns`.
    fn come(&mut self, worker: &Worker, at_ns: u64) {
        if !std::mem::replace(&mut self.is_there, true) {
            self.gauges.users.up();
            worker.recorder.borrow_mut().user_came(at_ns);
        }
    }

    /// Its time is over, since `at_ns`.
    fn go(&mut self, worker: &Worker, at_ns: u64) {
        if std::mem::replace(&mut self.is_there, false) {
            self.gauges.users.down();
            worker.recorder.borrow_mut().user_went(at_ns);
        }
    }

    /// What it does next, being free since `free_ns`.
    #[inline]
    pub(crate) fn next(
        &mut self,
        users: &Users,
        worker: &Worker,
        slot: usize,
        now_ns: u64,
        free_ns: u64,
    ) -> Next {
        match worker.leave(now_ns) {
            Leave::Over => return Next::Over,
            Leave::Later => {
                worker.park(slot);
                return Next::Wait;
            }
            Leave::Given => {}
        }
        self.take_note(users, worker, now_ns);
        if users.is_exhausted.get() || users.each.is_some_and(|each| self.begun >= each) {
            return Next::Over;
        }
        let Some(from_ns) = self.enter_span(users, worker, now_ns) else { return Next::Over };
        let begins_ns = from_ns.max(self.pace_ns);
        if now_ns < begins_ns {
            if now_ns < from_ns {
                // Where it is there still, all of its last span is forgotten.
                self.go(worker, now_ns);
            }
            worker.set_alarm(begins_ns, slot);
            return Next::Wait;
        }
        self.come(worker, from_ns);
        match self.number_of_next(users, worker, now_ns) {
            Claimed::Number(n) => Next::Turn(self.begin(users, worker, n, now_ns, begins_ns.max(free_ns))),
            Claimed::Exhausted => Next::Over,
            Claimed::Later => {
                worker.park(slot);
                Next::Wait
            }
        }
    }

    /// Goes on to the span that `now_ns` is in or before; gives when that begins, or nothing when there is none left.
    #[inline]
    fn enter_span(&mut self, users: &Users, worker: &Worker, now_ns: u64) -> Option<u64> {
        loop {
            let Some(Range { start, end }) = self.span.clone() else {
                self.go(worker, now_ns);
                return None;
            };
            let end_ns = worker.clock_ns(end);
            if now_ns < end_ns {
                return Some(worker.clock_ns(start));
            }
            self.go(worker, end_ns);
            self.enter_span_after(users, end);
        }
    }

    #[inline]
    fn number_of_next(&self, users: &Users, worker: &Worker, now_ns: u64) -> Claimed {
        if users.is_granted {
            users.claim(worker, now_ns)
        } else {
            Claimed::Number(users.numbering.get().number(self.number, self.from_ns, self.begun))
        }
    }

    /// Takes an iteration up. It could have begun at `planned_ns`.
    #[inline]
    fn begin(&mut self, users: &Users, worker: &Worker, n: u64, now_ns: u64, planned_ns: u64) -> Turn {
        self.begun += 1;
        let part = worker.part_at(now_ns);
        let turn = Turn { n, due_ns: now_ns, part, taken_ns: now_ns, is_queued: false };
        worker.enter(&turn);
        if users.pacing_ns > 0 {
            // Counted from its own start: a late cycle is not made up for.
            self.pace_ns = now_ns.saturating_add(users.pacing_ns);
            worker.recorder.borrow_mut().lagged(turn.part, now_ns - planned_ns);
        }
        turn
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.is_there {
            self.gauges.users.down();
        }
    }
}
