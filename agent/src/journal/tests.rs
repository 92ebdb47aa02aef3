//! Under any interleaving of pushing, keeping, sending, acknowledging and reconnecting: totals are kept, numbers have no
//! gaps, and what was numbered is never altered.

use std::collections::BTreeMap;

use proptest::prelude::*;
use volley_stats::{Part, RowKey, Series};

use super::*;
use crate::testing::{run_id, window, window_of};

fn opened(run: &str) -> (Journal, RunId) {
    opened_with(false, run)
}

fn opened_with(is_kept: bool, run: &str) -> (Journal, RunId) {
    let (mut journal, run) = (Journal::new(is_kept), run_id(run));
    assert_eq!(journal.open(&run), None);
    (journal, run)
}

/// Sequences of all windows that can be sent now.
fn sequences(journal: &mut Journal) -> Vec<u64> {
    std::iter::from_fn(|| journal.next()).map(|numbered| numbered.sequence).collect()
}

#[test]
fn only_a_few_are_on_their_way() {
    let (mut journal, run) = opened("r");
    for second in 0..10 {
        journal.push(&run, &window(second, &[1]), second == 9);
    }
    assert_eq!(sequences(&mut journal), [1, 2, 3, 4]);
    assert!(!journal.has_next());
    journal.acknowledge(&run, 2);
    assert_eq!(sequences(&mut journal), [5, 6]);
    journal.reconnected();
    assert_eq!(sequences(&mut journal), [3, 4, 5, 6]);
    journal.acknowledge(&run, 1_000_000);
    assert_eq!(sequences(&mut journal), [7, 8, 9, 10], "an absurd acknowledgement covers only what was sent");
}

/// More than the coordinator takes in one window: a second of so many steps.
fn wide(second: u32) -> Window {
    let mut window = window(second, &[1_000]);
    let row = window.rows[&RowKey::second(second, 0)].clone();
    window.rows.extend((0..200).map(|step| (RowKey::second(second, step), row.clone())));
    window
}

#[test]
fn a_window_that_is_too_large_is_sent_as_several() {
    let (mut journal, run) = opened("r");
    journal.push(&run, &wide(0), false);
    journal.push(&run, &wide(1), true);
    let mut received: Vec<Numbered> = Vec::new();
    for _ in 0..100 {
        // Each connection breaks after what it carries, and the first of that alone is acknowledged.
        let sent: Vec<Numbered> = std::iter::from_fn(|| journal.next()).collect();
        let Some(first) = sent.first().cloned() else { break };
        journal.acknowledge(&run, first.sequence);
        journal.reconnected();
        received.push(first);
    }
    assert!(journal.is_delivered());
    let told: Vec<(u64, u32, bool)> =
        received.iter().map(|sent| (sent.sequence, sent.window.watermark_s, sent.last)).collect();
    let expected = [(1, 0), (2, 0), (3, 1), (4, 0), (5, 0), (6, 2)].map(|(n, s)| (n, s, n == 6));
    assert_eq!(told, expected);
    let rows: usize = received.iter().map(|sent| sent.window.rows.len()).sum();
    assert_eq!(rows, 2 * (200 + 1));
}

#[test]
fn runs_do_not_wait_for_each_other() {
    let (mut journal, one) = opened("one");
    let two = run_id("two");
    journal.open(&two);
    for second in 0..6 {
        journal.push(&one, &window(second, &[1]), false);
    }
    journal.push(&two, &window(0, &[1]), false);
    let sent: Vec<(String, u64)> = std::iter::from_fn(|| journal.next())
        .map(|numbered| (numbered.source.run.to_string(), numbered.sequence))
        .collect();
    let expected = [("one", 1), ("one", 2), ("one", 3), ("one", 4), ("two", 1)];
    assert_eq!(sent, expected.map(|(run, sequence)| (run.to_owned(), sequence)));
    journal.forget(&one);
    journal.reconnected();
    assert_eq!(sequences(&mut journal), [1]);
}

#[test]
fn the_oldest_run_is_given_up_for_a_ninth() {
    let mut journal = Journal::default();
    let runs: Vec<RunId> = (0..=MAX_RUNS).map(|n| run_id(&format!("r{n}"))).collect();
    let given_up: Vec<_> = runs.iter().filter_map(|run| journal.open(run)).collect();
    assert_eq!(given_up, [runs[0].clone()]);
    assert_eq!(journal.open(&runs[1]), None, "a known run needs no room");
}

#[test]
fn what_is_given_up_is_taken_off_the_disk() {
    let mut journal = Journal::new(true);
    let runs: Vec<RunId> = (0..=MAX_RUNS + 1).map(|n| run_id(&format!("r{n}"))).collect();
    runs.iter().take(MAX_RUNS).for_each(|run| assert_eq!(journal.open(run), None));
    journal.push(&runs[1], &window(0, &[1]), false);
    assert!(matches!(journal.next_job(), Some(Job::Keep(_))));
    for (run, given_up) in runs[MAX_RUNS..].iter().zip(&runs) {
        assert_eq!(journal.open(run).as_ref(), Some(given_up));
    }
    let kept = Source { run: runs[1].clone(), of: None };
    assert_eq!((journal.next_job(), journal.next_job()), (Some(Job::Remove(kept)), None));
}

#[test]
fn with_a_disk_more_are_numbered_than_are_on_their_way() {
    let (mut journal, run) = opened_with(true, "r");
    let many = u32::try_from(MAX_KEPT + 10).expect("a few hundred");
    (0..many).for_each(|second| journal.push(&run, &window(second, &[1]), false));
    let jobs = std::iter::from_fn(|| journal.next_job()).count();
    assert_eq!((jobs, journal.owed()), (MAX_KEPT, MAX_KEPT + 10));
    journal.kept(&run, 200);
    assert_eq!(sequences(&mut journal), [1, 2, 3, 4]);
    journal.acknowledge(&run, 4);
    let jobs: Vec<u64> = std::iter::from_fn(|| journal.next_job())
        .map(|job| match job {
            Job::Keep(numbered) => numbered.sequence,
            other => panic!("{other:?} is no window to keep"),
        })
        .collect();
    assert_eq!(jobs, (201..=204).collect::<Vec<u64>>());
}

#[derive(Clone, Debug)]
enum Step {
    Push(Vec<u64>),
    PushMany(u32),
    Send,
    /// The disk does so many jobs.
    Keep(usize),
    Fail,
    /// Of those received and not yet acknowledged, in thousandths.
    Acknowledge(u64),
    Reconnect,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => proptest::collection::vec(1u64..1_000_000_000, 0..4).prop_map(Step::Push),
        1 => (1u32..150).prop_map(Step::PushMany),
        6 => Just(Step::Send),
        4 => (1usize..5).prop_map(Step::Keep),
        1 => Just(Step::Fail),
        3 => (0u64..=1000).prop_map(Step::Acknowledge),
        1 => Just(Step::Reconnect),
    ]
}

/// The journal beside a disk, and a coordinator that takes windows by their number.
struct Pair {
    journal: Journal,
    /// What is on the disk, if there is one that works.
    disk: Option<BTreeMap<u64, Numbered>>,
    run: RunId,
    pushed: Series,
    received: BTreeMap<u64, Numbered>,
    acknowledged: u64,
    second: u32,
}

impl Pair {
    fn new(has_disk: bool) -> Self {
        let (journal, run) = opened_with(has_disk, "r");
        Self {
            journal,
            disk: has_disk.then(BTreeMap::new),
            run,
            pushed: Series::default(),
            received: BTreeMap::new(),
            acknowledged: 0,
            second: 0,
        }
    }

    fn push(&mut self, latencies: &[u64], last: bool) {
        let part = if self.second < 3 { Part::Warmup } else { Part::Measured };
        let window = window_of(self.second, part, latencies);
        self.second += 1;
        self.pushed.add(&window).expect("a good window");
        self.journal.push(&self.run, &window, last);
    }

    /// Sends one; a repeated number must hold what it held before, a new one must be the next.
    fn send(&mut self) -> bool {
        let Some(numbered) = self.journal.next() else { return false };
        let next = self.received.len() as u64 + 1;
        if let Some(disk) = &self.disk {
            assert_eq!(disk.get(&numbered.sequence), Some(&numbered), "it is kept before it is sent");
        }
        match self.received.get(&numbered.sequence) {
            Some(known) => assert_eq!(*known, numbered, "a window once sent is never altered"),
            None => {
                assert_eq!(numbered.sequence, next, "numbers have no gaps");
                self.received.insert(next, numbered);
            }
        }
        true
    }

    /// One job of the disk.
    fn keep(&mut self) -> bool {
        let Some(disk) = &mut self.disk else { return false };
        match self.journal.next_job() {
            Some(Job::Keep(numbered)) => {
                let sequence = numbered.sequence;
                assert_eq!(disk.insert(sequence, numbered), None);
                self.journal.kept(&self.run, sequence);
            }
            Some(Job::Clear { up_to, .. }) => assert!(up_to <= self.acknowledged),
            None => return false,
            other => panic!("{other:?} is no job for a run that goes on"),
        }
        true
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Push(latencies) => self.push(latencies, false),
            Step::PushMany(n) => (0..*n).for_each(|ns| self.push(&[u64::from(ns)], false)),
            Step::Send => _ = self.send(),
            Step::Keep(jobs) => _ = (0..*jobs).take_while(|_| self.keep()).count(),
            Step::Fail => {
                self.disk = None;
                self.journal.unkept(&self.run);
            }
            Step::Acknowledge(thousandths) => {
                let open = self.received.len() as u64 - self.acknowledged;
                self.acknowledged += open * thousandths / 1000;
                self.journal.acknowledge(&self.run, self.acknowledged);
            }
            Step::Reconnect => self.journal.reconnected(),
        }
        for journal in &self.journal.runs {
            assert!(journal.waiting.len() <= MAX_WAITING && journal.outbox.len() <= MAX_KEPT);
        }
    }

    fn deliver_the_rest(&mut self) {
        self.push(&[], true);
        self.journal.reconnected();
        for _ in 0..1000 {
            while self.keep() || self.send() {}
            self.acknowledged = self.received.len() as u64;
            self.journal.acknowledge(&self.run, self.acknowledged);
        }
        assert!(!self.journal.has_next());
        assert!(self.journal.is_delivered());
    }

    fn check_totals(&self) {
        let mut series = Series::default();
        for numbered in self.received.values() {
            let window = numbered.window.open().expect("what was sealed here");
            series.add(&window).expect("a good window");
        }
        assert_eq!(series.whole(), self.pushed.whole());
        assert_eq!(series.iterations(), self.pushed.iterations());
        assert_eq!(series.warmup(), self.pushed.warmup());
        assert_eq!(series.whole_of(Part::Warmup), self.pushed.whole_of(Part::Warmup));
        let last: Vec<u64> = self.received.values().filter(|n| n.last).map(|n| n.sequence).collect();
        assert_eq!(last, [self.received.len() as u64], "the last one is last, and there is one");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn totals_are_kept_whatever_happens(
        has_disk: bool, steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut pair = Pair::new(has_disk);
        for step in &steps {
            pair.take(step);
        }
        pair.deliver_the_rest();
        pair.check_totals();
    }
}
