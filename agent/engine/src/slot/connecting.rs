//! How a slot comes to a connection: for the request at hand, or before it has one.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use volley_stats::{ErrorKind, Part};

use super::Slot;
use super::request::Miss;
use crate::connection::Connection;
use crate::dial::{Attempt, Opened};
use crate::recorder::Ending;
use crate::worker::Worker;

/// A connection that was opened, or not, before there was a request for it.
pub(super) struct Ahead {
    pub(super) from_ns: u64,
    pub(super) result: Result<Opened, ErrorKind>,
}

impl Slot {
    /// Opens the first connection of a slot, before it takes an arrival: whoever is free sooner may have that.
    #[cold]
    pub(super) async fn connect_ahead(&mut self, worker: &Rc<Worker>) -> Option<Ahead> {
        let from_ns = self.now_ns;
        self.deadline_ns = from_ns.saturating_add(worker.timeout_ns);
        let result = match self.open(worker, 0, worker.part_at(from_ns)).await {
            Ok(opened) => Ok(opened),
            Err(Miss::Failed(kind)) => Err(kind),
            Err(Miss::Expired) => Err(ErrorKind::ConnectTimeout),
        };
        worker.deadlines.clear(self.index);
        self.now_ns = worker.clock.now_ns();
        Some(Ahead { from_ns, result })
    }

    /// Opens a connection, and waits for the lease where it ran out meanwhile.
    pub(super) async fn connect(&mut self, worker: &Rc<Worker>) -> Result<(), Miss> {
        self.opened = Some(self.open(worker, self.asked.step, self.asked.part).await?);
        self.on_expiry = Ending::Cancelled;
        self.await_lease(worker, self.deadline_ns).await;
        if worker.deadlines.is_expired(self.index) {
            return Err(Miss::Expired);
        }
        self.on_expiry = Ending::Failed(ErrorKind::TotalTimeout);
        Ok(())
    }

    /// Opens a connection, within the time that there is for that, and enters in the books what came of it.
    async fn open(&mut self, worker: &Rc<Worker>, step: usize, part: Part) -> Result<Opened, Miss> {
        self.on_expiry = Ending::Failed(ErrorKind::ConnectTimeout);
        let connect_by_ns = self.now_ns.saturating_add(worker.connect_timeout_ns);
        worker.watch(self.index, connect_by_ns.min(self.deadline_ns));
        let mut attempt = Attempt::new(self.way, self.now_ns);
        let dialled = self.dial(worker, &mut attempt).await;
        self.way = attempt.next_way();
        self.now_ns = worker.clock.now_ns();
        worker.roll(self.now_ns);
        worker.recorder.borrow_mut().dialled(step, part, attempt.dialled());
        if matches!(dialled, Err(Miss::Expired)) && !worker.is_cancelled() {
            attempt.timed_out();
        }
        self.connection = Some(dialled?);
        worker.watch(self.index, self.deadline_ns);
        Ok(attempt.opened(self.now_ns))
    }

    async fn dial(&self, worker: &Worker, attempt: &mut Attempt) -> Result<Connection, Miss> {
        let mut dialling = pin!(worker.target.dial(attempt));
        poll_fn(|cx| {
            if worker.deadlines.is_expired(self.index) {
                return Poll::Ready(Err(Miss::Expired));
            }
            dialling.as_mut().poll(cx).map_err(Miss::Failed)
        })
        .await
    }
}
