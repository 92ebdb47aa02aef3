//! What happened: histograms, counters, windows and their merge. Pure: no clock, no I/O, no randomness.
//!
//! A worker records into [`Row`]s. Once a second the rows of an agent travel as one [`Window`]; a [`Series`] merges the
//! windows of a whole fleet by second and step. Percentiles are only ever read off a merged [`Histogram`], never
//! averaged.

mod addresses;
mod counters;
mod errors;
mod health;
mod histogram;
mod row;
mod sealed;
mod series;
mod tally;
#[cfg(test)]
mod testing;
mod timing;
mod window;

pub use addresses::{AddressCounts, Addresses, MAX_ADDRESSES, OTHER_ADDRESSES};
pub use counters::{Counters, ErrorCounts, Statuses};
pub use errors::{ErrorKind, Phase};
pub use health::{Health, Slowdown};
pub use histogram::{
    BOUNDS_NS, Buckets, COARSE_DIGITS, Count, DIGITS, DecodeError, HIGHEST_NS, Histogram, LOWEST_NS,
    PERCENTILES, Total,
};
pub use row::{ALL_STEPS, Part, Parts, Row, RowKey, StepId, TotalRow};
pub use sealed::{RowFault, SealedHistogram, SealedRow, SealedWindow};
pub use series::{MergedSecond, Series};
pub use tally::{PartTally, Tally};
pub use timing::{Timed, Timing};
pub use window::{Iterations, Second, Window};

/// Nanoseconds in a second: run times are in nanoseconds, windows are numbered in seconds.
pub const SECOND_NS: u64 = 1_000_000_000;
