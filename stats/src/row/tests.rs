//! Sealing leads back, merging loses nothing, clearing leaves nothing.

use proptest::prelude::*;

use super::*;
use crate::Timed;
use crate::testing::row;

/// How many values each histogram of a row holds.
fn counts<C: Count>(row: &Row<C>) -> Vec<u64> {
    let of_step = [&row.latency, &row.service_time, &row.failed_latency, &row.cancelled_age];
    let timed = Timed::ALL.iter().map(|timed| row.timing.of(*timed).count());
    of_step.into_iter().map(Histogram::count).chain(timed).collect()
}

proptest! {
    #[test]
    fn what_is_sealed_opens_as_it_was(row in row()) {
        let sealed = row.seal();
        prop_assert_eq!(sealed.open::<u32>(), Ok(row.clone()));
        let mut total = TotalRow::default();
        total.merge(&row);
        prop_assert_eq!(sealed.open::<u64>(), Ok(total.clone()));
        prop_assert_eq!(total.seal(), sealed);
    }

    #[test]
    fn the_order_of_merging_is_of_no_matter(one in row(), two in row(), three in row()) {
        let merged = |rows: [&Row; 3]| {
            let mut sum = TotalRow::default();
            rows.into_iter().for_each(|row| sum.merge(row));
            sum
        };
        let sum = merged([&one, &two, &three]);
        prop_assert_eq!(&merged([&three, &one, &two]), &sum);
        let parts = [&one, &two, &three].map(counts);
        let summed: Vec<u64> = (0..parts[0].len()).map(|at| parts.iter().map(|part| part[at]).sum()).collect();
        prop_assert_eq!(counts(&sum), summed);
    }

    #[test]
    fn a_cleared_row_is_a_new_one(row in row(), next in row()) {
        let is_empty = row == Row::default();
        let mut used = row;
        prop_assert_eq!(used.is_empty(), is_empty);
        used.clear();
        prop_assert!(used.is_empty());
        prop_assert_eq!(&used, &Row::default());
        used.merge(&next);
        prop_assert_eq!(used, next);
    }
}

#[test]
fn what_is_timed_has_two_digits_and_is_told_from_latency() {
    let mut row = Row::<u32>::default();
    row.timing.record(Timed::Wait, 5_000);
    let mut sealed = row.seal();
    sealed.latency = sealed.timing[0].1.clone();
    assert_eq!(sealed.open::<u32>(), Err(DecodeError::Header));
}
