//! What it costs to record a latency, and to merge a window's: `cargo bench -p volley-stats`.

use std::hint::black_box;
use std::time::Instant;

use volley_stats::{Histogram, SealedHistogram, Timed, Timing, Total};

/// Values of a fast target's latencies, with a slow one now and then; more than fit one cache line, and not in order.
fn values() -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..4096)
        .map(|_| 100_000 + next() % 300_000 + if next().is_multiple_of(100) { 5_000_000 } else { 0 })
        .collect()
}

/// Nanoseconds for each value, the best of several rounds.
fn cost(values: &[u64], mut record: impl FnMut(u64)) -> f64 {
    const REPEATS: usize = 250;
    let round = |record: &mut dyn FnMut(u64)| {
        let begun = Instant::now();
        for _ in 0..REPEATS {
            values.iter().for_each(|&value| record(black_box(value)));
        }
        begun.elapsed().as_nanos() as f64 / (REPEATS * values.len()) as f64
    };
    (0..10).map(|_| round(&mut record)).fold(f64::INFINITY, f64::min)
}

/// Microseconds to merge one histogram into another, the best of several rounds.
fn merge_cost(mut merge: impl FnMut()) -> f64 {
    const REPEATS: usize = 1_000;
    let mut round = || {
        let begun = Instant::now();
        (0..REPEATS).for_each(|_| merge());
        begun.elapsed().as_nanos() as f64 / (REPEATS * 1_000) as f64
    };
    (0..10).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let values = values();
    let mut latency = Histogram::<u32>::default();
    println!("a latency, three digits: {:.1} ns", cost(&values, |value| latency.record(value)));
    let mut timing = Timing::<u32>::default();
    println!("a phase, two digits: {:.1} ns", cost(&values, |value| timing.record(Timed::FirstByte, value)));
    let mut window = Histogram::<u32>::default();
    values.iter().for_each(|&value| window.record(value));
    let (mut sum, mut total) = (Histogram::<u32>::default(), Total::default());
    println!("a window merged into a window: {:.1} us", merge_cost(|| sum.merge(black_box(&window))));
    println!("a window merged into a total: {:.1} us", merge_cost(|| total.merge(black_box(&window))));
    let fewer: Vec<u64> = values.iter().copied().step_by(40).collect();
    for values in [values, fewer] {
        let mut window = Histogram::<u32>::default();
        values.iter().for_each(|&value| window.record(value));
        let sealed = SealedHistogram::of(&window);
        let mut added = || sealed.merge_into(black_box(&mut sum)).expect("what was sealed here");
        let (n, took) = (values.len(), merge_cost(&mut added));
        println!("one of {n} values added as it was sealed: {took:.1} us");
    }
    black_box((sum.count(), total.count()));
    black_box((latency.count(), timing.of(Timed::FirstByte).count()));
}
