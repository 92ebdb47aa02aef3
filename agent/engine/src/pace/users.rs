//! The closed model within one worker: who may begin its next iteration, and when.
//!
//! A user is there in the spans of time that the plan gives it. It begins an iteration when it is through with the one
//! before, when its pace lets it, and when the limit does: the iterations that were granted, its own number, or none.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use volley_plan::shape::UserShape;
use volley_plan::{Amount, ClosedLoad, Users as PlannedUsers};

use crate::control::NEVER;
use crate::limit::Claim;
use crate::nanoseconds;
use crate::recorder::Gauges;
use crate::turn::{Next, Turn};
use crate::worker::{Leave, Worker};

/// What the users of a worker have in common.
#[derive(Debug)]
pub(crate) struct Users {
    /// When which user is there; nothing where all are there until they are done.
    shape: Option<UserShape>,
    /// The least time from start to start of a user's iterations; 0 for none.
    pacing_ns: u64,
    /// The users of all agents, by which iterations are told apart where none are granted.
    users_max: u64,
    /// How many iterations each user does, where the plan says so.
    each: Option<u64>,
    /// Whether iterations are granted.
    is_granted: bool,
    /// Iterations claimed and not started.
    claimed: RefCell<Range<u64>>,
    /// What was granted is used up, and no more will come.
    is_exhausted: Cell<bool>,
    /// Users that have not left for good.
    live: Cell<u32>,
}

impl Users {
    pub(crate) fn new(load: &ClosedLoad, users: u32) -> Self {
        Self {
            shape: match &load.users {
                PlannedUsers::Steady(_) => None,
                PlannedUsers::Staged(shape) => Some(shape.clone()),
            },
            pacing_ns: load.pacing.map_or(0, nanoseconds),
            users_max: load.users.most().into(),
            each: match load.iterations {
                Some(Amount::PerUser(iterations)) => Some(iterations),
                Some(Amount::InAll(_)) | None => None,
            },
            is_granted: matches!(load.iterations, Some(Amount::InAll(_))),
            claimed: RefCell::new(0..0),
            is_exhausted: Cell::new(false),
            live: Cell::new(users),
        }
    }

    /// Whether every user has left for good.
    pub(crate) fn are_gone(&self) -> bool {
        self.live.get() == 0
    }

    /// A user has left for good.
    pub(crate) fn left(&self) {
        self.live.set(self.live.get() - 1);
    }

    /// The first span of time of a user that ends after `from_ns` of run time.
    fn span(&self, number: u32, from_ns: u64) -> Option<Range<u64>> {
        match &self.shape {
            Some(shape) => shape.span(number, from_ns),
            None => Some(0..NEVER),
        }
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
    /// Its span of time, in run time: the one that it is in, or the next one.
    span: Option<Range<u64>>,
    /// Whether it is counted among the users that are there.
    is_there: bool,
    /// Iterations that it began.
    begun: u64,
    /// When its pace lets it begin the next one, on the agent's clock; 0 for at once.
    pace_ns: u64,
}

impl User {
    /// The user with this number. One whose time begins with the run is there already.
    pub(crate) fn new(users: &Users, number: u32, gauges: &Rc<Gauges>) -> Self {
        let span = users.span(number, 0);
        let is_first = span.as_ref().is_some_and(|span| span.start == 0);
        let mut user =
            Self { number, gauges: Rc::clone(gauges), span, is_there: false, begun: 0, pace_ns: 0 };
        if is_first {
            user.is_there = true;
            gauges.users.up();
        }
        user
    }

    /// Its number in the fleet.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether its time has come and is not over.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
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
        if users.is_exhausted.get() || users.each.is_some_and(|each| self.begun >= each) {
            return Next::Over;
        }
        let Some(from_ns) = self.enter_span(users, worker, now_ns) else { return Next::Over };
        let begins_ns = from_ns.max(self.pace_ns);
        if now_ns < begins_ns {
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
            let Range { start, end } = self.span.clone()?;
            let end_ns = worker.clock_ns(end);
            if now_ns < end_ns {
                return Some(worker.clock_ns(start));
            }
            self.go(worker, end_ns);
            self.span = users.span(self.number, end);
        }
    }

    #[inline]
    fn number_of_next(&self, users: &Users, worker: &Worker, now_ns: u64) -> Claimed {
        if users.is_granted {
            users.claim(worker, now_ns)
        } else {
            Claimed::Number(self.begun * users.users_max + u64::from(self.number))
        }
    }

    /// Takes an iteration up. It could have begun at `planned_ns`.
    #[inline]
    fn begin(&mut self, users: &Users, worker: &Worker, n: u64, now_ns: u64, planned_ns: u64) -> Turn {
        self.begun += 1;
        let turn = Turn { n, due_ns: now_ns, part: worker.part_at(now_ns), queued_ns: None };
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
