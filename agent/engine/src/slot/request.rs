//! One request of a slot: on the connection at hand or a fresh one, within its time-out, and its entry in the books.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use volley_stats::ErrorKind;

use super::Slot;
use crate::connection::{Connection, Stream};
use crate::control::NEVER;
use crate::failure;
use crate::http1::{Outcome, Prepared};
use crate::recorder::{Asked, Ended, Ending, Traffic};
use crate::spin::SPIN_NS;
use crate::worker::Worker;

/// A deadline that only the end of the run brings on.
const AT_THE_END: u64 = NEVER - 1;

/// Why an attempt at a request gave no answer.
enum Miss {
    /// It failed.
    Failed(ErrorKind),
    /// The deadline passed, or the run ended; [`Slot::on_expiry`] and the worker know which.
    Expired,
}

impl Slot {
    /// One request, from now to the last byte of its answer, and its entry in the books.
    #[inline]
    pub(super) async fn request(&mut self, worker: &Rc<Worker>, asked: Asked, has_waited: bool) -> Ending {
        self.traffic = Traffic::default();
        self.connecting_ns = None;
        let has_lease = self.has_lease(worker, AT_THE_END).await;
        let waited_ns = has_waited.then(|| self.now_ns.saturating_sub(asked.taken_ns));
        let ending = if has_lease { self.in_time(worker, &asked).await } else { Ending::Cancelled };
        worker.deadlines.clear(self.index);
        if !matches!(ending, Ending::Answered(Outcome { reusable: true, .. })) {
            self.connection = None;
        }
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().request_ended(&Ended {
            asked,
            at_ns: self.now_ns,
            waited_ns,
            connecting_ns: self.connecting_ns,
            marks: self.exchange.marks(),
            traffic: self.traffic,
            ending,
        });
        ending
    }

    /// Does the request within its time-out. That counts from here: a wait for a connection before was no fault of the
    /// target's.
    #[inline]
    async fn in_time(&mut self, worker: &Rc<Worker>, asked: &Asked) -> Ending {
        self.deadline_ns = self.now_ns.saturating_add(worker.timeout_ns);
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        worker.watch(self.index, self.deadline_ns);
        let result = self.attempts(worker, asked).await;
        self.now_ns = match &result {
            Ok(_) if self.exchange.came_in_one_piece() => self.exchange.marks().first_byte_ns,
            _ => worker.clock.now_ns(),
        };
        match result {
            // The watch over deadlines is coarse; the verdict isn't.
            Ok(_) if self.now_ns > self.deadline_ns => Ending::Failed(ErrorKind::TotalTimeout),
            Ok(outcome) => Ending::Answered(outcome),
            Err(Miss::Failed(kind)) => Ending::Failed(kind),
            Err(Miss::Expired) if worker.is_cancelled() => Ending::Cancelled,
            Err(Miss::Expired) => self.on_expiry,
        }
    }

    /// On the connection at hand, then on a fresh one where that was closed under the request.
    #[inline]
    async fn attempts(&mut self, worker: &Rc<Worker>, asked: &Asked) -> Result<Outcome, Miss> {
        let request = &worker.requests[asked.step];
        if self.has_quiet_connection(worker) {
            match self.exchange(worker, request).await {
                Err(Miss::Failed(kind)) if self.exchange.may_be_repeated(kind, request) => {
                    self.traffic.resent += u64::from(self.exchange.bytes_sent() > 0);
                    self.connection = None;
                    self.now_ns = worker.clock.now_ns();
                }
                result => return result,
            }
        }
        self.connect(worker, asked).await?;
        self.exchange(worker, request).await
    }

    /// Whether there is a connection to re-use. One that the target closed while it lay idle is let go, which is no
    /// failure of anybody's.
    #[inline]
    fn has_quiet_connection(&mut self, worker: &Worker) -> bool {
        let mut buffer = worker.buffer.borrow_mut();
        self.connection.take_if(|idle| !idle.is_quiet(&mut buffer));
        self.connection.is_some()
    }

    #[inline]
    async fn exchange(&mut self, worker: &Worker, request: &Prepared) -> Result<Outcome, Miss> {
        let Some(connection) = &mut self.connection else {
            return Err(Miss::Failed(ErrorKind::ClosedEarly));
        };
        let (exchange, slot) = (&mut self.exchange, self.index);
        exchange.begin(request, self.now_ns);
        let spins = worker.spinning.for_answer(worker.gauges.in_flight.get());
        let result = poll_fn(|cx| {
            if worker.deadlines.is_expired(slot) {
                return Poll::Ready(Err(Miss::Expired));
            }
            let mut buffer = worker.buffer.borrow_mut();
            let poll = exchange.poll(cx, connection, request.bytes(), &mut buffer, worker.clock);
            if spins && poll.is_pending() {
                spin(cx, worker, exchange.marks().sent_ns);
            }
            poll.map_err(Miss::Failed)
        })
        .await;
        if spins {
            worker.spinning.saw(exchange.marks().answer_ns());
        }
        self.traffic.bytes_sent += exchange.bytes_sent();
        self.traffic.bytes_received += exchange.bytes_received();
        result
    }

    /// Opens a connection, and waits for the lease where it ran out meanwhile.
    async fn connect(&mut self, worker: &Rc<Worker>, asked: &Asked) -> Result<(), Miss> {
        let from_ns = self.now_ns;
        self.on_expiry = Ending::Failed(ErrorKind::ConnectTimeout);
        worker.watch(self.index, from_ns.saturating_add(worker.connect_timeout_ns).min(self.deadline_ns));
        let stream = self.connect_to_any(worker).await?;
        worker.watch(self.index, self.deadline_ns);
        self.now_ns = worker.clock.now_ns();
        self.connecting_ns = Some(self.now_ns - from_ns);
        self.connection = Some(Connection::new(stream, &worker.gauges));
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().connection_opened(asked.step, asked.part);
        if !self.has_lease(worker, self.deadline_ns).await {
            self.on_expiry = Ending::Cancelled;
            return Err(Miss::Expired);
        }
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        Ok(())
    }

    /// Tries the ways to the target in turn, beginning with the one that worked last.
    async fn connect_to_any(&mut self, worker: &Worker) -> Result<Stream, Miss> {
        let mut failure = ErrorKind::Resolve;
        for _ in 0..worker.target.ways() {
            match self.connect_by(worker, self.way).await {
                Err(Miss::Failed(kind)) => failure = kind,
                result => return result,
            }
            self.way = (self.way + 1) % worker.target.ways();
        }
        Err(Miss::Failed(failure))
    }

    async fn connect_by(&self, worker: &Worker, way: usize) -> Result<Stream, Miss> {
        let mut connecting = pin!(worker.target.connect(way));
        poll_fn(|cx| {
            if worker.deadlines.is_expired(self.index) {
                return Poll::Ready(Err(Miss::Expired));
            }
            connecting.as_mut().poll(cx).map_err(|error| Miss::Failed(failure::of_connecting(&error)))
        })
        .await
    }

    /// Waits until there is a lease; false when `until_ns` or the end of the run comes first.
    #[inline]
    async fn has_lease(&mut self, worker: &Worker, until_ns: u64) -> bool {
        while self.now_ns >= worker.control.lease_until_ns() {
            worker.watch(self.index, until_ns);
            worker.park(self.index);
            self.woken(worker).await;
            if worker.is_cancelled() || worker.deadlines.is_expired(self.index) {
                return false;
            }
        }
        true
    }
}

/// Has the slot polled again after one look at the sockets, unless it has waited for long.
fn spin(cx: &mut Context<'_>, worker: &Worker, sent_ns: Option<u64>) {
    let is_short = |sent_ns: u64| worker.clock.now_ns().saturating_sub(sent_ns) < SPIN_NS;
    if sent_ns.is_some_and(is_short) {
        // tokio keeps the waker until it has looked at the sockets, without waiting for them.
        let _ = pin!(tokio::task::yield_now()).poll(cx);
    }
}
