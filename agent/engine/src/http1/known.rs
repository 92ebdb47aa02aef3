//! The last whole head, remembered.
//!
//! A load generator is told the same thing over and over: the answers to one request differ in their
//! Date once a second and often in nothing else. A head that is byte for byte the last one says what the
//! last one said, and comparing is several times cheaper than reading.

use super::head::Head;

/// Longer heads are not remembered, so that a thousand connections stay small.
const MAX_KNOWN_BYTES: usize = 1024;

/// A final head and what it says.
#[derive(Debug)]
pub(super) struct KnownHead {
    /// The head from its status line to its empty line; empty before the first.
    bytes: Vec<u8>,
    head: Head,
}

impl KnownHead {
    pub(super) const NONE: Self = Self { bytes: Vec::new(), head: Head::EMPTY };

    /// Remembers a head instead of the last one.
    pub(super) fn learn(&mut self, bytes: &[u8], head: &Head) {
        if bytes.len() <= MAX_KNOWN_BYTES {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.head = head.clone();
        }
    }

    /// What the input's front says and how long it is, where it is the remembered head.
    #[inline]
    pub(super) fn at_front_of(&self, input: &[u8]) -> Option<(&Head, usize)> {
        let is_known = !self.bytes.is_empty() && input.starts_with(&self.bytes);
        is_known.then_some((&self.head, self.bytes.len()))
    }

    #[cfg(test)]
    pub(super) fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
