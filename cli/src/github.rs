//! What GitHub Actions shows of a run: its report on the job's page, and a note for whatever is wrong.
//!
//! The report is appended to the file that `GITHUB_STEP_SUMMARY` names. Notes are workflow commands, which the runner finds
//! in stderr as well, so that stdout has results only.

use std::ffi::OsString;
use std::path::PathBuf;

use volley_coordinator::RunDocument;
use volley_coordinator::document::{ErrorCount, Standing, ThresholdTotals};
use volley_plan::Verdict;

/// Most notes of a run: the runner shows ten of each kind in a step.
const MAX_NOTES: usize = 10;

/// What of it is wanted, as the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitHub {
    /// The file for the job's page.
    pub(crate) summary: Option<PathBuf>,
    /// Whether a runner reads what is printed.
    notes: bool,
}

impl GitHub {
    /// As this process's environment says.
    pub(crate) fn here() -> Self {
        Self::of(std::env::var_os("GITHUB_STEP_SUMMARY"), std::env::var_os("GITHUB_ACTIONS"))
    }

    fn of(summary: Option<OsString>, actions: Option<OsString>) -> Self {
        let summary = summary.filter(|file| !file.is_empty()).map(PathBuf::from);
        Self { summary, notes: actions.is_some_and(|word| word == "true") }
    }

    /// The notes to print, each a line.
    pub(crate) fn notes(&self, document: &RunDocument) -> Vec<String> {
        if self.notes { notes(document) } else { Vec::new() }
    }
}

/// What is wrong with a run, the worst first.
fn notes(document: &RunDocument) -> Vec<String> {
    let progress = &document.progress;
    let invalid = (progress.verdict == Some(Verdict::Invalid))
        .then(|| command("error", &format!("{}: invalid", document.name), &progress.sentence));
    let broken = progress.thresholds.iter().filter(|of| of.standing != Standing::Holds);
    let broken =
        broken.map(|of| command("error", &format!("{}: {}", document.name, of.expect), &measured(of)));
    let errors = progress.errors.iter();
    let errors = errors.map(|error| command("warning", &format!("{}: errors", document.name), &told(error)));
    let health = progress.health_notes.iter();
    let health = health.map(|note| command("warning", &format!("{}: generator", document.name), note));
    invalid.into_iter().chain(broken).chain(errors).chain(health).take(MAX_NOTES).collect()
}

fn measured(of: &ThresholdTotals) -> String {
    match of.standing {
        Standing::NoData => format!("{} had no data ({})", of.metric, of.scope),
        _ => format!("{} was {}, the limit is {} ({})", of.metric, of.value_words, of.limit_words, of.scope),
    }
}

fn told(error: &ErrorCount) -> String {
    let words = if error.words.is_empty() { &error.kind } else { &error.words };
    format!("{} failed: {words}", crate::format::count(error.count))
}

/// A workflow command, escaped as the runner reads it (`actions/toolkit`, `command.ts`).
fn command(level: &str, title: &str, message: &str) -> String {
    format!("::{level} title={}::{}", property(title), data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::summary;

    fn document(changes: &[(&str, Value)]) -> RunDocument {
        let mut document = summary::tests::document();
        for (name, value) in changes {
            document[*name] = value.clone();
        }
        serde_json::from_value(document).expect("a document")
    }

    fn check(changes: &[(&str, Value)], expected: &[&str]) {
        assert_eq!(notes(&document(changes)), expected);
    }

    fn threshold(expect: &str, standing: &str) -> Value {
        json!({
            "expect": expect, "metric": "p99", "standing": standing, "value_words": "412 ms", "limit_words": "300 ms",
            "scope": "whole run",
        })
    }

    #[test]
    fn what_is_wrong_is_noted() {
        let errors = [
            "::warning title=n%3A errors::1 failed: any words",
            "::warning title=n%3A errors::1 failed: connect_refused",
        ];
        check(&[], &errors);
        check(&[("errors", json!([]))], &[]);
        let thresholds = json!([
            threshold("p99 < 300ms", "broken"),
            threshold("p50 < 1s", "holds"),
            threshold("x", "no_data")
        ]);
        let changes = [("errors", json!([])), ("verdict", json!("failed")), ("thresholds", thresholds)];
        let broken = "::error title=n%3A p99 < 300ms::p99 was 412 ms, the limit is 300 ms (whole run)";
        check(&changes, &[broken, "::error title=n%3A x::p99 had no data (whole run)"]);
        let changes =
            [("errors", json!([])), ("verdict", json!("invalid")), ("sentence", json!("100 % lost."))];
        check(&changes, &["::error title=n%3A invalid::100 %25 lost."]);
    }

    #[test]
    fn names_end_no_command() {
        let changes = [
            ("errors", json!([])),
            ("name", json!("a,b::c\n::error::d")),
            ("health_notes", json!(["x\r\ny"])),
        ];
        check(&changes, &["::warning title=a%2Cb%3A%3Ac%0A%3A%3Aerror%3A%3Ad%3A generator::x%0D%0Ay"]);
    }

    #[test]
    fn there_are_no_more_than_a_step_shows() {
        let thresholds: Vec<_> = (0..30).map(|n| threshold(&format!("p{n} < 1s"), "broken")).collect();
        let noted = notes(&document(&[("thresholds", json!(thresholds))]));
        assert_eq!((noted.len(), noted.iter().all(|note| note.starts_with("::error"))), (MAX_NOTES, true));
    }

    #[test]
    fn outside_of_github_nothing_is_noted() {
        let some = |text: &str| Some(OsString::from(text));
        assert_eq!(GitHub::of(None, None), GitHub::default());
        assert_eq!(GitHub::of(some(""), some("false")), GitHub::default());
        let within = GitHub::of(some("/tmp/s.md"), some("true"));
        assert_eq!(within, GitHub { summary: Some("/tmp/s.md".into()), notes: true });
        assert_eq!(GitHub::default().notes(&document(&[])), [""; 0]);
    }
}
