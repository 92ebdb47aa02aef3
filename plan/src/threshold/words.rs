//! Numbers of thresholds as people read them.

use std::time::Duration;

use super::{Expectation, Metric, Ratio, Unit};
use crate::units::duration_in_words;
use crate::words::{count, significant};

impl Expectation {
    /// A number of it, to three digits: `412 ms`, `0.31%`, `498/s`, `12`.
    #[must_use]
    pub fn value_in_words(&self, value: Ratio) -> String {
        match self.limit_unit() {
            Unit::Time => format!("{} ms", significant(value.as_f64() / 1e6)),
            Unit::Share => format!("{}%", short(value.as_f64() * 100.0)),
            Unit::PerSecond => format!("{}/s", short(value.as_f64())),
            Unit::Count => count(value.scaled(1)),
        }
    }

    /// The limit, as it was meant: `300 ms`, `0.1%`, `500/s`, `10`.
    #[must_use]
    pub fn limit_in_words(&self) -> String {
        match self.limit_unit() {
            Unit::Time => duration_in_words(Duration::from_nanos(self.limit_value().scaled(1))),
            Unit::Share | Unit::PerSecond | Unit::Count => self.limit_as_written(),
        }
    }
}

impl Metric {
    /// What it is, in a sentence: `p99`, `service time p99`, `the error rate`.
    #[must_use]
    pub fn in_words(self) -> String {
        let said = match self {
            Self::Latency(point) => return point.to_string(),
            Self::ServiceTime(point) => return format!("service time {point}"),
            Self::Lag(point) => return format!("lag {point}"),
            Self::ErrorRate => "the error rate",
            Self::CheckRate => "the rate of checks that passed",
            Self::StartedRate => "the rate of requests started",
            Self::OkRate => "the rate of ok requests",
            Self::Errors => "the number of failed requests",
            Self::Missed => "the number of missed iterations",
            Self::Unknown => "the number of unknown iterations",
        };
        said.to_owned()
    }
}

/// Three digits, without zeros in vain.
fn short(x: f64) -> String {
    let digits = significant(x);
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_stand_in_sentences() {
        for (name, said) in [
            ("p99.9", "p99.9"),
            ("mean", "mean"),
            ("service_p99", "service time p99"),
            ("lag_max", "lag max"),
            ("error_rate", "the error rate"),
            ("check_rate", "the rate of checks that passed"),
            ("started_rate", "the rate of requests started"),
            ("ok_rate", "the rate of ok requests"),
            ("errors", "the number of failed requests"),
            ("missed", "the number of missed iterations"),
            ("unknown", "the number of unknown iterations"),
        ] {
            assert_eq!(name.parse::<Metric>().map(Metric::in_words), Ok(said.to_owned()), "{name}");
        }
    }

    #[test]
    fn values_and_limits_read_well() {
        let check = |text: &str, value: Ratio, said: &str, limit: &str| {
            let expectation: Expectation = text.parse().unwrap();
            assert_eq!(
                (expectation.value_in_words(value).as_str(), expectation.limit_in_words().as_str()),
                (said, limit)
            );
        };
        let ratio = |a, b| Ratio::new(a, b).unwrap();
        check("p99 < 300ms", Ratio::whole(412_345_678), "412 ms", "300 ms");
        check("mean < 1m30s", Ratio::whole(1_000_448), "1.00 ms", "1 min 30 s");
        check("error_rate < 0.1%", ratio(31, 10_000), "0.31%", "0.1%");
        check("error_rate < 0.001", ratio(0, 10), "0%", "0.1%");
        check("check_rate > 99%", ratio(5, 6), "83.3%", "99%");
        check("ok_rate > 500/s", ratio(996, 2), "498/s", "500/s");
        check("ok_rate > 30/m", ratio(19, 2), "9.5/s", "0.5/s");
        check("errors < 10000", Ratio::whole(1_234), "1,234", "10000");
        check("missed < 1%", ratio(1, 1000), "0.1%", "1%");
    }
}
