//! Figures as monitoring systems read them: OpenMetrics 1.0, or Prometheus' own older text format. Names are in base units
//! (seconds, bytes).

use std::fmt;

mod tally;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use volley_stats::{BOUNDS_NS, Buckets};

use crate::document::ns_to_s;

/// The media type of OpenMetrics.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type of the older format.
pub const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Names with values, that tell samples of a family apart.
pub type Labels = Vec<(&'static str, String)>;

/// Some families of figures, in the order in which they are told.
#[derive(Clone, Debug, Default)]
pub struct Exposition(Vec<Family>);

/// Figures of one name.
#[derive(Clone, Debug)]
struct Family {
    /// Without the unit, and without what a counter's samples have at their end.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    samples: Samples,
}

#[derive(Clone, Debug)]
enum Samples {
    Counter(Vec<(Labels, u64)>),
    Gauge(Vec<(Labels, f64)>),
    Histogram(Vec<(Labels, Buckets)>),
    Info(Labels),
}

impl Samples {
    fn are_none(&self) -> bool {
        match self {
            Self::Counter(samples) => samples.is_empty(),
            Self::Gauge(samples) => samples.is_empty(),
            Self::Histogram(samples) => samples.is_empty(),
            Self::Info(_) => false,
        }
    }
}

/// What a family's figures are of. The name ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Things.
    Things,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Of {
    fn unit(self) -> Option<Unit> {
        match self {
            Self::Things => None,
            Self::Seconds => Some(Unit::Seconds),
            Self::Bytes => Some(Unit::Bytes),
        }
    }
}

impl Exposition {
    fn push(&mut self, name: &'static str, help: &'static str, of: Of, samples: Samples) {
        if !samples.are_none() {
            self.0.push(Family { name, help, unit: of.unit(), samples });
        }
    }

    /// Adds counts that only ever grow. Samples end with `_total`.
    pub fn counter(&mut self, name: &'static str, of: Of, help: &'static str, samples: Vec<(Labels, u64)>) {
        self.push(name, help, of, Samples::Counter(samples));
    }

    /// Adds figures that go up and down.
    pub fn gauge(&mut self, name: &'static str, of: Of, help: &'static str, samples: Vec<(Labels, f64)>) {
        self.push(name, help, of, Samples::Gauge(samples));
    }

    /// Adds histograms, of seconds.
    pub fn histogram(&mut self, name: &'static str, help: &'static str, samples: Vec<(Labels, Buckets)>) {
        self.push(name, help, Of::Seconds, Samples::Histogram(samples));
    }

    /// Adds texts, as labels of the number 1.
    pub fn info(&mut self, name: &'static str, help: &'static str, labels: Labels) {
        self.push(name, help, Of::Things, Samples::Info(labels));
    }

    fn registry(self) -> Registry {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        registry
    }

    /// OpenMetrics.
    #[must_use]
    pub fn openmetrics(&self) -> String {
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = text::encode(&mut text, &self.clone().registry());
        text
    }

    /// The older format.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let _ = prometheus_text::encode(&mut text, &self.clone().registry());
        text
    }

    /// Media type and text for whoever accepts this (the value of `Accept`; RFC 9110 section 12.5.1): OpenMetrics where it
    /// is named, and else what everything reads that is pointed at such an address.
    #[must_use]
    pub fn answer(&self, accept: &str) -> (&'static str, String) {
        let named = accept.split(',').filter_map(|range| range.split(';').next());
        let wants = |range: &str| range.trim().eq_ignore_ascii_case("application/openmetrics-text");
        if named.into_iter().any(wants) {
            (OPENMETRICS, self.openmetrics())
        } else {
            (PROMETHEUS, self.prometheus())
        }
    }
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.0.iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

impl Family {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let kind = match self.samples {
            Samples::Counter(_) => MetricType::Counter,
            Samples::Gauge(_) => MetricType::Gauge,
            Samples::Histogram(_) => MetricType::Histogram,
            Samples::Info(_) => MetricType::Info,
        };
        let mut family = encoder.encode_descriptor(self.name, self.help, self.unit.as_ref(), kind)?;
        match &self.samples {
            Samples::Counter(samples) => each(&mut family, samples, |sample, value| {
                sample.encode_counter::<Labels, u64, u64>(value, None)
            }),
            Samples::Gauge(samples) => each(&mut family, samples, encode_gauge),
            Samples::Histogram(samples) => each(&mut family, samples, encode_histogram),
            Samples::Info(labels) => family.encode_info(labels),
        }
    }
}

fn each<T>(
    family: &mut MetricEncoder<'_>,
    samples: &[(Labels, T)],
    encode: impl Fn(&mut MetricEncoder<'_>, &T) -> Result<(), fmt::Error>,
) -> Result<(), fmt::Error> {
    for (labels, value) in samples {
        if labels.is_empty() {
            encode(family, value)?;
        } else {
            encode(&mut family.encode_family(labels)?, value)?;
        }
    }
    Ok(())
}

fn encode_gauge(sample: &mut MetricEncoder<'_>, value: &f64) -> Result<(), fmt::Error> {
    sample.encode_gauge(value)
}

fn encode_histogram(sample: &mut MetricEncoder<'_>, of: &Buckets) -> Result<(), fmt::Error> {
    let bounds = BOUNDS_NS.iter().map(|bound_ns| ns_to_s(*bound_ns)).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(of.counts().iter().copied()).collect();
    sample.encode_histogram::<Labels>(ns_to_s(of.sum_ns()), of.total(), &buckets, None)
}

#[cfg(test)]
mod tests {
    use volley_stats::Histogram;

    use super::*;

    fn sample() -> Exposition {
        let mut histogram = Histogram::<u64>::default();
        [2_000_000, 3_000_000, 70_000_000_000].into_iter().for_each(|ns| histogram.record(ns));
        let mut buckets = Buckets::default();
        buckets.add(&histogram);
        let mut all = Exposition::default();
        let labels = |name: &str| vec![("step", name.to_owned()), ("outcome", "ok".to_owned())];
        all.counter(
            "volley_requests",
            Of::Things,
            "Requests.",
            vec![(labels("a\"b\\c\nd<é"), 7), (labels("x"), 8)],
        );
        all.counter("volley_sent", Of::Bytes, "Bytes.", vec![(Vec::new(), 9)]);
        all.gauge("volley_users", Of::Things, "Users.", vec![(Vec::new(), 1.5)]);
        all.histogram("volley_request_duration", "Latency.", vec![(Vec::new(), buckets)]);
        all.info("volley_run", "The run.", vec![("name", "=1+1".to_owned())]);
        all
    }

    #[test]
    fn openmetrics_is_as_its_readers_expect() {
        let text = sample().openmetrics();
        assert_eq!(text.matches("# TYPE ").count(), 5, "{text}");
        for part in [
            "volley_requests_total{step=\"a\\\"b\\\\c\\nd<é\",outcome=\"ok\"} 7\n",
            "# TYPE volley_sent_bytes counter\n",
            "volley_sent_bytes_total 9\n",
            "volley_users 1.5\n",
            "volley_request_duration_seconds_bucket{le=\"0.0025\"} 1\n",
            "volley_request_duration_seconds_bucket{le=\"60.0\"} 2\n",
            "volley_request_duration_seconds_bucket{le=\"+Inf\"} 3\n",
            "volley_request_duration_seconds_count 3\n",
            "volley_run_info{name=\"=1+1\"} 1\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn who_does_not_name_openmetrics_gets_what_all_read() {
        let check = |accept: &str, kind: &str| {
            let (told, text) = sample().answer(accept);
            assert_eq!(told, kind, "{accept}");
            assert_eq!(text.ends_with("# EOF\n"), kind == OPENMETRICS);
        };
        let scraper =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        check(scraper, OPENMETRICS);
        check("*/*", PROMETHEUS);
        check("", PROMETHEUS);
        check("text/html", PROMETHEUS);
        let (_, text) = sample().answer("");
        assert_eq!(text.matches("# TYPE ").count(), 5, "{text}");
        assert!(text.contains("# TYPE volley_requests_total counter\n"), "{text}");
    }
}
