//! Whether results can be of their run at all. What no honest agent sends would make this process hold seconds or steps
//! that can't be: it is named and refused.

use thiserror::Error;
use volley_plan::Plan;
use volley_stats::{ALL_STEPS, RowFault, RowKey, SECOND_NS, SealedWindow};

/// Windows may be this far ahead of the coordinator's clock, in seconds; what is further is an agent's error.
const FUTURE_S: u64 = 5;

/// What cannot be.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Fault {
    /// A row's span is empty, or lies in the future.
    #[error("window.rows: seconds {from_s} to {to_s} are not of this run")]
    Span { from_s: u32, to_s: u32 },
    /// A row is of a step that the plan doesn't have.
    #[error("window.rows: step {step} is none of the plan's {steps}")]
    Step { step: u16, steps: usize },
    /// Scalars or health are of a second in the future.
    #[error("window.{field}: second {second} is not of this run")]
    Second { field: &'static str, second: u32 },
    /// A row doesn't say what it should. Found here and nowhere later: what is let through is added to others unopened.
    #[error("window.rows: {0}")]
    Row(#[from] RowFault),
}

/// Checks a window that came `run_ns` after the run's start.
pub(super) fn window(window: &SealedWindow, plan: &Plan, run_ns: u64) -> Result<(), Fault> {
    let bound_s = run_ns / SECOND_NS + FUTURE_S;
    let steps = plan.requests().count();
    for &RowKey { from_s, to_s, step, .. } in window.rows.keys() {
        if from_s >= to_s || u64::from(to_s) > bound_s {
            return Err(Fault::Span { from_s, to_s });
        }
        if usize::from(step) >= steps && step != ALL_STEPS {
            return Err(Fault::Step { step, steps });
        }
    }
    let latest =
        [("seconds", window.seconds.keys().next_back()), ("health", window.health.keys().next_back())];
    for (field, second) in latest {
        match second {
            Some(&second) if u64::from(second) >= bound_s => return Err(Fault::Second { field, second }),
            _ => {}
        }
    }
    Ok(window.check()?)
}

#[cfg(test)]
mod tests {
    use volley_stats::{Health, Part, SealedRow, Second};

    use super::*;
    use crate::testing::plan;

    #[test]
    fn what_cannot_be_is_named() {
        let plan = plan("users: 1\nduration: 60s");
        let check = |rows: &[(u32, u32, u16)], second: Option<u32>, health: Option<u32>, expected: &str| {
            let key = |&(from_s, to_s, step)| RowKey { from_s, to_s, step, part: Part::Measured };
            let of = SealedWindow {
                rows: rows.iter().map(|row| (key(row), SealedRow::default())).collect(),
                seconds: second.into_iter().map(|second| (second, Second::default())).collect(),
                health: health.into_iter().map(|second| (second, Health::default())).collect(),
                ..SealedWindow::default()
            };
            let said = window(&of, &plan, 10 * SECOND_NS).map_err(|fault| fault.to_string());
            assert_eq!(said.err().unwrap_or_default(), expected, "{rows:?} {second:?} {health:?}");
        };
        check(&[(0, 1, 0), (9, 15, 0), (14, 15, ALL_STEPS)], Some(14), Some(14), "");
        check(&[(15, 16, 0)], None, None, "window.rows: seconds 15 to 16 are not of this run");
        check(&[(3, 3, 0)], None, None, "window.rows: seconds 3 to 3 are not of this run");
        check(&[(0, 1, 1)], None, None, "window.rows: step 1 is none of the plan's 1");
        check(&[(15, 16, ALL_STEPS)], None, None, "window.rows: seconds 15 to 16 are not of this run");
        let mut broken = SealedRow::default();
        broken.counters.ok = 1;
        let of = SealedWindow { rows: [(RowKey::second(0, 0), broken)].into(), ..SealedWindow::default() };
        let said = window(&of, &plan, 10 * SECOND_NS).map_err(|fault| fault.to_string());
        assert_eq!(said, Err("window.rows: latency holds 0 values, the counter says 1".to_owned()));
        check(&[], Some(15), None, "window.seconds: second 15 is not of this run");
        check(&[], Some(3), Some(u32::MAX), "window.health: second 4294967295 is not of this run");
    }
}
