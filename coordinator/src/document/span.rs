//! A run's numbers of some seconds alone, from the merged rows of those seconds. Pure.
//!
//! What is counted, timed and divided by time is of the span; what belongs to the run as a whole (its state, verdict,
//! thresholds, agents and addresses) stays as it is.

use std::collections::BTreeMap;

use volley_plan::{Accounts, Plan};
use volley_stats::{DecodeError, ErrorKind, Iterations, Part, RowKey, SealedRow, Series, StepId, TotalRow};

use super::totals::{distribution, errors, phases, statuses, steps, whole};
use super::{Progress, RunDocument};
use crate::store::{Span, errors_seen};
use crate::timeline::Timeline;

/// What was measured of a run from one second up to another.
pub(crate) struct Excerpt {
    /// The run.
    pub(crate) document: RunDocument,
    /// Its plan; `None` where it cannot be read.
    pub(crate) plan: Option<Plan>,
    /// The first second.
    pub(crate) from_s: u32,
    /// The second after the last.
    pub(crate) to_s: u32,
    /// The merged rows by step and part.
    pub(crate) rows: Vec<(RowKey, SealedRow)>,
    /// All steps together, with the scalars of the fleet.
    pub(crate) spans: Vec<Span>,
}

/// The second after the last in which anything of a run can lie: the end of the load, and of what was in flight then.
pub(crate) fn end_s(progress: &Progress) -> u32 {
    let measured_s = progress.elapsed_s.max(progress.whole.rate_s);
    whole_seconds((progress.warmup_s + measured_s).max(progress.run_s()).ceil())
}

/// The second after the last that lies in the warm-up whole.
pub(crate) fn warmup_s(progress: &Progress) -> u32 {
    whole_seconds(progress.warmup_s.floor())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn whole_seconds(seconds: f64) -> u32 {
    seconds as u32
}

impl Excerpt {
    /// Which part of the run is told: the measured one, or the warm-up where the span ends in it.
    pub(crate) fn part(&self) -> Part {
        // Documents have seconds, which were whole nanoseconds.
        let is_warmup = f64::from(self.to_s) <= self.document.progress.warmup_s;
        if is_warmup { Part::Warmup } else { Part::Measured }
    }

    /// How long the told part lasts within the span, in seconds.
    pub(crate) fn length_s(&self) -> f64 {
        let progress = &self.document.progress;
        let measured_s =
            if progress.over { progress.elapsed_s.max(progress.whole.rate_s) } else { progress.elapsed_s };
        let (begin_s, end_s) = match self.part() {
            Part::Warmup => (0.0, progress.warmup_s),
            Part::Measured => (progress.warmup_s, progress.warmup_s + measured_s),
        };
        (f64::from(self.to_s).min(end_s) - f64::from(self.from_s).max(begin_s)).max(0.0)
    }

    /// The totals of the told part by step.
    ///
    /// # Errors
    /// Where a row is damaged.
    pub(crate) fn totals(&self) -> Result<BTreeMap<StepId, TotalRow>, DecodeError> {
        let part = self.part();
        let mut totals: BTreeMap<_, TotalRow> = BTreeMap::new();
        for (key, row) in self.rows.iter().filter(|(key, _)| key.part == part) {
            totals.entry(key.step).or_default().merge_sealed(row)?;
        }
        Ok(totals)
    }

    /// The totals of the told part, all steps together.
    ///
    /// # Errors
    /// Where a row is damaged.
    pub(crate) fn total(&self) -> Result<TotalRow, DecodeError> {
        let mut total = TotalRow::default();
        self.totals()?.values().for_each(|row| total.merge(row));
        Ok(total)
    }

    /// The spans of the told part.
    fn told_spans(&self) -> impl Iterator<Item = &Span> {
        let warmup_s = self.document.progress.warmup_s;
        let is_warmup = self.part() == Part::Warmup;
        self.spans.iter().filter(move |span| (f64::from(span.to_s) <= warmup_s) == is_warmup)
    }

    /// The first and last second of each kind of error of the told part.
    pub(crate) fn seen(&self) -> BTreeMap<ErrorKind, (u32, u32)> {
        errors_seen(self.told_spans())
    }

    fn iterations(&self) -> Iterations {
        let part = self.part();
        let mut sum = Iterations::default();
        for span in &self.spans {
            sum.merge(match part {
                Part::Warmup => &span.scalars.warmup,
                Part::Measured => &span.scalars.iterations,
            });
        }
        sum
    }

    fn accounts(&self, total: &TotalRow, timeline: &Timeline<'_>) -> Accounts {
        let (counters, iterations) = (&total.counters, self.iterations());
        let gap = timeline.gap(self.from_s, self.to_s);
        let (missed, unknown) = (iterations.missed.saturating_add(gap.missed), gap.unknown);
        let sum = iterations.started.saturating_add(missed).saturating_add(unknown);
        let is_open = timeline.planned(self.from_s, self.to_s).is_some();
        Accounts {
            planned: is_open.then_some(sum),
            started: iterations.started,
            missed,
            unknown,
            unknown_is_open: self.document.progress.accounts.unknown_is_open,
            requests_started: counters.started,
            ok: counters.ok,
            failed: counters.failed,
            cancelled: counters.cancelled,
            ..Accounts::default()
        }
    }

    /// The run's progress with the numbers of the span in the place of those of the whole.
    ///
    /// # Errors
    /// Where a row is damaged.
    pub(crate) fn progress(&self, timeline: &Timeline<'_>) -> Result<Progress, DecodeError> {
        let mut series = Series::default();
        for (step, total) in self.totals()? {
            series.put_back_total(Part::Measured, step, total);
        }
        let (total, length_s) = (series.whole(), self.length_s());
        let accounts = self.accounts(&total, timeline);
        let seen = self.seen();
        let so_far = self.document.progress.clone();
        Ok(Progress {
            whole: whole(&accounts, &total, length_s),
            phases: phases(&total),
            distribution: distribution(&total.latency),
            steps: match &self.plan {
                Some(plan) => steps(plan, &series, length_s),
                None => so_far.steps,
            },
            errors: errors(&total.counters, &seen),
            statuses: statuses(&total.counters),
            accounts,
            ..so_far
        })
    }
}
