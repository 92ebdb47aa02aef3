//! Counts of requests.

use volley_stats::{Counters, ErrorCounts, Statuses};

use crate::fields::{required, within};
use crate::limits::{MAX_COUNT, MAX_COUNTED_BYTES};
use crate::{WireError, v1};

impl From<Counters> for v1::Counters {
    fn from(counters: Counters) -> Self {
        let statuses = counters.statuses.sorted().into_iter();
        let mut errors: Vec<_> = counters
            .errors
            .iter()
            .map(|(kind, count)| v1::ErrorCount { kind: v1::ErrorKind::from(kind).into(), count })
            .collect();
        // Their numbers here are not in the order of the phases.
        errors.sort_unstable_by_key(|pair| pair.kind);
        Self {
            started: counters.started,
            ok: counters.ok,
            failed: counters.failed,
            cancelled: counters.cancelled,
            never_sent: counters.never_sent,
            resent: counters.resent,
            bytes_sent: counters.bytes_sent,
            bytes_received: counters.bytes_received,
            body_bytes: counters.body_bytes,
            connections_opened: counters.connections_opened,
            connections_reused: counters.connections_reused,
            connections_closed: counters.connections_closed,
            handshakes: counters.handshakes,
            handshakes_resumed: counters.handshakes_resumed,
            statuses: statuses
                .map(|(status, count)| v1::StatusCount { status: status.into(), count })
                .collect(),
            errors,
        }
    }
}

impl TryFrom<v1::Counters> for Counters {
    type Error = WireError;

    fn try_from(wire: v1::Counters) -> Result<Self, WireError> {
        let count = |value, field| within(value, 0, MAX_COUNT, field);
        let bytes = |value, field| within(value, 0, MAX_COUNTED_BYTES, field);
        Ok(Self {
            started: count(wire.started, "Counters.started")?,
            ok: count(wire.ok, "Counters.ok")?,
            failed: count(wire.failed, "Counters.failed")?,
            cancelled: count(wire.cancelled, "Counters.cancelled")?,
            never_sent: count(wire.never_sent, "Counters.never_sent")?,
            resent: count(wire.resent, "Counters.resent")?,
            bytes_sent: bytes(wire.bytes_sent, "Counters.bytes_sent")?,
            bytes_received: bytes(wire.bytes_received, "Counters.bytes_received")?,
            body_bytes: bytes(wire.body_bytes, "Counters.body_bytes")?,
            connections_opened: count(wire.connections_opened, "Counters.connections_opened")?,
            connections_reused: count(wire.connections_reused, "Counters.connections_reused")?,
            connections_closed: count(wire.connections_closed, "Counters.connections_closed")?,
            handshakes: count(wire.handshakes, "Counters.handshakes")?,
            handshakes_resumed: count(wire.handshakes_resumed, "Counters.handshakes_resumed")?,
            statuses: statuses(&wire.statuses)?,
            errors: errors(&wire.errors)?,
        })
    }
}

/// Ascending, so that none comes twice and there are at most 900.
fn statuses(wire: &[v1::StatusCount]) -> Result<Statuses, WireError> {
    let mut statuses = Statuses::default();
    let mut before = 0;
    for pair in wire {
        let status = within(pair.status.into(), 100, 999, "StatusCount.status")?;
        if status <= before {
            return Err(WireError::Repeated { field: "StatusCount.status" });
        }
        before = status;
        let status = u16::try_from(status).expect("it is at most 999");
        statuses.add(status, within(pair.count, 0, MAX_COUNT, "StatusCount.count")?);
    }
    Ok(statuses)
}

fn errors(wire: &[v1::ErrorCount]) -> Result<ErrorCounts, WireError> {
    let mut errors = ErrorCounts::default();
    let mut before = 0;
    for pair in wire {
        let kind = v1::ErrorKind::try_from(pair.kind).ok().and_then(v1::ErrorKind::domain);
        let kind = required(kind, "ErrorCount.kind")?;
        if pair.kind <= before {
            return Err(WireError::Repeated { field: "ErrorCount.kind" });
        }
        before = pair.kind;
        errors.add(kind, within(pair.count, 0, MAX_COUNT, "ErrorCount.count")?);
    }
    Ok(errors)
}
