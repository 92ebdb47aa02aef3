//! What the slots of one worker share, and the worker's keeper with them. Nothing of it is shared with other workers but
//! the [`Control`].

mod due;
mod keeper;
mod legs;
mod thread;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use tokio::sync::mpsc::UnboundedSender;
use volley_plan::{Model, Plan};
use volley_stats::Part;

use crate::alarms::Alarms;
use crate::control::{Control, NEVER};
use crate::deadlines::Deadlines;
use crate::dial::Target;
use crate::limit::{Claim, Wish};
use crate::pace::Pace;
use crate::prepared_step::PreparedStep;
use crate::recorder::{Gauges, Outbox, Recorder, WorkerWindow};
use crate::reporter::ToReporter;
use crate::script::Script;
use crate::spin::{Spin, Spinning};
use crate::turn::Turn;
use crate::{Clock, Event, Listening, nanoseconds};

pub(crate) use thread::run;

/// The size of the buffer into which a worker's connections are read, one after the other.
const BUFFER_BYTES: usize = 256 * 1024;

/// What a worker is made of; it crosses to the worker's thread.
#[derive(Clone, Debug)]
pub(crate) struct WorkerPlan {
    pub(crate) plan: Arc<Plan>,
    /// All requests, by step.
    pub(crate) requests: Vec<PreparedStep>,
    /// Its number, and how many there are.
    pub(crate) index: usize,
    pub(crate) workers: usize,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) spin: Spin,
    pub(crate) listener: Option<Listening>,
}

/// Whom a worker listens to and tells.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) control: Arc<Control>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) to_reporter: Sender<ToReporter>,
    pub(crate) cleared: Receiver<Box<WorkerWindow>>,
}

/// Whether a slot may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Given,
    /// Not now; the bell will ring.
    Later,
    /// Not any more.
    Over,
}

/// What the slots of one worker share.
pub(crate) struct Worker {
    pub(crate) index: usize,
    workers: usize,
    pub(crate) script: Script,
    pub(crate) requests: Vec<PreparedStep>,
    pub(crate) target: Target,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    /// Whether a connection serves more than one request.
    pub(crate) keeps_alive: bool,
    /// Whether slots wait after failing to connect.
    pub(crate) backs_off: bool,
    warmup_ns: u64,
    pub(crate) clock: Clock,
    pub(crate) spinning: Spinning,
    pub(crate) control: Arc<Control>,
    pub(crate) pace: Pace,
    pub(crate) gauges: Rc<Gauges>,
    pub(crate) recorder: RefCell<Recorder>,
    /// Who is told of each request, if somebody is.
    pub(crate) listener: Option<Listening>,
    /// When the second at hand is over.
    second_end_ns: Cell<u64>,
    pub(crate) deadlines: Deadlines,
    alarms: Alarms,
    /// When the keeper comes round of itself.
    rests_until_ns: Cell<u64>,
    /// Bytes that were just read; none stay in it.
    pub(crate) buffer: RefCell<Box<[u8]>>,
    events: UnboundedSender<Event>,
    /// How much of what was laid out for it the keeper has taken.
    legs_taken: Cell<u64>,
    /// The lease as the keeper saw it last, together with all that was ordered before it was given.
    lease_until_ns: Cell<u64>,
    /// Slots that wait for the bell.
    parked: RefCell<Vec<usize>>,
    /// Run time 0 on the agent's clock, once it has come; [`NEVER`] before.
    began_ns: Cell<u64>,
    has_stopped: Cell<bool>,
    is_cancelled: Cell<bool>,
}

impl Worker {
    fn new(plan: WorkerPlan, target: impl FnOnce(&Rc<Gauges>) -> Target, lines: Lines) -> Self {
        let gauges = Rc::<Gauges>::default();
        let target = target(&gauges);
        let outbox = Outbox { worker: plan.index, to_reporter: lines.to_reporter, cleared: lines.cleared };
        let (is_open, has_count) = match &plan.plan.load.model {
            Model::Open(_) => (true, false),
            Model::Closed(load) => (false, load.iterations.is_some()),
        };
        Self {
            index: plan.index,
            workers: plan.workers,
            script: Script::new(&plan.plan, plan.seed),
            recorder: RefCell::new(Recorder::new(Rc::clone(&gauges), outbox, plan.requests.len(), is_open)),
            gauges,
            listener: plan.listener,
            requests: plan.requests,
            target,
            timeout_ns: nanoseconds(plan.plan.http.timeout),
            connect_timeout_ns: nanoseconds(plan.plan.http.connect_timeout),
            keeps_alive: plan.plan.http.keep_alive,
            backs_off: !is_open && !has_count,
            warmup_ns: plan.plan.load.warmup_ns(),
            clock: plan.clock,
            spinning: Spinning::new(plan.spin),
            control: lines.control,
            deadlines: Deadlines::default(),
            pace: Pace::new(&plan.plan),
            second_end_ns: Cell::new(NEVER),
            alarms: Alarms::default(),
            rests_until_ns: Cell::new(0),
            buffer: RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice()),
            events: lines.events,
            legs_taken: Cell::new(0),
            lease_until_ns: Cell::new(0),
            parked: RefCell::default(),
            began_ns: Cell::new(NEVER),
            has_stopped: Cell::new(false),
            is_cancelled: Cell::new(false),
        }
    }

    /// Whether run time has begun.
    #[inline]
    fn has_begun(&self) -> bool {
        self.began_ns.get() != NEVER
    }

    /// A time of the agent's clock as run time; 0 before the start.
    #[inline]
    pub(crate) fn run_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.began_ns.get())
    }

    /// A run time as a time of the agent's clock.
    #[inline]
    pub(crate) fn clock_ns(&self, run_ns: u64) -> u64 {
        run_ns.saturating_add(self.began_ns.get())
    }

    /// The part that belongs to what is due, or taken up, then.
    #[inline]
    pub(crate) fn part_at(&self, at_ns: u64) -> Part {
        if self.run_ns(at_ns) < self.warmup_ns { Part::Warmup } else { Part::Measured }
    }

    /// Whether anything may be sent at `now_ns`.
    #[inline]
    pub(crate) fn has_lease(&self, now_ns: u64) -> bool {
        now_ns < self.lease_until_ns.get()
    }

    /// Whether something may be sent at `now_ns` that isn't begun yet.
    #[inline]
    pub(crate) fn leave(&self, now_ns: u64) -> Leave {
        if now_ns >= self.control.stop_at_ns() {
            Leave::Over
        } else if self.has_begun() && self.has_lease(now_ns) {
            Leave::Given
        } else {
            Leave::Later
        }
    }

    /// Iterations that may be started, claimed from what was granted to all workers.
    pub(crate) fn claim(&self, now_ns: u64) -> Claim {
        let (claim, wish) = self.control.claim(now_ns);
        if let Some(Wish { taken, iterations }) = wish {
            // Whoever launched the engine may have gone.
            let _ = self.events.send(Event::GrantWanted { taken, iterations });
        }
        if claim == Claim::Exhausted {
            // Workers without users don't claim, and end with the others.
            self.control.ring();
        }
        claim
    }

    /// Opens the second that `now_ns` is in, after everything that was due in the one before.
    #[inline]
    pub(crate) fn roll(self: &Rc<Self>, now_ns: u64) {
        if now_ns >= self.second_end_ns.get() {
            self.close_second(now_ns);
        }
    }

    #[cold]
    fn close_second(self: &Rc<Self>, now_ns: u64) {
        self.take_up_due(now_ns);
        self.open_second(now_ns);
    }

    /// Opens the second that `at_ns` is in, if it isn't open.
    #[inline]
    fn open_second(&self, at_ns: u64) {
        if at_ns >= self.second_end_ns.get() {
            let mut recorder = self.recorder.borrow_mut();
            recorder.polled(self.spinning.take_polled_ns());
            recorder.roll(at_ns);
            self.second_end_ns.set(recorder.end_ns());
        }
    }

    /// Enters an iteration that is taken up, and the request that it begins with, in the books.
    #[inline]
    pub(crate) fn enter(&self, turn: &Turn) {
        self.open_second(turn.due_ns);
        let first = self.script.first_request(turn.n);
        self.recorder.borrow_mut().iteration_started(turn.due_ns, turn.part, first);
    }

    /// An iteration that was taken up has ended; `is_whole` if all its steps were done.
    #[inline]
    pub(crate) fn iteration_over(self: &Rc<Self>, part: Part, is_whole: bool, now_ns: u64) {
        if is_whole {
            self.roll(now_ns);
            self.recorder.borrow_mut().iteration_finished(part);
        }
        if let Pace::Open(arrivals) = &self.pace {
            arrivals.iteration_over();
            if arrivals.is_done() {
                self.ring();
            }
        }
    }

    /// The loop of a user's slot has ended.
    pub(crate) fn user_left(&self, number: u32, slot: usize) {
        let Pace::Closed(users) = &self.pace else { return };
        users.left(number, slot);
        if users.are_gone() {
            self.ring();
        }
    }

    /// Sets a slot's deadline.
    #[inline]
    pub(crate) fn watch(&self, slot: usize, at_ns: u64) {
        if self.deadlines.set(slot, at_ns) {
            self.ring();
        }
    }

    /// The slot is woken at `at_ns`, or when the run stops, whichever comes first.
    pub(crate) fn set_alarm(&self, at_ns: u64, slot: usize) {
        self.alarms.set(at_ns, slot);
        if at_ns < self.rests_until_ns.get() {
            self.ring();
        }
    }

    /// Wakes every slot that waits for an alarm.
    pub(crate) fn wake_sleepers(&self) {
        while let Some(slot) = self.alarms.take_any() {
            self.deadlines.wake(slot);
        }
    }

    /// The slot is woken when the bell rings.
    pub(crate) fn park(&self, slot: usize) {
        self.parked.borrow_mut().push(slot);
    }

    /// Whether the drain is over.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// A number for a slot that differs from those of the other workers' slots.
    pub(crate) fn number_of_slot(&self, slot: usize) -> usize {
        slot * self.workers + self.index
    }

    /// Has the keeper look round.
    fn ring(&self) {
        self.control.bell(self.index).notify_one();
    }
}
