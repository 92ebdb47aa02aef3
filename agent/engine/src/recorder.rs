//! What a worker writes down: one window at a time, handed to the reporter when its second is over.
//!
//! Every entry comes with its time, and a worker's times never run backwards, so at any moment a worker fills one
//! second only and an entry of a later one closes it. Nothing is shared: the reporter gets the whole window and sends
//! back a cleared one, so that no memory is taken once the first two are there.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};

use volley_stats::{ErrorKind, Row, SECOND_NS, Second};

use crate::control::NEVER;
use crate::http1::Outcome;
use crate::reporter::ToReporter;

/// One worker's results of one second.
#[derive(Debug, Default)]
pub(crate) struct WorkerWindow {
    /// By step.
    pub(crate) rows: Vec<Row>,
    pub(crate) scalars: Second,
    /// Run time of the latest completion; 0 without any.
    pub(crate) latest_ns: u64,
}

impl WorkerWindow {
    pub(crate) fn new(steps: usize) -> Self {
        Self { rows: vec![Row::default(); steps], scalars: Second::default(), latest_ns: 0 }
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows.iter_mut().for_each(Row::clear);
        self.scalars = Second::default();
        self.latest_ns = 0;
    }
}

/// A number of things that there are at the moment.
#[derive(Debug, Default)]
pub(crate) struct Gauge(Cell<u32>);

impl Gauge {
    pub(crate) fn get(&self) -> u32 {
        self.0.get()
    }

    pub(crate) fn up(&self) {
        self.0.set(self.0.get() + 1);
    }

    pub(crate) fn down(&self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What there is of one worker at the moment.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) users: Gauge,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a whole answer.
    Answered(Outcome),
    /// Without one.
    Failed(ErrorKind),
    /// By the end of the run.
    Cancelled,
}

/// What one request put on the wire and took from it, in all its attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) resent: u64,
}

/// Where a recorder's windows go, and where cleared ones come from.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) worker: usize,
    pub(crate) to_reporter: Sender<ToReporter>,
    pub(crate) cleared: Receiver<WorkerWindow>,
}

/// The window at hand of one worker.
#[derive(Debug)]
pub(crate) struct Recorder {
    gauges: Rc<Gauges>,
    outbox: Outbox,
    start_ns: u64,
    second: u32,
    /// When the second ends; [`NEVER`] before the run's start.
    end_ns: u64,
    window: WorkerWindow,
    /// Users at the beginning of the second: in the last one they leave, and were there.
    users: u32,
}

impl Recorder {
    pub(crate) fn new(gauges: Rc<Gauges>, outbox: Outbox, steps: usize) -> Self {
        let window = WorkerWindow::new(steps);
        Self { gauges, outbox, start_ns: NEVER, second: 0, end_ns: NEVER, window, users: 0 }
    }

    /// Run time begins.
    pub(crate) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.end_ns = start_ns + SECOND_NS;
        self.users = self.gauges.users.get();
    }

    /// When the second at hand is over.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Closes the second at hand if it is over.
    #[inline]
    pub(crate) fn roll(&mut self, now_ns: u64) {
        if now_ns >= self.end_ns {
            self.next_second(now_ns);
        }
    }

    #[cold]
    fn next_second(&mut self, now_ns: u64) {
        let next = u32::try_from((now_ns - self.start_ns) / SECOND_NS).unwrap_or(u32::MAX);
        self.hand_over(Some(next));
        self.second = next;
        self.end_ns = self.start_ns + (u64::from(next) + 1) * SECOND_NS;
        self.users = self.gauges.users.get();
    }

    /// Closes the second at hand for good, if run time has begun. Nothing may be recorded any more.
    pub(crate) fn finish(&mut self) {
        if self.end_ns != NEVER {
            self.hand_over(None);
        }
    }

    fn hand_over(&mut self, next: Option<u32>) {
        self.window.scalars.users = self.users;
        self.window.scalars.in_flight = self.gauges.in_flight.get();
        self.window.scalars.connections = self.gauges.connections.get();
        let steps = self.window.rows.len();
        let cleared = self.outbox.cleared.try_recv().unwrap_or_else(|_| WorkerWindow::new(steps));
        let window = std::mem::replace(&mut self.window, cleared);
        let (worker, second) = (self.outbox.worker, self.second);
        // A reporter that is gone has nobody left to report to.
        let _ = self.outbox.to_reporter.send(ToReporter::Window { worker, second, next, window });
    }

    pub(crate) fn iteration_started(&mut self, now_ns: u64) {
        self.roll(now_ns);
        self.window.scalars.iterations.started += 1;
    }

    /// All steps of an iteration are done.
    pub(crate) fn iteration_finished(&mut self, now_ns: u64) {
        self.roll(now_ns);
        self.window.scalars.iterations.finished += 1;
    }

    pub(crate) fn request_started(&mut self, step: usize, now_ns: u64) {
        self.roll(now_ns);
        self.gauges.in_flight.up();
        self.window.rows[step].counters.started += 1;
    }

    pub(crate) fn connection_opened(&mut self, step: usize, now_ns: u64) {
        self.roll(now_ns);
        self.window.rows[step].counters.connections_opened += 1;
    }

    /// Files a request under the second that `now_ns` is in.
    pub(crate) fn request_ended(
        &mut self,
        step: usize,
        start_ns: u64,
        now_ns: u64,
        traffic: Traffic,
        ending: Ending,
    ) {
        self.roll(now_ns);
        self.gauges.in_flight.down();
        let row = &mut self.window.rows[step];
        row.counters.bytes_sent += traffic.bytes_sent;
        row.counters.bytes_received += traffic.bytes_received;
        row.counters.resent += traffic.resent;
        if ending != Ending::Cancelled {
            self.window.latest_ns = now_ns - self.start_ns;
        }
        match ending {
            Ending::Answered(outcome) => answered(row, outcome, now_ns - start_ns),
            Ending::Failed(kind) => {
                row.counters.never_sent += u64::from(traffic.bytes_sent == 0);
                failed(row, kind, now_ns - start_ns);
            }
            Ending::Cancelled => {
                row.counters.never_sent += u64::from(traffic.bytes_sent == 0);
                row.counters.cancelled += 1;
            }
        }
    }
}

#[inline]
fn answered(row: &mut Row, outcome: Outcome, latency_ns: u64) {
    row.counters.statuses.count(outcome.status);
    row.counters.body_bytes += outcome.body_bytes;
    if outcome.status >= 400 {
        failed(row, ErrorKind::Status, latency_ns);
    } else {
        row.counters.ok += 1;
        row.latency.record(latency_ns);
    }
}

fn failed(row: &mut Row, kind: ErrorKind, latency_ns: u64) {
    row.counters.failed += 1;
    row.counters.errors.add(kind, 1);
    row.failed_latency.record(latency_ns);
}
