//! A run that is over as CI systems read it: a test case for the run, and one for each threshold. Pure.

use volley_plan::Verdict;
use volley_web::{JunitCase, JunitEnd, JunitReport};

use super::{RunDocument, Standing, ThresholdTotals};

impl RunDocument {
    /// The JUnit report (the XML that CI systems read): whether the run was completed (`failure` if a threshold ended it,
    /// `skipped` if a person did) and can be trusted (`error` if not), and whether each threshold held (`failure` if not).
    #[must_use]
    pub fn junit(&self) -> JunitReport {
        let progress = &self.progress;
        let is_trusted = !matches!(progress.verdict, Some(Verdict::Invalid) | None);
        let end = match progress.stop_reason.as_deref() {
            _ if !is_trusted => JunitEnd::Error,
            // Nothing was measured.
            Some("asked") if progress.run_s <= 0.0 => JunitEnd::Error,
            Some("asked") => JunitEnd::Skipped,
            Some("threshold_broken") => JunitEnd::Failed,
            _ => JunitEnd::Passed,
        };
        let message = if end == JunitEnd::Passed { String::new() } else { progress.sentence.clone() };
        let completed = JunitCase { name: "run completed".to_owned(), end, message };
        let thresholds = progress.thresholds.iter().map(|of| threshold(of, is_trusted));
        JunitReport {
            name: self.name.clone(),
            id: self.id.to_string(),
            started_at: self.started_at.clone().unwrap_or_else(|| self.created_at.clone()),
            time_s: progress.run_s,
            cases: std::iter::once(completed).chain(thresholds).collect(),
            sentence: progress.sentence.clone(),
        }
    }
}

/// Of a run that can't be trusted no threshold has passed.
fn threshold(of: &ThresholdTotals, is_trusted: bool) -> JunitCase {
    let over = of.over_s.map(|over_s| format!(" over {over_s} s")).unwrap_or_default();
    let (end, message) = match of.standing {
        Standing::Broken => {
            (JunitEnd::Failed, format!("{} {}, limit {}", of.metric, of.value_words, of.limit_words))
        }
        Standing::NoData => (JunitEnd::Failed, format!("{} had no data", of.metric)),
        Standing::Holds if is_trusted => (JunitEnd::Passed, String::new()),
        Standing::Holds => (JunitEnd::Error, "the run's numbers can't be trusted".to_owned()),
    };
    JunitCase { name: format!("{}{over}", of.expect), end, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::sample;

    fn check(verdict: Verdict, standing: Standing, expected: [(JunitEnd, &str); 2]) {
        let mut document = sample();
        document.progress.verdict = Some(verdict);
        document.progress.sentence = "Why.".to_owned();
        document.progress.thresholds = vec![ThresholdTotals {
            expect: "p99 < 300ms".to_owned(),
            over_s: Some(10.0),
            metric: "p99".to_owned(),
            value_words: "412 ms".to_owned(),
            limit_words: "300 ms".to_owned(),
            standing,
            ..ThresholdTotals::default()
        }];
        let report = document.junit();
        let told: Vec<_> = report.cases.iter().map(|case| (case.end, case.message.as_str())).collect();
        assert_eq!(told, expected, "{verdict:?} {standing:?}");
        assert_eq!(report.cases[1].name, "p99 < 300ms over 10 s");
    }

    #[test]
    fn a_run_that_was_ended_was_not_completed() {
        let check = |reason: &str, run_s, expected| {
            let mut document = sample();
            let progress = &mut document.progress;
            (progress.verdict, progress.run_s) = (Some(Verdict::Passed), run_s);
            progress.stop_reason = Some(reason.to_owned());
            progress.sentence = "Why.".to_owned();
            let case = document.junit().cases.remove(0);
            let message = if expected == JunitEnd::Passed { "" } else { "Why." };
            assert_eq!((case.end, case.message.as_str()), (expected, message), "{reason}");
        };
        check("duration_over", 2.0, JunitEnd::Passed);
        check("count_reached", 2.0, JunitEnd::Passed);
        check("threshold_broken", 2.0, JunitEnd::Failed);
        check("asked", 2.0, JunitEnd::Skipped);
        check("asked", 0.0, JunitEnd::Error);
    }

    #[test]
    fn a_breach_is_a_failure_and_doubt_an_error() {
        use JunitEnd::{Error, Failed, Passed};
        check(Verdict::Passed, Standing::Holds, [(Passed, ""), (Passed, "")]);
        check(Verdict::Failed, Standing::Broken, [(Passed, ""), (Failed, "p99 412 ms, limit 300 ms")]);
        check(Verdict::Failed, Standing::NoData, [(Passed, ""), (Failed, "p99 had no data")]);
        let doubt = "the run's numbers can't be trusted";
        check(Verdict::Invalid, Standing::Holds, [(Error, "Why."), (Error, doubt)]);
    }
}
