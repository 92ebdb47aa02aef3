//! What a run's event stream says, kept so that any reader can begin at any place: numbered events of which an older
//! one is dropped once a newer one replaces it (a second's tick by its correction, a state by the next state).
//!
//! Readers pull, so none of them holds another up, and nothing is buffered for a slow one: it gets what is newest
//! by the time it reads on.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use volley_web::stream::{LogLine, Snapshot, Standing, ThresholdTotals, Tick};

/// Most ticks that are kept, the latest ones: an hour of seconds and twelve days of minutes. Longer runs lose the
/// beginning of their charts here, not in their totals.
const MAX_TICKS: usize = 21_600;
/// Most log lines that are kept; what else happens is counted.
const MAX_LINES: usize = 1_000;

/// One event. Shared, since every reader is given the same ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FeedEvent {
    /// One second, new or corrected; or a minute in place of its seconds.
    Tick(Arc<Tick>),
    /// Where the run stands.
    State(Arc<Snapshot>),
    /// A threshold that stands otherwise than before.
    Threshold(Arc<ThresholdTotals>),
    /// A line of the event log.
    Log(Arc<LogLine>),
    /// Nothing more will come.
    End,
}

/// The events of one run.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    events: BTreeMap<u64, FeedEvent>,
    latest: u64,
    tick_ids: BTreeMap<u64, u64>,
    state_id: Option<u64>,
    /// How each threshold stood in the latest state, and the event that told of it.
    thresholds: BTreeMap<usize, (Standing, Option<u64>)>,
    end_id: Option<u64>,
    lines: usize,
    lines_dropped: u64,
}

/// A feed with those who read it.
#[derive(Debug)]
pub(crate) struct SharedFeed {
    feed: Mutex<Feed>,
    /// Counts changes.
    changes: watch::Sender<u64>,
}

impl SharedFeed {
    pub(crate) fn new(feed: Feed) -> Self {
        Self { feed: Mutex::new(feed), changes: watch::Sender::new(0) }
    }

    fn feed(&self) -> MutexGuard<'_, Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it; readers are woken.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Feed)) {
        change(&mut self.feed());
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Reads it.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&Feed) -> T) -> T {
        reader(&self.feed())
    }

    /// Tells of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl Feed {
    /// A feed whose events are numbered from a place that no earlier feed of the same run has reached: a reader that
    /// comes again from that one has seen nothing of this one, so it gets all.
    pub(crate) fn beginning_after(id: u64) -> Self {
        Self { latest: id, ..Self::default() }
    }

    fn push(&mut self, event: FeedEvent) -> u64 {
        self.latest += 1;
        self.events.insert(self.latest, event);
        self.latest
    }

    /// Adds a tick in place of those that it covers.
    pub(crate) fn tick(&mut self, tick: Tick) {
        let second = tick.second;
        let covered = self.tick_ids.range(second + 1..second.saturating_add(tick.seconds()));
        for second in covered.map(|(second, _)| *second).collect::<Vec<_>>() {
            self.tick_ids.remove(&second).and_then(|id| self.events.remove(&id));
        }
        let id = self.push(FeedEvent::Tick(Arc::new(tick)));
        if let Some(older) = self.tick_ids.insert(second, id) {
            self.events.remove(&older);
        }
        if self.tick_ids.len() > MAX_TICKS
            && let Some((_, id)) = self.tick_ids.pop_first()
        {
            self.events.remove(&id);
        }
    }

    /// Replaces the state. Thresholds that stand otherwise than in the one before are told by themselves too.
    pub(crate) fn state(&mut self, state: Snapshot) {
        for (index, threshold) in state.thresholds.iter().enumerate() {
            self.threshold(index, threshold);
        }
        let id = self.push(FeedEvent::State(Arc::new(state)));
        if let Some(older) = self.state_id.replace(id) {
            self.events.remove(&older);
        }
    }

    fn threshold(&mut self, index: usize, threshold: &ThresholdTotals) {
        // Before anything is known of it, it has no data.
        let (stood, told) = self.thresholds.get(&index).copied().unwrap_or((Standing::NoData, None));
        if stood == threshold.standing {
            return;
        }
        let id = self.push(FeedEvent::Threshold(Arc::new(threshold.clone())));
        self.thresholds.insert(index, (threshold.standing, Some(id)));
        told.and_then(|older| self.events.remove(&older));
    }

    /// Adds a line, if there is room.
    pub(crate) fn log(&mut self, line: LogLine) {
        if self.lines == MAX_LINES {
            self.lines_dropped += 1;
            return;
        }
        self.lines += 1;
        self.push(FeedEvent::Log(Arc::new(line)));
    }

    /// Adds lines that were kept, and how many had had no room.
    pub(crate) fn recall(&mut self, lines: Vec<LogLine>, dropped: u64) {
        self.lines_dropped = self.lines_dropped.saturating_add(dropped);
        lines.into_iter().for_each(|line| self.log(line));
    }

    /// Ends the stream.
    pub(crate) fn end(&mut self) {
        if self.end_id.is_none() {
            self.end_id = Some(self.push(FeedEvent::End));
        }
    }

    /// Up to `max` events after the one with this number, which need not be there any more.
    pub(crate) fn after(&self, id: u64, max: usize) -> Vec<(u64, FeedEvent)> {
        // A number from the future is another coordinator's: that reader knows nothing of ours.
        let from = if id > self.latest { 0 } else { id };
        let range = self.events.range((Bound::Excluded(from), Bound::Unbounded));
        range.take(max).map(|(id, event)| (*id, event.clone())).collect()
    }

    /// True if whoever has seen the event with this number has seen all there will ever be.
    pub(crate) fn is_all(&self, id: u64) -> bool {
        self.end_id == Some(id)
    }

    /// How many ticks there are.
    pub(crate) fn len(&self) -> usize {
        self.tick_ids.len()
    }

    /// The ticks, ascending.
    pub(crate) fn ticks(&self) -> Vec<Arc<Tick>> {
        let events = self.tick_ids.values().filter_map(|id| self.events.get(id));
        events
            .filter_map(|event| match event {
                FeedEvent::Tick(tick) => Some(tick.clone()),
                FeedEvent::State(_) | FeedEvent::Threshold(_) | FeedEvent::Log(_) | FeedEvent::End => None,
            })
            .collect()
    }

    /// The log, oldest first, and how many lines had no room.
    pub(crate) fn lines(&self) -> (Vec<LogLine>, u64) {
        let lines = self.events.values().filter_map(|event| match event {
            FeedEvent::Log(line) => Some((**line).clone()),
            FeedEvent::Tick(_) | FeedEvent::State(_) | FeedEvent::Threshold(_) | FeedEvent::End => None,
        });
        (lines.collect(), self.lines_dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(second: u64, ok: u64) -> Tick {
        Tick { second, ok, span_s: 1, ..Tick::default() }
    }

    fn line(text: &str) -> LogLine {
        LogLine { text: text.to_owned(), ..LogLine::default() }
    }

    /// What a reader gets that has seen `id`: `t1=5` is second 1 with 5 ok.
    fn check(feed: &Feed, id: u64, max: usize, expected: &str) {
        let said = feed.after(id, max).into_iter().map(|(id, event)| match event {
            FeedEvent::Tick(tick) => format!("{id}:t{}={}", tick.second, tick.ok),
            FeedEvent::State(state) => format!("{id}:s={}", state.state),
            FeedEvent::Threshold(of) => format!("{id}:h={:?}", of.standing),
            FeedEvent::Log(line) => format!("{id}:l={}", line.text),
            FeedEvent::End => format!("{id}:end"),
        });
        assert_eq!(said.collect::<Vec<_>>().join(" "), expected);
    }

    fn state(name: &str) -> Snapshot {
        Snapshot { state: name.to_owned(), ..Snapshot::default() }
    }

    #[test]
    fn readers_resume_where_they_were_and_get_corrections() {
        let mut feed = Feed::default();
        feed.state(state("running"));
        feed.tick(tick(0, 5));
        feed.log(line("a"));
        feed.tick(tick(1, 6));
        check(&feed, 0, 9, "1:s=running 2:t0=5 3:l=a 4:t1=6");
        feed.tick(tick(0, 7));
        feed.state(state("finished"));
        assert!(!feed.is_all(6));
        feed.end();
        feed.end();
        check(&feed, 0, 9, "3:l=a 4:t1=6 5:t0=7 6:s=finished 7:end");
        check(&feed, 4, 9, "5:t0=7 6:s=finished 7:end");
        check(&feed, 4, 2, "5:t0=7 6:s=finished");
        check(&feed, 7, 9, "");
        check(&feed, 99, 1, "3:l=a");
        assert!(feed.is_all(7) && !feed.is_all(6));
        assert_eq!(feed.ticks().iter().map(|tick| tick.second).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_threshold_is_told_once_it_stands_otherwise() {
        let mut feed = Feed::default();
        let stands = |standing| {
            let thresholds = vec![ThresholdTotals { standing, ..ThresholdTotals::default() }];
            Snapshot { thresholds, ..state("running") }
        };
        feed.state(stands(Standing::NoData));
        feed.state(stands(Standing::Holds));
        feed.state(stands(Standing::Holds));
        check(&feed, 0, 9, "2:h=Holds 4:s=running");
        feed.state(stands(Standing::Broken));
        check(&feed, 0, 9, "5:h=Broken 6:s=running");
    }

    #[test]
    fn a_minute_takes_the_place_of_its_seconds() {
        let mut feed = Feed::beginning_after(100);
        (58..62).for_each(|second| feed.tick(tick(second, 1)));
        feed.tick(Tick { span_s: 60, ..tick(0, 50) });
        check(&feed, 0, 9, "103:t60=1 104:t61=1 105:t0=50");
        feed.tick(Tick { span_s: 60, ..tick(0, 51) });
        check(&feed, 104, 9, "106:t0=51");
        check(&feed, 107, 9, "103:t60=1 104:t61=1 106:t0=51");
        assert_eq!(feed.len(), 3);
    }

    #[test]
    fn the_feed_is_bounded() {
        let mut feed = Feed::default();
        for second in 0..MAX_TICKS as u64 + 10 {
            feed.tick(tick(second, 0));
            feed.state(state("running"));
            feed.log(line("x"));
        }
        let (lines, dropped) = feed.lines();
        assert_eq!((lines.len(), lines.len() as u64 + dropped), (MAX_LINES, MAX_TICKS as u64 + 10));
        assert_eq!((feed.ticks().len(), feed.ticks()[0].second), (MAX_TICKS, 10));
        assert_eq!(feed.events.len(), MAX_TICKS + MAX_LINES + 1);
    }
}
