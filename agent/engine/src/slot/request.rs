//! One request of a slot: on the connection at hand or a fresh one, within its time-out, and its entry in the books.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use volley_stats::ErrorKind;

use super::Slot;
use super::connecting::Ahead;
use crate::connection::{Connection, Idle};
use crate::control::NEVER;
use crate::exchange::{Exchange, Line};
use crate::listener::HEARD_BYTES;
use crate::prepared_step::{PreparedStep, Waits};
use crate::recorder::{Ended, Ending, Traffic};
use crate::spin::SPIN_NS;
use crate::worker::Worker;

/// A deadline that only the end of the run brings on.
const AT_THE_END: u64 = NEVER - 1;

/// Why an attempt at a request gave no answer.
#[derive(Clone, Copy)]
pub(super) enum Miss {
    /// It failed.
    Failed(ErrorKind),
    /// The deadline passed, or the run ended; [`Slot::on_expiry`] and the worker know which.
    Expired,
}

impl Slot {
    /// The request at hand, from now to the last byte of its answer, and its entry in the books. `has_waited` for a
    /// connection, if it did.
    #[inline]
    pub(super) async fn request(&mut self, worker: &Rc<Worker>, has_waited: bool) -> Ending {
        self.traffic = Traffic::default();
        self.opened = None;
        let ahead = self.ahead.take();
        // A connection that has failed is known to have, whatever became of the lease since.
        let has_failed = ahead.as_ref().is_some_and(|ahead| ahead.result.is_err());
        if !has_failed && !worker.has_lease(self.now_ns) {
            self.await_lease(worker, AT_THE_END).await;
        }
        let waited_ns =
            (has_waited && ahead.is_none()).then(|| self.now_ns.saturating_sub(self.asked.taken_ns));
        let ending = match self.begin(worker, ahead) {
            Some(ending) => ending,
            None => {
                let result = self.attempts(worker).await;
                self.judge(worker, result)
            }
        };
        worker.deadlines.clear(self.index);
        let outcome = self.exchange.outcome();
        let was_shown = worker.listener.is_some() && self.tell(worker, ending);
        if !ending.is_answered() || !outcome.reusable {
            self.connection = None;
        }
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().request_ended(&Ended {
            asked: self.asked,
            at_ns: self.now_ns,
            waited_ns,
            opened: self.opened,
            marks: self.exchange.marks(),
            traffic: self.traffic,
            ending,
            outcome,
        });
        if was_shown || worker.requests[self.asked.step].check.body.is_some() {
            // Looking at an answer takes its time, which is neither this request's nor the next one's.
            self.now_ns = worker.clock.now_ns();
        }
        ending
    }

    /// Begins the time-out of a request; gives its ending where nothing can be sent. A wait for a connection before was no
    /// fault of the target's and doesn't count.
    #[inline]
    fn begin(&mut self, worker: &Worker, ahead: Option<Ahead>) -> Option<Ending> {
        if worker.is_cancelled() {
            return Some(Ending::Cancelled);
        }
        match ahead.map(|ahead| ahead.result) {
            None => {}
            Some(Ok(opened)) => {
                self.opened = Some(opened.last(self.now_ns.saturating_sub(self.asked.taken_ns)));
            }
            Some(Err(kind)) => return Some(Ending::Failed(kind)),
        }
        self.deadline_ns = self.now_ns.saturating_add(worker.timeout_ns);
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        worker.watch(self.index, self.deadline_ns);
        None
    }

    /// What became of a request, at the time of its last byte.
    #[inline]
    fn judge(&mut self, worker: &Worker, result: Result<(), Miss>) -> Ending {
        self.now_ns = match &result {
            Ok(()) if self.exchange.came_in_one_piece() => self.exchange.marks().first_byte_ns,
            _ => worker.clock.now_ns(),
        };
        let step = &worker.requests[self.asked.step];
        match result {
            // The watch over deadlines is coarse; the verdict isn't.
            Ok(()) if self.now_ns > self.deadline_ns => Ending::Failed(ErrorKind::TotalTimeout),
            Ok(()) => Ending::Answered { fault: self.exchange.fault(step) },
            Err(Miss::Failed(kind)) => Ending::Failed(kind),
            Err(Miss::Expired) if worker.is_cancelled() => Ending::Cancelled,
            Err(Miss::Expired) => self.on_expiry,
        }
    }

    /// On the connection at hand, then on a fresh one where that was closed under the request.
    #[inline]
    async fn attempts(&mut self, worker: &Rc<Worker>) -> Result<(), Miss> {
        let step = &worker.requests[self.asked.step];
        if self.has_quiet_connection(worker) {
            let is_reused = self.connection.as_ref().is_some_and(Connection::is_reused);
            let result = self.exchange(worker, step).await;
            match result {
                Err(Miss::Failed(kind)) if is_reused && self.exchange.was_closed(kind) => {
                    self.traffic.connections_closed += 1;
                }
                _ => return result,
            }
            if !self.exchange.may_be_repeated(step) {
                return result;
            }
            self.traffic.resent += u64::from(self.exchange.bytes_sent() > 0);
            self.connection = None;
            self.now_ns = worker.clock.now_ns();
        }
        self.connect(worker).await?;
        self.exchange(worker, step).await
    }

    /// Whether there is a connection to re-use. One that the target closed while it lay idle, or that it said something on,
    /// is let go, which is no failure of anybody's.
    #[inline]
    fn has_quiet_connection(&mut self, worker: &Worker) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let idle = connection.idle(&mut worker.buffer.borrow_mut());
        if idle != Idle::Quiet {
            self.traffic.connections_closed += u64::from(idle == Idle::Closed);
            self.connection = None;
        }
        idle == Idle::Quiet
    }

    #[inline]
    async fn exchange(&mut self, worker: &Worker, step: &PreparedStep) -> Result<(), Miss> {
        let Some(connection) = &mut self.connection else {
            return Err(Miss::Failed(ErrorKind::ClosedEarly));
        };
        let (exchange, slot, deadline_ns) = (&mut self.exchange, self.index, self.deadline_ns);
        let bytes = step.request.bytes_of(self.turn.n, &mut self.scratch);
        exchange.begin(step, self.now_ns);
        if let Some(listener) = &worker.listener {
            exchange.listen(if self.was_heard && !listener.wants_all() { 0 } else { HEARD_BYTES });
        }
        let spins = worker.spinning.for_answer(worker.gauges.in_flight.get());
        let result = poll_fn(|cx| {
            if worker.deadlines.is_expired(slot)
                && let Some(miss) = overdue(worker, exchange, &step.waits, deadline_ns)
            {
                return Poll::Ready(Err(miss));
            }
            let mut buffer = worker.buffer.borrow_mut();
            let clock = worker.clock;
            let mut line = Line { connection, step, bytes, buffer: &mut buffer, clock };
            let poll = exchange.poll(cx, &mut line);
            if poll.is_pending() {
                if step.waits.are_set() {
                    worker.watch(slot, exchange.due_ns(&step.waits).min(deadline_ns));
                }
                if spins {
                    spin(cx, worker, exchange.marks().sent_ns);
                }
            }
            poll.map_err(Miss::Failed)
        })
        .await;
        if spins {
            worker.spinning.saw(exchange.marks().answer_ns());
        }
        self.enter_attempt();
        result
    }

    /// Adds what an attempt put on the wire and took from it to what its request did.
    #[inline]
    fn enter_attempt(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        if self.exchange.bytes_sent() > 0 {
            connection.count_request();
            self.traffic.connections_reused += u64::from(connection.is_reused());
            connection.mark_used();
        }
        self.traffic.bytes_sent += self.exchange.bytes_sent();
        self.traffic.bytes_received += self.exchange.bytes_received();
    }

    /// Waits until there is a lease, or `until_ns` or the end of the run comes first.
    pub(super) async fn await_lease(&mut self, worker: &Worker, until_ns: u64) {
        while !worker.has_lease(self.now_ns) && !worker.is_cancelled() {
            worker.watch(self.index, until_ns);
            worker.park(self.index);
            self.woken(worker).await;
            if worker.deadlines.is_expired(self.index) {
                return;
            }
        }
    }
}

/// What it means that the slot's deadline has passed: nothing, where the exchange can go on.
#[cold]
fn overdue(worker: &Worker, exchange: &mut Exchange, waits: &Waits, deadline_ns: u64) -> Option<Miss> {
    let now_ns = worker.clock.now_ns();
    if worker.is_cancelled() || !waits.are_set() {
        return Some(Miss::Expired);
    }
    // Whichever is due first counts, however late the watch is.
    match exchange.expire(waits, now_ns.min(deadline_ns)) {
        Some(kind) => Some(Miss::Failed(kind)),
        None => (now_ns >= deadline_ns).then_some(Miss::Expired),
    }
}

/// Has the slot polled again after one look at the sockets, unless it has waited for long.
fn spin(cx: &mut Context<'_>, worker: &Worker, sent_ns: Option<u64>) {
    let Some(sent_ns) = sent_ns else { return };
    let now_ns = worker.clock.now_ns();
    if now_ns.saturating_sub(sent_ns) < SPIN_NS {
        worker.spinning.polls(now_ns);
        // tokio keeps the waker until it has looked at the sockets, without waiting for them.
        let _ = pin!(tokio::task::yield_now()).poll(cx);
    }
}
