//! Windows in their small form, as they wait in the journal: an open histogram takes a hundred kilobytes, a sealed one
//! a few.

use std::collections::BTreeMap;

use volley_stats::{Health, Part, Row, RowKey, SealedRow, Second, StepId, Window};

/// Most seconds that a window keeps the scalars of, and the health; the oldest are folded into later ones.
const MAX_SECONDS: usize = 3_600;

/// A window whose histograms are bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SealedWindow {
    rows: BTreeMap<RowKey, SealedRow>,
    seconds: BTreeMap<u32, Second>,
    health: BTreeMap<u32, Health>,
    watermark_s: u32,
    latest_ns: u64,
}

impl SealedWindow {
    pub(crate) fn of(window: &Window) -> Self {
        Self {
            rows: window.rows.iter().map(|(key, row)| (*key, row.seal())).collect(),
            seconds: window.seconds.clone(),
            health: window.health.clone(),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
        }
    }

    pub(crate) fn open(&self) -> Window {
        let open = |row: &SealedRow| row.open().expect("a histogram that this process sealed opens again");
        Window {
            rows: self.rows.iter().map(|(key, row)| (*key, open(row))).collect(),
            seconds: self.seconds.clone(),
            health: self.health.clone(),
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
            seconds: by_second(&self.seconds, &later.seconds, Second::merge, |oldest| Second {
                // Users and connections are of a moment, so they go.
                iterations: oldest.iterations,
                warmup: oldest.warmup,
                ..Second::default()
            }),
            health: by_second(&self.health, &later.health, Health::merge, |oldest| *oldest),
            watermark_s: self.watermark_s.max(later.watermark_s),
            latest_ns: self.latest_ns.max(later.latest_ns),
        }
    }
}

/// What is told of each second by either. Where those are too many, the oldest is added to the one after it, as far as
/// `lasting` says.
fn by_second<T: Copy + Default>(
    one: &BTreeMap<u32, T>,
    other: &BTreeMap<u32, T>,
    add: fn(&mut T, &T),
    lasting: fn(&T) -> T,
) -> BTreeMap<u32, T> {
    let mut merged = one.clone();
    for (second, told) in other {
        add(merged.entry(*second).or_default(), told);
    }
    while merged.len() > MAX_SECONDS {
        let oldest = merged.pop_first();
        if let (Some((_, oldest)), Some(mut next)) = (oldest, merged.first_entry()) {
            add(next.get_mut(), &lasting(&oldest));
        }
    }
    merged
}

#[cfg(test)]
mod tests;
