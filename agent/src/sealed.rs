//! Windows in their small form, as they wait in the journal: an open histogram takes a hundred kilobytes, a sealed one
//! a few.

use std::collections::BTreeMap;

use volley_proto::limits::{MAX_OPENED_BYTES, MAX_ROWS, opened_bytes};
use volley_stats::{Health, Part, Row, RowKey, SealedRow, Second, StepId, Window};

/// Most seconds that a window keeps the scalars of, and the health; the oldest are folded into later ones.
const MAX_SECONDS: usize = 3_600;

/// Most bytes of the rows of one message, far below what the coordinator takes, so that a lease never waits long for it.
const MAX_SENT_BYTES: usize = 4 << 20;
/// The bytes of a row on the wire without its histograms and statuses, generously, and those of each of these besides
/// what a histogram's buckets take.
const ENTRY_BYTES: usize = 512;
const PART_BYTES: usize = 32;

/// A window whose histograms are bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SealedWindow {
    rows: BTreeMap<RowKey, SealedRow>,
    seconds: BTreeMap<u32, Second>,
    health: BTreeMap<u32, Health>,
    watermark_s: u32,
    latest_ns: u64,
}

impl SealedWindow {
    /// The small form of a window.
    #[must_use]
    pub fn of(window: &Window) -> Self {
        Self {
            rows: window.rows.iter().map(|(key, row)| (*key, row.seal())).collect(),
            seconds: bounded(window.seconds.clone(), Second::merge, lasting),
            health: bounded(window.health.clone(), Health::merge, Health::clone),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
        }
    }

    /// The window as it was.
    #[must_use]
    pub fn open(&self) -> Window {
        Window {
            rows: self.rows.iter().map(|(key, row)| (*key, opened(row))).collect(),
            seconds: self.seconds.clone(),
            health: self.health.clone(),
            watermark_s: self.watermark_s,
            latest_ns: self.latest_ns,
        }
    }

    /// One window that says what this one and a `later` one of the same agent say, with one row for each step and part.
    /// Only one row is open at a time: those of many steps would take hundreds of megabytes.
    pub(crate) fn coarser(&self, later: &Self) -> Self {
        let mut alike: BTreeMap<(StepId, Part), Vec<(&RowKey, &SealedRow)>> = BTreeMap::new();
        for (key, row) in self.rows.iter().chain(&later.rows) {
            alike.entry((key.step, key.part)).or_default().push((key, row));
        }
        Self {
            rows: alike.into_values().filter_map(|rows| sum(&rows)).collect(),
            seconds: bounded(both(&self.seconds, &later.seconds, Second::merge), Second::merge, lasting),
            health: bounded(both(&self.health, &later.health, Health::merge), Health::merge, Health::clone),
            watermark_s: self.watermark_s.max(later.watermark_s),
            latest_ns: self.latest_ns.max(later.latest_ns),
        }
    }

    /// The same in windows that the coordinator takes, however many rows there are: all but the last have rows only, so
    /// that no second is complete before all is told of it.
    pub(crate) fn split(mut self) -> Vec<Self> {
        let mut windows = Vec::new();
        let (mut rows, mut size) = (BTreeMap::new(), Size::default());
        for (key, row) in std::mem::take(&mut self.rows) {
            let with_row = size.with(&row);
            if with_row.fits() {
                size = with_row;
            } else {
                windows.push(Self::of_rows(std::mem::take(&mut rows)));
                size = Size::default().with(&row);
            }
            rows.insert(key, row);
        }
        windows.push(Self { rows, ..self });
        windows
    }

    /// A window that says nothing of how far it is complete.
    fn of_rows(rows: BTreeMap<RowKey, SealedRow>) -> Self {
        Self { rows, seconds: BTreeMap::new(), health: BTreeMap::new(), watermark_s: 0, latest_ns: 0 }
    }
}

/// How much rows are, as the coordinator bounds it.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    rows: usize,
    opened_bytes: usize,
    sent_bytes: usize,
}

impl Size {
    fn with(self, row: &SealedRow) -> Self {
        let of_step = [&row.latency, &row.service_time, &row.failed_latency, &row.cancelled_age];
        let of_step = of_step.into_iter().filter(|sealed| !sealed.bytes.is_empty());
        let timed = row.timing.iter().map(|(_, sealed)| sealed);
        let sent: usize = of_step.clone().chain(timed).map(|sealed| sealed.bytes.len() + PART_BYTES).sum();
        let statuses = row.counters.statuses.sorted().len();
        Self {
            rows: self.rows + 1,
            opened_bytes: self.opened_bytes + opened_bytes(of_step.count(), row.timing.len(), statuses),
            sent_bytes: self.sent_bytes + sent + statuses * PART_BYTES + ENTRY_BYTES,
        }
    }

    /// A row by itself is far below each of these.
    fn fits(self) -> bool {
        self.rows <= MAX_ROWS && self.opened_bytes <= MAX_OPENED_BYTES && self.sent_bytes <= MAX_SENT_BYTES
    }
}

fn opened(row: &SealedRow) -> Row {
    row.open().expect("a histogram that this process sealed opens again")
}

/// Rows of one step and part as one; `None` of none.
fn sum(rows: &[(&RowKey, &SealedRow)]) -> Option<(RowKey, SealedRow)> {
    let mut sum: Row = Row::default();
    rows.iter().for_each(|(_, row)| sum.merge(&opened(row)));
    let from_s = rows.iter().map(|(key, _)| key.from_s).min()?;
    let to_s = rows.iter().map(|(key, _)| key.to_s).max()?;
    let (key, _) = rows.first()?;
    Some((RowKey { from_s, to_s, ..**key }, sum.seal()))
}

/// What lasts of a second that is folded into the next: users and connections are of a moment, so they go.
fn lasting(second: &Second) -> Second {
    Second { iterations: second.iterations, warmup: second.warmup, ..Second::default() }
}

/// What is told of each second by either.
fn both<T: Copy + Default>(
    one: &BTreeMap<u32, T>,
    other: &BTreeMap<u32, T>,
    add: fn(&mut T, &T),
) -> BTreeMap<u32, T> {
    let mut merged = one.clone();
    for (second, told) in other {
        add(merged.entry(*second).or_default(), told);
    }
    merged
}

/// Where seconds are too many, the oldest is added to the one after it, as far as `lasting` says.
fn bounded<T>(mut seconds: BTreeMap<u32, T>, add: fn(&mut T, &T), lasting: fn(&T) -> T) -> BTreeMap<u32, T> {
    while seconds.len() > MAX_SECONDS {
        let oldest = seconds.pop_first();
        if let (Some((_, oldest)), Some(mut next)) = (oldest, seconds.first_entry()) {
            add(next.get_mut(), &lasting(&oldest));
        }
    }
    seconds
}

#[cfg(test)]
mod tests;
