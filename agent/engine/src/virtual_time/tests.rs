//! Cases and promises that are exact in virtual time.

mod changes;
mod closed;
mod joining;
mod limits;
mod open;
mod scenarios;
mod stalls;
mod timeouts;

use super::agent::{Agent, Ran, plan};
use super::target::Seen;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// The least and the greatest distance from one time to the next.
fn gaps(times: &[u64]) -> (u64, u64) {
    let gaps = || times.windows(2).map(|pair| pair[1] - pair[0]);
    (gaps().min().expect("two times"), gaps().max().expect("two times"))
}

/// How many times lie in each second of the first `seconds`.
fn by_second(times: &[u64], seconds: usize) -> Vec<u64> {
    let mut counts = vec![0; seconds];
    for at_ns in times {
        counts[usize::try_from(at_ns / SECOND).expect("a second")] += 1;
    }
    counts
}
