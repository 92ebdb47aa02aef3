//! What the windows of any number of runs add up to, for monitoring: counts that only ever grow.
//!
//! It is small and cheap to add to, since each window of a whole fleet is: a histogram is only gone through, never merged.

use crate::{
    Buckets, COARSE_DIGITS, Counters, DIGITS, DecodeError, Iterations, Part, SealedWindow, Timed, Window,
};

/// Everything that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    warmup: PartTally,
    measured: PartTally,
}

/// Of the warm-up, or of what is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartTally {
    /// What is counted of requests.
    pub counters: Counters,
    /// What is counted of iterations.
    pub iterations: Iterations,
    /// Latency of ok requests.
    pub latency: Buckets,
    /// Latency of failed requests.
    pub failed_latency: Buckets,
    /// Service time of ok requests of the open model.
    pub service_time: Buckets,
    /// How late iterations were taken up.
    pub lag: Buckets,
}

impl Tally {
    /// Adds a window.
    pub fn add(&mut self, window: &Window) {
        for (key, row) in &window.rows {
            let part = self.of_mut(key.part);
            part.counters.merge(&row.counters);
            part.latency.add(&row.latency);
            part.failed_latency.add(&row.failed_latency);
            part.service_time.add(&row.service_time);
            part.lag.add(row.timing.of(Timed::Lag));
        }
        for second in window.seconds.values() {
            self.add_iterations(&second.iterations, &second.warmup);
        }
    }

    /// The same of a window in its small form, without opening it.
    ///
    /// # Errors
    /// Where a histogram can't be read: what stands before it is added. None of a window that
    /// [`SealedWindow::check`] lets through.
    pub fn add_sealed(&mut self, window: &SealedWindow) -> Result<(), DecodeError> {
        for second in window.seconds.values() {
            self.add_iterations(&second.iterations, &second.warmup);
        }
        for (key, row) in &window.rows {
            let part = self.of_mut(key.part);
            part.counters.merge(&row.counters);
            part.latency.add_sealed::<DIGITS>(&row.latency)?;
            part.failed_latency.add_sealed::<DIGITS>(&row.failed_latency)?;
            part.service_time.add_sealed::<DIGITS>(&row.service_time)?;
            let lag = row.timing.iter().filter(|(timed, _)| *timed == Timed::Lag);
            lag.map(|(_, sealed)| sealed)
                .try_for_each(|sealed| part.lag.add_sealed::<COARSE_DIGITS>(sealed))?;
        }
        Ok(())
    }

    fn add_iterations(&mut self, measured: &Iterations, warmup: &Iterations) {
        self.measured.iterations.merge(measured);
        self.warmup.iterations.merge(warmup);
    }

    /// One part of it.
    #[must_use]
    pub fn of(&self, part: Part) -> &PartTally {
        match part {
            Part::Warmup => &self.warmup,
            Part::Measured => &self.measured,
        }
    }

    fn of_mut(&mut self, part: Part) -> &mut PartTally {
        match part {
            Part::Warmup => &mut self.warmup,
            Part::Measured => &mut self.measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, RowKey, Second};

    /// A window of one second with a request of each part, the measured one failed.
    fn window() -> Window {
        let (mut ok, mut failed, mut all) = (Row::default(), Row::default(), Row::default());
        (ok.counters.started, ok.counters.ok) = (1, 1);
        ok.latency.record(2_000_000);
        ok.service_time.record(1_000_000);
        (failed.counters.started, failed.counters.failed) = (1, 1);
        failed.failed_latency.record(3_000_000);
        all.timing.record(Timed::Lag, 400_000);
        all.timing.record(Timed::Connect, 500_000);
        let iterations = Iterations { started: 1, finished: 1, missed: 4 };
        let warmup = Iterations { started: 1, finished: 1, missed: 0 };
        Window {
            rows: [
                (RowKey { part: Part::Warmup, ..RowKey::second(0, 0) }, ok),
                (RowKey::second(0, 0), failed),
                (RowKey::all_steps(0, Part::Measured), all),
            ]
            .into(),
            seconds: [(0, Second { iterations, warmup, ..Second::default() })].into(),
            ..Window::default()
        }
    }

    #[test]
    fn windows_add_up_by_part_open_and_sealed_alike() {
        let (mut open, mut sealed) = (Tally::default(), Tally::default());
        for _ in 0..3 {
            open.add(&window());
            sealed.add_sealed(&SealedWindow::of(&window())).unwrap();
        }
        assert_eq!(open, sealed);
        let (warmup, measured) = (open.of(Part::Warmup), open.of(Part::Measured));
        assert_eq!((warmup.counters.ok, warmup.iterations.missed), (3, 0));
        assert_eq!((measured.counters.failed, measured.iterations.missed), (3, 12));
        let totals = |part: &PartTally| {
            [&part.latency, &part.failed_latency, &part.service_time, &part.lag].map(Buckets::total)
        };
        assert_eq!((totals(warmup), totals(measured)), ([3, 0, 3, 0], [0, 3, 0, 3]));
    }
}
