//! Reads what was measured of a run from one second up to another.

use std::collections::BTreeSet;

use volley_plan::link::RunId;
use volley_stats::{RowKey, SealedRow, StepId};

use super::Shared;
use crate::document::{Excerpt, end_s};
use crate::store::{Grain, Span, StoreError};

/// Most rows that are read by the second; of more, whole minutes are read as such.
const MAX_SECOND_ROWS: usize = 50_000;

/// Which seconds of a run, and of which steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The first second.
    pub(crate) from_s: u32,
    /// The second after the last; all there are where it isn't said.
    pub(crate) to_s: Option<u32>,
    /// These steps, or all.
    pub(crate) steps: Option<BTreeSet<StepId>>,
}

impl Cut {
    /// The one step that is wanted, where it is one.
    pub(crate) fn only_step(&self) -> Option<StepId> {
        let steps = self.steps.as_ref().filter(|steps| steps.len() == 1)?;
        steps.first().copied()
    }

    /// Whether a row is of what is wanted.
    pub(crate) fn has(&self, key: &RowKey) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(&key.step))
    }
}

/// Seconds that are read in one grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    grain: Grain,
    from_s: u32,
    to_s: u32,
}

/// How a span is read: by the second, or, where that would be too much, by the minute but for what is cut off of the first
/// and the last one.
fn pieces(from_s: u32, to_s: u32, rows_a_second: usize) -> Vec<Piece> {
    let second = |from_s, to_s| Piece { grain: Grain::Second, from_s, to_s };
    let length = to_s.saturating_sub(from_s) as usize;
    let (first, last) = (from_s.next_multiple_of(60), to_s - to_s % 60);
    if length.saturating_mul(rows_a_second) <= MAX_SECOND_ROWS || first >= last {
        return vec![second(from_s, to_s)];
    }
    let minutes = Piece { grain: Grain::Minute, from_s: first, to_s: last };
    let all = [second(from_s, first), minutes, second(last, to_s)];
    all.into_iter().filter(|piece| piece.from_s < piece.to_s).collect()
}

impl Shared {
    /// What was measured in these seconds of a run; `None` if there is no such run.
    pub(crate) async fn excerpt(&self, run: &RunId, cut: Cut) -> Result<Option<Excerpt>, StoreError> {
        let Some(document) = self.document(run).await? else { return Ok(None) };
        let to_s = cut.to_s.unwrap_or_else(|| end_s(&document.progress)).max(cut.from_s);
        let steps = cut.only_step().map_or(document.progress.steps.len(), |_| 1);
        let (mut rows, mut spans) = (Vec::new(), Vec::new());
        for piece in pieces(cut.from_s, to_s.min(end_s(&document.progress)), steps + 1) {
            let all = self.rows_of(run, piece, cut.only_step()).await?;
            rows.extend(all.into_iter().filter(|(key, _)| cut.has(key)));
            spans.extend(self.spans_of(run, piece).await?);
        }
        let plan = document.parsed_plan();
        Ok(Some(Excerpt { document, plan, from_s: cut.from_s, to_s, rows, spans }))
    }

    async fn rows_of(
        &self,
        run: &RunId,
        Piece { grain, from_s, to_s }: Piece,
        step: Option<StepId>,
    ) -> Result<Vec<(RowKey, SealedRow)>, StoreError> {
        self.store.rows(run, grain, from_s, to_s, step).await
    }

    async fn spans_of(
        &self,
        run: &RunId,
        Piece { grain, from_s, to_s }: Piece,
    ) -> Result<Vec<Span>, StoreError> {
        self.store.spans(run, grain, from_s, to_s).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from_s: u32, to_s: u32, rows_a_second: usize, expected: &str) {
        let said = pieces(from_s, to_s, rows_a_second).into_iter().map(|piece| {
            let grain = if piece.grain == Grain::Minute { "m" } else { "s" };
            format!("{grain}{}-{}", piece.from_s, piece.to_s)
        });
        assert_eq!(said.collect::<Vec<_>>().join(" "), expected, "{from_s} to {to_s}");
    }

    #[test]
    fn long_spans_are_read_by_the_minute_where_they_are_whole() {
        check(0, 3_600, 2, "s0-3600");
        check(0, 50_000, 1, "s0-50000");
        check(0, 50_040, 1, "m0-50040");
        check(10, 50_100, 1, "s10-60 m60-50100");
        check(10, 50_101, 1, "s10-60 m60-50100 s50100-50101");
        check(10, 70, 10_000, "s10-70");
        check(0, 0, 1, "s0-0");
    }
}
