//! What is kept of each request that is done.

use volley_agent::{Heard, HeardEnd};
use volley_stats::{ErrorKind, Phase};

/// A request that is done; times in microseconds, which is what ab counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// When it was done, in run time, in nanoseconds.
    pub(super) ended_ns: u64,
    /// From its beginning to its connection; 0 on one that was there.
    pub(super) connect_us: u32,
    /// From its last byte to the first of its answer.
    pub(super) wait_us: u32,
    /// From its beginning to its end.
    pub(super) total_us: u32,
    pub(super) status: u16,
    pub(super) end: End,
    pub(super) is_kept: bool,
    /// Content that came.
    pub(super) body_bytes: u64,
    /// All that came.
    pub(super) received_bytes: u64,
    /// All that was written.
    pub(super) sent_bytes: u64,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With a whole answer.
    Whole,
    /// With less of an answer than was announced, or none, and an orderly end of the connection.
    CutOff,
    /// There was no connection.
    Connect,
    /// The connection broke, or an answer took too long.
    Receive,
    /// The request could not be written to its end.
    Write,
    /// What came was no answer.
    Exception,
}

impl Record {
    /// What is kept of a request; nothing of one that the end of the run cut off.
    pub(super) fn of(heard: &Heard) -> Option<Self> {
        let (status, end) = match heard.end {
            HeardEnd::Answered { status, .. } => (status, End::Whole),
            HeardEnd::Failed(kind) => {
                (0, End::of(kind, heard.connected_ns.is_some(), heard.sent_ns.is_some()))
            }
            HeardEnd::Cancelled => return None,
        };
        let connected_ns = heard.connected_ns.unwrap_or(heard.ended_ns);
        let wait_ns = match (heard.sent_ns, heard.first_byte_ns) {
            (Some(sent_ns), Some(first_byte_ns)) => first_byte_ns.saturating_sub(sent_ns),
            _ => 0,
        };
        Some(Self {
            ended_ns: heard.ended_ns,
            connect_us: microseconds(connected_ns.saturating_sub(heard.started_ns)),
            wait_us: microseconds(wait_ns),
            total_us: microseconds(heard.ended_ns.saturating_sub(heard.started_ns)),
            status,
            end,
            is_kept: heard.is_kept,
            body_bytes: heard.body_bytes,
            received_bytes: heard.bytes_received,
            sent_bytes: heard.bytes_sent,
        })
    }

    /// From its connection to its end.
    pub(super) fn processing_us(&self) -> u32 {
        self.total_us.saturating_sub(self.connect_us)
    }

    pub(super) fn is_2xx(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl End {
    fn of(kind: ErrorKind, is_connected: bool, is_sent: bool) -> Self {
        match kind {
            ErrorKind::ClosedEarly | ErrorKind::Truncated if is_sent => Self::CutOff,
            ErrorKind::Reset | ErrorKind::Write | ErrorKind::ClosedEarly if is_connected && !is_sent => {
                Self::Write
            }
            ErrorKind::Protocol | ErrorKind::Decode => Self::Exception,
            _ if !is_connected || kind.phase() == Phase::Connect => Self::Connect,
            _ => Self::Receive,
        }
    }
}

/// A time beyond an hour and eleven minutes is one of that length.
fn microseconds(nanoseconds: u64) -> u32 {
    u32::try_from(nanoseconds / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A request that was answered with 200 and `hello`, after so long.
    pub(in crate::ab) fn answered(total_us: u32) -> Record {
        Record {
            ended_ns: 0,
            connect_us: 0,
            wait_us: 0,
            total_us,
            status: 200,
            end: End::Whole,
            is_kept: false,
            body_bytes: 5,
            received_bytes: 77,
            sent_bytes: 80,
        }
    }

    fn heard(end: HeardEnd) -> Heard {
        Heard {
            started_ns: 1_000_000,
            connected_ns: Some(1_200_999),
            sent_ns: Some(1_300_000),
            first_byte_ns: Some(1_900_000),
            ended_ns: 2_000_000,
            bytes_sent: 80,
            bytes_received: 77,
            body_bytes: 5,
            is_kept: true,
            end,
        }
    }

    #[test]
    fn times_are_those_between_the_marks() {
        let end = HeardEnd::Answered { status: 404, fault: None };
        let record = Record::of(&heard(end)).unwrap();
        let times = (record.connect_us, record.wait_us, record.total_us, record.processing_us());
        assert_eq!(times, (200, 600, 1_000, 800));
        assert_eq!((record.status, record.end, record.is_2xx()), (404, End::Whole, false));
        let late = Heard { ended_ns: u64::MAX, ..heard(end) };
        assert_eq!(Record::of(&late).unwrap().total_us, u32::MAX);
    }

    #[test]
    fn records_are_small() {
        assert_eq!(size_of::<Record>(), 48, "as docs/ab.md says");
    }

    #[test]
    fn what_the_end_of_the_run_cut_off_is_not_done() {
        assert_eq!(Record::of(&heard(HeardEnd::Cancelled)), None);
    }

    #[test]
    fn failures_are_told_apart_by_where_they_happened() {
        let check = |kind: ErrorKind, connected: bool, sent: bool, expected: End| {
            let mut heard = heard(HeardEnd::Failed(kind));
            heard.connected_ns = heard.connected_ns.filter(|_| connected);
            heard.sent_ns = heard.sent_ns.filter(|_| sent);
            assert_eq!(Record::of(&heard).unwrap().end, expected, "{kind:?} {connected} {sent}");
        };
        check(ErrorKind::ConnectRefused, false, false, End::Connect);
        check(ErrorKind::Tls, false, false, End::Connect);
        check(ErrorKind::Reset, false, false, End::Connect);
        check(ErrorKind::Reset, true, true, End::Receive);
        check(ErrorKind::Reset, true, false, End::Write);
        check(ErrorKind::Write, true, false, End::Write);
        check(ErrorKind::ClosedEarly, true, true, End::CutOff);
        check(ErrorKind::Truncated, true, true, End::CutOff);
        check(ErrorKind::TotalTimeout, true, true, End::Receive);
        check(ErrorKind::TotalTimeout, true, false, End::Receive);
        check(ErrorKind::Protocol, true, true, End::Exception);
    }
}
