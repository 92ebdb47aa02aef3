//! What earlier processes of this host measured and did not deliver: it is read from the disk as it is sent, one process's
//! run after the other, and taken away once it is acknowledged. One that nothing is acknowledged of holds up no others: it
//! goes behind them, and is tried again.

use std::collections::VecDeque;

use crate::disk::{Job, Numbered, Source};
use crate::outbox::{Entry, MAX_ON_THE_WAY, Outbox};

/// A file of which nothing was acknowledged for so many ping intervals lets the next one have its turn.
const MAX_UNHEARD_BEATS: u32 = 10;

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
    /// Ping intervals since anything of the first was acknowledged, or it became the first.
    unheard_beats: u32,
    /// Something of the first was acknowledged since then, over the present connection.
    is_heard: bool,
    /// Delivered, and still on the disk.
    delivered: VecDeque<Source>,
}

impl Leftovers {
    /// This is what there is.
    pub(crate) fn found(&mut self, sources: Vec<Source>) {
        for source in sources {
            let agent = source.measurer();
            tracing::info!(run = %source.run, agent, "an earlier agent left results; they are delivered now");
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
        let Some(index) = self.files.iter().position(|file| file.source == *source) else { return };
        let file = &mut self.files[index];
        file.outbox.acknowledge(sequence);
        file.ended |= sequence == u64::MAX;
        if index == 0 {
            (self.unheard_beats, self.is_heard) = (0, true);
        }
        self.retire();
    }

    /// A file goes once all of it is acknowledged.
    fn retire(&mut self) {
        let is_done = |file: &Leftover| file.ended && file.outbox.is_empty();
        while let Some(index) = self.files.iter().position(is_done) {
            self.delivered.extend(self.files.remove(index).map(|file| file.source));
            if index == 0 {
                (self.unheard_beats, self.is_heard) = (0, false);
            }
        }
    }

    /// Another ping interval has gone by.
    pub(crate) fn beat(&mut self) {
        self.unheard_beats = self.unheard_beats.saturating_add(1);
        if self.unheard_beats >= MAX_UNHEARD_BEATS {
            self.let_the_next();
        }
    }

    /// The first file goes behind the others if it is not being acknowledged.
    fn let_the_next(&mut self) {
        let has_others = self.files.len() > 1;
        if let Some(mut file) = self.files.pop_front_if(|file| has_others && file.outbox.is_any_on_the_way())
        {
            let (run, agent) = (&file.source.run, file.source.measurer());
            tracing::info!(%run, agent, "what an earlier agent left is not being acknowledged; the rest comes first");
            file.outbox.reconnected();
            self.files.push_back(file);
        }
        (self.unheard_beats, self.is_heard) = (0, false);
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
        if !self.is_heard {
            self.let_the_next();
        }
        (self.unheard_beats, self.is_heard) = (0, false);
        self.files.iter_mut().for_each(|file| file.outbox.reconnected());
    }
}

#[cfg(test)]
mod tests;
