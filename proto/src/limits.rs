//! The bounds of what is taken from the other end. They are far above what a working peer sends; they keep a broken or
//! hostile one from costing more than a bounded amount of memory, and sums of counts from overflowing.

use volley_stats::{COARSE_DIGITS, Histogram, Row, RowKey, SECOND_NS};

/// Most bytes of one message, in both directions.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Most rows of one window.
pub const MAX_ROWS: usize = 10_000;

/// Most memory that the rows of one window may take when they are opened, see [`opened_bytes`]: whoever adds them to
/// others may have to make as many. With the message itself that is 48 MiB that one message can cost. An agent splits what
/// it has to tell into windows far below this.
pub const MAX_OPENED_BYTES: usize = 32 << 20;

/// Most bytes of one row, and of what is told of one second, in a window. A row whose every bucket is full has 600 KB.
pub const MAX_ENTRY_BYTES: usize = 1 << 20;

/// Most seconds whose scalars one window tells, and most whose health.
pub const MAX_SECONDS: usize = 10_000;

/// The latest second of a run: 366 days.
pub const MAX_SECOND_S: u32 = 366 * 24 * 3600;

/// The same in nanoseconds.
pub const MAX_RUN_NS: u64 = MAX_SECOND_S as u64 * SECOND_NS;

/// The most CPU time of a process: 256 processors all the time.
pub const MAX_CPU_NS: u64 = 256 * MAX_RUN_NS;

/// The largest count of anything in one row or second.
pub const MAX_COUNT: u64 = 1 << 36;

/// The most bytes counted in one row, and of memory.
pub const MAX_COUNTED_BYTES: u64 = 1 << 48;

/// The largest number of users, requests in flight or connections that one agent may tell.
pub const MAX_GAUGE: u32 = 1 << 24;

/// The most worker threads of an agent.
pub const MAX_WORKERS: u32 = 65_536;

/// Most bytes of the text of one of a target's addresses.
pub const MAX_ADDRESS_BYTES: u64 = 300;

/// Most bytes of an agent's name and of a version.
pub const MAX_NAME_BYTES: usize = 255;

/// Most labels of an agent.
pub const MAX_LABELS: usize = 16;

/// Most bytes of a label's key and of its value.
pub const MAX_LABEL_BYTES: usize = 63;

/// The largest weight of an agent.
pub const MAX_WEIGHT: u32 = 1_000_000;

/// The largest capacity of an agent, in requests a second.
pub const MAX_CAPACITY: u32 = 1_000_000_000;

/// Most times that a run's load was adjusted before an agent joins it.
pub const MAX_ADJUSTED: usize = 1_000;

/// Most bytes of a reason; a longer one is cut when it is sent.
pub const MAX_REASON_BYTES: usize = 4096;

/// Most bytes of a plan's hash.
pub const MAX_HASH_BYTES: usize = 128;

/// The memory that a row takes when it is opened: itself, its histograms, those of what is timed of all steps together,
/// and its statuses.
#[must_use]
pub const fn opened_bytes(histograms: usize, timed: usize, statuses: usize) -> usize {
    let of_step = histograms.saturating_mul(Histogram::<u32>::OPENED_BYTES);
    let of_all = timed.saturating_mul(Histogram::<u32, COARSE_DIGITS>::OPENED_BYTES);
    let counted = statuses.saturating_mul(size_of::<(u16, u64)>());
    size_of::<(RowKey, Row)>().saturating_add(of_step).saturating_add(of_all).saturating_add(counted)
}
