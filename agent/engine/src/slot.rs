//! The one loop of the engine: a slot asks for an iteration, runs its steps, and asks again.
//!
//! A slot owns a connection. In the closed model it is one user; in the open model slots are alike, and an arrival goes to
//! any that is free. Limit and pace are values that it asks (`pace`), the driver is a value that it calls (`request`).
//!
//! The clock is read twice or three times a request: when it is sent, when its answer's first byte is read (mostly with
//! the last one), and where the slot had to wait before. The end of one request is the beginning of the next.

mod connecting;
mod request;
mod telling;

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use volley_stats::{ErrorKind, Phase};

use connecting::Ahead;

use crate::connection::Connection;
use crate::dial::Opened;
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

/// A slot: its connection, and the request it is at.
pub(crate) struct Slot {
    worker: Rc<Worker>,
    /// Its place among the worker's slots.
    index: usize,
    /// Whose it is, in the closed model.
    user: Option<User>,
    /// The number of the address that its next connection goes to first.
    way: usize,
    /// The latest reading of the clock.
    now_ns: u64,
    connection: Option<Connection>,
    exchange: Exchange,
    /// Where a request that tells its number is put together.
    scratch: Vec<u8>,
    traffic: Traffic,
    /// Whether a listener was shown an answer of its.
    was_heard: bool,
    /// The connection that it opened before there was a request for it, until it gets one.
    ahead: Option<Ahead>,
    /// The iteration at hand, and when the loop took it up.
    turn: Turn,
    taken_ns: u64,
    /// The request at hand.
    asked: Asked,
    /// How long the parts of its connection took, where the request at hand had to wait for one to be opened.
    opened: Option<Opened>,
    /// When the request at hand is over its time-out.
    deadline_ns: u64,
    /// What it means if the slot's deadline passes.
    on_expiry: Ending,
    back_off_ns: u64,
}

impl Slot {
    /// The slot of a user.
    pub(crate) fn for_user(worker: &Rc<Worker>, index: usize, user: User) -> Self {
        Self::new(worker, index, user.number() as usize, Some(user))
    }

    /// A slot of the open model.
    pub(crate) fn for_arrivals(worker: &Rc<Worker>, index: usize) -> Self {
        Self::new(worker, index, worker.number_of_slot(index), None)
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
            scratch: Vec::new(),
            traffic: Traffic::default(),
            was_heard: false,
            ahead: None,
            turn: Turn::default(),
            taken_ns: 0,
            asked: Asked::default(),
            opened: None,
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
        if self.user.is_none() && worker.keeps_alive {
            self.ahead = self.connect_ahead(&worker).await;
        }
        while self.has_turn(&worker).await {
            let is_whole = self.iteration(&worker).await;
            worker.iteration_over(self.turn.part, is_whole, self.now_ns);
        }
    }

    /// Waits for the next iteration to run; false when there will be none.
    async fn has_turn(&mut self, worker: &Rc<Worker>) -> bool {
        let free_ns = self.now_ns;
        loop {
            match self.ask(worker, free_ns) {
                Next::Turn(turn) => {
                    self.turn = turn;
                    return true;
                }
                Next::Over => return false,
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
                match &next {
                    Next::Turn(turn) => self.take(worker, turn),
                    // A connection that no request waited for is one like any other.
                    Next::Wait | Next::Over => self.ahead = None,
                }
                next
            }
            (Pace::Closed(_), None) => Next::Over,
        }
    }

    /// Takes note of when an arrival was taken up. Up to then the generator itself was late; what it waited for a slot
    /// since, whose connection had to be opened or was in use, is no lateness of the generator's.
    #[inline]
    fn take(&mut self, worker: &Rc<Worker>, turn: &Turn) {
        self.taken_ns = turn.taken_ns;
        if let Some(ahead) = &self.ahead {
            self.taken_ns = self.taken_ns.max(ahead.from_ns);
        }
        worker.roll(self.now_ns);
        if turn.is_queued {
            worker.enter(turn);
        }
        worker.recorder.borrow_mut().lagged(turn.part, turn.taken_ns.saturating_sub(turn.due_ns));
    }

    /// Sleeps until the slot is woken, by whomever.
    async fn woken(&mut self, worker: &Worker) {
        let mut is_asleep = false;
        poll_fn(|_| if std::mem::replace(&mut is_asleep, true) { Poll::Ready(()) } else { Poll::Pending })
            .await;
        self.now_ns = worker.clock.now_ns();
    }

    /// One pass through the steps; false when it was cut short.
    async fn iteration(&mut self, worker: &Rc<Worker>) -> bool {
        for (place, act) in worker.script.acts(self.turn.n).iter().enumerate() {
            if place > 0 && !self.may_go_on(worker).await {
                return false;
            }
            let step = match act {
                Act::Request(step) => *step,
                Act::Think(think) => {
                    let length_ns = worker.script.pause_ns(think, self.turn.n, place);
                    if !self.sleep_until(worker, self.now_ns.saturating_add(length_ns)).await {
                        return false;
                    }
                    continue;
                }
            };
            let has_waited = if place == 0 { self.ask_first(step) } else { self.ask_further(worker, step) };
            match self.request(worker, has_waited).await {
                Ending::Answered { .. } => self.back_off_ns = FIRST_BACK_OFF_NS,
                Ending::Failed(kind) => self.recover(worker, kind).await,
                Ending::Cancelled => return false,
            }
        }
        true
    }

    /// The request that was taken up with its iteration: it counts from when that was due. Says whether it had to wait for
    /// a connection.
    #[inline]
    fn ask_first(&mut self, step: usize) -> bool {
        let Turn { due_ns, part, is_queued, .. } = self.turn;
        let taken_ns = if self.user.is_some() { self.now_ns } else { self.taken_ns };
        self.asked = Asked { step, part, due_ns, taken_ns };
        is_queued
    }

    /// A later one: it is due when the loop comes to it, and its connection is there.
    fn ask_further(&mut self, worker: &Rc<Worker>, step: usize) -> bool {
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().request_started(step, self.turn.part);
        self.asked = Asked { step, part: self.turn.part, due_ns: self.now_ns, taken_ns: self.now_ns };
        false
    }

    /// Waits for leave to go on with an iteration; false when there will be none.
    async fn may_go_on(&mut self, worker: &Worker) -> bool {
        loop {
            match self.leave(worker) {
                Leave::Given => return true,
                Leave::Over => return false,
                Leave::Later => {
                    worker.park(self.index);
                    self.woken(worker).await;
                }
            }
        }
    }

    /// Whether the iteration at hand may go on: not that of a user that was given away.
    fn leave(&mut self, worker: &Worker) -> Leave {
        let is_given_away = match (&worker.pace, &mut self.user) {
            (Pace::Closed(users), Some(user)) => user.is_given_away(users, worker, self.now_ns),
            _ => false,
        };
        if is_given_away { Leave::Over } else { worker.leave(self.now_ns) }
    }

    /// Sleeps until then; false when the run stops before.
    async fn sleep_until(&mut self, worker: &Worker, at_ns: u64) -> bool {
        while self.now_ns < at_ns {
            if self.leave(worker) == Leave::Over || worker.is_cancelled() {
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
        if let Some(user) = &self.user {
            self.worker.user_left(user.number(), self.index);
        }
    }
}
