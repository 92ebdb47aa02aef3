//! One row of results: what happened to one step's requests in one span of seconds.

use serde::{Deserialize, Serialize};

use crate::{Count, Counters, DecodeError, Histogram, SealedHistogram, SealedRow, Timing};

/// The number of a step: its place among all steps of a plan that send a request.
pub type StepId = u16;

/// Stands where a row is of all steps together: such a row has a [`Timing`] and counts nothing.
pub const ALL_STEPS: StepId = StepId::MAX;

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

    /// The row of all steps together in one second.
    #[must_use]
    pub fn all_steps(second: u32, part: Part) -> Self {
        Self { part, ..Self::second(second, ALL_STEPS) }
    }
}

/// Counters and histograms of one step in one span; or, under [`ALL_STEPS`], what is timed of all steps together.
///
/// In a closed run service time is latency, so one histogram serves for both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row<C: Count = u32> {
    /// What is counted.
    pub counters: Counters,
    /// Latency of ok requests, from when they were due.
    pub latency: Histogram<C>,
    /// Service time of ok requests, from when the loop took them up; empty in a closed run.
    pub service_time: Histogram<C>,
    /// Latency of failed requests.
    pub failed_latency: Histogram<C>,
    /// How old requests were when the end of the run cut them off.
    pub cancelled_age: Histogram<C>,
    /// Phases and lag.
    pub timing: Timing<C>,
}

/// The totals of one step over a whole run, or over any span: counts that cannot overflow.
pub type TotalRow = Row<u64>;

impl<C: Count> Row<C> {
    /// Adds another row.
    pub fn merge<E: Count>(&mut self, other: &Row<E>) {
        self.counters.merge(&other.counters);
        self.latency.merge(&other.latency);
        self.service_time.merge(&other.service_time);
        self.failed_latency.merge(&other.failed_latency);
        self.cancelled_age.merge(&other.cancelled_age);
        self.timing.merge(&other.timing);
    }

    /// Adds a row in its small form, without opening it.
    ///
    /// # Errors
    /// See [`Histogram::merge_bytes`]; what stands before the histogram that can't be read is added.
    pub fn merge_sealed(&mut self, other: &SealedRow) -> Result<(), DecodeError> {
        self.counters.merge(&other.counters);
        other.latency.merge_into(&mut self.latency)?;
        other.service_time.merge_into(&mut self.service_time)?;
        other.failed_latency.merge_into(&mut self.failed_latency)?;
        other.cancelled_age.merge_into(&mut self.cancelled_age)?;
        other.timing.iter().try_for_each(|(timed, sealed)| self.timing.merge_sealed(*timed, sealed))
    }

    /// Forgets everything and keeps the histograms' memory.
    pub fn clear(&mut self) {
        self.counters = Counters::default();
        for histogram in
            [&mut self.latency, &mut self.service_time, &mut self.failed_latency, &mut self.cancelled_age]
        {
            histogram.clear();
        }
        self.timing.clear();
    }

    /// True if nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters == Counters::default() && self.timing.is_empty()
    }

    /// The small form, for keeping and sending.
    #[must_use]
    pub fn seal(&self) -> SealedRow {
        SealedRow {
            counters: self.counters.clone(),
            latency: SealedHistogram::of(&self.latency),
            service_time: SealedHistogram::of(&self.service_time),
            failed_latency: SealedHistogram::of(&self.failed_latency),
            cancelled_age: SealedHistogram::of(&self.cancelled_age),
            timing: self
                .timing
                .iter()
                .map(|(timed, histogram)| (timed, SealedHistogram::of(histogram)))
                .collect(),
        }
    }
}

/// What happened in a span of time, by part. Charts tell one of them: the measured part, or the warm-up where nothing was
/// measured. So an answer of the warm-up that came late is in no chart of the measured part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    warmup: Row,
    measured: Row,
}

impl Parts {
    /// Adds a row of one part.
    pub fn merge(&mut self, part: Part, row: &Row) {
        self.of(part).merge(row);
    }

    /// Adds a row of one part in its small form.
    ///
    /// # Errors
    /// See [`Row::merge_sealed`].
    pub fn merge_sealed(&mut self, part: Part, row: &SealedRow) -> Result<(), DecodeError> {
        self.of(part).merge_sealed(row)
    }

    fn of(&mut self, part: Part) -> &mut Row {
        match part {
            Part::Warmup => &mut self.warmup,
            Part::Measured => &mut self.measured,
        }
    }

    /// The row that is told.
    #[must_use]
    pub fn told(self) -> Row {
        if self.measured.is_empty() { self.warmup } else { self.measured }
    }
}

#[cfg(test)]
mod tests;
