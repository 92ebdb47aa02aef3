//! One user of the closed model: iteration after iteration, each request waiting for the answer to the one before.
//!
//! The clock is read once a request where nothing waits: the end of one is the start of the next.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use tokio::net::TcpStream;
use volley_stats::{ErrorKind, Phase};

use crate::connection::{Connection, Exchange};
use crate::failure;
use crate::http1::{Outcome, Prepared};
use crate::recorder::{Ending, Traffic};
use crate::worker::{Leave, Worker};

/// How long a user of a timed run waits after its first failure to connect, in nanoseconds. Each further one in a row
/// doubles it. A run that is bounded by a number of requests doesn't wait: it ends by failing.
const FIRST_BACK_OFF_NS: u64 = 1_000_000;
/// The longest such wait.
const MAX_BACK_OFF_NS: u64 = 100_000_000;

/// Why an attempt at a request gave no answer.
enum Miss {
    /// It failed.
    Failed(ErrorKind),
    /// The deadline passed, or the run ended; [`User::on_expiry`] and the worker know which.
    Expired,
}

/// A user: its connection, and the request it is at.
pub(crate) struct User {
    worker: Rc<Worker>,
    /// Its place among the worker's users.
    slot: usize,
    /// Which of the target's addresses it connects to.
    address: usize,
    /// The latest reading of the clock.
    now_ns: u64,
    connection: Option<Connection>,
    exchange: Exchange,
    traffic: Traffic,
    /// When the request at hand is over its time-out.
    deadline_ns: u64,
    /// What it means if the slot's deadline passes.
    on_expiry: Ending,
    back_off_ns: u64,
}

impl User {
    /// The user in this slot of a worker; `number` is its number in the fleet.
    pub(crate) fn new(worker: &Rc<Worker>, slot: usize, number: u32) -> Self {
        worker.gauges.users.up();
        Self {
            worker: Rc::clone(worker),
            slot,
            address: number as usize % worker.addresses.len(),
            now_ns: worker.clock.now_ns(),
            connection: None,
            exchange: Exchange::new(),
            traffic: Traffic::default(),
            deadline_ns: 0,
            on_expiry: Ending::Cancelled,
            back_off_ns: FIRST_BACK_OFF_NS,
        }
    }

    /// Goes on until the run is over.
    pub(crate) async fn run(mut self) {
        let worker = Rc::clone(&self.worker);
        poll_fn(|cx| {
            worker.deadlines.register(self.slot, cx.waker().clone());
            Poll::Ready(())
        })
        .await;
        while self.has_leave(&worker, Worker::may_begin).await {
            worker.recorder.borrow_mut().iteration_started(self.now_ns);
            if self.iteration(&worker).await {
                worker.recorder.borrow_mut().iteration_finished(self.now_ns);
            }
        }
    }

    /// Waits for leave to go on; false when there will be none.
    async fn has_leave(&mut self, worker: &Worker, ask: impl Fn(&Worker, u64) -> Leave) -> bool {
        loop {
            match ask(worker, self.now_ns) {
                Leave::Given => return true,
                Leave::Over => return false,
                Leave::Later => self.park(worker).await,
            }
        }
    }

    /// Sleeps until the worker's bell rings or the slot expires.
    async fn park(&mut self, worker: &Worker) {
        let mut is_parked = false;
        poll_fn(|_| {
            if std::mem::replace(&mut is_parked, true) {
                return Poll::Ready(());
            }
            worker.park(self.slot);
            Poll::Pending
        })
        .await;
        self.now_ns = worker.clock.now_ns();
    }

    /// One pass through the steps; false when it was cut short.
    async fn iteration(&mut self, worker: &Rc<Worker>) -> bool {
        for step in 0..worker.steps.len() {
            if step > 0 && !self.has_leave(worker, Worker::may_send).await {
                return false;
            }
            match self.request(worker, step).await {
                Ending::Answered(_) => self.back_off_ns = FIRST_BACK_OFF_NS,
                Ending::Failed(kind) => self.recover(worker, kind).await,
                Ending::Cancelled => return false,
            }
        }
        true
    }

    /// One request, from the moment it is taken up to the last byte of its answer, and its entry in the books.
    async fn request(&mut self, worker: &Rc<Worker>, step: usize) -> Ending {
        let start_ns = self.now_ns;
        self.deadline_ns = start_ns.saturating_add(worker.timeout_ns);
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        self.traffic = Traffic::default();
        worker.recorder.borrow_mut().request_started(step, start_ns);
        worker.watch(self.slot, self.deadline_ns);
        let result = self.attempts(worker, step).await;
        self.now_ns = worker.clock.now_ns();
        worker.deadlines.clear(self.slot);
        let ending = match result {
            // The watch over deadlines is coarse; the verdict isn't.
            Ok(_) if self.now_ns > self.deadline_ns => Ending::Failed(ErrorKind::TotalTimeout),
            Ok(outcome) => Ending::Answered(outcome),
            Err(Miss::Failed(kind)) => Ending::Failed(kind),
            Err(Miss::Expired) if worker.is_cancelled() => Ending::Cancelled,
            Err(Miss::Expired) => self.on_expiry,
        };
        if !matches!(ending, Ending::Answered(Outcome { reusable: true, .. })) {
            self.connection = None;
        }
        worker.recorder.borrow_mut().request_ended(step, start_ns, self.now_ns, self.traffic, ending);
        ending
    }

    /// On the connection at hand, then on a fresh one where that was closed under the request.
    async fn attempts(&mut self, worker: &Rc<Worker>, step: usize) -> Result<Outcome, Miss> {
        let request = &worker.steps[step];
        if self.has_quiet_connection(worker) {
            match self.exchange(worker, request).await {
                Err(Miss::Failed(kind)) if self.exchange.may_be_repeated(kind, request) => {
                    self.traffic.resent += u64::from(self.exchange.bytes_sent() > 0);
                    self.connection = None;
                }
                result => return result,
            }
        }
        self.connect(worker, step).await?;
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

    async fn exchange(&mut self, worker: &Worker, request: &Prepared) -> Result<Outcome, Miss> {
        let Some(connection) = &mut self.connection else {
            return Err(Miss::Failed(ErrorKind::ClosedEarly));
        };
        let (exchange, slot) = (&mut self.exchange, self.slot);
        exchange.begin(request);
        let result = poll_fn(|cx| {
            if worker.deadlines.is_expired(slot) {
                return Poll::Ready(Err(Miss::Expired));
            }
            let mut buffer = worker.buffer.borrow_mut();
            exchange.poll(cx, connection, request.bytes(), &mut buffer).map_err(Miss::Failed)
        })
        .await;
        self.traffic.bytes_sent += self.exchange.bytes_sent();
        self.traffic.bytes_received += self.exchange.bytes_received();
        result
    }

    /// Opens a connection, and waits for the lease where it ran out meanwhile.
    async fn connect(&mut self, worker: &Rc<Worker>, step: usize) -> Result<(), Miss> {
        let connect_by_ns = worker.clock.now_ns().saturating_add(worker.connect_timeout_ns);
        self.on_expiry = Ending::Failed(ErrorKind::ConnectTimeout);
        worker.watch(self.slot, connect_by_ns.min(self.deadline_ns));
        let stream = self.connect_to_any(worker).await?;
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        worker.watch(self.slot, self.deadline_ns);
        // It fails only where the connection has failed already, which the exchange will tell better.
        let _ = stream.set_nodelay(true);
        let mut now_ns = worker.clock.now_ns();
        worker.recorder.borrow_mut().connection_opened(step, now_ns);
        self.connection = Some(Connection::new(stream, &worker.gauges));
        while now_ns >= worker.control.lease_until_ns() {
            self.on_expiry = Ending::Cancelled;
            self.park(worker).await;
            if worker.deadlines.is_expired(self.slot) {
                return Err(Miss::Expired);
            }
            now_ns = self.now_ns;
        }
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        Ok(())
    }

    /// Tries the target's addresses in turn, beginning with the one that worked last.
    async fn connect_to_any(&mut self, worker: &Worker) -> Result<TcpStream, Miss> {
        let mut failure = ErrorKind::Resolve;
        for _ in 0..worker.addresses.len() {
            match self.connect_to(worker, worker.addresses[self.address]).await {
                Err(Miss::Failed(kind)) => failure = kind,
                result => return result,
            }
            self.address = (self.address + 1) % worker.addresses.len();
        }
        Err(Miss::Failed(failure))
    }

    async fn connect_to(&self, worker: &Worker, address: SocketAddr) -> Result<TcpStream, Miss> {
        let mut connecting = pin!(TcpStream::connect(address));
        poll_fn(|cx| {
            if worker.deadlines.is_expired(self.slot) {
                return Poll::Ready(Err(Miss::Expired));
            }
            connecting.as_mut().poll(cx).map_err(|error| Miss::Failed(failure::of_connecting(&error)))
        })
        .await
    }

    /// Makes room after a failure: for the other users in any case, since a failure may come without any waiting; and
    /// for the target and this machine's processor where connecting fails again and again.
    async fn recover(&mut self, worker: &Worker, kind: ErrorKind) {
        if kind.phase() == Phase::Connect && worker.backs_off {
            let until_ns = self.now_ns.saturating_add(self.back_off_ns).min(worker.control.stop_at_ns());
            self.back_off_ns = (2 * self.back_off_ns).min(MAX_BACK_OFF_NS);
            worker.watch(self.slot, until_ns);
            poll_fn(|_| if worker.deadlines.is_expired(self.slot) { Poll::Ready(()) } else { Poll::Pending })
                .await;
            worker.deadlines.clear(self.slot);
        } else {
            self.back_off_ns = FIRST_BACK_OFF_NS;
            tokio::task::yield_now().await;
        }
        self.now_ns = worker.clock.now_ns();
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.worker.user_left();
    }
}
