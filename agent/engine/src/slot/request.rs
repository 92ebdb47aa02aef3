//! One request of a slot: on the connection at hand or a fresh one, within its time-out, and its entry in the books.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use volley_stats::{ErrorKind, Part};

use super::{Ahead, Slot};
use crate::connection::{Connection, Stream};
use crate::control::NEVER;
use crate::failure;
use crate::http1::Prepared;
use crate::recorder::{Ended, Ending, Traffic};
use crate::spin::SPIN_NS;
use crate::worker::Worker;

/// A deadline that only the end of the run brings on.
const AT_THE_END: u64 = NEVER - 1;

/// Why an attempt at a request gave no answer.
#[derive(Clone, Copy)]
enum Miss {
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
        self.connecting_ns = None;
        if !worker.has_lease(self.now_ns) {
            self.await_lease(worker, AT_THE_END).await;
        }
        let ahead = self.ahead.take();
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
        if ending != Ending::Answered || !outcome.reusable {
            self.connection = None;
        }
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().request_ended(&Ended {
            asked: self.asked,
            at_ns: self.now_ns,
            waited_ns,
            connecting_ns: self.connecting_ns,
            marks: self.exchange.marks(),
            traffic: self.traffic,
            ending,
            outcome,
        });
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
            Some(Ok(())) => self.connecting_ns = Some(self.now_ns.saturating_sub(self.asked.taken_ns)),
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
        match result {
            // The watch over deadlines is coarse; the verdict isn't.
            Ok(()) if self.now_ns > self.deadline_ns => Ending::Failed(ErrorKind::TotalTimeout),
            Ok(()) => Ending::Answered,
            Err(Miss::Failed(kind)) => Ending::Failed(kind),
            Err(Miss::Expired) if worker.is_cancelled() => Ending::Cancelled,
            Err(Miss::Expired) => self.on_expiry,
        }
    }

    /// On the connection at hand, then on a fresh one where that was closed under the request.
    #[inline]
    async fn attempts(&mut self, worker: &Rc<Worker>) -> Result<(), Miss> {
        let request = &worker.requests[self.asked.step];
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
        self.connect(worker).await?;
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
    async fn exchange(&mut self, worker: &Worker, request: &Prepared) -> Result<(), Miss> {
        let Some(connection) = &mut self.connection else {
            return Err(Miss::Failed(ErrorKind::ClosedEarly));
        };
        let (exchange, slot) = (&mut self.exchange, self.index);
        let bytes = request.bytes_of(self.turn.n, &mut self.scratch);
        exchange.begin(request, self.now_ns);
        let spins = worker.spinning.for_answer(worker.gauges.in_flight.get());
        let result = poll_fn(|cx| {
            if worker.deadlines.is_expired(slot) {
                return Poll::Ready(Err(Miss::Expired));
            }
            let mut buffer = worker.buffer.borrow_mut();
            let poll = exchange.poll(cx, connection, bytes, &mut buffer, worker.clock);
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

    /// Opens the first connection of a slot, before it takes an arrival: whoever is free sooner may have that.
    #[cold]
    pub(super) async fn connect_ahead(&mut self, worker: &Rc<Worker>) -> Option<Ahead> {
        let from_ns = self.now_ns;
        self.deadline_ns = from_ns.saturating_add(worker.timeout_ns);
        let result = match self.open(worker, 0, worker.part_at(from_ns)).await {
            Ok(()) => Ok(()),
            Err(Miss::Failed(kind)) => Err(kind),
            Err(Miss::Expired) => Err(ErrorKind::ConnectTimeout),
        };
        worker.deadlines.clear(self.index);
        self.now_ns = worker.clock.now_ns();
        Some(Ahead { from_ns, result })
    }

    /// Opens a connection, and waits for the lease where it ran out meanwhile.
    async fn connect(&mut self, worker: &Rc<Worker>) -> Result<(), Miss> {
        let from_ns = self.now_ns;
        self.open(worker, self.asked.step, self.asked.part).await?;
        self.connecting_ns = Some(self.now_ns - from_ns);
        self.on_expiry = Ending::Cancelled;
        self.await_lease(worker, self.deadline_ns).await;
        if worker.deadlines.is_expired(self.index) {
            return Err(Miss::Expired);
        }
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        Ok(())
    }

    /// Opens a connection, within the time that there is for that.
    async fn open(&mut self, worker: &Rc<Worker>, step: usize, part: Part) -> Result<(), Miss> {
        self.on_expiry = Ending::Failed(ErrorKind::ConnectTimeout);
        let connect_by_ns = self.now_ns.saturating_add(worker.connect_timeout_ns);
        worker.watch(self.index, connect_by_ns.min(self.deadline_ns));
        let stream = self.connect_to_any(worker).await?;
        worker.watch(self.index, self.deadline_ns);
        self.now_ns = worker.clock.now_ns();
        self.connection = Some(Connection::new(stream, &worker.gauges));
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().connection_opened(step, part);
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

    /// Waits until there is a lease, or `until_ns` or the end of the run comes first.
    async fn await_lease(&mut self, worker: &Worker, until_ns: u64) {
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
