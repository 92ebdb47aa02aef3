//! The account of a run and the verdict over it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::link::WindowFacts;
use crate::model::Tolerance;
use crate::words::{count, counted};

/// What a run's numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// The account of a run's measured part: `planned = started + missed + unknown` of iterations, and
/// `requests_started = ok + failed + cancelled + unresolved` of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// Those of the failed ones for which the generator had no local port left.
    #[serde(default)]
    pub without_port: u64,
    /// Those of the failed ones for which it had no descriptor left.
    #[serde(default)]
    pub without_descriptor: u64,
    /// Users times milliseconds that a timed closed run planned.
    pub planned_user_ms: u64,
    /// Those of them that were lost with agents.
    pub lost_user_ms: u64,
}

impl Accounts {
    /// Adds what an agent says.
    pub fn add(&mut self, facts: &WindowFacts) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.started, facts.iterations.started);
        add(&mut self.missed, facts.iterations.missed);
        add(&mut self.requests_started, facts.started);
        add(&mut self.ok, facts.ok);
        add(&mut self.failed, facts.failed);
        add(&mut self.cancelled, facts.cancelled);
        add(&mut self.without_port, facts.without_port);
        add(&mut self.without_descriptor, facts.without_descriptor);
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

    /// Why the measurement cannot be trusted, in a sentence; `None` when it can. `missed_because` says why iterations were
    /// missed, where that is known.
    #[must_use]
    pub fn invalid_because(&self, tolerate: Tolerance, missed_because: Option<&str>) -> Option<String> {
        let nothing = (self.ok == 0).then(|| "nothing succeeded".to_owned());
        let reasons: Vec<_> =
            self.shortfall_in_words(tolerate, missed_because).into_iter().chain(nothing).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// What of the plan was not done, or not as planned, beyond what is tolerated.
    fn shortfall_in_words(&self, tolerate: Tolerance, missed_because: Option<&str>) -> Option<String> {
        if let Some(fault) = self.fault() {
            return Some(format!("the account does not add up: {fault}"));
        }
        if let Some(planned) = self.planned
            && !tolerate.allows(self.missed.saturating_add(self.unknown), planned)
        {
            let planned = counted(planned, "planned iteration");
            let missed_because = missed_because.filter(|_| self.missed > 0 && self.unknown == 0);
            let because = missed_because.map(|why| format!(": {why}")).unwrap_or_default();
            return Some(format!("{} of {planned}, more than {tolerate}{because}", self.gap_in_words()));
        }
        let requests = counted(self.requests_started, "started request");
        if !tolerate.allows(self.unresolved, self.requests_started) {
            return Some(format!(
                "{} unresolved of {requests}, more than {tolerate}",
                count(self.unresolved)
            ));
        }
        if !tolerate.allows(self.lost_user_ms, self.planned_user_ms) {
            return Some(format!("more than {tolerate} of the planned users' time was lost with agents"));
        }
        if !tolerate.allows(self.without_port.saturating_add(self.without_descriptor), self.requests_started)
        {
            return Some(format!("{} of {requests}, more than {tolerate}", self.shortage_in_words()?));
        }
        None
    }

    /// What the generator lacked, with the cure; `None` where it lacked nothing.
    #[must_use]
    pub fn shortage_in_words(&self) -> Option<String> {
        let ports = (self.without_port > 0).then(|| {
            format!(
                "the generator had no local port left for {} (use fewer or kept connections, more agents or \
                 addresses, or a wider net.ipv4.ip_local_port_range)",
                count(self.without_port)
            )
        });
        let descriptors = (self.without_descriptor > 0).then(|| {
            format!(
                "the generator had no descriptor left for {} (raise its limit, `ulimit -n`)",
                count(self.without_descriptor)
            )
        });
        let lacks: Vec<_> = [ports, descriptors].into_iter().flatten().collect();
        (!lacks.is_empty()).then(|| lacks.join(" and "))
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
        let said = accounts.invalid_because(Tolerance::default(), Some("many waited"));
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
        check(
            Accounts { started: 900, requests_started: 900, ok: 800, missed: 100, ..good },
            Some("100 missed of 1,000 planned iterations, more than 1%: many waited"),
        );
        check(
            Accounts { started: 900, requests_started: 900, ok: 800, missed: 99, unknown: 1, ..good },
            Some("99 missed and 1 unknown of 1,000 planned iterations, more than 1%"),
        );
        check(
            Accounts { planned: Some(9), missed: 9, ..Accounts::default() },
            Some("more than 1%: many waited; nothing succeeded"),
        );
        check(Accounts { started: 900, ..good }, Some("does not add up"));
        check(Accounts { ok: 899, ..good }, Some("899 ok"));
        check(Accounts { ok: 0, failed: 1000, ..good }, Some("nothing succeeded"));
        check(Accounts { ok: 890, unresolved: 10, ..good }, None);
        check(Accounts { ok: 889, unresolved: 11, ..good }, Some("11 unresolved of 1,000 started requests"));
        check(Accounts { planned_user_ms: 1000, lost_user_ms: 11, ..good }, Some("users' time"));
        check(Accounts { without_port: 10, ..good }, None);
        check(Accounts { without_port: 11, ..good }, Some("no local port left for 11"));
        check(Accounts { without_descriptor: 50, ..good }, Some("no descriptor left for 50"));
        check(Accounts::default(), Some("nothing succeeded"));
    }
}
