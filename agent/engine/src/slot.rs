//! The one loop of the engine: a slot asks for an iteration, runs its steps, and asks again.
//!
//! A slot owns a connection. In the closed model it is one user; in the open model slots are alike, and an arrival goes to
//! any that is free. Limit and pace are values that it asks (`pace`), the driver is a value that it calls (`request`).
//!
//! The clock is read twice or three times a request: when it is sent, when its answer's first byte is read (mostly with
//! the last one), and where the slot had to wait before. The end of one request is the beginning of the next.

mod request;

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use volley_stats::{ErrorKind, Phase};

use crate::connection::Connection;
use crate::exchange::Exchange;
use crate::pace::{Pace, User};
use crate::recorder::{Asked, Ending, Traffic};
use crate::script::Act;
use crate::turn::{Next, Turn};
use crate::worker::{Leave, Worker};

/// How long a user of a timed run waits after its first failure to connect, in nanoseconds. Each further one in a row
/// doubles it. A run that is bounded by a number of iterations doesn't wait: it ends by failing.
const FIRST_BACK_OFF_NS: u64 = 1_000_000;
/// The longest such wait.
const MAX_BACK_OFF_NS: u64 = 100_000_000;

/// With so many requests in flight, answers are read first and requests sent then.
const CROWD: u32 = 8;

/// A slot: its connection, and the request it is at.
pub(crate) struct Slot {
    worker: Rc<Worker>,
    /// Its place among the worker's slots.
    index: usize,
    /// Whose it is, in the closed model.
    user: Option<User>,
    /// By which of the ways to the target it connects.
    way: usize,
    /// The latest reading of the clock.
    now_ns: u64,
    connection: Option<Connection>,
    exchange: Exchange,
    traffic: Traffic,
    /// How long the request at hand took to connect, where it had to.
    connecting_ns: Option<u64>,
    /// When the request at hand is over its time-out.
    deadline_ns: u64,
    /// What it means if the slot's deadline passes.
    on_expiry: Ending,
    back_off_ns: u64,
}

impl Slot {
    /// The slot of a user.
    pub(crate) fn for_user(worker: &Rc<Worker>, index: usize, user: User) -> Self {
        let way = user.number() as usize % worker.target.ways();
        Self::new(worker, index, way, Some(user))
    }

    /// A slot of the open model.
    pub(crate) fn for_arrivals(worker: &Rc<Worker>, index: usize) -> Self {
        Self::new(worker, index, worker.number_of_slot(index) % worker.target.ways(), None)
    }

    fn new(worker: &Rc<Worker>, index: usize, way: usize, user: Option<User>) -> Self {
        Self {
            worker: Rc::clone(worker),
            index,
            user,
            way,
            now_ns: 0,
            connection: None,
            exchange: Exchange::new(),
            traffic: Traffic::default(),
            connecting_ns: None,
            deadline_ns: 0,
            on_expiry: Ending::Cancelled,
            back_off_ns: FIRST_BACK_OFF_NS,
        }
    }

    /// Goes on until the run is over.
    pub(crate) async fn run(mut self) {
        let worker = Rc::clone(&self.worker);
        poll_fn(|cx| {
            worker.deadlines.register(self.index, cx.waker().clone());
            Poll::Ready(())
        })
        .await;
        self.now_ns = worker.clock.now_ns();
        while let Some(turn) = self.next_turn(&worker).await {
            let is_whole = self.iteration(&worker, turn).await;
            worker.iteration_over(turn.part, is_whole, self.now_ns);
            self.step_back(&worker).await;
        }
    }

    /// Waits for the next iteration to run; nothing when there will be none.
    async fn next_turn(&mut self, worker: &Rc<Worker>) -> Option<Turn> {
        let free_ns = self.now_ns;
        loop {
            match self.ask(worker, free_ns) {
                Next::Turn(turn) => return Some(turn),
                Next::Over => return None,
                Next::Wait => self.woken(worker).await,
            }
        }
    }

    #[inline]
    fn ask(&mut self, worker: &Rc<Worker>, free_ns: u64) -> Next {
        match (&worker.pace, &mut self.user) {
            (Pace::Closed(users), Some(user)) => {
                let next = user.next(users, worker, self.index, self.now_ns, free_ns);
                if !user.is_there() {
                    // Who is gone keeps no connection.
                    self.connection = None;
                }
                next
            }
            (Pace::Open(arrivals), _) => {
                let next = arrivals.next(self.index);
                if let Next::Turn(turn) = &next {
                    self.note_lag(worker, turn);
                }
                next
            }
            (Pace::Closed(_), None) => Next::Over,
        }
    }

    /// Lets the slots go first whose answers are there already: reading a batch and then sending one costs less, and none
    /// of the answers waits for the sending of others.
    #[inline]
    async fn step_back(&mut self, worker: &Worker) {
        if self.user.is_some() && worker.gauges.in_flight.get() >= CROWD {
            let mut is_back = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut is_back, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            self.now_ns = worker.clock.now_ns();
        }
    }

    /// How late the generator itself was: up to now, or until the turn began to wait for a connection.
    #[inline]
    fn note_lag(&self, worker: &Rc<Worker>, turn: &Turn) {
        worker.roll(self.now_ns);
        let taken_ns = turn.queued_ns.unwrap_or(self.now_ns);
        worker.recorder.borrow_mut().lagged(turn.part, taken_ns.saturating_sub(turn.due_ns));
    }

    /// Sleeps until the slot is woken, by whomever.
    async fn woken(&mut self, worker: &Worker) {
        let mut is_asleep = false;
        poll_fn(|_| if std::mem::replace(&mut is_asleep, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        self.now_ns = worker.clock.now_ns();
    }

    /// One pass through the steps; false when it was cut short.
    async fn iteration(&mut self, worker: &Rc<Worker>, turn: Turn) -> bool {
        for (place, act) in worker.script.acts(turn.n).iter().enumerate() {
            if place > 0 && !self.has_leave(worker).await {
                return false;
            }
            let ending = match act {
                Act::Think(think) => {
                    let length_ns = worker.script.pause_ns(think, turn.n, place);
                    if !self.sleep_until(worker, self.now_ns.saturating_add(length_ns)).await {
                        return false;
                    }
                    continue;
                }
                Act::Request(step) if place == 0 => self.first_request(worker, *step, &turn).await,
                Act::Request(step) => self.further_request(worker, *step, &turn).await,
            };
            match ending {
                Ending::Answered(_) => self.back_off_ns = FIRST_BACK_OFF_NS,
                Ending::Failed(kind) => self.recover(worker, kind).await,
                Ending::Cancelled => return false,
            }
        }
        true
    }

    /// The request that was taken up with its iteration: it counts from when that was due.
    async fn first_request(&mut self, worker: &Rc<Worker>, step: usize, turn: &Turn) -> Ending {
        let taken_ns = turn.queued_ns.unwrap_or(self.now_ns);
        let asked = Asked { step, part: turn.part, due_ns: turn.due_ns, taken_ns };
        self.request(worker, asked, turn.queued_ns.is_some()).await
    }

    /// A later one: it is due when the loop comes to it.
    async fn further_request(&mut self, worker: &Rc<Worker>, step: usize, turn: &Turn) -> Ending {
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().request_started(step, turn.part);
        let asked = Asked { step, part: turn.part, due_ns: self.now_ns, taken_ns: self.now_ns };
        self.request(worker, asked, false).await
    }

    /// Waits for leave to go on with an iteration; false when there will be none.
    async fn has_leave(&mut self, worker: &Worker) -> bool {
        loop {
            match worker.leave(self.now_ns) {
                Leave::Given => return true,
                Leave::Over => return false,
                Leave::Later => {
                    worker.park(self.index);
                    self.woken(worker).await;
                }
            }
        }
    }

    /// Sleeps until then; false when the run stops before.
    async fn sleep_until(&mut self, worker: &Worker, at_ns: u64) -> bool {
        while self.now_ns < at_ns {
            if worker.leave(self.now_ns) == Leave::Over {
                return false;
            }
            worker.set_alarm(at_ns, self.index);
            self.woken(worker).await;
        }
        true
    }

    /// Makes room after a failure: for the other slots in any case, since a failure may come without any waiting; and
    /// for the target and this machine's processor where connecting fails again and again.
    async fn recover(&mut self, worker: &Worker, kind: ErrorKind) {
        if kind.phase() == Phase::Connect && worker.backs_off {
            let until_ns = self.now_ns.saturating_add(self.back_off_ns);
            self.back_off_ns = (2 * self.back_off_ns).min(MAX_BACK_OFF_NS);
            self.sleep_until(worker, until_ns).await;
        } else {
            self.back_off_ns = FIRST_BACK_OFF_NS;
            tokio::task::yield_now().await;
            self.now_ns = worker.clock.now_ns();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.worker.slot_left();
    }
}
