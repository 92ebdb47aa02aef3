//! Runs of which a span is selected: live and over, of both models, in the warm-up and partly in it.

use super::{distribution, hostile, minutes, nothing_succeeded, open, over, percentiles};
use crate::stream::{ErrorCount, Snapshot, StatusCount, StepTotals, Totals};
use crate::{RunPage, SpanView};

/// The page with the numbers of some of its seconds, which differ from those of the whole run.
pub(crate) fn with_span(page: RunPage, from_s: u64, to_s: u64) -> RunPage {
    let latency_ms = percentiles(2.5);
    let whole = Totals {
        planned: page.run.whole.planned.map(|_| 321),
        iterations: 321,
        started: 321,
        ok: 317,
        failed: 3,
        missed: 0,
        unknown: Some(0),
        rate: 317.0 / (to_s - from_s) as f64,
        rate_s: (to_s - from_s) as f64,
        error_rate: Some(3.0 / 320.0),
        latency_ms,
        ..page.run.whole.clone()
    };
    let step =
        |step: &StepTotals| StepTotals { started: 321, ok: 317, failed: 3, latency_ms, ..step.clone() };
    let run = Snapshot {
        whole,
        distribution: distribution(2.5),
        steps: page.run.steps.iter().map(step).collect(),
        errors: page.run.errors.iter().map(|error| ErrorCount { count: 3, ..error.clone() }).collect(),
        statuses: vec![StatusCount { status: 204, count: 317 }],
        ..page.run.clone()
    };
    RunPage { span: Some(SpanView { from_s, to_s, run }), ..page }
}

/// Of a run that is over, a second.
pub(crate) fn a_second() -> RunPage {
    with_span(over(), 1, 2)
}

/// Partly in the warm-up, while the run goes on.
pub(crate) fn over_the_warm_up() -> RunPage {
    with_span(open::full(), 3, 8)
}

/// In the warm-up alone.
pub(crate) fn in_the_warm_up() -> RunPage {
    with_span(open::over(), 1, 4)
}

pub(crate) fn all() -> Vec<RunPage> {
    vec![
        a_second(),
        over_the_warm_up(),
        in_the_warm_up(),
        with_span(minutes(), 90, 400),
        with_span(open::late(), 7, 12),
        with_span(open::lost(), 2, 9),
        with_span(nothing_succeeded(), 0, 1),
        with_span(hostile(), 0, 2),
        // Nothing was measured there.
        with_span(over(), 70, 80),
    ]
}
