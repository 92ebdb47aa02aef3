//! What a slot tells somebody who listens.

use super::Slot;
use crate::connection::Connection;
use crate::listener::{Heard, HeardAnswer, HeardEnd, HeardTls};
use crate::recorder::Ending;
use crate::worker::Worker;

impl Slot {
    /// Tells of the request at hand, which is over; says whether its answer was shown too.
    #[cold]
    pub(super) fn tell(&mut self, worker: &Worker, ending: Ending) -> bool {
        let Some(listener) = &worker.listener else { return false };
        listener.ended(worker.index, &self.heard(worker, ending));
        let shows = ending.is_answered() && self.exchange.listens();
        if shows {
            self.was_heard = true;
            let answer = self.exchange.take_heard();
            listener.answered(worker.index, &self.answer(worker, &answer, self.settled().as_ref()));
        }
        shows
    }

    fn settled(&self) -> Option<HeardTls> {
        self.connection.as_ref().and_then(Connection::settled)
    }

    fn answer<'a>(
        &'a self,
        worker: &'a Worker,
        answer: &'a [u8],
        tls: Option<&'a HeardTls>,
    ) -> HeardAnswer<'a> {
        let outcome = self.exchange.outcome();
        let request = &worker.requests[self.asked.step].request;
        let head = usize::try_from(request.head_bytes()).ok().and_then(|head| request.bytes().get(..head));
        HeardAnswer {
            request_head: head.unwrap_or_default(),
            answer,
            head_bytes: outcome.head_bytes,
            status: outcome.status,
            ended_ns: worker.run_ns(self.now_ns),
            tls,
        }
    }

    fn heard(&self, worker: &Worker, ending: Ending) -> Heard {
        let (marks, outcome) = (self.exchange.marks(), self.exchange.outcome());
        // Where there never was a connection, the marks are an earlier request's.
        let is_this = marks.sending_ns >= self.asked.taken_ns && marks.sending_ns > 0;
        let at = |at_ns: u64| is_this.then(|| worker.run_ns(at_ns));
        Heard {
            started_ns: worker.run_ns(self.asked.taken_ns),
            connected_ns: at(marks.sending_ns),
            sent_ns: marks.sent_ns.and_then(at),
            first_byte_ns: Some(marks.first_byte_ns).filter(|at_ns| *at_ns > 0).and_then(at),
            ended_ns: worker.run_ns(self.now_ns),
            bytes_sent: self.traffic.bytes_sent,
            bytes_received: self.traffic.bytes_received,
            body_bytes: if is_this { self.exchange.body_bytes() } else { 0 },
            is_kept: ending.is_answered() && outcome.reusable,
            end: match ending {
                Ending::Answered { fault } => HeardEnd::Answered { status: outcome.status, fault },
                Ending::Failed(kind) => HeardEnd::Failed(kind),
                Ending::Cancelled => HeardEnd::Cancelled,
            },
        }
    }
}
