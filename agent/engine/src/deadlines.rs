//! The deadlines of a worker's slots, watched coarsely.
//!
//! A timer for each request would cost more than anything else that is done for one. Here a deadline is one number in
//! an array. The keeper scans the array when the earliest deadline that it saw is due, and never twice within
//! [`TICK_NS`], so with a time-out of some seconds it scans once in some seconds, and not at all while nothing is in
//! flight. Deadlines are late by one tick at most, plus what the loop is late.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use crate::control::NEVER;

/// The shortest time between two scans, in nanoseconds.
pub(crate) const TICK_NS: u64 = 5_000_000;

/// Stands where a deadline was that has passed.
const EXPIRED: u64 = 0;

/// One deadline for each slot of a worker, which come to it one by one.
pub(crate) struct Deadlines {
    at_ns: RefCell<Vec<Cell<u64>>>,
    wakers: RefCell<Vec<Option<Waker>>>,
    /// When the keeper is to scan next.
    scan_at_ns: Cell<u64>,
    /// The earliest time at which it may.
    scan_from_ns: Cell<u64>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            at_ns: RefCell::default(),
            wakers: RefCell::default(),
            scan_at_ns: Cell::new(NEVER),
            scan_from_ns: Cell::new(0),
        }
    }
}

impl Deadlines {
    /// Whom to wake for this slot. It may take the place of one that has gone.
    pub(crate) fn register(&self, slot: usize, waker: Waker) {
        let (mut at_ns, mut wakers) = (self.at_ns.borrow_mut(), self.wakers.borrow_mut());
        if slot >= wakers.len() {
            at_ns.resize_with(slot + 1, || Cell::new(NEVER));
            wakers.resize_with(slot + 1, || None);
        }
        wakers[slot] = Some(waker);
    }

    /// Sets the slot's deadline. True when the keeper must be told, since it would look too late.
    #[inline]
    #[must_use]
    pub(crate) fn set(&self, slot: usize, at_ns: u64) -> bool {
        self.at_ns.borrow()[slot].set(at_ns);
        at_ns < self.scan_at_ns.get() && self.scan_sooner(at_ns)
    }

    #[cold]
    fn scan_sooner(&self, at_ns: u64) -> bool {
        let scan_at_ns = at_ns.max(self.scan_from_ns.get());
        scan_at_ns < self.scan_at_ns.replace(scan_at_ns)
    }

    /// Takes the slot's deadline away.
    #[inline]
    pub(crate) fn clear(&self, slot: usize) {
        self.at_ns.borrow()[slot].set(NEVER);
    }

    /// Whether the slot's deadline has been seen to have passed.
    #[inline]
    pub(crate) fn is_expired(&self, slot: usize) -> bool {
        self.at_ns.borrow()[slot].get() == EXPIRED
    }

    /// When [`Self::scan`] has something to do.
    pub(crate) fn scan_at_ns(&self) -> u64 {
        self.scan_at_ns.get()
    }

    /// Marks the deadlines that have passed and wakes their slots, if it is time to look.
    pub(crate) fn scan(&self, now_ns: u64) {
        if now_ns < self.scan_at_ns.get() {
            return;
        }
        let mut next_ns = NEVER;
        for (slot, at_ns) in self.at_ns.borrow().iter().map(Cell::get).enumerate() {
            if at_ns > now_ns {
                next_ns = next_ns.min(at_ns);
            } else if at_ns != EXPIRED {
                self.expire(slot);
            }
        }
        self.scan_from_ns.set(now_ns + TICK_NS);
        self.scan_at_ns.set(next_ns.max(now_ns + TICK_NS));
        if next_ns == NEVER {
            self.scan_at_ns.set(NEVER);
        }
    }

    /// Marks every slot that has a deadline as expired and wakes it. The others are in nothing that could be cut off.
    pub(crate) fn expire_all(&self) {
        for (slot, at_ns) in self.at_ns.borrow().iter().map(Cell::get).enumerate() {
            if !matches!(at_ns, NEVER | EXPIRED) {
                self.expire(slot);
            }
        }
    }

    fn expire(&self, slot: usize) {
        self.at_ns.borrow()[slot].set(EXPIRED);
        self.wake(slot);
    }

    /// Wakes a slot.
    pub(crate) fn wake(&self, slot: usize) {
        if let Some(waker) = &self.wakers.borrow()[slot] {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn deadlines(slots: usize) -> Deadlines {
        let deadlines = Deadlines::default();
        (0..slots).for_each(|slot| deadlines.register(slot, Waker::noop().clone()));
        deadlines
    }

    /// The slots that are expired after a scan at `now_ns`, and when the next scan is due.
    fn check(deadlines: &Deadlines, now_ns: u64, expired: &[usize], next_ns: u64) {
        deadlines.scan(now_ns);
        let found: Vec<usize> =
            (0..deadlines.at_ns.borrow().len()).filter(|&slot| deadlines.is_expired(slot)).collect();
        assert_eq!((found.as_slice(), deadlines.scan_at_ns()), (expired, next_ns), "at {now_ns}");
    }

    #[test]
    fn the_next_scan_is_at_the_earliest_deadline_and_not_within_a_tick() {
        let deadlines = deadlines(4);
        check(&deadlines, 50 * MS, &[], NEVER);
        assert!(deadlines.set(0, 100 * MS));
        assert!(!deadlines.set(1, 103 * MS));
        assert!(!deadlines.set(2, 200 * MS));
        check(&deadlines, 99 * MS, &[], 100 * MS);
        check(&deadlines, 101 * MS, &[0], 106 * MS);
        check(&deadlines, 105 * MS, &[0], 106 * MS);
        // Within the tick nobody is told of a nearer one.
        assert!(!deadlines.set(3, 102 * MS));
        check(&deadlines, 106 * MS, &[0, 1, 3], 200 * MS);
        (0..4).for_each(|slot| deadlines.clear(slot));
        check(&deadlines, 200 * MS, &[], NEVER);
        assert!(deadlines.set(0, 300 * MS));
    }

    #[test]
    fn an_expired_slot_is_woken_once() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU32, Ordering};
        struct Count(AtomicU32);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let count = Arc::new(Count(AtomicU32::new(0)));
        let deadlines = deadlines(3);
        deadlines.register(0, Waker::from(Arc::clone(&count)));
        assert!(deadlines.set(0, 10));
        assert!(!deadlines.set(1, 90 * MS));
        for now_ns in [11, 20 * MS, 30 * MS] {
            deadlines.scan(now_ns);
        }
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        deadlines.expire_all();
        assert!(deadlines.is_expired(1) && !deadlines.is_expired(2));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}
