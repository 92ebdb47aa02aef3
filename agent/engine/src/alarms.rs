//! Wake-ups at exact times: for slots that think, keep a pace, or wait for their time to begin.
//!
//! The keeper's timer serves them all, so that a pause is as exact as the timer.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::control::NEVER;

/// The alarms of one worker's slots.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    /// Time and slot, the earliest on top.
    heap: RefCell<BinaryHeap<Reverse<(u64, usize)>>>,
}

impl Alarms {
    pub(crate) fn set(&self, at_ns: u64, slot: usize) {
        self.heap.borrow_mut().push(Reverse((at_ns, slot)));
    }

    /// The earliest one.
    pub(crate) fn next_ns(&self) -> u64 {
        self.heap.borrow().peek().map_or(NEVER, |Reverse((at_ns, _))| *at_ns)
    }

    /// Takes a slot whose time has come.
    pub(crate) fn take_due(&self, now_ns: u64) -> Option<usize> {
        let mut heap = self.heap.borrow_mut();
        heap.peek().filter(|Reverse((at_ns, _))| *at_ns <= now_ns)?;
        heap.pop().map(|Reverse((_, slot))| slot)
    }

    /// Takes any slot.
    pub(crate) fn take_any(&self) -> Option<usize> {
        self.take_due(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_by_their_times() {
        let alarms = Alarms::default();
        assert_eq!((alarms.next_ns(), alarms.take_due(5)), (NEVER, None));
        for (at_ns, slot) in [(30, 1), (10, 2), (20, 3), (10, 4)] {
            alarms.set(at_ns, slot);
        }
        let due = |now_ns| std::iter::from_fn(|| alarms.take_due(now_ns)).collect::<Vec<_>>();
        assert_eq!((alarms.next_ns(), due(9)), (10, vec![]));
        assert_eq!((due(20), alarms.next_ns()), (vec![2, 4, 3], 30));
        assert_eq!((alarms.take_any(), alarms.take_any()), (Some(1), None));
    }
}
