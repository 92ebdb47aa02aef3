//! One row of results: what happened to one step's requests in one span of seconds.

use serde::{Deserialize, Serialize};

use crate::{Counters, DecodeError, Histogram, Total};

/// The number of a step: its place among all steps of a plan.
pub type StepId = u16;

/// Warm-up is measured and kept apart; which part a request belongs to is decided by its due time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before the measured part; in no total.
    Warmup,
    /// What the run is about.
    #[default]
    Measured,
}

/// What a row is about. Seconds count from the run's start; `to_s` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The first second.
    pub from_s: u32,
    /// The second after the last; more than `from_s + 1` only where time detail was given up.
    pub to_s: u32,
    /// The step.
    pub step: StepId,
    /// Warm-up or measured.
    pub part: Part,
}

impl RowKey {
    /// The measured row of one step in one second.
    #[must_use]
    pub fn second(second: u32, step: StepId) -> Self {
        Self { from_s: second, to_s: second + 1, step, part: Part::Measured }
    }
}

/// Counters and histograms of one step in one span.
///
/// In a closed run service time is latency, so one histogram serves for both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What is counted.
    pub counters: Counters,
    /// Latency of ok requests.
    pub latency: Histogram,
    /// Latency of failed requests.
    pub failed_latency: Histogram,
}

impl Row {
    /// Adds another row.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.latency.merge(&other.latency);
        self.failed_latency.merge(&other.failed_latency);
    }

    /// Forgets everything and keeps the histograms' memory.
    pub fn clear(&mut self) {
        self.counters = Counters::default();
        self.latency.clear();
        self.failed_latency.clear();
    }

    /// True if nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters == Counters::default()
    }

    /// The small form, for keeping and sending.
    #[must_use]
    pub fn seal(&self) -> SealedRow {
        SealedRow {
            counters: self.counters.clone(),
            latency: SealedHistogram::of(&self.latency),
            failed_latency: SealedHistogram::of(&self.failed_latency),
        }
    }
}

/// A row whose histograms are in HdrHistogram V2 form: kilobytes instead of a hundred of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedRow {
    /// What is counted.
    pub counters: Counters,
    /// Latency of ok requests.
    pub latency: SealedHistogram,
    /// Latency of failed requests.
    pub failed_latency: SealedHistogram,
}

impl SealedRow {
    /// The row to calculate with.
    ///
    /// # Errors
    /// See [`Histogram::from_bytes`].
    pub fn open(&self) -> Result<Row, DecodeError> {
        Ok(Row {
            counters: self.counters.clone(),
            latency: self.latency.open()?,
            failed_latency: self.failed_latency.open()?,
        })
    }
}

/// A histogram as bytes, with its exact minimum and maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedHistogram {
    /// HdrHistogram V2; empty when nothing was recorded.
    pub bytes: Vec<u8>,
    /// The smallest value in nanoseconds; 0 when nothing was recorded.
    pub min_ns: u64,
    /// The largest value in nanoseconds; 0 when nothing was recorded.
    pub max_ns: u64,
}

impl SealedHistogram {
    /// The small form of a histogram.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        Self {
            bytes: histogram.to_bytes(),
            min_ns: histogram.min_ns().unwrap_or(0),
            max_ns: histogram.max_ns().unwrap_or(0),
        }
    }

    /// The histogram itself.
    ///
    /// # Errors
    /// See [`Histogram::from_bytes`].
    pub fn open(&self) -> Result<Histogram, DecodeError> {
        Histogram::from_bytes(&self.bytes, self.min_ns, self.max_ns)
    }
}

/// The totals of one step over a whole run, or over any span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TotalRow {
    /// What is counted.
    pub counters: Counters,
    /// Latency of ok requests.
    pub latency: Total,
    /// Latency of failed requests.
    pub failed_latency: Total,
}

impl TotalRow {
    /// Adds a row of a second.
    pub fn add(&mut self, row: &Row) {
        self.counters.merge(&row.counters);
        self.latency.merge(&row.latency);
        self.failed_latency.merge(&row.failed_latency);
    }

    /// Adds other totals.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.latency.merge(&other.latency);
        self.failed_latency.merge(&other.failed_latency);
    }
}
