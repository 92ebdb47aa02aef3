//! What the numbers of a run's page are of: the whole run, or some of its seconds. `assets/told.js` is the same in script,
//! and a test holds the two together.

use std::borrow::Cow;

use serde::Serialize;

use crate::format::{Format, maybe};
use crate::stream::{Snapshot, Tick};

/// Some seconds of a run, selected to have the page's numbers told of them alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpanView {
    /// The first second, in run time.
    pub from_s: u64,
    /// The second after the last.
    pub to_s: u64,
    /// The run with the numbers of these seconds.
    pub run: Snapshot,
}

impl SpanView {
    /// As a column is headed: `12–30 s`.
    fn head(&self) -> String {
        format!("{}–{} s", self.from_s, self.to_s)
    }

    /// What is so while it is selected, in a sentence.
    fn sentence(&self, warmup_s: f64) -> String {
        let warmup = maybe(Format::Seconds, Some(warmup_s));
        let apart = if self.lies_within(warmup_s) {
            ", which is in the warm-up".to_owned()
        } else if (self.from_s as f64) < warmup_s {
            format!(", without the warm-up, which lasted {warmup}")
        } else {
            String::new()
        };
        format!("Numbers are of {} s to {} s{apart}.", self.from_s, self.to_s)
    }

    /// True where it ends within the warm-up.
    fn lies_within(&self, warmup_s: f64) -> bool {
        self.to_s as f64 <= warmup_s
    }

    fn covers(&self, tick: &Tick) -> bool {
        tick.second < self.to_s && tick.second + tick.seconds() > self.from_s
    }
}

/// The numbers that are told.
pub(crate) struct Told<'a> {
    /// The run as it stands, with the numbers that are told.
    pub(crate) shown: Cow<'a, Snapshot>,
    /// The same for whoever derives something from it: a span is like a run that is over.
    pub(crate) run: Cow<'a, Snapshot>,
    /// The seconds of it that are drawn.
    pub(crate) ticks: Cow<'a, [Tick]>,
    /// They are of a span.
    pub(crate) is_span: bool,
    /// What its column is headed with.
    pub(crate) head: String,
    /// That a span is selected, in a sentence; empty where none is.
    pub(crate) selected: String,
}

impl<'a> Told<'a> {
    /// What is told of a run with those seconds drawn, where a span may be selected.
    pub(crate) fn of(run: &'a Snapshot, drawn: &'a [Tick], span: Option<&SpanView>) -> Self {
        match span {
            Some(span) => Self::of_span(run, drawn, span),
            None => Self {
                shown: Cow::Borrowed(run),
                run: Cow::Borrowed(run),
                ticks: Cow::Borrowed(drawn),
                is_span: false,
                head: "whole run".to_owned(),
                selected: String::new(),
            },
        }
    }

    fn of_span(run: &Snapshot, drawn: &[Tick], span: &SpanView) -> Self {
        let SpanView { run: numbers, .. } = span.clone();
        let shown = Snapshot {
            whole: numbers.whole,
            distribution: numbers.distribution,
            steps: numbers.steps,
            errors: numbers.errors,
            statuses: numbers.statuses,
            ..run.clone()
        };
        let is_warmup = span.lies_within(run.warmup_s);
        let apart = |tick: &Tick| Tick { warmup: tick.warmup && !is_warmup, ..tick.clone() };
        let of_span = Snapshot {
            over: true,
            elapsed_s: shown.whole.rate_s,
            planned_requests: None,
            warmup: None,
            warmup_s: if is_warmup { 0.0 } else { run.warmup_s },
            ..shown.clone()
        };
        Self {
            shown: Cow::Owned(shown),
            run: Cow::Owned(of_span),
            ticks: drawn.iter().filter(|tick| span.covers(tick)).map(apart).collect::<Vec<_>>().into(),
            is_span: true,
            head: span.head(),
            selected: span.sentence(run.warmup_s),
        }
    }
}
