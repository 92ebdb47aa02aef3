//! The counts by themselves, without a server.

use super::*;

#[test]
fn of_each_hundred_exactly_the_percentage_fails() {
    let counts = Counts::new();
    for percent in 0..=100 {
        for hundred in 0..3 {
            let failed = (0..100).filter(|_| counts.next_fails(percent)).count();
            assert_eq!(failed, usize::from(percent), "hundred {hundred}");
        }
    }
}

#[test]
fn failures_are_spread_evenly() {
    let counts = Counts::new();
    let fails: Vec<_> = (0..10).map(|_| counts.next_fails(20)).collect();
    assert_eq!(fails, [false, false, false, false, true, false, false, false, false, true]);
}

#[test]
fn paths_past_the_cap_are_one() {
    let counts = Counts::new();
    for number in 0..PATHS_MAX + 50 {
        counts.path(&format!("/{number}")).0.fetch_add(1, Relaxed);
    }
    counts.path("/7").0.fetch_add(1, Relaxed);
    let snapshot = counts.snapshot();
    assert_eq!(snapshot.paths.len(), PATHS_MAX + 1);
    assert_eq!((snapshot.path("/7"), snapshot.path("/1010"), snapshot.path(OTHER_PATHS)), (2, 0, 50));
    assert_eq!(snapshot.requests, 1_051);
}

#[test]
fn long_paths_are_other() {
    let counts = Counts::new();
    for path in ["/".repeat(PATH_BYTES_MAX), "/".repeat(PATH_BYTES_MAX + 1)] {
        counts.path(&path).0.fetch_add(1, Relaxed);
    }
    let snapshot = counts.snapshot();
    assert_eq!((snapshot.paths.len(), snapshot.path(OTHER_PATHS)), (2, 1));
}

#[test]
fn a_reset_makes_room_for_paths() {
    let counts = Counts::new();
    for number in 0..PATHS_MAX {
        counts.path(&format!("/{number}")).0.fetch_add(1, Relaxed);
    }
    let generation = counts.generation();
    counts.reset();
    let (count, new_generation) = counts.path("/new");
    count.fetch_add(1, Relaxed);
    assert_ne!(new_generation, generation);
    assert_eq!((counts.snapshot().requests, counts.snapshot().path("/new")), (1, 1));
}

#[test]
fn nothing_is_taken_back_below_zero() {
    let count = AtomicU64::new(3);
    take_back(&count, 2);
    assert_eq!(count.load(Relaxed), 1);
    take_back(&count, 2);
    assert_eq!(count.load(Relaxed), 0);
}
