//! Numbers begin where they are said to and have no gaps.

use super::*;
use crate::testing::window;

fn entry(second: u32) -> Entry {
    Entry { window: SealedWindow::of(&window(second, &[1])), last: false }
}

/// The numbers that go out now.
fn out(outbox: &mut Outbox, up_to: u64) -> Vec<u64> {
    std::iter::from_fn(|| outbox.next(up_to).map(|(number, _)| number)).collect()
}

#[test]
fn nothing_goes_out_above_the_bound() {
    let mut outbox = Outbox::default();
    (0..4).for_each(|second| outbox.push(entry(second)));
    assert_eq!(out(&mut outbox, 0), [0; 0]);
    assert_eq!(out(&mut outbox, 3), [1, 2, 3]);
    outbox.acknowledge(2);
    assert_eq!((out(&mut outbox, 3), outbox.has_next(4)), (vec![], true));
    outbox.reconnected();
    assert_eq!((out(&mut outbox, u64::MAX), outbox.len()), (vec![3, 4], 2));
}

#[test]
fn what_comes_after_a_number_is_found_though_that_is_gone() {
    let mut outbox = Outbox::default();
    (0..3).for_each(|second| outbox.push(entry(second)));
    outbox.acknowledge(1);
    let after = |sequence| outbox.after(sequence).map(|(number, _)| number);
    assert_eq!([0, 1, 2, 3, u64::MAX].map(after), [Some(2), Some(2), Some(3), None, None]);
}

#[test]
fn windows_of_another_process_keep_their_numbers() {
    let mut outbox = Outbox::default();
    assert!(outbox.push_numbered(7, entry(0)) && outbox.push_numbered(8, entry(1)));
    assert!(!outbox.push_numbered(8, entry(1)) && !outbox.push_numbered(10, entry(3)));
    assert_eq!(out(&mut outbox, u64::MAX), [7, 8]);
    outbox.acknowledge(6);
    assert_eq!(outbox.len(), 2);
    outbox.acknowledge(u64::MAX);
    assert!(outbox.is_empty() && outbox.numbered() == 8);
    for nonsense in [0, u64::MAX] {
        assert!(!Outbox::default().push_numbered(nonsense, entry(0)));
    }
}
