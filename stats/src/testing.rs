//! Rows of every kind, for property tests.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Counters, ErrorKind, Row, Timed};

/// Durations of every size, those beyond a histogram's bounds included.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    vec(
        prop_oneof![0u64..40, 1_000u64..10_000_000_000, 59_900_000_000u64..60_100_000_000, any::<u64>()],
        0..8,
    )
}

/// A row of one step: as many histogram values as the counters say.
pub(crate) fn step_row() -> impl Strategy<Value = Row> {
    (durations(), durations(), durations(), any::<bool>()).prop_map(|(ok, failed, cancelled, is_open)| {
        let mut row = Row { counters: counters(&ok, &failed, &cancelled), ..Row::default() };
        for ns in ok {
            row.latency.record(ns);
            if is_open {
                row.service_time.record(ns / 2);
            }
        }
        failed.into_iter().for_each(|ns| row.failed_latency.record(ns));
        cancelled.into_iter().for_each(|ns| row.cancelled_age.record(ns));
        row
    })
}

fn counters(ok: &[u64], failed: &[u64], cancelled: &[u64]) -> Counters {
    let mut counters = Counters {
        started: (ok.len() + failed.len() + cancelled.len()) as u64,
        ok: ok.len() as u64,
        failed: failed.len() as u64,
        cancelled: cancelled.len() as u64,
        ..Counters::default()
    };
    counters.statuses.add(200, counters.ok);
    counters.errors.add(ErrorKind::ConnectRefused, counters.failed);
    counters
}

/// A row of all steps together: nothing but what is timed.
pub(crate) fn timing_row() -> impl Strategy<Value = Row> {
    vec((prop::sample::select(Timed::ALL), durations()), 0..6).prop_map(|all| {
        let mut row = Row::default();
        for (timed, durations) in all {
            durations.into_iter().for_each(|ns| row.timing.record(timed, ns));
        }
        row
    })
}

/// A row of either kind.
pub(crate) fn row() -> impl Strategy<Value = Row> {
    prop_oneof![step_row(), timing_row()]
}
