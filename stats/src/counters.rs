//! What is counted of requests: outcomes, bytes, connections, statuses and error kinds.

use crate::ErrorKind;

/// Counts of requests by HTTP status of the final answer. Small: a target uses few statuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses(Vec<(u16, u64)>);

impl Statuses {
    /// Counts one answer. The status met last time is found at once.
    pub fn count(&mut self, status: u16) {
        self.add(status, 1);
    }

    /// Counts `n` answers with this status.
    pub fn add(&mut self, status: u16, n: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count = count.saturating_add(n),
            None => self.0.push((status, n)),
        }
    }

    /// Each status with its count, ascending.
    #[must_use]
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut list = self.0.clone();
        list.sort_unstable();
        list
    }

    /// Answers in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for &(status, count) in &other.0 {
            self.add(status, count);
        }
    }
}

/// Counts of failed requests by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCounts([u64; ErrorKind::COUNT]);

impl Default for ErrorCounts {
    fn default() -> Self {
        Self([0; ErrorKind::COUNT])
    }
}

impl ErrorCounts {
    /// Adds `n` failures of this kind.
    pub fn add(&mut self, kind: ErrorKind, n: u64) {
        self.0[kind as usize] = self.0[kind as usize].saturating_add(n);
    }

    /// Failures of this kind.
    #[must_use]
    pub fn get(&self, kind: ErrorKind) -> u64 {
        self.0[kind as usize]
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.iter().map(|&kind| (kind, self.get(kind))).filter(|&(_, count)| count > 0)
    }

    /// Failures in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// Counts of the requests of one step in one span of time.
///
/// `started` is filed by the second in which a request was due, everything else by the second of its completion; so
/// over a whole run, not in one second, `started = ok + failed + cancelled` (and what a lost agent had in flight).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests taken up by a loop.
    pub started: u64,
    /// Requests with a whole answer that the plan allows.
    pub ok: u64,
    /// Requests that ended in an error; each counts one [`ErrorKind`].
    pub failed: u64,
    /// Requests cut off by the end of the run; neither ok nor failed.
    pub cancelled: u64,
    /// Requests that never reached the wire (no connection); a part of `failed` and `cancelled`.
    pub never_sent: u64,
    /// Times an idempotent request was sent again, because its re-used connection had been closed by the target.
    pub resent: u64,
    /// Bytes written to connections.
    pub bytes_sent: u64,
    /// Bytes read from connections, heads and framing included.
    pub bytes_received: u64,
    /// Bytes of bodies as they came over the wire, without framing.
    pub body_bytes: u64,
    /// Connections opened; a TLS handshake that failed on one counts here too.
    pub connections_opened: u64,
    /// Times a request was written on a connection that had served another one before.
    pub connections_reused: u64,
    /// Kept connections that the target closed: while they lay idle, or under a request without a byte of an answer.
    pub connections_closed: u64,
    /// TLS handshakes that were completed.
    pub handshakes: u64,
    /// Those of them that took an earlier session up again.
    pub handshakes_resumed: u64,
    /// Final answers by status.
    pub statuses: Statuses,
    /// Failures by kind.
    pub errors: ErrorCounts,
}

impl Counters {
    /// Adds the counts of another. Sums of absurd claims stay at the highest number rather than wrap.
    pub fn merge(&mut self, other: &Self) {
        self.started = self.started.saturating_add(other.started);
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
        self.never_sent = self.never_sent.saturating_add(other.never_sent);
        self.resent = self.resent.saturating_add(other.resent);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
        self.connections_opened = self.connections_opened.saturating_add(other.connections_opened);
        self.connections_reused = self.connections_reused.saturating_add(other.connections_reused);
        self.connections_closed = self.connections_closed.saturating_add(other.connections_closed);
        self.handshakes = self.handshakes.saturating_add(other.handshakes);
        self.handshakes_resumed = self.handshakes_resumed.saturating_add(other.handshakes_resumed);
        self.statuses.merge(&other.statuses);
        self.errors.merge(&other.errors);
    }

    /// Requests that came to an outcome of the target's: ok or failed.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.ok + self.failed
    }

    /// The share of completed requests that failed, 0 to 1; `None` when none completed.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        let completed = self.completed();
        #[expect(clippy::cast_precision_loss, reason = "a ratio; counts stay far below 2^52")]
        (completed > 0).then(|| self.failed as f64 / completed as f64)
    }

    /// What disagrees within these counts, in words; `None` when all is well. For the counts of a whole run.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.errors.total() != self.failed {
            return Some(format!(
                "{} failed, but the error kinds sum to {}",
                self.failed,
                self.errors.total()
            ));
        }
        let without_status: u64 =
            self.errors.iter().filter(|(kind, _)| !kind.has_status()).map(|(_, n)| n).sum();
        if self.statuses.total() + without_status != self.completed() {
            return Some(format!(
                "{} completed, but statuses ({}) and errors without a status ({without_status}) do not sum to it",
                self.completed(),
                self.statuses.total()
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_disagree_are_named() {
        let mut counters = Counters { started: 3, ok: 2, failed: 1, ..Counters::default() };
        assert!(counters.fault().is_some_and(|fault| fault.contains("error kinds")));
        counters.errors.add(ErrorKind::Status, 1);
        assert!(counters.fault().is_some_and(|fault| fault.contains("statuses")));
        counters.statuses.add(200, 2);
        counters.statuses.count(503);
        assert_eq!(counters.fault(), None);
    }

    #[test]
    fn error_rate_of_nothing_is_none() {
        assert_eq!(Counters::default().error_rate(), None);
        assert_eq!(Counters { ok: 3, failed: 1, ..Counters::default() }.error_rate(), Some(0.25));
    }
}
