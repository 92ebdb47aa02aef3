//! What becomes of windows while they wait in the journal: they are sealed, made coarser where they become too many, and
//! split where one is more than the coordinator takes at once.

use std::collections::BTreeMap;

use volley_proto::limits::{MAX_OPENED_BYTES, MAX_ROWS, opened_bytes};
use volley_stats::{Health, Part, Row, RowKey, SealedRow, SealedWindow, Second, StepId, Window};

/// Most seconds that a window keeps the scalars of, and the health; the oldest are folded into later ones.
const MAX_SECONDS: usize = 3_600;

/// Most bytes of the rows of one message, far below what the coordinator takes, so that a lease never waits long for it.
const MAX_SENT_BYTES: usize = 4 << 20;
/// The bytes of a row on the wire without its histograms and statuses, generously, and those of each of these besides
/// what a histogram's buckets take.
const ENTRY_BYTES: usize = 512;
const PART_BYTES: usize = 32;

/// The small form of a window that was measured here.
pub(crate) fn sealed(window: &Window) -> SealedWindow {
    let mut sealed = SealedWindow::of(window);
    sealed.seconds = bounded(sealed.seconds, Second::merge, lasting);
    sealed.health = bounded(sealed.health, Health::merge, Health::clone);
    sealed
}

/// One window that says what this one and a later one of the same agent say, with one row for each step and part. Only one
/// row is open at a time: those of many steps would take hundreds of megabytes.
pub(crate) fn coarser(window: &SealedWindow, later: &SealedWindow) -> SealedWindow {
    let mut alike: BTreeMap<(StepId, Part), Vec<(&RowKey, &SealedRow)>> = BTreeMap::new();
    for (key, row) in window.rows.iter().chain(&later.rows) {
        alike.entry((key.step, key.part)).or_default().push((key, row));
    }
    let mut addresses = window.addresses.clone();
    addresses.merge(&later.addresses);
    SealedWindow {
        rows: alike.into_values().filter_map(|rows| sum(&rows)).collect(),
        seconds: bounded(both(&window.seconds, &later.seconds, Second::merge), Second::merge, lasting),
        health: bounded(both(&window.health, &later.health, Health::merge), Health::merge, Health::clone),
        addresses,
        watermark_s: window.watermark_s.max(later.watermark_s),
        latest_ns: window.latest_ns.max(later.latest_ns),
    }
}

/// The same in windows that the coordinator takes, however many rows there are: all but the last have rows only, so that no
/// second is complete before all is told of it.
pub(crate) fn split(mut window: SealedWindow) -> Vec<SealedWindow> {
    let mut windows = Vec::new();
    let (mut rows, mut size) = (BTreeMap::new(), Size::default());
    for (key, row) in std::mem::take(&mut window.rows) {
        let with_row = size.with(&row);
        if with_row.fits() {
            size = with_row;
        } else {
            windows.push(SealedWindow { rows: std::mem::take(&mut rows), ..SealedWindow::default() });
            size = Size::default().with(&row);
        }
        rows.insert(key, row);
    }
    windows.push(SealedWindow { rows, ..window });
    windows
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

/// Rows of one step and part as one; `None` of none.
fn sum(rows: &[(&RowKey, &SealedRow)]) -> Option<(RowKey, SealedRow)> {
    let mut sum = Row::<u32>::default();
    for (_, row) in rows {
        sum.merge_sealed(row).expect("a histogram that this process sealed can be read");
    }
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
