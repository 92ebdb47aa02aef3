//! Courses of seconds, and how thresholds stand along them.

use volley_lifecycle::Settings;
use volley_plan::link::RunId;
use volley_stats::{Row, Second, Window};

use super::*;
use crate::testing::plan;

/// A run of one step (`slow` and `fast` where there are two), second by second.
struct Course {
    run: Run,
    series: Series,
    thresholds: Thresholds,
    seconds: u32,
}

impl Course {
    fn of(thresholds: &str) -> Self {
        let text = format!("users: 1\nduration: 60s\nagents: {{ wait: 1m }}\nthresholds:\n{thresholds}");
        let plan = plan(&text);
        let thresholds = Thresholds::of(&plan, &[], 0);
        let run = Run::new(0, RunId::new("r").unwrap(), plan.into(), 0, Settings::default(), Vec::new()).0;
        Self { run, series: Series::default(), thresholds, seconds: 0 }
    }

    /// One more second, in which so many requests took so long, and so many failed.
    fn second(&mut self, ok: u64, latency_ms: u64, failed: u64) -> Vec<Broken> {
        let mut row = Row::default();
        (row.counters.started, row.counters.ok, row.counters.failed) = (ok + failed, ok, failed);
        (0..ok).for_each(|_| row.latency.record(latency_ms * 1_000_000));
        let window = Window {
            rows: [(RowKey::second(self.seconds, 0), row)].into(),
            seconds: [(self.seconds, Second::default())].into(),
            ..Window::default()
        };
        self.series.add(&window).unwrap();
        self.seconds += 1;
        self.thresholds.judge(self.seconds, &self.run, &self.series).unwrap()
    }

    fn told(&self) -> Vec<ThresholdTotals> {
        let length_ns = u64::from(self.seconds) * SECOND_NS;
        self.thresholds.told(&WholeRun { run: &self.run, series: &self.series, length_ns })
    }

    /// Of the only threshold: how it stands, in words, and its number.
    fn check(&self, standing: &str, value: &str) {
        let told = self.told();
        let said: Vec<_> =
            told.iter().map(|of| (of.standing_words.as_str(), of.value_words.as_str())).collect();
        assert_eq!(said, [(standing, value)]);
    }
}

#[test]
fn the_measured_part_is_judged_as_a_whole() {
    let mut course = Course::of("- p99 < 300ms");
    course.check("no data", "");
    assert_eq!(course.second(100, 100, 0), []);
    course.check("holds", "100 ms");
    assert!(course.told()[0].margin.is_some_and(|left| (left - 2.0 / 3.0).abs() < 0.01));
    // Nothing is said while it may still recover.
    assert_eq!(course.second(2, 400, 0), []);
    course.check("broken", "400 ms");
    assert!(course.told()[0].margin.is_some_and(|left| left < 0.0));
    assert_eq!(course.second(1_000, 100, 0), []);
    course.check("holds", "100 ms");
}

#[test]
fn what_nothing_is_known_of_has_no_data() {
    let mut course = Course::of("- { expect: error_rate < 1%, min_samples: 100 }");
    course.second(99, 1, 0);
    course.check("no data", "");
    course.second(1, 1, 0);
    course.check("holds", "0%");
    let mut course = Course::of("- errors < 10");
    course.check("holds", "0");
    course.second(0, 1, 10);
    course.check("broken", "10");
}

#[test]
fn a_stretch_must_hold_each_second_and_stays_broken() {
    let mut course = Course::of("- { expect: p50 <= 200ms, over: 3s }");
    for latency_ms in [100, 300] {
        assert_eq!(course.second(10, latency_ms, 0), []);
        course.check("no data", "");
    }
    assert_eq!(course.second(10, 100, 0), []);
    course.check("holds", "100 ms");
    let broken = course.second(10, 300, 0);
    let words = "the threshold `p50 <= 200ms` over 3 s is broken by 300 ms from 1 s to 4 s";
    assert_eq!(broken, [Broken { words: words.to_owned(), abort: false }]);
    course.check("broken at 4 s", "300 ms");
    for _ in 0..4 {
        assert_eq!(course.second(10, 100, 0), [], "it is said once");
    }
    course.check("broken at 4 s", "300 ms");
    let told = course.told();
    assert_eq!((told[0].latest_words.as_str(), told[0].broken_at_s), ("100 ms", Some(4.0)));
}

#[test]
fn a_stretch_without_samples_is_not_judged_but_a_rate_is() {
    let mut course = Course::of("- { expect: p50 < 200ms, over: 1s, min_samples: 5 }");
    course.second(4, 900, 0);
    course.check("no data", "");
    course.second(5, 100, 0);
    course.check("holds", "100 ms");
    let mut course = Course::of("- { expect: ok_rate >= 10/s, over: 2s, after: 1s }");
    assert_eq!(course.second(0, 1, 0), [], "the first second isn't judged");
    course.second(10, 1, 0);
    course.check("no data", "");
    course.second(10, 1, 0);
    course.check("holds", "10/s");
    let broken = course.second(9, 1, 0);
    assert_eq!(broken.len(), 1);
    course.check("broken at 4 s", "9.5/s");
}

#[test]
fn one_that_is_to_stop_the_run_says_so_once() {
    let mut course = Course::of("- { expect: error_rate < 50%, abort: true, after: 2s }");
    assert_eq!(course.second(0, 1, 5), [], "too early");
    let broken = course.second(1, 1, 0);
    let words = "the threshold `error_rate < 50%` is broken by 83.3%, over the measured part so far";
    assert_eq!(broken, [Broken { words: words.to_owned(), abort: true }]);
    assert_eq!(course.second(100, 1, 0), []);
    // The run was stopped for it.
    assert_eq!(course.told()[0].standing, Standing::Broken);
}

#[test]
fn what_was_seen_before_a_restart_stays() {
    let mut course = Course::of("- { expect: p50 <= 200ms, over: 1s }");
    course.second(10, 300, 0);
    let before = course.told();
    course.thresholds = Thresholds::of(course.run.plan(), &before, 1);
    course.check("broken at 1 s", "300 ms");
    course.second(10, 100, 0);
    course.check("broken at 1 s", "300 ms");
    // Of another plan nothing is taken over.
    let other = Course::of("- { expect: p50 <= 250ms, over: 1s }");
    let thresholds = Thresholds::of(other.run.plan(), &before, 1);
    assert_eq!(Course { thresholds, ..other }.told()[0].standing, Standing::NoData);
}
