//! What was measured and is not yet acknowledged: windows in the order they are owed, by run.
//!
//! Windows are numbered in the order they came, and from then on never altered. Where there is a disk, each is numbered as
//! it comes, kept there, and sent only then. Those not yet numbered are merged into coarser ones when they become too many:
//! the time detail goes, the totals never do. One that is more than the coordinator takes at once gets several numbers, one
//! a part.

use std::collections::VecDeque;

use volley_plan::link::{FromAgent, Report, RunId};
use volley_stats::Window;

use crate::disk::{Job, Numbered, Source};
use crate::outbox::{Entry, MAX_ON_THE_WAY, Outbox};
use crate::sealed::{coarser, sealed, split};

/// Most windows of a run that wait to be numbered; then they are merged in pairs.
const MAX_WAITING: usize = 120;
/// Most windows of a run that are numbered and not acknowledged where there is a disk: more than an agent measures before
/// it stops for being alone. Beyond that they wait in memory.
const MAX_KEPT: usize = 200;
/// Most runs that are remembered; the oldest is given up for a new one.
const MAX_RUNS: usize = 8;

/// How far the windows of a run are on the disk.
#[derive(Clone, Copy, Debug, Default)]
struct Keeping {
    /// Windows are sent only when they are kept.
    is_on: bool,
    /// The highest number that the disk was given.
    given: u64,
    /// The highest number that it has.
    kept: u64,
    /// It may forget all up to this number, and is to be told so.
    clear_up_to: Option<u64>,
}

/// The windows of one run.
#[derive(Debug)]
struct RunJournal {
    run: RunId,
    outbox: Outbox,
    /// Not numbered yet.
    waiting: VecDeque<Entry>,
    keeping: Keeping,
}

impl RunJournal {
    fn new(run: RunId, is_kept: bool) -> Self {
        let keeping = Keeping { is_on: is_kept, ..Keeping::default() };
        Self { run, outbox: Outbox::default(), waiting: VecDeque::new(), keeping }
    }

    /// The highest number that may be sent.
    fn sendable(&self) -> u64 {
        if self.keeping.is_on { self.keeping.kept } else { u64::MAX }
    }

    fn has_next(&self) -> bool {
        self.outbox.has_next(self.sendable())
    }

    fn next(&mut self) -> Option<Numbered> {
        let (sequence, entry) = self.outbox.next(self.sendable())?;
        Some(numbered(&self.run, sequence, entry))
    }

    fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
        self.number();
        if self.waiting.len() > MAX_WAITING {
            self.coarsen();
        }
    }

    /// Gives windows their numbers, as many as may have one; several to one that is more than the coordinator takes at once.
    fn number(&mut self) {
        let most = if self.keeping.is_on { MAX_KEPT } else { MAX_ON_THE_WAY };
        while self.outbox.len() < most
            && let Some(entry) = self.waiting.pop_front()
        {
            let windows = split(entry.window);
            let parts = windows.len();
            for (nth, window) in (1..).zip(windows) {
                self.outbox.push(Entry { window, last: entry.last && nth == parts });
            }
        }
    }

    fn acknowledge(&mut self, sequence: u64) {
        self.outbox.acknowledge(sequence);
        if self.outbox.is_empty() && self.keeping.is_on {
            self.keeping.clear_up_to = Some(self.outbox.numbered());
        }
        self.number();
    }

    fn is_delivered(&self) -> bool {
        self.outbox.is_empty() && self.waiting.is_empty()
    }

    /// Merges neighbours in pairs, so that the oldest become coarsest when this goes on for long.
    fn coarsen(&mut self) {
        let mut old = std::mem::take(&mut self.waiting).into_iter();
        while let Some(first) = old.next() {
            self.waiting.push_back(match old.next() {
                None => first,
                Some(second) => {
                    Entry { window: coarser(&first.window, &second.window), last: first.last || second.last }
                }
            });
        }
    }

    fn next_job(&mut self) -> Option<Job> {
        if let Some(up_to) = self.keeping.clear_up_to.take() {
            return Some(Job::Clear { run: self.run.clone(), up_to });
        }
        if !self.keeping.is_on {
            return None;
        }
        let (sequence, entry) = self.outbox.after(self.keeping.given)?;
        let job = Job::Keep(numbered(&self.run, sequence, entry));
        self.keeping.given = sequence;
        Some(job)
    }
}

fn numbered(run: &RunId, sequence: u64, entry: &Entry) -> Numbered {
    let Entry { window, last } = entry.clone();
    Numbered { source: Source { run: run.clone(), of: None }, sequence, window, last }
}

impl Numbered {
    /// As it is said to the coordinator.
    pub(crate) fn into_report(self) -> FromAgent {
        let Self { source: Source { run, of }, sequence, window, last } = self;
        FromAgent::Report { run, of, report: Report::Window { sequence, window, last } }
    }
}

/// All windows of this process that are owed to the coordinator.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    runs: VecDeque<RunJournal>,
    /// There is a disk.
    is_kept: bool,
    /// Runs whose results the disk is to remove.
    forgotten: VecDeque<RunId>,
}

impl Journal {
    /// An empty journal, with a disk or without.
    pub(crate) fn new(is_kept: bool) -> Self {
        Self { is_kept, ..Self::default() }
    }

    /// Makes room for a run. Gives back the oldest run if that had to go.
    pub(crate) fn open(&mut self, run: &RunId) -> Option<RunId> {
        if self.runs.iter().any(|journal| journal.run == *run) {
            return None;
        }
        let given_up = if self.runs.len() == MAX_RUNS { self.runs.front() } else { None };
        let given_up = given_up.map(|journal| journal.run.clone());
        if let Some(run) = &given_up {
            self.forget(run);
        }
        self.runs.push_back(RunJournal::new(run.clone(), self.is_kept));
        given_up
    }

    /// Keeps a window of a run that was opened.
    pub(crate) fn push(&mut self, run: &RunId, window: &Window, last: bool) {
        if let Some(journal) = self.find(run) {
            journal.push(Entry { window: sealed(window), last });
        }
    }

    /// The next window to be sent, the oldest run's first; `None` while enough are on their way, or none is kept.
    pub(crate) fn next(&mut self) -> Option<Numbered> {
        self.runs.iter_mut().find_map(RunJournal::next)
    }

    /// True if [`Self::next`] has one.
    pub(crate) fn has_next(&self) -> bool {
        self.runs.iter().any(RunJournal::has_next)
    }

    /// True if all that was measured is acknowledged.
    pub(crate) fn is_delivered(&self) -> bool {
        self.runs.iter().all(RunJournal::is_delivered)
    }

    /// How many windows are not acknowledged.
    pub(crate) fn owed(&self) -> usize {
        self.runs.iter().map(|journal| journal.outbox.len() + journal.waiting.len()).sum()
    }

    /// Forgets the windows of a run up to this number.
    pub(crate) fn acknowledge(&mut self, run: &RunId, sequence: u64) {
        if let Some(journal) = self.find(run) {
            journal.acknowledge(sequence);
        }
    }

    /// The connection is a new one: what was on its way may be lost and is sent again.
    pub(crate) fn reconnected(&mut self) {
        self.runs.iter_mut().for_each(|journal| journal.outbox.reconnected());
    }

    /// Forgets a run.
    pub(crate) fn forget(&mut self, run: &RunId) {
        let has_kept = |journal: &RunJournal| journal.run == *run && journal.keeping.given > 0;
        if self.runs.iter().any(has_kept) {
            self.forgotten.push_back(run.clone());
        }
        self.runs.retain(|journal| journal.run != *run);
    }

    /// What the disk is to do next.
    pub(crate) fn next_job(&mut self) -> Option<Job> {
        if let Some(run) = self.forgotten.pop_front() {
            return Some(Job::Remove(Source { run, of: None }));
        }
        self.runs.iter_mut().find_map(RunJournal::next_job)
    }

    /// The disk has a window, with all before it.
    pub(crate) fn kept(&mut self, run: &RunId, sequence: u64) {
        if let Some(journal) = self.find(run) {
            journal.keeping.kept = journal.keeping.kept.max(sequence);
        }
    }

    /// The disk keeps nothing more of a run, so that goes on in memory. True the first time.
    pub(crate) fn unkept(&mut self, run: &RunId) -> bool {
        self.find(run).is_some_and(|journal| std::mem::take(&mut journal.keeping.is_on))
    }

    /// True while a window waits for the disk to keep it.
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.runs
            .iter()
            .any(|journal| journal.keeping.is_on && journal.outbox.after(journal.keeping.kept).is_some())
    }

    /// There is a disk from now on, for what further runs measure.
    pub(crate) fn with_disk(&mut self) {
        self.is_kept = true;
    }

    /// The disk is gone.
    pub(crate) fn without_disk(&mut self) {
        self.is_kept = false;
        self.runs.iter_mut().for_each(|journal| journal.keeping.is_on = false);
    }

    fn find(&mut self, run: &RunId) -> Option<&mut RunJournal> {
        self.runs.iter_mut().find(|journal| journal.run == *run)
    }
}

#[cfg(test)]
mod tests;
