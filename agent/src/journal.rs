//! What was measured and is not yet acknowledged: windows in the order they are owed, by run.
//!
//! A window gets its number when it is sent first, and from then on it is never altered, so that the coordinator can
//! tell a repeat by its number. Those never sent are merged into coarser ones when they become too many: the time detail
//! goes, the totals never do. One that is more than the coordinator takes at once gets several numbers, one a part.

use std::collections::VecDeque;

use volley_plan::link::RunId;
use volley_stats::Window;

use crate::sealed::SealedWindow;

/// Most windows of a run that wait to be sent first; then they are merged in pairs.
const MAX_WAITING: usize = 120;
/// Most windows of a run that are on their way unacknowledged, so that no ping queues behind more than these.
const MAX_ON_THE_WAY: usize = 4;
/// Most runs that are remembered; the oldest is given up for a new one.
const MAX_RUNS: usize = 8;

/// A window ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbered {
    pub(crate) run: RunId,
    pub(crate) sequence: u64,
    pub(crate) window: Window,
    pub(crate) last: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    window: SealedWindow,
    last: bool,
}

/// The windows of one run.
#[derive(Debug)]
struct RunJournal {
    run: RunId,
    /// Numbered and not acknowledged: sent, or part of a window that was begun. Their numbers end with `numbered`,
    /// without gaps.
    sent: VecDeque<Entry>,
    /// How many of `sent` have gone out over the present connection, counted from the oldest.
    on_the_way: usize,
    /// Never sent.
    waiting: VecDeque<Entry>,
    /// The highest number given.
    numbered: u64,
}

impl RunJournal {
    fn has_next(&self) -> bool {
        let any = self.on_the_way < self.sent.len() || !self.waiting.is_empty();
        any && self.on_the_way < MAX_ON_THE_WAY
    }

    fn next(&mut self) -> Option<Numbered> {
        if !self.has_next() {
            return None;
        }
        if self.on_the_way == self.sent.len() {
            let entry = self.waiting.pop_front()?;
            self.number(entry);
        }
        let entry = &self.sent[self.on_the_way];
        let sequence = self.oldest_number() + self.on_the_way as u64;
        self.on_the_way += 1;
        Some(Numbered { run: self.run.clone(), sequence, window: entry.window.open(), last: entry.last })
    }

    /// Gives a window its number; or several, where it is more than the coordinator takes at once.
    fn number(&mut self, entry: Entry) {
        let windows = entry.window.split();
        let most = windows.len();
        for (nth, window) in (1..).zip(windows) {
            self.sent.push_back(Entry { window, last: entry.last && nth == most });
            self.numbered += 1;
        }
    }

    /// The number of the first in `sent`, or the next to be given where there is none.
    fn oldest_number(&self) -> u64 {
        self.numbered + 1 - self.sent.len() as u64
    }

    fn acknowledge(&mut self, sequence: u64) {
        // Never more than was numbered, whatever the coordinator says.
        while !self.sent.is_empty() && self.oldest_number() <= sequence {
            self.sent.pop_front();
            self.on_the_way = self.on_the_way.saturating_sub(1);
        }
    }

    fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
        if self.waiting.len() > MAX_WAITING {
            self.coarsen();
        }
    }

    /// Merges neighbours in pairs, so that the oldest become coarsest when this goes on for long.
    fn coarsen(&mut self) {
        let mut old = std::mem::take(&mut self.waiting).into_iter();
        while let Some(first) = old.next() {
            self.waiting.push_back(match old.next() {
                None => first,
                Some(second) => {
                    Entry { window: first.window.coarser(&second.window), last: first.last || second.last }
                }
            });
        }
    }
}

/// All windows that are owed to the coordinator.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    runs: VecDeque<RunJournal>,
}

impl Journal {
    /// Makes room for a run. Gives back the oldest run if that had to go.
    pub(crate) fn open(&mut self, run: &RunId) -> Option<RunId> {
        if self.runs.iter().any(|journal| journal.run == *run) {
            return None;
        }
        let given_up = if self.runs.len() == MAX_RUNS { self.runs.pop_front() } else { None };
        self.runs.push_back(RunJournal {
            run: run.clone(),
            sent: VecDeque::new(),
            on_the_way: 0,
            waiting: VecDeque::new(),
            numbered: 0,
        });
        given_up.map(|journal| journal.run)
    }

    /// Keeps a window of a run that was opened.
    pub(crate) fn push(&mut self, run: &RunId, window: &Window, last: bool) {
        if let Some(journal) = self.find(run) {
            journal.push(Entry { window: SealedWindow::of(window), last });
        }
    }

    /// The next window to be sent, the oldest run's first; `None` while enough are on their way.
    pub(crate) fn next(&mut self) -> Option<Numbered> {
        self.runs.iter_mut().find_map(RunJournal::next)
    }

    /// True if [`Self::next`] has one.
    pub(crate) fn has_next(&self) -> bool {
        self.runs.iter().any(RunJournal::has_next)
    }

    /// True if all that was measured is acknowledged.
    pub(crate) fn is_delivered(&self) -> bool {
        self.runs.iter().all(|journal| journal.sent.is_empty() && journal.waiting.is_empty())
    }

    /// Forgets the windows of a run up to this number.
    pub(crate) fn acknowledge(&mut self, run: &RunId, sequence: u64) {
        if let Some(journal) = self.find(run) {
            journal.acknowledge(sequence);
        }
    }

    /// The connection is a new one: what was on its way may be lost and is sent again.
    pub(crate) fn reconnected(&mut self) {
        for journal in &mut self.runs {
            journal.on_the_way = 0;
        }
    }

    /// Forgets a run.
    pub(crate) fn forget(&mut self, run: &RunId) {
        self.runs.retain(|journal| journal.run != *run);
    }

    fn find(&mut self, run: &RunId) -> Option<&mut RunJournal> {
        self.runs.iter_mut().find(|journal| journal.run == *run)
    }
}

#[cfg(test)]
mod tests;
