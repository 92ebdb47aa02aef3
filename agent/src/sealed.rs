//! Windows in their small form, as they wait in the journal: an open histogram takes a hundred kilobytes, a sealed one
//! a few.

use std::collections::BTreeMap;

use volley_stats::{Part, Row, RowKey, SealedRow, Second, StepId, Window};

/// Most seconds that a window keeps the scalars of; the oldest are folded into later ones.
const MAX_SECONDS: usize = 3_600;

/// A window whose histograms are bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SealedWindow {
    rows: BTreeMap<RowKey, SealedRow>,
    seconds: BTreeMap<u32, Second>,
    watermark_s: u32,
    latest_ns: u64,
}

impl SealedWindow {
    pub(crate) fn of(window: &Window) -> Self {
        Self {
            rows: window.rows.iter().map(|(key, row)| (*key, row.seal())).collect(),
            seconds: window.seconds.clone(),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
        }
    }

    pub(crate) fn open(&self) -> Window {
        let open = |row: &SealedRow| row.open().expect("a histogram that this process sealed opens again");
        Window {
            rows: self.rows.iter().map(|(key, row)| (*key, open(row))).collect(),
            seconds: self.seconds.clone(),
            watermark_s: self.watermark_s,
            latest_ns: self.latest_ns,
        }
    }

    /// One window that says what this one and a `later` one of the same agent say, with one row for each step and part.
    pub(crate) fn coarser(&self, later: &Self) -> Self {
        let mut merged: BTreeMap<(StepId, Part), (RowKey, Row)> = BTreeMap::new();
        for (key, row) in self.open().rows.iter().chain(&later.open().rows) {
            let (span, sum) = merged.entry((key.step, key.part)).or_insert_with(|| (*key, Row::default()));
            span.from_s = span.from_s.min(key.from_s);
            span.to_s = span.to_s.max(key.to_s);
            sum.merge(row);
        }
        Self {
            rows: merged.into_values().map(|(key, row)| (key, row.seal())).collect(),
            seconds: merged_seconds(&self.seconds, &later.seconds),
            watermark_s: self.watermark_s.max(later.watermark_s),
            latest_ns: self.latest_ns.max(later.latest_ns),
        }
    }
}

fn merged_seconds(one: &BTreeMap<u32, Second>, other: &BTreeMap<u32, Second>) -> BTreeMap<u32, Second> {
    let mut merged = one.clone();
    for (second, scalars) in other {
        merged.entry(*second).or_default().merge(scalars);
    }
    while merged.len() > MAX_SECONDS {
        fold_oldest(&mut merged);
    }
    merged
}

/// Adds the oldest second's iterations to the next one's. Users and connections are of a moment, so they go.
fn fold_oldest(seconds: &mut BTreeMap<u32, Second>) {
    let oldest = seconds.pop_first();
    if let (Some((_, oldest)), Some(mut next)) = (oldest, seconds.first_entry()) {
        next.get_mut().merge(&Second { iterations: oldest.iterations, ..Second::default() });
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use volley_stats::Series;

    use super::*;
    use crate::testing::window;

    /// Latencies of every size, those beyond a histogram's bounds included.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        vec(
            prop_oneof![0u64..40, 1_000u64..10_000_000_000, 59_900_000_000u64..60_100_000_000, any::<u64>()],
            0..6,
        )
    }

    proptest! {
        #[test]
        fn merging_keeps_totals_and_what_is_sealed_opens(all in vec((0u32..90, latencies()), 1..8)) {
            let windows: Vec<Window> = all.iter().map(|(second, latencies)| window(*second, latencies)).collect();
            let sealed = windows.iter().map(SealedWindow::of).reduce(|sum, next| sum.coarser(&next));
            let coarse = sealed.expect("there is one at least").open();
            let (mut fine, mut merged) = (Series::default(), Series::default());
            for window in &windows {
                fine.add(window).expect("a good window");
            }
            merged.add(&coarse).expect("a good window");
            prop_assert_eq!(fine.whole(), merged.whole());
            prop_assert_eq!(fine.iterations(), merged.iterations());
            for row in coarse.rows.values() {
                prop_assert_eq!(row.latency.count(), row.counters.ok);
            }
        }
    }

    #[test]
    fn a_window_opens_as_it_was_sealed() {
        let window = window(7, &[1_000, 2_000_000]);
        assert_eq!(SealedWindow::of(&window).open(), window);
    }

    #[test]
    fn a_coarser_window_spans_both_and_keeps_the_later_watermark() {
        let (one, two) = (window(3, &[1_000]), window(9, &[5_000, 7_000]));
        let coarse = SealedWindow::of(&one).coarser(&SealedWindow::of(&two)).open();
        let keys: Vec<RowKey> = coarse.rows.keys().copied().collect();
        assert_eq!(keys, [RowKey { from_s: 3, to_s: 10, step: 0, part: Part::Measured }]);
        assert_eq!(coarse.rows[&keys[0]].counters.ok, 3);
        assert_eq!(coarse.rows[&keys[0]].latency.max_ns(), Some(7_000));
        assert_eq!((coarse.watermark_s, coarse.latest_ns), (two.watermark_s, two.latest_ns));
        assert_eq!(coarse.seconds.keys().copied().collect::<Vec<_>>(), [3, 9]);
    }

    #[test]
    fn seconds_are_bounded_and_iterations_kept() {
        let sealed = |second| SealedWindow::of(&window(second, &[1]));
        let most = u32::try_from(MAX_SECONDS).expect("a few thousand");
        let all = (1..most + 100).fold(sealed(0), |sum, second| sum.coarser(&sealed(second))).open();
        assert_eq!(all.seconds.len(), MAX_SECONDS);
        assert_eq!(all.iterations().started, u64::from(most + 100));
    }
}
