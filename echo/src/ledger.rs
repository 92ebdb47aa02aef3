//! One connection's account with the shared counts: what it has counted, and what it has to take back when it
//! ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::outbox::Outbox;
use crate::stats::{Counts, take_back};

/// A path's count, kept by the connection so that a repeated request needs no look-up.
#[derive(Debug)]
pub(crate) struct PathCount {
    name: String,
    count: Arc<AtomicU64>,
    generation: u64,
}

impl PathCount {
    /// Requests to the path so far.
    pub(crate) fn so_far(&self) -> u64 {
        self.count.load(Relaxed)
    }
}

/// What the connection owes the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// An answer that has not begun.
    Answer,
    /// The rest of an answer that was counted under this status when it began.
    Rest(u16),
}

/// One connection's account. Dropped, it settles: an answer still owed is counted as unanswered, the
/// connection as closed.
#[derive(Debug)]
pub(crate) struct Ledger {
    counts: Arc<Counts>,
    /// The generation in which this connection was counted as accepted, while it is counted.
    counted_in: Option<u64>,
    /// A request that counts has come.
    asked: bool,
    /// The generation of the last request.
    generation: u64,
    owed: Owed,
}

impl Ledger {
    /// Counts a connection as accepted.
    pub(crate) fn open(counts: Arc<Counts>) -> Self {
        let generation = counts.generation();
        let mut ledger = Self { counts, counted_in: None, asked: false, generation, owed: Owed::Nothing };
        ledger.count_connection();
        ledger
    }

    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// A count for the path that is looked up once.
    pub(crate) fn path(&self, name: &str) -> PathCount {
        let (count, generation) = self.counts.path(name);
        PathCount { name: name.to_owned(), count, generation }
    }

    /// A request to `/stats` has come. A connection that has carried nothing else doesn't count.
    pub(crate) fn uncount_connection(&mut self) {
        if self.asked {
            return;
        }
        if let Some(generation) = self.counted_in.take() {
            take_back(&self.counts.connections_open, 1);
            if generation == self.counts.generation() {
                take_back(&self.counts.connections_accepted, 1);
            }
        }
    }

    /// A request has been received whole.
    pub(crate) fn request(&mut self, path: &mut PathCount) {
        if path.generation != self.counts.generation() {
            *path = self.path(&path.name);
        }
        path.count.fetch_add(1, Relaxed);
        self.owe(path.generation);
    }

    /// Something came that is no request, and is answered as such.
    pub(crate) fn malformed(&mut self) {
        self.counts.malformed.fetch_add(1, Relaxed);
        self.owe(self.counts.generation());
    }

    /// Bytes of a request's body were received.
    pub(crate) fn body_received(&self, bytes: usize) {
        self.counts.body_bytes_received.fetch_add(bytes as u64, Relaxed);
    }

    /// The answer owed begins. It counts from here on, so that a client that has seen it finds it counted.
    pub(crate) fn begin(&mut self, status: u16) {
        if self.is_current() {
            self.counts.status(status).fetch_add(1, Relaxed);
        }
        self.owed = Owed::Rest(status);
    }

    /// Bytes of the answer's body are about to be sent.
    pub(crate) fn body_sent(&self, bytes: usize) {
        if self.is_current() {
            self.counts.body_bytes_sent.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// The rest of the answer is in the outbox.
    pub(crate) fn end(&mut self) {
        self.owed = Owed::Nothing;
    }

    /// Nothing is owed: the connection is between requests, or in the middle of one.
    pub(crate) fn is_even(&self) -> bool {
        self.owed == Owed::Nothing
    }

    /// The connection has ended: takes back what the outbox could not send. `partial` says that some of a
    /// request had come.
    pub(crate) fn settle(&mut self, outbox: &Outbox, partial: bool) {
        if partial {
            self.counts.partial.fetch_add(1, Relaxed);
        }
        if !self.is_current() {
            return;
        }
        take_back(&self.counts.body_bytes_sent, outbox.unsent_body_bytes());
        for status in outbox.unsent_answers() {
            self.unanswer(Some(status));
        }
        match self.owed {
            Owed::Nothing => {}
            Owed::Answer => self.unanswer(None),
            Owed::Rest(status) => self.unanswer(Some(status)),
        }
    }

    fn owe(&mut self, generation: u64) {
        self.asked = true;
        if self.counted_in.is_none() {
            self.count_connection();
        }
        self.generation = generation;
        self.owed = Owed::Answer;
    }

    fn count_connection(&mut self) {
        self.counts.connections_accepted.fetch_add(1, Relaxed);
        self.counts.connections_open.fetch_add(1, Relaxed);
        self.counted_in = Some(self.counts.generation());
    }

    fn unanswer(&self, counted: Option<u16>) {
        if let Some(status) = counted {
            take_back(self.counts.status(status), 1);
        }
        self.counts.unanswered.fetch_add(1, Relaxed);
    }

    /// No reset has come since the last request was counted.
    fn is_current(&self) -> bool {
        self.generation == self.counts.generation()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if self.counted_in.is_some() {
            take_back(&self.counts.connections_open, 1);
        }
    }
}
