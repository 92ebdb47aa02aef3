//! Numbered windows on their way to the coordinator. Once numbered they are never altered, so that the coordinator can
//! tell a repeat by its number.

use std::collections::VecDeque;

use volley_stats::SealedWindow;

/// Most windows of a run that are on their way unacknowledged, so that no ping queues behind more than these.
pub(crate) const MAX_ON_THE_WAY: usize = 4;

/// A window, and whether it is its run's last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) window: SealedWindow,
    pub(crate) last: bool,
}

/// Windows that have their numbers and are not acknowledged, oldest first. The numbers have no gaps.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    entries: VecDeque<Entry>,
    /// How many of them have gone out over the present connection, counted from the oldest.
    on_the_way: usize,
    /// The highest number given.
    numbered: u64,
}

impl Outbox {
    /// Takes a window under the next number.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        self.numbered += 1;
    }

    /// Takes a window that was numbered before, by another process. The first one says where the numbers begin; one that
    /// is not the next after it is not taken.
    pub(crate) fn push_numbered(&mut self, sequence: u64, entry: Entry) -> bool {
        let before = sequence.checked_sub(1).filter(|_| sequence < u64::MAX);
        let is_next = before.is_some_and(|before| self.numbered == 0 || self.numbered == before);
        if is_next {
            self.numbered = sequence - 1;
            self.push(entry);
        }
        is_next
    }

    /// The highest number given.
    pub(crate) fn numbered(&self) -> u64 {
        self.numbered
    }

    /// How many are not acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether all are acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of the oldest, or the next to be given where there is none.
    fn oldest_number(&self) -> u64 {
        self.numbered + 1 - self.entries.len() as u64
    }

    /// The oldest window with a number above this one, which need not be here any more.
    pub(crate) fn after(&self, sequence: u64) -> Option<(u64, &Entry)> {
        let number = self.oldest_number().max(sequence.checked_add(1)?);
        let index = usize::try_from(number - self.oldest_number()).ok()?;
        Some((number, self.entries.get(index)?))
    }

    /// The number of the next one to go out, if there may be one and it is not above `up_to`.
    fn next_number(&self, up_to: u64) -> Option<u64> {
        let number = self.oldest_number() + self.on_the_way as u64;
        let is_there = self.on_the_way < self.entries.len() && self.on_the_way < MAX_ON_THE_WAY;
        (is_there && number <= up_to).then_some(number)
    }

    /// Whether [`Self::next`] has one.
    pub(crate) fn has_next(&self, up_to: u64) -> bool {
        self.next_number(up_to).is_some()
    }

    /// The next window to go out, with a number of at most `up_to`; `None` while enough are on their way.
    pub(crate) fn next(&mut self, up_to: u64) -> Option<(u64, &Entry)> {
        let number = self.next_number(up_to)?;
        let entry = self.entries.get(self.on_the_way)?;
        self.on_the_way += 1;
        Some((number, entry))
    }

    /// Forgets those up to this number: never more than were numbered, whatever the coordinator says.
    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        while !self.entries.is_empty() && self.oldest_number() <= sequence {
            self.entries.pop_front();
            self.on_the_way = self.on_the_way.saturating_sub(1);
        }
    }

    /// Whether any has gone out over the present connection and is not acknowledged.
    pub(crate) fn is_any_on_the_way(&self) -> bool {
        self.on_the_way > 0
    }

    /// The connection is a new one: what was on its way may be lost and goes out again.
    pub(crate) fn reconnected(&mut self) {
        self.on_the_way = 0;
    }
}

#[cfg(test)]
mod tests;
