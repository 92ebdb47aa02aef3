//! What a report is made from, and how it is read.

use std::collections::BTreeMap;
use std::ops::Range;

use volley_stats::{DecodeError, Part, Row, RowKey, SealedRow, StepId, TotalRow};
use volley_web::stream::Tick;

use crate::document::{RunDocument, end_s};
use crate::past;
use crate::publish::BY_SECOND_S;
use crate::store::{Grain, SharedSeries, Store, StoreError};

/// Most rows that are read by the second; a run with more is told by the minute.
const MAX_SECOND_ROWS: u64 = 50_000;

/// All that is kept of a run that is over.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its document.
    pub document: RunDocument,
    /// The measured part, all steps together.
    pub whole: TotalRow,
    /// The measured part by step. In their small form: hundreds of open ones would take a hundred megabytes.
    pub steps: BTreeMap<StepId, SealedRow>,
    /// The measured part over time, ascending. They add up to the whole.
    pub intervals: Vec<Interval>,
    /// What its charts draw.
    pub ticks: Vec<Tick>,
}

/// What was measured in a second or a minute, all steps together.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// From which second of run time on, and up to which, exclusive.
    pub seconds: Range<u32>,
    /// What happened.
    pub row: SealedRow,
}

impl Recording {
    /// Reads what a store has of a run.
    pub(crate) async fn read(store: &dyn Store, document: RunDocument) -> Result<Self, StoreError> {
        let run = document.id.clone();
        let series = store.series(&run).await?;
        let grain = grain(&document);
        let rows = store.rows(&run, grain, 0, u32::MAX, None).await?;
        let ticks = past::ticks(store, &document).await?;
        past::blocking(move || {
            let damaged = |error: DecodeError| StoreError::Damaged { run, source: error.into() };
            let intervals = intervals(grain, rows).map_err(damaged)?;
            let (whole, steps) = totals(&series);
            Ok(Self { document, whole, steps, intervals, ticks })
        })
        .await
    }
}

/// By the second, as charts are, but for a run that is long or has many steps.
fn grain(document: &RunDocument) -> Grain {
    let length_s = end_s(&document.progress);
    let rows = u64::from(length_s) * (document.progress.steps.len() as u64 + 1);
    if length_s > BY_SECOND_S || rows > MAX_SECOND_ROWS { Grain::Minute } else { Grain::Second }
}

fn totals(series: &SharedSeries) -> (TotalRow, BTreeMap<StepId, SealedRow>) {
    let series = series.lock();
    (series.whole(), series.totals().map(|(step, row)| (step, row.seal())).collect())
}

/// The rows of the measured part by the time that they begin in. A row that an agent made of several seconds stays whole.
fn intervals(grain: Grain, mut rows: Vec<(RowKey, SealedRow)>) -> Result<Vec<Interval>, DecodeError> {
    rows.retain(|(key, _)| key.part == Part::Measured);
    rows.sort_unstable_by_key(|(key, _)| *key);
    let begin = |key: &RowKey| grain.begin(key.from_s);
    let alike = rows.chunk_by(|(one, _), (other, _)| begin(one) == begin(other));
    let interval = |rows: &[(RowKey, SealedRow)]| {
        let mut sum = Row::<u64>::default();
        rows.iter().try_for_each(|(_, row)| sum.merge_sealed(row))?;
        let from_s = rows.first().map_or(0, |(key, _)| begin(key));
        let to_s = rows.iter().map(|(key, _)| key.to_s).max().unwrap_or(0).max(from_s + grain.seconds());
        Ok(Interval { seconds: from_s..to_s, row: sum.seal() })
    };
    alike.map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(from_s: u32, to_s: u32, step: StepId, part: Part, latency_ns: u64) -> (RowKey, SealedRow) {
        let mut row = Row::<u32>::default();
        row.latency.record(latency_ns);
        (RowKey { from_s, to_s, step, part }, row.seal())
    }

    #[test]
    fn intervals_are_of_what_is_measured_and_lose_nothing() {
        let rows = vec![
            row(61, 62, 0, Part::Measured, 5),
            row(0, 1, 0, Part::Warmup, 1),
            row(1, 2, 1, Part::Measured, 3),
            row(1, 2, 0, Part::Measured, 2),
            row(3, 9, 0, Part::Measured, 4),
        ];
        let check = |grain, expected: &[(Range<u32>, u64)]| {
            let told = intervals(grain, rows.clone()).unwrap();
            let told = told.into_iter().map(|interval| {
                (interval.seconds.clone(), interval.row.open::<u64>().unwrap().latency.count())
            });
            assert_eq!(told.collect::<Vec<_>>(), expected);
        };
        check(Grain::Second, &[(1..2, 2), (3..9, 1), (61..62, 1)]);
        check(Grain::Minute, &[(0..60, 3), (60..120, 1)]);
    }
}
