//! What one worker counts of each address that it connects to.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use volley_stats::{AddressCounts, OTHER_ADDRESSES};

/// Most addresses that a worker tells apart. Names that lead elsewhere each time they are asked for would fill its memory.
const MAX_TALLIES: usize = 1024;

/// A count since the last time that somebody asked.
#[derive(Debug, Default)]
pub(crate) struct Count(Cell<u64>);

impl Count {
    #[inline]
    pub(crate) fn up(&self) {
        self.0.set(self.0.get() + 1);
    }
}

/// What is counted of one address.
#[derive(Debug)]
pub(crate) struct Tally {
    address: Arc<str>,
    pub(crate) connections: Count,
    pub(crate) failures: Count,
    pub(crate) requests: Count,
}

impl Tally {
    pub(crate) fn new(address: &str) -> Self {
        Self {
            address: address.into(),
            connections: Count::default(),
            failures: Count::default(),
            requests: Count::default(),
        }
    }

    fn counts(&self) -> AddressCounts {
        AddressCounts {
            connections: self.connections.0.get(),
            failures: self.failures.0.get(),
            requests: self.requests.0.get(),
        }
    }

    fn clear(&self) {
        for count in [&self.connections, &self.failures, &self.requests] {
            count.0.set(0);
        }
    }
}

/// The tallies of one worker.
#[derive(Debug, Default)]
pub(crate) struct Tallies(RefCell<Vec<Rc<Tally>>>);

impl Tallies {
    /// The tally of an address.
    pub(crate) fn of(&self, address: &str) -> Rc<Tally> {
        let mut tallies = self.0.borrow_mut();
        let name = if tallies.len() < MAX_TALLIES { address } else { OTHER_ADDRESSES };
        let find = |name: &str| tallies.iter().find(|tally| *tally.address == *name).map(Rc::clone);
        if let Some(known) = find(address).or_else(|| find(name)) {
            return known;
        }
        let tally = Rc::new(Tally::new(name));
        tallies.push(Rc::clone(&tally));
        tally
    }

    /// Whether anything was counted since the last time.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().iter().all(|tally| tally.counts() == AddressCounts::default())
    }

    /// Adds what was counted since the last time to the list, and begins anew.
    pub(crate) fn take_into(&self, list: &mut Vec<(Arc<str>, AddressCounts)>) {
        for tally in self.0.borrow().iter() {
            let counts = tally.counts();
            if counts != AddressCounts::default() {
                tally.clear();
                list.push((Arc::clone(&tally.address), counts));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_beyond_the_bound_share_a_tally() {
        let tallies = Tallies::default();
        for number in 0..2 * MAX_TALLIES {
            tallies.of(&format!("10.0.0.1:{number}")).connections.up();
        }
        tallies.of("10.0.0.1:7").requests.up();
        let mut list = Vec::new();
        tallies.take_into(&mut list);
        let of = |name: &str| list.iter().find(|(address, _)| **address == *name).map(|(_, counts)| *counts);
        let one = AddressCounts { connections: 1, ..AddressCounts::default() };
        assert_eq!(of("10.0.0.1:7"), Some(AddressCounts { requests: 1, ..one }));
        let rest = MAX_TALLIES as u64;
        assert_eq!(of(OTHER_ADDRESSES), Some(AddressCounts { connections: rest, ..one }));
        assert!(tallies.is_empty());
        tallies.take_into(&mut list);
        assert_eq!(list.len(), MAX_TALLIES + 1);
    }
}
