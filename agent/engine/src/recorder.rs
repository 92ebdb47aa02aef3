//! What a worker writes down: one window at a time, handed to the reporter when its second is over.
//!
//! A worker's times never run backwards, so at any moment it fills one second only; [`Recorder::roll`] closes it. The
//! few entries that belong to an earlier second are kept beside it. Nothing is shared: the reporter gets the whole window
//! and sends back a cleared one, so that no memory is taken once the first two are there.

mod gauges;
mod tallies;
mod window;

#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};

use volley_stats::{ErrorKind, Part, Row, SECOND_NS, Timed, Timing};

use crate::control::NEVER;
use crate::dial::{Dialled, Handshake, Opened};
use crate::exchange::Marks;
use crate::http1::Outcome;
use crate::reporter::ToReporter;

pub(crate) use gauges::Gauges;
pub(crate) use tallies::{Tallies, Tally};
pub(crate) use window::{Earlier, WorkerWindow, add_iterations};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a whole answer, and what is wrong with that.
    Answered { fault: Option<ErrorKind> },
    /// Without one.
    Failed(ErrorKind),
    /// By the end of the run.
    Cancelled,
}

impl Ending {
    /// Whether a whole answer came, good or bad.
    #[inline]
    pub(crate) fn is_answered(self) -> bool {
        matches!(self, Self::Answered { .. })
    }
}

/// What one request put on the wire and took from it, in all its attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) resent: u64,
    /// Attempts that were written on a connection that had served before.
    pub(crate) connections_reused: u64,
    /// Connections that had served before and that the target closed: while they lay idle, or under an attempt.
    pub(crate) connections_closed: u64,
}

/// A request and the times that it counts from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) step: usize,
    pub(crate) part: Part,
    /// From when its latency counts.
    pub(crate) due_ns: u64,
    /// When the loop took it up: from when its service time counts.
    pub(crate) taken_ns: u64,
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) asked: Asked,
    pub(crate) at_ns: u64,
    /// How long it waited for a connection, where it had to.
    pub(crate) waited_ns: Option<u64>,
    /// How long the parts of its connection took, where it had to wait for one to be opened.
    pub(crate) opened: Option<Opened>,
    /// When the last attempt was where.
    pub(crate) marks: Marks,
    pub(crate) traffic: Traffic,
    pub(crate) ending: Ending,
    /// The answer, where it was answered.
    pub(crate) outcome: Outcome,
}

/// Where a recorder's windows go, and where cleared ones come from.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) worker: usize,
    pub(crate) to_reporter: Sender<ToReporter>,
    pub(crate) cleared: Receiver<Box<WorkerWindow>>,
}

/// The window at hand of one worker. Whoever makes an entry has rolled to its time before.
#[derive(Debug)]
pub(crate) struct Recorder {
    gauges: Rc<Gauges>,
    outbox: Outbox,
    /// Whether service time differs from latency: in the open model.
    has_due_times: bool,
    start_ns: u64,
    /// The second that this engine begins in.
    first: u32,
    second: u32,
    /// When the second began and when it ends; [`NEVER`] before the run's start.
    from_ns: u64,
    end_ns: u64,
    window: Box<WorkerWindow>,
    /// Users at the beginning of the second, by the plan: in the last one they leave, and were there.
    users: u32,
}

impl Recorder {
    pub(crate) fn new(gauges: Rc<Gauges>, outbox: Outbox, steps: usize, has_due_times: bool) -> Self {
        Self {
            gauges,
            outbox,
            has_due_times,
            start_ns: NEVER,
            first: 0,
            second: 0,
            from_ns: NEVER,
            end_ns: NEVER,
            window: Box::new(WorkerWindow::new(steps)),
            users: 0,
        }
    }

    /// Run time begins, as far as this engine has anything to do with it: at `from_ns`. In the second that this is in the
    /// middle of, there were no users here when it began.
    pub(crate) fn begin(&mut self, start_ns: u64, from_ns: u64) {
        self.start_ns = start_ns;
        self.first = self.second_of(start_ns.saturating_add(from_ns));
        self.enter_second(self.first);
        if !from_ns.is_multiple_of(SECOND_NS) {
            self.users = 0;
        }
    }

    fn enter_second(&mut self, second: u32) {
        self.second = second;
        self.from_ns = self.start_ns + u64::from(second) * SECOND_NS;
        self.end_ns = self.from_ns + SECOND_NS;
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
        let next = self.second_of(now_ns);
        self.hand_over(Some(next));
        self.enter_second(next);
    }

    fn second_of(&self, at_ns: u64) -> u32 {
        u32::try_from(at_ns.saturating_sub(self.start_ns) / SECOND_NS).unwrap_or(u32::MAX)
    }

    /// Closes the second at hand for good, if run time has begun. Nothing may be recorded any more. A run that ends with
    /// a second, as most do, has nothing to say of the next one.
    pub(crate) fn finish(&mut self) {
        let is_empty = self.window.is_empty() && self.gauges.tallies.is_empty();
        if self.end_ns != NEVER && (self.second == self.first || !is_empty) {
            self.hand_over(None);
        }
    }

    /// A user's time has come. Whoever was to be there when the second began counts in it, if it came a moment later.
    pub(crate) fn user_came(&mut self, at_ns: u64) {
        self.users += u32::from(at_ns <= self.from_ns);
    }

    /// A user's time is over. Whoever was to be gone when the second began doesn't count in it.
    pub(crate) fn user_went(&mut self, at_ns: u64) {
        self.users -= u32::from(at_ns <= self.from_ns);
    }

    fn hand_over(&mut self, next: Option<u32>) {
        self.window.scalars.users = self.users;
        self.window.scalars.in_flight = self.gauges.in_flight.get();
        self.window.scalars.connections = self.gauges.connections.get();
        self.gauges.tallies.take_into(&mut self.window.addresses);
        let steps = self.window.steps();
        let cleared = self.outbox.cleared.try_recv().unwrap_or_else(|_| Box::new(WorkerWindow::new(steps)));
        let window = std::mem::replace(&mut self.window, cleared);
        let (worker, second) = (self.outbox.worker, self.second);
        // A reporter that is gone has nobody left to report to.
        let _ = self.outbox.to_reporter.send(ToReporter::Window { worker, second, next, window });
    }

    /// An iteration is taken up that was due at `due_ns`, and with it the request that it begins with.
    #[inline]
    pub(crate) fn iteration_started(&mut self, due_ns: u64, part: Part, first: Option<usize>) {
        if first.is_some() {
            self.gauges.in_flight.up();
        }
        if due_ns < self.from_ns {
            return self.note_earlier(Earlier {
                second: self.second_of(due_ns),
                part,
                step: first,
                started: 1,
                missed: 0,
            });
        }
        self.window.iterations(part).started += 1;
        if let Some(step) = first {
            self.window.row(part, step).counters.started += 1;
        }
    }

    /// An iteration that was due at `due_ns` is not sent by anybody.
    pub(crate) fn iteration_missed(&mut self, due_ns: u64, part: Part) {
        if due_ns < self.from_ns {
            return self.note_earlier(Earlier {
                second: self.second_of(due_ns),
                part,
                step: None,
                started: 0,
                missed: 1,
            });
        }
        self.window.iterations(part).missed += 1;
    }

    #[cold]
    fn note_earlier(&mut self, entry: Earlier) {
        match self.window.earlier.last_mut() {
            Some(last) if last.is_like(&entry) => last.add(&entry),
            _ => self.window.earlier.push(entry),
        }
    }

    /// All steps of an iteration are done.
    #[inline]
    pub(crate) fn iteration_finished(&mut self, part: Part) {
        self.window.iterations(part).finished += 1;
    }

    /// A further request of an iteration is taken up, now.
    #[inline]
    pub(crate) fn request_started(&mut self, step: usize, part: Part) {
        self.gauges.in_flight.up();
        self.window.row(part, step).counters.started += 1;
    }

    /// An attempt at a connection for this step is over.
    pub(crate) fn dialled(&mut self, step: usize, part: Part, dialled: &Dialled) {
        let counters = &mut self.window.row(part, step).counters;
        counters.connections_opened += dialled.opened;
        counters.handshakes += u64::from(dialled.handshake.is_some());
        counters.handshakes_resumed += u64::from(dialled.handshake == Some(Handshake::Resumed));
    }

    /// An iteration was taken up so long after it was due.
    #[inline]
    pub(crate) fn lagged(&mut self, part: Part, lag_ns: u64) {
        self.window.timing(part).record(Timed::Lag, lag_ns);
    }

    /// The worker's loop came round so much too late.
    pub(crate) fn stalled(&mut self, late_ns: u64) {
        self.window.stall_max_ns = self.window.stall_max_ns.max(late_ns);
    }

    /// The worker polled so long for want of work.
    pub(crate) fn polled(&mut self, polled_ns: u64) {
        self.window.polled_ns += polled_ns;
    }

    /// Files a request under the second that its end is in.
    #[inline]
    pub(crate) fn request_ended(&mut self, ended: &Ended) {
        let Ended { asked, traffic, at_ns, .. } = ended;
        let latency_ns = at_ns - asked.due_ns;
        self.gauges.in_flight.down();
        let results = self.window.results(asked.part);
        let row = &mut results.rows[asked.step];
        row.counters.bytes_sent += traffic.bytes_sent;
        row.counters.bytes_received += traffic.bytes_received;
        row.counters.resent += traffic.resent;
        row.counters.connections_reused += traffic.connections_reused;
        row.counters.connections_closed += traffic.connections_closed;
        match ended.ending {
            Ending::Answered { fault } => {
                if answered(row, &ended.outcome, fault, latency_ns) && self.has_due_times {
                    row.service_time.record(at_ns - asked.taken_ns);
                }
                phases(&mut results.timing, ended);
            }
            Ending::Failed(kind) => {
                row.counters.never_sent += u64::from(traffic.bytes_sent == 0);
                failed(row, kind, latency_ns);
            }
            Ending::Cancelled => {
                row.counters.never_sent += u64::from(traffic.bytes_sent == 0);
                row.counters.cancelled += 1;
                row.cancelled_age.record(latency_ns);
                return;
            }
        }
        self.window.latest_ns = at_ns - self.start_ns;
    }
}

/// Counts an answer, in which this is wrong; says whether it is ok.
#[inline]
fn answered(row: &mut Row, outcome: &Outcome, fault: Option<ErrorKind>, latency_ns: u64) -> bool {
    row.counters.statuses.count(outcome.status);
    row.counters.body_bytes += outcome.body_bytes;
    match fault {
        None => {
            row.counters.ok += 1;
            row.latency.record(latency_ns);
        }
        Some(kind) => failed(row, kind, latency_ns),
    }
    fault.is_none()
}

fn failed(row: &mut Row, kind: ErrorKind, latency_ns: u64) {
    row.counters.failed += 1;
    row.counters.errors.add(kind, 1);
    row.failed_latency.record(latency_ns);
}

/// The phases that an answered request had. One that was answered before it was sent whole has no first byte to wait for.
#[inline]
fn phases(timing: &mut Timing, ended: &Ended) {
    let Marks { sending_ns, sent_ns, first_byte_ns } = ended.marks;
    if let Some(waited_ns) = ended.waited_ns {
        timing.record(Timed::Wait, waited_ns);
    }
    if let Some(opened) = &ended.opened {
        openings(timing, opened);
    }
    if let Some(sent_ns) = sent_ns {
        timing.record(Timed::Send, sent_ns - sending_ns);
        timing.record(Timed::FirstByte, first_byte_ns.saturating_sub(sent_ns));
    }
    timing.record(Timed::Receive, ended.at_ns.saturating_sub(first_byte_ns));
}

fn openings(timing: &mut Timing, opened: &Opened) {
    if let Some(resolving_ns) = opened.resolving_ns {
        timing.record(Timed::Resolve, resolving_ns);
    }
    timing.record(Timed::Connect, opened.connecting_ns);
    if let Some(tls_ns) = opened.tls_ns {
        timing.record(Timed::Tls, tls_ns);
    }
}
