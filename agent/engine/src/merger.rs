//! From the workers' windows to the agent's: a second is complete once no worker can add to it.

use std::collections::BTreeMap;

use volley_stats::{Iterations, RowKey, Second, StepId, Window};

use crate::recorder::{Earlier, WorkerWindow, add_iterations};

/// Most seconds for which a worker that was away is taken to have stayed as it was. It bounds the size of a window
/// after a long stop of the whole process.
const MAX_FILLED: u32 = 60;

/// What the workers have handed over and nobody has sent yet.
#[derive(Debug)]
pub(crate) struct Merger {
    /// By worker: the second that it may still add to; all before it are complete.
    next: Vec<u32>,
    /// By worker: for how long it polled for want of work, as far as nobody was told.
    polled_ns: Vec<u64>,
    pending: Window,
    /// By second: run time of the latest completion in it.
    latest_ns: BTreeMap<u32, u64>,
    /// What was sent is complete up to this second, exclusive.
    watermark_s: u32,
}

impl Merger {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            next: vec![0; workers],
            polled_ns: vec![0; workers],
            pending: Window::default(),
            latest_ns: BTreeMap::new(),
            watermark_s: 0,
        }
    }

    /// The seconds before this one are not this engine's.
    pub(crate) fn begins_at(&mut self, second: u32) {
        self.watermark_s = self.watermark_s.max(second);
    }

    /// Adds a worker's window of `second`; the worker goes on at `next`, or not at all.
    pub(crate) fn add(&mut self, worker: usize, second: u32, next: Option<u32>, window: &WorkerWindow) {
        self.add_rows(second, window);
        window.earlier.iter().for_each(|earlier| self.add_earlier(earlier));
        self.pending.seconds.entry(second).or_default().merge(&window.scalars);
        // A worker that slept over some seconds had the same users and connections in them.
        let gauges =
            Second { iterations: Iterations::default(), warmup: Iterations::default(), ..window.scalars };
        for skipped in (second + 1..next.unwrap_or(0)).take(MAX_FILLED as usize) {
            self.pending.seconds.entry(skipped).or_default().merge(&gauges);
        }
        let health = self.pending.health.entry(second).or_default();
        health.stall_max_ns = health.stall_max_ns.max(window.stall_max_ns);
        self.polled_ns[worker] += window.polled_ns;
        for (address, counts) in &window.addresses {
            self.pending.addresses.add(address, counts);
        }
        let latest_ns = self.latest_ns.entry(second).or_default();
        *latest_ns = window.latest_ns.max(*latest_ns);
        self.next[worker] = next.unwrap_or(u32::MAX);
    }

    fn add_rows(&mut self, second: u32, window: &WorkerWindow) {
        for (part, results) in window.parts() {
            for (step, row) in results.used_rows() {
                let key = RowKey { part, ..RowKey::second(second, step) };
                self.pending.rows.entry(key).or_default().merge(row);
            }
            if !results.timing.is_empty() {
                let row = self.pending.rows.entry(RowKey::all_steps(second, part)).or_default();
                row.timing.merge(&results.timing);
            }
        }
    }

    /// Files under its second what a worker came to later.
    fn add_earlier(&mut self, earlier: &Earlier) {
        let scalars = self.pending.seconds.entry(earlier.second).or_default();
        add_iterations(scalars, earlier.part, &earlier.iterations());
        if let Some(step) = earlier.step {
            let step = StepId::try_from(step).unwrap_or(StepId::MAX);
            let key = RowKey { part: earlier.part, ..RowKey::second(earlier.second, step) };
            self.pending.rows.entry(key).or_default().counters.started += earlier.started;
        }
    }

    /// A worker will add nothing more.
    pub(crate) fn done(&mut self, worker: usize) {
        self.next[worker] = u32::MAX;
    }

    /// For how long every worker polled for want of work since this was asked last. The busiest one did so least.
    pub(crate) fn take_polled_ns(&mut self) -> u64 {
        let least_ns = self.polled_ns.iter().copied().min().unwrap_or(0);
        self.polled_ns.fill(0);
        least_ns
    }

    /// The seconds that became complete, if any did. None once all workers are done: then comes [`Self::last`].
    pub(crate) fn complete(&mut self) -> Option<Window> {
        let watermark_s = self.next.iter().copied().min().filter(|&next| next != u32::MAX)?;
        if watermark_s <= self.watermark_s {
            return None;
        }
        self.watermark_s = watermark_s;
        let first_kept = RowKey { to_s: 0, ..RowKey::second(watermark_s, 0) };
        let rows = self.pending.rows.split_off(&first_kept);
        let seconds = self.pending.seconds.split_off(&watermark_s);
        let health = self.pending.health.split_off(&watermark_s);
        let rest = Window { rows, seconds, health, ..Window::default() };
        let window = std::mem::replace(&mut self.pending, rest);
        let later = self.latest_ns.split_off(&watermark_s);
        let latest_ns = max_of(&std::mem::replace(&mut self.latest_ns, later));
        Some(Window { watermark_s, latest_ns, ..window })
    }

    /// All that is left.
    pub(crate) fn last(self) -> Window {
        let end_s = self.pending.seconds.last_key_value().map_or(0, |(second, _)| second + 1);
        let latest_ns = max_of(&self.latest_ns);
        Window { watermark_s: self.watermark_s.max(end_s), latest_ns, ..self.pending }
    }
}

fn max_of(latest_ns: &BTreeMap<u32, u64>) -> u64 {
    latest_ns.values().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_stats::Part;

    fn window(started: u64) -> WorkerWindow {
        let mut window = WorkerWindow::new(2);
        window.latest_ns = started * 10;
        window.row(Part::Measured, 1).counters.started = started;
        window.scalars = Second {
            iterations: Iterations { started, ..Iterations::default() },
            users: 5,
            ..Second::default()
        };
        window
    }

    /// Seconds with the requests started and the users in each, the watermark, the latest completion.
    fn seen(window: &Window) -> (Vec<(u32, u64, u32)>, u32, u64) {
        let seconds = window.seconds.iter().map(|(&second, scalars)| {
            let row = window.rows.get(&RowKey::second(second, 1));
            (second, row.map_or(0, |row| row.counters.started), scalars.users)
        });
        (seconds.collect(), window.watermark_s, window.latest_ns)
    }

    #[test]
    fn a_second_is_complete_when_the_latest_worker_has_handed_it_over() {
        let mut merger = Merger::new(2);
        merger.add(0, 0, Some(1), &window(10));
        assert_eq!(merger.complete(), None);
        merger.add(0, 1, Some(2), &window(11));
        merger.add(1, 0, Some(1), &window(100));
        assert_eq!(merger.complete().as_ref().map(seen), Some((vec![(0, 110, 10)], 1, 1000)));
        assert_eq!(merger.complete(), None);
        merger.add(1, 1, Some(2), &window(101));
        assert_eq!(merger.complete().as_ref().map(seen), Some((vec![(1, 112, 10)], 2, 1010)));
        assert_eq!(seen(&merger.last()), (vec![], 2, 0));
    }

    #[test]
    fn a_worker_that_slept_is_counted_in_the_seconds_between() {
        let mut merger = Merger::new(2);
        for second in 0..4 {
            merger.add(0, second, Some(second + 1), &window(1));
        }
        assert_eq!(merger.complete(), None);
        merger.add(1, 0, Some(3), &window(7));
        let expected = vec![(0, 8, 10), (1, 1, 10), (2, 1, 10)];
        assert_eq!(merger.complete().as_ref().map(seen), Some((expected, 3, 70)));
        merger.done(1);
        assert_eq!(merger.complete().as_ref().map(seen), Some((vec![(3, 1, 5)], 4, 10)));
        merger.add(0, 4, None, &window(2));
        assert_eq!(merger.complete(), None);
        assert_eq!(seen(&merger.last()), (vec![(4, 2, 5)], 5, 20));
    }

    #[test]
    fn the_busiest_worker_polled_least() {
        let mut merger = Merger::new(2);
        for (worker, polled_ns) in [(0, 700), (1, 300), (0, 100)] {
            let mut window = window(1);
            window.polled_ns = polled_ns;
            merger.add(worker, 0, Some(1), &window);
        }
        assert_eq!((merger.take_polled_ns(), merger.take_polled_ns()), (300, 0));
    }

    #[test]
    fn what_was_due_in_an_earlier_second_goes_there() {
        let mut merger = Merger::new(1);
        merger.add(0, 0, Some(3), &window(1));
        merger.complete();
        let mut late = window(4);
        let earlier = Earlier { second: 1, part: Part::Measured, step: Some(1), started: 2, missed: 0 };
        late.earlier = vec![earlier, Earlier { step: None, started: 0, missed: 5, ..earlier }];
        merger.add(0, 3, Some(4), &late);
        let window = merger.complete().unwrap();
        assert_eq!(seen(&window), (vec![(1, 2, 0), (3, 4, 5)], 4, 40));
        let Iterations { started, missed, .. } = window.seconds[&1].iterations;
        assert_eq!((started, missed), (2, 5));
    }

    #[test]
    fn who_joins_late_says_nothing_of_earlier_seconds() {
        let mut merger = Merger::new(1);
        merger.begins_at(12);
        assert_eq!(merger.complete(), None);
        merger.add(0, 12, Some(13), &window(1));
        assert_eq!(merger.complete().as_ref().map(seen), Some((vec![(12, 1, 5)], 13, 10)));
        let mut merger = Merger::new(1);
        merger.begins_at(12);
        merger.done(0);
        assert_eq!(merger.last(), Window { watermark_s: 12, ..Window::default() });
    }

    #[test]
    fn nothing_happened() {
        let mut merger = Merger::new(1);
        merger.done(0);
        assert_eq!(merger.complete(), None);
        assert_eq!(merger.last(), Window::default());
    }
}
