//! One file after the other, a few windows at a time, and each is taken away once it is delivered.

use volley_plan::link::Incarnation;

use super::*;
use crate::testing::{numbered, run_id};

fn source(name: &str) -> Source {
    Source { run: run_id(name), of: Some(Incarnation(7)) }
}

/// The leftovers of two runs beside the disk that they are on, whose windows have these numbers.
struct Pair {
    leftovers: Leftovers,
    files: Vec<(Source, VecDeque<u64>)>,
    /// What was asked of the disk besides reading.
    removed: Vec<Source>,
}

impl Pair {
    fn new(files: &[(&str, &[u64])]) -> Self {
        let files: Vec<_> =
            files.iter().map(|(name, numbers)| (source(name), numbers.iter().copied().collect())).collect();
        let mut leftovers = Leftovers::default();
        leftovers.found(files.iter().map(|(source, _)| source.clone()).collect());
        Self { leftovers, files, removed: vec![] }
    }

    /// Does all jobs that there are.
    fn read(&mut self) {
        while let Some(job) = self.leftovers.next_job() {
            match job {
                Job::Read(source) => {
                    let (_, numbers) = self
                        .files
                        .iter_mut()
                        .find(|(known, _)| *known == source)
                        .expect("one that was found");
                    let window = numbers.pop_front().map(|sequence| numbered(&source, sequence, false));
                    self.leftovers.read(&source, window);
                }
                Job::Remove(source) => self.removed.push(source),
                other => panic!("{other:?} is no job for what was left"),
            }
        }
    }

    /// What goes out now.
    fn out(&mut self) -> Vec<(String, u64)> {
        self.read();
        std::iter::from_fn(|| self.leftovers.next())
            .map(|numbered| (numbered.source.run.to_string(), numbered.sequence))
            .collect()
    }

    fn acknowledge(&mut self, name: &str, sequence: u64) {
        self.leftovers.acknowledge(&source(name), sequence);
    }
}

fn of(name: &str, numbers: std::ops::RangeInclusive<u64>) -> Vec<(String, u64)> {
    numbers.map(|number| (name.to_owned(), number)).collect()
}

#[test]
fn all_is_delivered_in_order_and_then_removed() {
    let mut pair = Pair::new(&[("a", &[3, 4, 5, 6, 7, 8]), ("b", &[1])]);
    assert_eq!(pair.out(), of("a", 3..=6));
    assert!(!pair.leftovers.has_next());
    pair.acknowledge("a", 4);
    assert_eq!(pair.out(), of("a", 7..=8));
    pair.leftovers.reconnected();
    assert_eq!(pair.out(), of("a", 5..=8));
    pair.acknowledge("b", 1);
    pair.acknowledge("a", 8);
    assert_eq!(pair.out(), of("b", 1..=1));
    assert_eq!((pair.removed.as_slice(), pair.leftovers.len()), ([source("a")].as_slice(), 1));
    pair.acknowledge("b", 1);
    pair.read();
    assert_eq!((pair.removed.as_slice(), pair.leftovers.len()), ([source("a"), source("b")].as_slice(), 0));
}

#[test]
fn what_is_not_acknowledged_holds_up_no_others() {
    let check = |go_by: &dyn Fn(&mut Leftovers)| {
        let mut pair = Pair::new(&[("a", &[1, 2]), ("b", &[5])]);
        assert_eq!(pair.out(), of("a", 1..=2));
        go_by(&mut pair.leftovers);
        assert_eq!(pair.out(), of("b", 5..=5));
        pair.acknowledge("b", 5);
        assert_eq!(pair.out(), of("a", 1..=2), "it is tried again");
        assert_eq!(pair.removed, [source("b")]);
        // Alone it waits.
        (0..2 * MAX_UNHEARD_BEATS).for_each(|_| pair.leftovers.beat());
        assert_eq!(pair.out(), []);
        pair.acknowledge("a", 2);
        pair.read();
        assert_eq!(pair.leftovers.len(), 0);
    };
    check(&Leftovers::reconnected);
    check(&|leftovers| (0..MAX_UNHEARD_BEATS).for_each(|_| leftovers.beat()));
    let mut pair = Pair::new(&[("a", &[1, 2]), ("b", &[5])]);
    assert_eq!(pair.out(), of("a", 1..=2));
    (1..MAX_UNHEARD_BEATS).for_each(|_| pair.leftovers.beat());
    pair.acknowledge("a", 1);
    (1..MAX_UNHEARD_BEATS).for_each(|_| pair.leftovers.beat());
    assert_eq!(pair.out(), [], "it was heard in between");
    // One that goes behind others may be delivered all the same.
    pair.leftovers.beat();
    pair.acknowledge("a", 2);
    assert_eq!(pair.out(), of("b", 5..=5));
}

#[test]
fn what_nobody_wants_is_removed_unread() {
    let mut pair = Pair::new(&[("a", &[1, 2, 3, 4, 5, 6, 7, 8])]);
    assert_eq!(pair.out(), of("a", 1..=4));
    pair.acknowledge("a", u64::MAX);
    assert_eq!((pair.out(), pair.removed.as_slice()), (vec![], [source("a")].as_slice()));
    pair.leftovers.read(&source("a"), Some(numbered(&source("a"), 5, false)));
    assert_eq!(pair.out(), []);
}

#[test]
fn files_without_windows_and_windows_out_of_order_end() {
    let mut pair = Pair::new(&[("a", &[]), ("b", &[4, 6, 7])]);
    assert_eq!(pair.out(), of("b", 4..=4));
    assert_eq!(pair.removed, [source("a")]);
    pair.acknowledge("b", 4);
    pair.read();
    assert_eq!(pair.removed, [source("a"), source("b")]);
}
