//! Which windows of an agent are kept.

use std::collections::BTreeSet;

/// The windows of one agent that are kept. They come in order but for repeats, so the set stays small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequences {
    all_up_to: u64,
    beyond: BTreeSet<u64>,
}

impl Sequences {
    /// False if it is there already.
    pub(super) fn insert(&mut self, sequence: u64) -> bool {
        if self.contains(sequence) {
            return false;
        }
        self.beyond.insert(sequence);
        while self.beyond.remove(&(self.all_up_to + 1)) {
            self.all_up_to += 1;
        }
        true
    }

    /// True if it is there.
    pub(super) fn contains(&self, sequence: u64) -> bool {
        sequence <= self.all_up_to || self.beyond.contains(&sequence)
    }

    /// The number up to which all are there, and the bytes that tell the rest: 8 each, little-endian.
    pub(super) fn to_parts(&self) -> (u64, Vec<u8>) {
        (self.all_up_to, self.beyond.iter().flat_map(|sequence| sequence.to_le_bytes()).collect())
    }

    /// What [`Self::to_parts`] told. Bytes that are no whole number are left out.
    pub(super) fn from_parts(all_up_to: u64, beyond: &[u8]) -> Self {
        let (numbers, _) = beyond.as_chunks::<8>();
        Self { all_up_to, beyond: numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_is_new_once_in_whatever_order() {
        let mut sequences = Sequences::default();
        let new: Vec<_> = [1, 3, 4, 3, 2, 1, 2, 9, u64::MAX].map(|n| sequences.insert(n)).into();
        assert_eq!(new, [true, true, true, false, true, false, false, true, true]);
        assert_eq!((sequences.all_up_to, sequences.beyond.len()), (4, 2));
        let (all_up_to, beyond) = sequences.to_parts();
        assert_eq!(Sequences::from_parts(all_up_to, &beyond), sequences);
    }
}
