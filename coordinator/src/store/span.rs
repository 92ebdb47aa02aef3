//! What happened in a run in one span of time, and how spans are put together.

use volley_stats::{DecodeError, Row, SealedRow, Second, Series};

/// How long the spans are that a run is told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// A second each.
    Second,
    /// A minute each, numbered from the run's start.
    Minute,
}

impl Grain {
    /// The length of a span.
    #[must_use]
    pub fn seconds(self) -> u32 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
        }
    }

    /// The beginning of the span that a second lies in.
    #[must_use]
    pub fn begin(self, second: u32) -> u32 {
        second - second % self.seconds()
    }
}

/// What happened in one span, all agents and steps merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first second.
    pub from_s: u32,
    /// The second after the last.
    pub to_s: u32,
    /// Iterations in the span; users, connections and requests in flight at its end.
    pub scalars: Second,
    /// Counters and histograms.
    pub row: SealedRow,
}

/// Adds a second to the scalars of a span that ends with it: what is counted is summed, what is measured at the end is
/// the later one's.
pub(super) fn extend(scalars: &mut Second, later: &Second) {
    let mut sum = *scalars;
    sum.merge(later);
    *scalars = Second { iterations: sum.iterations, ..*later };
}

/// The spans of a series that is whole in memory.
pub(super) fn of_series(
    series: &Series,
    grain: Grain,
    from_s: u32,
    to_s: u32,
) -> Result<Vec<Span>, DecodeError> {
    let mut spans = Vec::new();
    let end_s = series.end_s();
    let mut begin = grain.begin(from_s.saturating_add(grain.seconds() - 1));
    while begin < to_s.min(end_s) {
        let next = begin.saturating_add(grain.seconds());
        let mut known = (begin..next).filter(|&second| series.knows(second)).peekable();
        if known.peek().is_some() {
            let (mut scalars, mut row) = (Second::default(), Row::default());
            for second in known {
                let merged = series.second(second)?;
                extend(&mut scalars, &merged.scalars);
                row.merge(&merged.row);
            }
            spans.push(Span { from_s: begin, to_s: next, scalars, row: row.seal() });
        }
        begin = next;
    }
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::suite::window;

    #[test]
    fn minutes_sum_counts_and_end_with_their_last_second() {
        let mut series = Series::default();
        for second in [0, 1, 59, 60, 200] {
            let mut window = window(second, u64::from(second) + 1);
            for scalars in Arc::make_mut(&mut window).seconds.values_mut() {
                scalars.in_flight = second;
            }
            series.add(&window).unwrap();
        }
        let check = |grain, from_s, to_s, expected: &[(u32, u32, u64, u32)]| {
            let spans = of_series(&series, grain, from_s, to_s).unwrap();
            let said: Vec<_> = spans
                .iter()
                .map(|span| (span.from_s, span.to_s, span.scalars.iterations.started, span.scalars.in_flight))
                .collect();
            assert_eq!(said, expected);
            for span in &spans {
                assert_eq!(span.row.open().unwrap().latency.count(), span.scalars.iterations.started);
            }
        };
        check(Grain::Second, 1, 60, &[(1, 2, 2, 1), (59, 60, 60, 59)]);
        check(Grain::Minute, 0, u32::MAX, &[(0, 60, 63, 59), (60, 120, 61, 60), (180, 240, 201, 200)]);
        check(Grain::Minute, 1, 61, &[(60, 120, 61, 60)]);
        check(Grain::Minute, 0, 0, &[]);
    }
}
