//! What happened in a run in one span of time, and how spans are put together.

use std::collections::BTreeMap;

use volley_stats::{DecodeError, ErrorKind, Health, SealedRow, Second, Series};

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

/// The shortest report that says how hard an agent was at work, in nanoseconds: the last one of a run may be of milliseconds,
/// in which a worker that ends is always busy.
const TELLING_NS: u64 = 100_000_000;

/// How hard agents were at work in a span: the most that any of them reported of one of its seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strain {
    /// Thousandths of the time that a worker ran.
    busiest: Option<u16>,
    /// Thousandths of the processors' time that a machine's host took away.
    stolen: Option<u16>,
}

impl Strain {
    /// What one report says.
    #[must_use]
    pub fn of(health: &Health) -> Self {
        let share = |ns: u64| {
            if health.span_ns < TELLING_NS {
                return None;
            }
            let thousandths = u128::from(ns) * 1000 / u128::from(health.span_ns);
            // A worker's time and the span are read one after the other, so it may seem to have run for longer.
            u16::try_from(thousandths.min(1000)).ok()
        };
        Self { busiest: share(health.busiest_cpu_ns), stolen: share(health.stolen_ns) }
    }

    /// Adds what another one says.
    pub fn merge(&mut self, other: Self) {
        self.busiest = self.busiest.max(other.busiest);
        self.stolen = self.stolen.max(other.stolen);
    }

    /// The share of the time that the busiest worker ran, 0 to 1.
    #[must_use]
    pub fn busiest(self) -> Option<f64> {
        self.busiest.map(|thousandths| f64::from(thousandths) / 1000.0)
    }

    /// The share of the processors' time that a machine's host took away, 0 to 1.
    #[must_use]
    pub fn stolen(self) -> Option<f64> {
        self.stolen.map(|thousandths| f64::from(thousandths) / 1000.0)
    }

    /// Both in thousandths, for whoever keeps them elsewhere.
    pub(super) fn thousandths(self) -> [Option<u16>; 2] {
        [self.busiest, self.stolen]
    }

    /// What [`Self::thousandths`] told.
    pub(super) fn of_thousandths([busiest, stolen]: [Option<u16>; 2]) -> Self {
        Self { busiest, stolen }
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
    /// Counters and histograms of the measured part; of the warm-up where nothing was measured.
    pub row: SealedRow,
    /// How hard agents were at work.
    pub strain: Strain,
}

/// Adds a second to the scalars of a span that ends with it: what is counted is summed, what is measured at the end is
/// the later one's.
pub(crate) fn extend(scalars: &mut Second, later: &Second) {
    let mut sum = *scalars;
    sum.merge(later);
    *scalars = Second { iterations: sum.iterations, warmup: sum.warmup, ..*later };
}

/// The first and the last second of each kind of error, as nearly as spans tell them.
pub(crate) fn errors_seen<'a>(spans: impl Iterator<Item = &'a Span>) -> BTreeMap<ErrorKind, (u32, u32)> {
    let mut seen = BTreeMap::new();
    for span in spans {
        let last_s = span.to_s.saturating_sub(1);
        for (kind, _) in span.row.counters.errors.iter() {
            let known = seen.entry(kind).or_insert((span.from_s, last_s));
            *known = (known.0.min(span.from_s), known.1.max(last_s));
        }
    }
    seen
}

/// The spans of a series that is whole in memory.
pub(super) fn of_series(
    series: &Series,
    strains: &BTreeMap<u32, Strain>,
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
            let mut scalars = Second::default();
            known.for_each(|second| extend(&mut scalars, &series.scalars(second)));
            let row = series.parts(begin, next)?.told();
            let mut strain = Strain::default();
            strains.range(begin..next).for_each(|(_, of_second)| strain.merge(*of_second));
            spans.push(Span { from_s: begin, to_s: next, scalars, row: row.seal(), strain });
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
    fn strain_is_the_most_that_was_reported() {
        let health = |span_ns, busiest_cpu_ns, stolen_ns| {
            Strain::of(&Health { span_ns, busiest_cpu_ns, stolen_ns, ..Health::default() })
        };
        let said = |strain: Strain| (strain.busiest(), strain.stolen());
        assert_eq!(said(health(0, 5, 5)), (None, None));
        assert_eq!(said(health(99_999_999, 99_999_999, 0)), (None, None), "a run's last milliseconds");
        assert_eq!(said(health(1_000_000_000, 1_000_100_000, 0)), (Some(1.0), Some(0.0)));
        let mut strain = health(2_000_000_000, 500_000_000, 20_000_000);
        strain.merge(health(1_000_000_000, 100_000_000, 50_000_000));
        strain.merge(health(0, 0, 0));
        assert_eq!(said(strain), (Some(0.25), Some(0.05)));
        assert_eq!(Strain::of_thousandths(strain.thousandths()), strain);
    }

    #[test]
    fn minutes_sum_counts_and_end_with_their_last_second() {
        let mut series = Series::default();
        let busy = |ns: u64| {
            Strain::of(&Health {
                span_ns: 1_000_000_000,
                busiest_cpu_ns: ns * 1_000_000,
                ..Health::default()
            })
        };
        let strains = BTreeMap::from([(1, busy(100)), (59, busy(700)), (60, busy(20))]);
        for second in [0, 1, 59, 60, 200] {
            let mut window = window(second, u64::from(second) + 1);
            for scalars in Arc::make_mut(&mut window).seconds.values_mut() {
                scalars.in_flight = second;
            }
            series.add(&window).unwrap();
        }
        let check = |grain, from_s, to_s, expected: &[(u32, u32, u64, u32)]| {
            let spans = of_series(&series, &strains, grain, from_s, to_s).unwrap();
            let said: Vec<_> = spans
                .iter()
                .map(|span| (span.from_s, span.to_s, span.scalars.iterations.started, span.scalars.in_flight))
                .collect();
            assert_eq!(said, expected);
            for span in &spans {
                assert_eq!(span.row.open::<u32>().unwrap().latency.count(), span.scalars.iterations.started);
            }
        };
        check(Grain::Second, 1, 60, &[(1, 2, 2, 1), (59, 60, 60, 59)]);
        check(Grain::Minute, 0, u32::MAX, &[(0, 60, 63, 59), (60, 120, 61, 60), (180, 240, 201, 200)]);
        check(Grain::Minute, 1, 61, &[(60, 120, 61, 60)]);
        check(Grain::Minute, 0, 0, &[]);
        let minutes = of_series(&series, &strains, Grain::Minute, 0, 300).unwrap();
        let busiest: Vec<_> = minutes.iter().map(|span| span.strain.busiest()).collect();
        assert_eq!(busiest, [Some(0.7), Some(0.02), None]);
    }
}
