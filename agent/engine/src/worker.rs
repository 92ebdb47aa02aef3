//! One worker: a thread with its own event loop, users, connections, deadlines and results. It shares nothing with the
//! other workers but the [`Control`].

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::UnboundedSender;

use crate::control::{Control, NEVER};
use crate::deadlines::Deadlines;
use crate::http1::Prepared;
use crate::limit::{Claim, Wish};
use crate::recorder::{Gauges, Outbox, Recorder, WorkerWindow};
use crate::reporter::ToReporter;
use crate::timer::Timer;
use crate::user::User;
use crate::{Clock, Event};

/// The size of the buffer into which a worker's connections are read, one after the other.
const BUFFER_BYTES: usize = 256 * 1024;

/// What a worker is made of; it crosses to the worker's thread.
#[derive(Debug)]
pub(crate) struct WorkerSetup {
    /// Its number.
    pub(crate) index: usize,
    /// Its users, by their numbers in the fleet.
    pub(crate) users: Range<u32>,
    pub(crate) steps: Vec<Prepared>,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    /// Whether users wait after failing to connect.
    pub(crate) backs_off: bool,
    pub(crate) clock: Clock,
    pub(crate) control: Arc<Control>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) to_reporter: Sender<ToReporter>,
    pub(crate) cleared: Receiver<WorkerWindow>,
}

/// Whether a user may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Given,
    /// Not now; the bell will ring.
    Later,
    /// Not any more.
    Over,
}

/// What the users of one worker share.
pub(crate) struct Worker {
    index: usize,
    pub(crate) steps: Vec<Prepared>,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    pub(crate) backs_off: bool,
    pub(crate) clock: Clock,
    pub(crate) control: Arc<Control>,
    pub(crate) gauges: Rc<Gauges>,
    pub(crate) recorder: RefCell<Recorder>,
    pub(crate) deadlines: Deadlines,
    /// Bytes that were just read; none stay in it.
    pub(crate) buffer: RefCell<Box<[u8]>>,
    events: UnboundedSender<Event>,
    /// Iterations claimed and not started.
    claimed: RefCell<Range<u64>>,
    /// Slots of users that wait for the bell.
    parked: RefCell<Vec<usize>>,
    /// Whether run time has begun.
    has_begun: Cell<bool>,
    is_cancelled: Cell<bool>,
}

impl Worker {
    fn new(setup: WorkerSetup) -> Self {
        let gauges = Rc::<Gauges>::default();
        let outbox = Outbox { worker: setup.index, to_reporter: setup.to_reporter, cleared: setup.cleared };
        Self {
            index: setup.index,
            recorder: RefCell::new(Recorder::new(Rc::clone(&gauges), outbox, setup.steps.len())),
            gauges,
            steps: setup.steps,
            addresses: setup.addresses,
            timeout_ns: setup.timeout_ns,
            connect_timeout_ns: setup.connect_timeout_ns,
            backs_off: setup.backs_off,
            clock: setup.clock,
            control: setup.control,
            deadlines: Deadlines::new(setup.users.len()),
            buffer: RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice()),
            events: setup.events,
            claimed: RefCell::new(0..0),
            parked: RefCell::default(),
            has_begun: Cell::new(false),
            is_cancelled: Cell::new(false),
        }
    }

    /// Whether a request may be sent at `now_ns`.
    #[inline]
    pub(crate) fn may_send(&self, now_ns: u64) -> Leave {
        if now_ns >= self.control.stop_at_ns() {
            Leave::Over
        } else if self.has_begun.get() && now_ns < self.control.lease_until_ns() {
            Leave::Given
        } else {
            Leave::Later
        }
    }

    /// Whether an iteration may be started at `now_ns`; if so, it is taken off the limit.
    #[inline]
    pub(crate) fn may_begin(&self, now_ns: u64) -> Leave {
        match self.may_send(now_ns) {
            Leave::Given if self.claimed.borrow_mut().next().is_some() => Leave::Given,
            Leave::Given => self.claim(now_ns),
            other => other,
        }
    }

    #[cold]
    fn claim(&self, now_ns: u64) -> Leave {
        let (claim, wish) = self.control.claim(now_ns);
        if let Some(Wish { taken, iterations }) = wish {
            // Whoever launched the engine may have gone.
            let _ = self.events.send(Event::GrantWanted { taken, iterations });
        }
        match claim {
            Claim::Got(mut range) => {
                let first = range.next();
                *self.claimed.borrow_mut() = range;
                if first.is_some() { Leave::Given } else { Leave::Later }
            }
            Claim::Wait => Leave::Later,
            Claim::Exhausted => Leave::Over,
        }
    }

    /// Sets a user's deadline.
    #[inline]
    pub(crate) fn watch(&self, slot: usize, at_ns: u64) {
        if self.deadlines.set(slot, at_ns) {
            self.control.bell(self.index).notify_one();
        }
    }

    /// The user in this slot is woken when the bell rings.
    pub(crate) fn park(&self, slot: usize) {
        self.parked.borrow_mut().push(slot);
    }

    /// Whether the drain is over.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// A user's loop has ended.
    pub(crate) fn user_left(&self) {
        self.gauges.users.down();
        if self.gauges.users.get() == 0 {
            self.control.bell(self.index).notify_one();
        }
    }

    fn wake_parked(&self) {
        for slot in self.parked.take() {
            self.deadlines.wake(slot);
        }
    }

    /// Does what is due, except to wake who is parked.
    fn look(&self, now_ns: u64) {
        if !self.has_begun.get() && now_ns >= self.control.start_ns() {
            self.recorder.borrow_mut().begin(self.control.start_ns());
            self.has_begun.set(true);
        }
        if !self.is_cancelled.get() && now_ns >= self.control.cancel_at_ns() {
            self.is_cancelled.set(true);
            self.deadlines.expire_all();
        }
        self.recorder.borrow_mut().roll(now_ns);
        self.deadlines.scan(now_ns);
    }

    /// When [`Self::look`] has something to do.
    fn look_at_ns(&self, now_ns: u64) -> u64 {
        let control = &self.control;
        let start_ns = if self.has_begun.get() { NEVER } else { control.start_ns() };
        let cancel_ns = if self.is_cancelled.get() { NEVER } else { control.cancel_at_ns() };
        let stop_ns = Some(control.stop_at_ns()).filter(|&at_ns| at_ns > now_ns).unwrap_or(NEVER);
        let end_ns = self.recorder.borrow().end_ns();
        [start_ns, cancel_ns, stop_ns, end_ns].into_iter().fold(self.deadlines.scan_at_ns(), u64::min)
    }

    fn is_over(&self) -> bool {
        self.gauges.users.get() == 0 && (self.has_begun.get() || self.is_cancelled.get())
    }

    /// Keeps the worker's times until the last user has left: start, seconds, deadlines, stop and cancel.
    async fn keep(&self, timer: &Timer) -> io::Result<()> {
        let bell = self.control.bell(self.index);
        loop {
            let now_ns = self.clock.now_ns();
            self.look(now_ns);
            self.wake_parked();
            if self.is_over() {
                return Ok(());
            }
            timer.set(self.look_at_ns(now_ns).saturating_sub(now_ns))?;
            tokio::select! {
                biased;
                () = bell.notified() => {}
                fired = timer.fired() => fired?,
            }
        }
    }
}

/// Says that a worker is done, in whatever way its thread ends.
struct Farewell {
    worker: usize,
    to_reporter: Sender<ToReporter>,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.to_reporter.send(ToReporter::Done { worker: self.worker });
    }
}

/// The whole life of a worker's thread.
pub(crate) fn run(setup: WorkerSetup) {
    let to_reporter = setup.to_reporter.clone();
    let _farewell = Farewell { worker: setup.index, to_reporter: to_reporter.clone() };
    let (runtime, timer) = match event_loop() {
        Ok(made) => made,
        Err(error) => {
            let _ = to_reporter.send(ToReporter::Standing(Err(error)));
            return;
        }
    };
    let users = setup.users.clone();
    let worker = Rc::new(Worker::new(setup));
    for (slot, number) in users.enumerate() {
        runtime.spawn_local(User::new(&worker, slot, number).run());
    }
    let _ = to_reporter.send(ToReporter::Standing(Ok(())));
    if let Err(error) = runtime.block_on(worker.keep(&timer)) {
        tracing::error!(worker = worker.index, %error, "a worker's timer failed, its users are gone");
    }
    worker.recorder.borrow_mut().finish();
}

/// Without tokio's own timers: see [`Timer`].
fn event_loop() -> io::Result<(LocalRuntime, Timer)> {
    let runtime = Builder::new_current_thread().enable_io().build_local(LocalOptions::default())?;
    let timer = {
        let _inside = runtime.enter();
        Timer::new()?
    };
    Ok((runtime, timer))
}

#[cfg(test)]
mod tests;
