//! One worker's results of one second.

use std::sync::Arc;

use volley_stats::{AddressCounts, Iterations, Part, Row, Second, StepId, Timing};

/// One worker's results of one second.
#[derive(Debug, Default)]
pub(crate) struct WorkerWindow {
    warmup: Results,
    measured: Results,
    pub(crate) scalars: Second,
    /// Run time of the latest completion; 0 without any.
    pub(crate) latest_ns: u64,
    /// The longest time by which the worker's loop came round too late.
    pub(crate) stall_max_ns: u64,
    /// For how long the worker polled for want of work.
    pub(crate) polled_ns: u64,
    /// What was taken up or missed now and had been due in an earlier second.
    pub(crate) earlier: Vec<Earlier>,
    /// What went to each address.
    pub(crate) addresses: Vec<(Arc<str>, AddressCounts)>,
}

/// What is recorded of one part.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// By step.
    pub(crate) rows: Vec<Row>,
    /// Of all steps together.
    pub(crate) timing: Timing,
}

/// Iterations of a second that had been over when they were taken up or missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// The second in which they were due.
    pub(crate) second: u32,
    pub(crate) part: Part,
    /// The request that they begin with.
    pub(crate) step: Option<usize>,
    pub(crate) started: u64,
    pub(crate) missed: u64,
}

impl Earlier {
    /// Whether the other one is about the same iterations.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.second, self.part, self.step) == (other.second, other.part, other.step)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.missed += other.missed;
    }

    pub(crate) fn iterations(&self) -> Iterations {
        Iterations { started: self.started, missed: self.missed, finished: 0 }
    }
}

impl Results {
    fn new(steps: usize) -> Self {
        Self { rows: vec![Row::default(); steps], timing: Timing::default() }
    }

    fn clear(&mut self) {
        self.rows.iter_mut().for_each(Row::clear);
        self.timing.clear();
    }

    /// The rows in which anything is recorded.
    pub(crate) fn used_rows(&self) -> impl Iterator<Item = (StepId, &Row)> {
        (0 as StepId..).zip(&self.rows).filter(|(_, row)| !row.is_empty())
    }
}

impl WorkerWindow {
    pub(crate) fn new(steps: usize) -> Self {
        Self { warmup: Results::new(steps), measured: Results::new(steps), ..Self::default() }
    }

    pub(crate) fn steps(&self) -> usize {
        self.measured.rows.len()
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.warmup.clear();
        self.measured.clear();
        self.scalars = Second::default();
        self.latest_ns = 0;
        self.stall_max_ns = 0;
        self.polled_ns = 0;
        self.earlier.clear();
        self.addresses.clear();
    }

    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        let is_unused = |results: &Results| results.used_rows().next().is_none() && results.timing.is_empty();
        let none = Iterations::default();
        self.parts().into_iter().all(|(_, results)| is_unused(results))
            && self.earlier.is_empty()
            && (self.scalars.iterations, self.scalars.warmup) == (none, none)
    }

    /// Both parts.
    pub(crate) fn parts(&self) -> [(Part, &Results); 2] {
        [(Part::Warmup, &self.warmup), (Part::Measured, &self.measured)]
    }

    #[inline]
    pub(crate) fn row(&mut self, part: Part, step: usize) -> &mut Row {
        &mut self.results(part).rows[step]
    }

    #[inline]
    pub(crate) fn timing(&mut self, part: Part) -> &mut Timing {
        &mut self.results(part).timing
    }

    #[inline]
    pub(crate) fn results(&mut self, part: Part) -> &mut Results {
        match part {
            Part::Warmup => &mut self.warmup,
            Part::Measured => &mut self.measured,
        }
    }

    #[inline]
    pub(crate) fn iterations(&mut self, part: Part) -> &mut Iterations {
        match part {
            Part::Warmup => &mut self.scalars.warmup,
            Part::Measured => &mut self.scalars.iterations,
        }
    }
}

/// Adds iterations to those of a part.
pub(crate) fn add_iterations(scalars: &mut Second, part: Part, more: &Iterations) {
    match part {
        Part::Warmup => scalars.warmup.merge(more),
        Part::Measured => scalars.iterations.merge(more),
    }
}
