//! The account of a run and the verdict over it.

use serde::{Deserialize, Serialize};
use volley_stats::Iterations;

use crate::words::{count, counted};

/// The share of the planned load that may be missed or unknown before a run is invalid, in thousandths.
pub const TOLERATED_THOUSANDTHS: u64 = 10;

/// What a run's numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every threshold held.
    Passed,
    /// The target broke a threshold.
    Failed,
    /// The measurement cannot be trusted.
    Invalid,
    /// Nothing was demanded.
    None,
}

impl Verdict {
    /// The name used in JSON and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::None => "none",
        }
    }
}

/// The account of a run: `planned = started + missed + unknown` of iterations, and
/// `requests_started = ok + failed + cancelled + unresolved` of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// Iterations planned until the stop; `None` for a timed closed run, which plans a time and not a number.
    pub planned: Option<u64>,
    /// Iterations that agents reported as started.
    pub started: u64,
    /// Planned, and sent by nobody.
    pub missed: u64,
    /// Permitted to an agent that was lost before it reported; never sent by another.
    pub unknown: u64,
    /// In a run without a count an agent was lost: it may have sent more than it reported, nobody knows how much.
    #[serde(default)]
    pub unknown_is_open: bool,
    /// Requests reported as started.
    pub requests_started: u64,
    /// Requests that ended ok.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests cut off by the end of the run.
    pub cancelled: u64,
    /// Requests that a lost agent had reported as started and not as ended.
    pub unresolved: u64,
    /// Users times milliseconds that a timed closed run planned.
    pub planned_user_ms: u64,
    /// Those of them that were lost with agents.
    pub lost_user_ms: u64,
}

impl Accounts {
    /// Adds what a window says.
    pub fn add(&mut self, iterations: Iterations, started: u64, ok: u64, failed: u64, cancelled: u64) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.started, iterations.started);
        add(&mut self.missed, iterations.missed);
        add(&mut self.requests_started, started);
        add(&mut self.ok, ok);
        add(&mut self.failed, failed);
        add(&mut self.cancelled, cancelled);
    }

    /// How the account fails to add up, in words; `None` when it does. For a finished run.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let Self { started, missed, unknown, .. } = *self;
        if let Some(planned) = self.planned
            && !sums_to(planned, [started, missed, unknown, 0])
        {
            return Some(format!(
                "{planned} planned, but {started} started + {missed} missed + {unknown} unknown"
            ));
        }
        let Self { requests_started, ok, failed, cancelled, unresolved, .. } = *self;
        (!sums_to(requests_started, [ok, failed, cancelled, unresolved])).then(|| {
            format!(
                "{requests_started} requests started, but {ok} ok + {failed} failed + {cancelled} cancelled + \
                 {unresolved} unresolved"
            )
        })
    }

    /// What was not sent, or may not have been: `2 missed and 11 unknown`.
    fn gap_in_words(&self) -> String {
        let missed = (self.missed > 0).then(|| format!("{} missed", count(self.missed)));
        let unknown = (self.unknown > 0).then(|| format!("{} unknown", count(self.unknown)));
        [missed, unknown].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// Why the measurement cannot be trusted, in a sentence; `None` when it can.
    #[must_use]
    pub fn invalid_because(&self) -> Option<String> {
        let tolerated = |part: u64, of: u64| {
            u128::from(part) * 1000 <= u128::from(of) * u128::from(TOLERATED_THOUSANDTHS)
        };
        if let Some(fault) = self.fault() {
            return Some(format!("the account does not add up: {fault}"));
        }
        if let Some(planned) = self.planned
            && !tolerated(self.missed.saturating_add(self.unknown), planned)
        {
            let planned = counted(planned, "planned iteration");
            return Some(format!("{} of {planned}, more than 1 %", self.gap_in_words()));
        }
        if !tolerated(self.unresolved, self.requests_started) {
            let (unresolved, started) =
                (count(self.unresolved), counted(self.requests_started, "started request"));
            return Some(format!("{unresolved} unresolved of {started}, more than 1 %"));
        }
        if !tolerated(self.lost_user_ms, self.planned_user_ms) {
            return Some("more than 1 % of the planned users' time was lost with agents".to_owned());
        }
        (self.ok == 0).then(|| "nothing succeeded".to_owned())
    }
}

/// Reports come from other machines, so their sums may be absurd; absurd sums are wrong, not a panic.
fn sums_to(whole: u64, parts: [u64; 4]) -> bool {
    u128::from(whole) == parts.into_iter().map(u128::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accounts: Accounts, expected: Option<&str>) {
        let said = accounts.invalid_because();
        match (said.as_deref(), expected) {
            (None, None) => {}
            (Some(said), Some(part)) if said.contains(part) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_is_invalid_for_a_reason() {
        let good = Accounts {
            planned: Some(1000),
            started: 1000,
            requests_started: 1000,
            ok: 900,
            failed: 100,
            ..Accounts::default()
        };
        check(good, None);
        check(Accounts { started: 990, requests_started: 990, ok: 890, unknown: 10, ..good }, None);
        check(
            Accounts { started: 989, requests_started: 989, ok: 889, unknown: 11, ..good },
            Some("11 unknown"),
        );
        check(Accounts { started: 900, ..good }, Some("does not add up"));
        check(Accounts { ok: 899, ..good }, Some("899 ok"));
        check(Accounts { ok: 0, failed: 1000, ..good }, Some("nothing succeeded"));
        check(Accounts { ok: 890, unresolved: 10, ..good }, None);
        check(Accounts { ok: 889, unresolved: 11, ..good }, Some("11 unresolved of 1,000 started requests"));
        check(Accounts { planned_user_ms: 1000, lost_user_ms: 11, ..good }, Some("users' time"));
        check(Accounts::default(), Some("nothing succeeded"));
    }
}
