//! What is going to happen, in the order of time; of what happens at the same time, what was announced first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug)]
struct Entry<T> {
    at_ns: u64,
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The greatest is the one that comes first, since a heap gives the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

/// What is going to happen.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    numbered: u64,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), numbered: 0 }
    }

    pub(crate) fn push(&mut self, at_ns: u64, what: T) {
        self.numbered += 1;
        self.heap.push(Entry { at_ns, number: self.numbered, what });
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|entry| (entry.at_ns, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_equals_the_first_announced() {
        let mut queue = Queue::new();
        for (at_ns, what) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (0, 'e')] {
            queue.push(at_ns, what);
        }
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, what)| what).collect();
        assert_eq!(order, "ebdac");
    }
}
