//! Puts a run's news into its feed: a second as soon as it is complete, corrections soon after, the state about once a
//! second and whenever it changes. Seconds of more than an hour ago become minutes, which come from the store.

use std::collections::BTreeSet;

use volley_stats::SealedWindow;
use volley_web::stream::Tick;

use crate::coordinator::Shared;
use crate::document::Progress;
use crate::live::Live;
use crate::store::Grain;
use crate::view;

/// Corrections of seconds that are published already are gathered for this long, so that a fleet that reports one after
/// the other doesn't cause one for each agent.
const CORRECTION_NS: u64 = 100_000_000;
/// How often the state is published where nothing else causes it.
const STATE_NS: u64 = 1_000_000_000;
/// Seconds that are told as such, the latest ones; and the longest run that is told by the second once it is over.
pub(crate) const BY_SECOND_S: u32 = 3_600;

/// The seconds before this one are told by the minute, of a run that has published those before `published_s`.
pub(crate) fn by_minute_s(published_s: u32) -> u32 {
    Grain::Minute.begin(published_s.saturating_sub(BY_SECOND_S))
}

/// What of one run has been published.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    /// Seconds before this one are.
    published_s: u32,
    /// Seconds before this one are told by the minute.
    by_minute_s: u32,
    /// Of those, the minutes that results were added to since.
    again: BTreeSet<u32>,
    /// Of the published seconds, the ones that results were added to since.
    corrected: BTreeSet<u32>,
    correct_at_ns: Option<u64>,
    /// Of the published seconds, the ones that were told to have something open, which a late report may close.
    open: BTreeSet<u32>,
    state: Option<&'static str>,
    state_at_ns: Option<u64>,
    ended: bool,
}

impl Publisher {
    /// Of a run whose seconds before `published_s` are published already, as those of a run that goes on are.
    pub(crate) fn beginning_at(published_s: u32) -> Self {
        Self { published_s, by_minute_s: by_minute_s(published_s), ..Self::default() }
    }

    /// Results were added to these seconds.
    pub(crate) fn touch(&mut self, window: &SealedWindow, now_ns: u64) {
        let published_s = self.published_s;
        let of_rows = window.rows.keys().flat_map(|key| key.from_s..key.to_s.min(published_s));
        let of_seconds = window.seconds.keys().copied();
        self.corrected.extend(of_rows.chain(of_seconds).filter(|&second| second < published_s));
        if !self.corrected.is_empty() {
            self.correct_at_ns.get_or_insert(now_ns + CORRECTION_NS);
        }
    }

    /// When there will be something to publish even if nothing happens until then.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let state_at_ns = (!self.ended).then_some(self.state_at_ns).flatten();
        [self.correct_at_ns, state_at_ns].into_iter().flatten().min()
    }

    /// Publishes what is new by now.
    pub(crate) fn publish(&mut self, shared: &Shared, live: &Live) {
        if self.ended {
            return;
        }
        let now_ns = shared.clock.now_ns();
        let new_seconds = self.seconds(live, now_ns);
        if self.correct_at_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.corrections(live, now_ns);
        }
        let state = live.ask(|run| run.state().name());
        let due = self.state_at_ns.is_none_or(|at_ns| at_ns <= now_ns);
        if new_seconds || due || self.state != Some(state) {
            self.state(shared, live, state, now_ns);
        }
    }

    /// The seconds before this one are published.
    pub(crate) fn published_s(&self) -> u32 {
        self.published_s
    }

    /// Publishes the rest of a run that is over, and the end. `ticks` are all there are of it, where they are to take
    /// the place of what is published; `progress` is what its document says.
    pub(crate) fn finish(&mut self, shared: &Shared, live: &Live, ticks: Vec<Tick>, progress: Progress) {
        let now_ns = shared.clock.now_ns();
        if ticks.is_empty() {
            self.seconds(live, now_ns);
            self.corrections(live, now_ns);
        }
        for tick in ticks {
            live.feed().publish(|feed| feed.tick(tick));
        }
        let snapshot = view::snapshot(progress);
        live.feed().publish(|feed| {
            feed.state(snapshot);
            feed.end();
        });
        self.ended = true;
    }

    /// The minutes whose ticks are to be read from the store, which has their seconds complete: those that have become
    /// old, and older ones that were added to.
    pub(crate) fn minutes_due(&mut self) -> BTreeSet<u32> {
        let mut due = std::mem::take(&mut self.again);
        while self.by_minute_s < by_minute_s(self.published_s) {
            due.insert(self.by_minute_s);
            self.by_minute_s += 60;
        }
        due
    }

    fn seconds(&mut self, live: &Live, now_ns: u64) -> bool {
        let complete_s = live.complete_s(now_ns);
        let new = self.published_s..complete_s.max(self.published_s);
        for second in new.clone() {
            let tick = live.tick(second, now_ns);
            live.feed().publish(|feed| feed.tick(tick));
        }
        self.published_s = new.end;
        !new.is_empty()
    }

    fn corrections(&mut self, live: &Live, now_ns: u64) {
        self.correct_at_ns = None;
        let open: BTreeSet<_> = live.open_seconds().filter(|&second| second < self.published_s).collect();
        self.corrected.extend(std::mem::replace(&mut self.open, open));
        self.corrected.extend(&self.open);
        for second in std::mem::take(&mut self.corrected) {
            if second < self.by_minute_s {
                self.again.insert(Grain::Minute.begin(second));
                continue;
            }
            let tick = live.tick(second, now_ns);
            live.feed().publish(|feed| feed.tick(tick));
        }
    }

    fn state(&mut self, shared: &Shared, live: &Live, state: &'static str, now_ns: u64) {
        let snapshot = view::snapshot(shared.progress_of(live));
        live.feed().publish(|feed| feed.state(snapshot));
        (self.state, self.state_at_ns) = (Some(state), Some(now_ns + STATE_NS));
    }
}

#[cfg(test)]
mod tests;
