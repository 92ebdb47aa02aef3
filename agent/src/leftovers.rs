//! What earlier processes of this host measured and did not deliver: it is read from the disk as it is sent, one process's
//! run after the other, and taken away once it is acknowledged.

use std::collections::VecDeque;

use crate::disk::{Job, Numbered, Source};
use crate::outbox::{Entry, MAX_ON_THE_WAY, Outbox};

/// One file of results.
#[derive(Debug)]
struct Leftover {
    source: Source,
    /// Those that were read.
    outbox: Outbox,
    /// The next one is being read.
    asked: bool,
    /// All were read.
    ended: bool,
}

/// All that earlier processes left, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// The first is the one that is being delivered.
    files: VecDeque<Leftover>,
    /// Delivered, and still on the disk.
    delivered: VecDeque<Source>,
}

impl Leftovers {
    /// This is what there is.
    pub(crate) fn found(&mut self, sources: Vec<Source>) {
        for source in sources {
            tracing::info!(run = %source.run, of = ?source.of, "an earlier agent left results; they are delivered now");
            self.files.push_back(Leftover { source, outbox: Outbox::default(), asked: false, ended: false });
        }
    }

    /// What the disk is to do next.
    pub(crate) fn next_job(&mut self) -> Option<Job> {
        if let Some(source) = self.delivered.pop_front() {
            return Some(Job::Remove(source));
        }
        let file = self.files.front_mut()?;
        if file.asked || file.ended || file.outbox.len() >= MAX_ON_THE_WAY {
            return None;
        }
        file.asked = true;
        Some(Job::Read(file.source.clone()))
    }

    /// What was read; `None` after the last window.
    pub(crate) fn read(&mut self, source: &Source, window: Option<Numbered>) {
        let Some(file) = self.files.iter_mut().find(|file| file.source == *source) else { return };
        file.asked = false;
        file.ended = match window {
            None => true,
            Some(Numbered { sequence, window, last, .. }) => {
                !file.outbox.push_numbered(sequence, Entry { window, last })
            }
        };
        self.retire();
    }

    /// Forgets windows up to this number. The largest number there is means that nobody wants any of them.
    pub(crate) fn acknowledge(&mut self, source: &Source, sequence: u64) {
        let Some(file) = self.files.iter_mut().find(|file| file.source == *source) else { return };
        file.outbox.acknowledge(sequence);
        file.ended |= sequence == u64::MAX;
        self.retire();
    }

    /// The first file goes once all of it is acknowledged.
    fn retire(&mut self) {
        while let Some(file) = self.files.pop_front_if(|file| file.ended && file.outbox.is_empty()) {
            self.delivered.push_back(file.source);
        }
    }

    pub(crate) fn has_next(&self) -> bool {
        self.files.front().is_some_and(|file| file.outbox.has_next(u64::MAX))
    }

    /// The next window to be sent; `None` while enough are on their way.
    pub(crate) fn next(&mut self) -> Option<Numbered> {
        let file = self.files.front_mut()?;
        let (sequence, entry) = file.outbox.next(u64::MAX)?;
        let Entry { window, last } = entry.clone();
        Some(Numbered { source: file.source.clone(), sequence, window, last })
    }

    /// How many files are not delivered.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The connection is a new one: what was on its way may be lost and is sent again.
    pub(crate) fn reconnected(&mut self) {
        self.files.iter_mut().for_each(|file| file.outbox.reconnected());
    }
}

#[cfg(test)]
mod tests;
