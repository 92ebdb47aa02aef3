//! The thresholds of a run, judged on what all its agents together measured: those over a stretch at each complete second,
//! the others on the measured part so far, and once the run is over on all of it. Pure.

use std::collections::VecDeque;

use volley_lifecycle::Run;
use volley_plan::{Metric, Plan, Ratio, Sample, Threshold, Unit};
use volley_stats::{ALL_STEPS, DecodeError, Part, RowKey, SECOND_NS, SealedRow, Series, StepId, TotalRow};
use volley_web::stream::{Standing, ThresholdTotals};

use crate::document::ns_to_ms;
use crate::words::seconds;

/// The thresholds of one run.
#[derive(Debug, Default)]
pub(crate) struct Thresholds {
    list: Vec<Watched>,
    /// The seconds before this one are judged.
    judged_s: u32,
    /// The first whole second of the measured part.
    measured_from_s: u32,
}

/// One of them, with what was seen of it.
#[derive(Debug)]
struct Watched {
    threshold: Threshold,
    /// The steps that it is of.
    steps: Vec<StepId>,
    /// The latest seconds, no more than its stretch has.
    stretch: VecDeque<Kept>,
    /// The number of the latest stretch.
    latest: Option<Ratio>,
    /// That of all stretches which is nearest to the limit or beyond it most.
    worst: Option<Ratio>,
    /// The run time at which it was first seen not to hold; of one that is judged as a whole, when that stopped the run.
    broken_s: Option<u32>,
}

/// One second of a stretch.
#[derive(Debug)]
struct Kept {
    rows: Vec<SealedRow>,
    missed: u64,
}

/// A threshold that was found broken just now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Which, and by what.
    pub(crate) words: String,
    /// The run is to be stopped for it.
    pub(crate) abort: bool,
}

/// What is known of a run beside its rows.
pub(crate) struct WholeRun<'a> {
    pub(crate) run: &'a Run,
    pub(crate) series: &'a Series,
    /// What rates are over.
    pub(crate) length_ns: u64,
}

impl Thresholds {
    /// Those of a plan. `recalled` is what was told of them before this process began, of a run that goes on.
    pub(crate) fn of(plan: &Plan, recalled: &[ThresholdTotals], judged_s: u32) -> Self {
        let watched = |(index, threshold): (usize, &Threshold)| {
            Watched::of(plan, threshold.clone()).recalling(recalled.get(index))
        };
        let measured_from_s = u32::try_from(plan.load.warmup_ns().div_ceil(SECOND_NS)).unwrap_or(u32::MAX);
        Self { list: plan.thresholds.iter().enumerate().map(watched).collect(), judged_s, measured_from_s }
    }

    /// Takes in the seconds before `to_s`, which are complete. Gives those that were found broken.
    ///
    /// # Errors
    /// Only where a second in its small form can't be opened, which means damaged memory.
    pub(crate) fn judge(
        &mut self,
        to_s: u32,
        run: &Run,
        series: &Series,
    ) -> Result<Vec<Broken>, DecodeError> {
        // The second in which the load stopped is a part of one, and nothing is sent in those after it.
        let stop_s = run.end_run_ns().map_or(u64::MAX, |ns| ns / SECOND_NS);
        let to_s = to_s.min(u32::try_from(stop_s).unwrap_or(u32::MAX));
        let mut broken = Vec::new();
        for second in self.judged_s.max(self.measured_from_s)..to_s {
            let passed_s = second + 1 - self.measured_from_s;
            for watched in self.list.iter_mut().filter(|watched| watched.threshold.over.is_some()) {
                broken.extend(watched.see(second, passed_s, series)?);
            }
        }
        if to_s > self.judged_s.max(self.measured_from_s) {
            self.judged_s = to_s;
            let length_ns = (u64::from(to_s) * SECOND_NS).saturating_sub(run.load().warmup_ns());
            broken.extend(self.judge_whole(&WholeRun { run, series, length_ns }));
        }
        Ok(broken)
    }

    /// Those of the whole that are to stop the run.
    fn judge_whole(&mut self, whole: &WholeRun<'_>) -> Vec<Broken> {
        let at_s = self.judged_s;
        let may_stop = |watched: &&mut Watched| {
            let of = &watched.threshold;
            let is_time = whole.length_ns >= u64::try_from(of.after.as_nanos()).unwrap_or(u64::MAX);
            of.abort && of.over.is_none() && watched.broken_s.is_none() && is_time
        };
        let judged = self.list.iter_mut().filter(may_stop).filter_map(|watched| {
            let value = watched.of_whole(whole).filter(|value| !watched.threshold.expect.holds(*value))?;
            watched.broken_s = Some(at_s);
            let words = format!("{}, over the measured part so far", watched.in_words(value));
            Some(Broken { words, abort: true })
        });
        judged.collect()
    }

    /// How all of them stand.
    pub(crate) fn told(&self, whole: &WholeRun<'_>) -> Vec<ThresholdTotals> {
        self.list.iter().map(|watched| watched.told(whole)).collect()
    }
}

impl Watched {
    fn of(plan: &Plan, threshold: Threshold) -> Self {
        let named = plan.scenarios.iter().flat_map(|scenario| {
            scenario.requests().map(move |request| (scenario.name.as_str(), request.name.as_str()))
        });
        let wanted =
            (0..).zip(named).filter(|(_, (scenario, step))| threshold.expect.of.wants(scenario, step));
        let steps = match threshold.expect.metric {
            Metric::Lag(_) => vec![ALL_STEPS],
            _ => wanted.map(|(id, _)| id).collect(),
        };
        let stretch = VecDeque::new();
        Self { threshold, steps, stretch, latest: None, worst: None, broken_s: None }
    }

    fn recalling(self, told: Option<&ThresholdTotals>) -> Self {
        let Some(told) = told.filter(|told| told.expect == self.threshold.expect.to_string()) else {
            return self;
        };
        let is_over = self.threshold.over.is_some();
        let worst = told.value.filter(|_| is_over).map(|value| from_document(value, &told.unit));
        Self { worst, broken_s: told.broken_at_s.map(whole_seconds), ..self }
    }

    /// Takes one more second in, which is the `passed_s`th of the measured part.
    fn see(&mut self, second: u32, passed_s: u32, series: &Series) -> Result<Option<Broken>, DecodeError> {
        let span_s = self.span_s();
        let row = |step: &StepId| series.row(&RowKey::second(second, *step));
        let kept = Kept {
            rows: self.steps.iter().filter_map(row).collect(),
            missed: series.scalars(second).iterations.missed,
        };
        self.stretch.push_back(kept);
        while self.stretch.len() > span_s as usize {
            self.stretch.pop_front();
        }
        let begun_s = u64::from(passed_s).checked_sub(u64::from(span_s));
        if self.stretch.len() < span_s as usize
            || begun_s.is_none_or(|begun_s| begun_s < self.threshold.after.as_secs())
        {
            return Ok(None);
        }
        self.latest = self.of_stretch()?;
        let Some(value) = self.latest else { return Ok(None) };
        let is_upper = self.threshold.expect.comparison.is_upper();
        let worst =
            self.worst.map_or(value, |worst| if is_upper { worst.max(value) } else { worst.min(value) });
        self.worst = Some(worst);
        if self.threshold.expect.holds(value) || self.broken_s.is_some() {
            return Ok(None);
        }
        self.broken_s = Some(second + 1);
        let [from, to] = [second + 1 - span_s, second + 1].map(|at_s| seconds(f64::from(at_s)));
        let words = format!("{} from {from} to {to}", self.in_words(value));
        Ok(Some(Broken { words, abort: self.threshold.abort }))
    }

    fn span_s(&self) -> u32 {
        self.threshold.over.map_or(0, |over| u32::try_from(over.as_secs()).unwrap_or(u32::MAX))
    }

    /// Its number in the latest stretch.
    fn of_stretch(&self) -> Result<Option<Ratio>, DecodeError> {
        let mut row = TotalRow::default();
        for sealed in self.stretch.iter().flat_map(|kept| &kept.rows) {
            row.merge_sealed(sealed)?;
        }
        let missed = self.stretch.iter().map(|kept| kept.missed).fold(0, u64::saturating_add);
        let length_ns = u64::from(self.span_s()) * SECOND_NS;
        let sample = Sample { row: &row, length_ns, missed, unknown: None, planned: None };
        Ok(self.threshold.expect.measure(&sample, self.threshold.min_samples))
    }

    /// Its number in the measured part, so far or in all.
    fn of_whole(&self, whole: &WholeRun<'_>) -> Option<Ratio> {
        let mut row = TotalRow::default();
        let totals = whole.series.totals_by_part();
        for (_, _, total) in
            totals.filter(|(part, step, _)| *part == Part::Measured && self.steps.contains(step))
        {
            row.merge(total);
        }
        let accounts = whole.run.accounts();
        let sample = Sample {
            row: &row,
            length_ns: whole.length_ns,
            missed: accounts.missed,
            unknown: (!accounts.unknown_is_open).then_some(accounts.unknown),
            planned: accounts.planned,
        };
        self.threshold.expect.measure(&sample, self.threshold.min_samples)
    }

    fn told(&self, whole: &WholeRun<'_>) -> ThresholdTotals {
        let expect = &self.threshold.expect;
        let is_over = self.threshold.over.is_some();
        let (value, latest) = if is_over {
            (self.worst, self.latest)
        } else {
            let value = self.of_whole(whole);
            (value, value)
        };
        let is_broken = match value {
            _ if self.broken_s.is_some() => true,
            Some(value) => !is_over && !expect.holds(value),
            None => false,
        };
        let standing = match (is_broken, value) {
            (true, _) => Standing::Broken,
            (false, Some(_)) => Standing::Holds,
            (false, None) => Standing::NoData,
        };
        let unit = expect.limit_unit();
        ThresholdTotals {
            expect: expect.to_string(),
            over_s: self.threshold.over.map(|over| over.as_secs_f64()),
            after_s: self.threshold.after.as_secs_f64(),
            abort: self.threshold.abort,
            standing,
            unit: unit_name(unit).to_owned(),
            limit: in_document(expect.limit_value(), unit),
            value: value.map(|value| in_document(value, unit)),
            latest: latest.map(|value| in_document(value, unit)),
            margin: value.and_then(|value| margin(expect.comparison.is_upper(), value, expect.limit_value())),
            metric: self.subject(),
            scope: self.threshold.over.map_or_else(
                || "measured part".to_owned(),
                |over| format!("each {}", seconds(over.as_secs_f64())),
            ),
            standing_words: self.standing_in_words(standing),
            value_words: value.map(|value| expect.value_in_words(value)).unwrap_or_default(),
            latest_words: latest.map(|value| expect.value_in_words(value)).unwrap_or_default(),
            limit_words: expect.limit_in_words(),
            broken_at_s: self.broken_s.map(f64::from),
        }
    }

    /// What is measured, as the plan writes it.
    fn subject(&self) -> String {
        let (expect, sign) = (self.threshold.expect.to_string(), self.threshold.expect.comparison.sign());
        // A limit has no such sign in it.
        expect.rsplit_once(&format!(" {sign} ")).map_or(expect.clone(), |(subject, _)| subject.to_owned())
    }

    fn standing_in_words(&self, standing: Standing) -> String {
        match (standing, self.broken_s) {
            (Standing::Broken, Some(at_s)) => format!("broken at {}", seconds(f64::from(at_s))),
            (Standing::Broken, None) => "broken".to_owned(),
            (Standing::Holds, _) => "holds".to_owned(),
            (Standing::NoData, _) => "no data".to_owned(),
        }
    }

    fn in_words(&self, value: Ratio) -> String {
        let over = self.threshold.over.map(|over| format!(" over {} s", over.as_secs())).unwrap_or_default();
        let expect = &self.threshold.expect;
        format!("the threshold `{expect}`{over} is broken by {}", expect.value_in_words(value))
    }
}

/// How much of the limit is left, as a share of it; below 0 of one that is broken. `None` of a limit of 0.
fn margin(is_upper: bool, value: Ratio, limit: Ratio) -> Option<f64> {
    let (value, limit) = (value.as_f64(), limit.as_f64());
    let left = if is_upper { limit - value } else { value - limit };
    Some(left / limit).filter(|margin| margin.is_finite())
}

/// Times are told in milliseconds, everything else as it is.
fn in_document(value: Ratio, unit: Unit) -> f64 {
    match unit {
        Unit::Time => value.as_f64() / ns_in_ms(),
        Unit::Share | Unit::PerSecond | Unit::Count => value.as_f64(),
    }
}

/// The same back, near enough to be told again; what holds and what doesn't is kept apart from it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn from_document(value: f64, unit: &str) -> Ratio {
    const FINE: u64 = 1_000_000;
    if unit == unit_name(Unit::Time) {
        return Ratio::whole((value * ns_in_ms()).round() as u64);
    }
    Ratio::new((value * FINE as f64).round() as u64, FINE).unwrap_or(Ratio::whole(0))
}

fn ns_in_ms() -> f64 {
    1.0 / ns_to_ms(1)
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "ms",
        Unit::Share => "share",
        Unit::PerSecond => "per_second",
        Unit::Count => "count",
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` clamps to what fits, as wanted"
)]
fn whole_seconds(seconds: f64) -> u32 {
    seconds.round() as u32
}

#[cfg(test)]
mod tests;
