//! What a threshold demands, as it is written: `p95{step=list} < 120ms`.

use std::fmt;
use std::str::FromStr;

use volley_stats::ErrorKind;

use super::{Comparison, Expectation, Limit, Metric, Point, Ratio, Selector, Unit};
use crate::parse::shown;
use crate::shape::{Rate, RateError};
use crate::units::{DurationError, parse_duration};

/// Names of metrics that aren't points of a distribution.
const NAMED: [(&str, Metric); 7] = [
    ("error_rate", Metric::ErrorRate),
    ("check_rate", Metric::CheckRate),
    ("started_rate", Metric::StartedRate),
    ("ok_rate", Metric::OkRate),
    ("errors", Metric::Errors),
    ("missed", Metric::Missed),
    ("unknown", Metric::Unknown),
];
/// What other tools, or people, call some of them.
const ELSEWHERE: [(&str, &str); 9] = [
    ("avg", "mean"),
    ("average", "mean"),
    ("med", "p50"),
    ("median", "p50"),
    ("rps", "ok_rate"),
    ("rate", "ok_rate"),
    ("failed", "errors"),
    ("fail_rate", "error_rate"),
    ("latency", "p99"),
];
const KEYS: [&str; 4] = ["step", "scenario", "status", "kind"];
/// Most digits behind the point of a share.
const MAX_DECIMALS: usize = 6;

/// Why a text is not an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// There is none of `<`, `<=`, `>` and `>=`.
    #[error("none of the operators < <= > >=")]
    NoOperator,
    /// The operator is written in another way, or not known.
    #[error("the operator `{0}`, which is none of < <= > >=")]
    Operator(String),
    /// The metric isn't known.
    #[error("the metric `{0}`, which isn't known")]
    Metric(String),
    /// The percentile is beyond 100, or finer than thousandths.
    #[error("the percentile `{0}`, which is none of p0 to p100 with up to three decimals")]
    Percentile(String),
    /// The part in braces is not `KEY=VALUE,…`.
    #[error("braces without `key=value` in them")]
    Braces,
    /// The key isn't known.
    #[error("the key `{0}`, which is none of step, scenario, status and kind")]
    Key(String),
    /// The key stands there twice.
    #[error("the key `{0}` twice")]
    Doubled(&'static str),
    /// The metric is of all requests, or knows no outcomes.
    #[error("`{metric}` by {key}, which it can't be told by")]
    NotBy {
        /// What is measured.
        metric: String,
        /// By what.
        key: &'static str,
    },
    /// The status is no status.
    #[error("the status `{0}`, which is none of 100 to 999")]
    Status(String),
    /// There is no such kind of error.
    #[error("the kind of error `{0}`, which isn't known")]
    Kind(String),
    /// The limit is no duration.
    #[error("a limit of time that is {0}")]
    Time(#[from] DurationError),
    /// The limit is no rate.
    #[error("a limit of a rate that is {0}")]
    Rate(#[from] RateError),
    /// The limit is no share.
    #[error("the limit `{0}`, which is no share such as 1% or 0.01")]
    Share(String),
    /// The limit is no number.
    #[error("the limit `{0}`, which is no whole number")]
    Count(String),
}

impl ExpectationError {
    /// What the writer of `text` most likely meant, where that can be told.
    #[must_use]
    pub fn hint(&self, text: &str) -> Option<String> {
        let limit = parts(text).map_or("", |(_, _, limit)| limit);
        let meant = |near: Option<&str>| near.map(|near| format!("did you mean {near}?"));
        match self {
            Self::NoOperator => Some("write it like p99 < 300ms".to_owned()),
            Self::Operator(sign) => match sign.as_str() {
                "=<" => meant(Some("<=")),
                "=>" => meant(Some(">=")),
                "=" | "==" | "===" => meant(Some("<= or >=")),
                _ => None,
            },
            Self::Metric(name) => meant(likely_metric(name).as_deref()),
            Self::Percentile(name) => meant(likely_percentile(name).as_deref()),
            Self::Key(key) => meant(nearest(key, KEYS.into_iter())),
            Self::Kind(kind) => meant(nearest(kind, ErrorKind::ALL.iter().map(|kind| kind.name()))),
            Self::Braces => Some("write it like p95{step=list}".to_owned()),
            // A whole number is one of milliseconds, most likely, as other tools have it.
            Self::Time(DurationError::NoUnit) if !limit.contains('.') => meant(Some(&format!("{limit}ms"))),
            Self::Time(error) => error.hint(limit),
            Self::Rate(error) => error.hint(limit),
            Self::Share(_) => likely_share(limit),
            Self::Count(limit) if limit.ends_with('%') => Some("the share is error_rate".to_owned()),
            Self::Doubled(_) | Self::NotBy { .. } | Self::Status(_) | Self::Count(_) => None,
        }
    }
}

/// The one of `names` that differs in a third of its letters at most.
fn nearest<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_lowercase();
    let most = (written.chars().count() / 3).max(1);
    let near = names.map(|name| (strsim::damerau_levenshtein(&written, name), name));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

fn likely_metric(written: &str) -> Option<String> {
    let lower = written.to_lowercase().replace('-', "_");
    let bare = lower.strip_prefix("latency_").or_else(|| lower.strip_suffix("_latency")).unwrap_or(&lower);
    if bare.parse::<Metric>().is_ok() {
        return Some(bare.to_owned());
    }
    if let Some((_, known)) = ELSEWHERE.iter().find(|(other, _)| *other == lower) {
        return Some((*known).to_owned());
    }
    let names = NAMED.iter().map(|(name, _)| *name).chain(["mean", "max", "service_p99", "lag_p99"]);
    nearest(&lower, names).map(str::to_owned)
}

/// `p999` is the 99.9th.
fn likely_percentile(written: &str) -> Option<String> {
    let decimals = written.strip_prefix("p99").filter(|decimals| !decimals.is_empty())?;
    let likely = format!("p99.{decimals}");
    point_of(&likely).is_ok().then_some(likely)
}

/// A number is one of per cent, most likely.
fn likely_share(limit: &str) -> Option<String> {
    if share_of(&format!("{limit}%")).is_ok() {
        return Some(format!("did you mean {limit}%?"));
    }
    parse_duration(limit).is_ok().then(|| "a share has no unit of time, write it like 0.1%".to_owned())
}

impl FromStr for Expectation {
    type Err = ExpectationError;

    /// Reads `METRIC{KEY=VALUE,…} OPERATOR LIMIT`; white space between its parts changes nothing.
    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let (subject, sign, limit) = parts(text)?;
        let comparison = Comparison::ALL
            .into_iter()
            .find(|comparison| comparison.sign() == sign)
            .ok_or_else(|| ExpectationError::Operator(shown(sign)))?;
        let (name, selector) = subject.split_once('{').map_or((subject, None), |(a, b)| (a, Some(b)));
        let metric = name.trim_end().parse()?;
        let of = selector.map_or(Ok(Selector::default()), |inside| {
            selector_of(inside.strip_suffix('}').ok_or(ExpectationError::Braces)?)
        })?;
        check_selector(metric, &of)?;
        Ok(Self { metric, of, comparison, limit: limit_of(metric, limit)? })
    }
}

/// The subject, the operator and the limit. What stands in quotes may have signs in it.
fn parts(text: &str) -> Result<(&str, &str, &str), ExpectationError> {
    let is_sign = |c: char| matches!(c, '<' | '>' | '=' | '!');
    let (mut in_quotes, mut in_braces, mut escaped) = (false, false, false);
    let begin = text.char_indices().find(|(_, c)| {
        let escapes = in_quotes && *c == '\\' && !escaped;
        let was_escaped = std::mem::replace(&mut escaped, escapes);
        match c {
            '"' if in_braces && !was_escaped => in_quotes = !in_quotes,
            '{' if !in_quotes => in_braces = true,
            '}' if !in_quotes => in_braces = false,
            c => return !in_braces && is_sign(*c),
        }
        false
    });
    let without = if in_braces { ExpectationError::Braces } else { ExpectationError::NoOperator };
    let (begin, _) = begin.ok_or(without)?;
    let (subject, rest) = text.split_at(begin);
    let (sign, limit) = rest.split_at(rest.find(|c| !is_sign(c)).unwrap_or(rest.len()));
    Ok((subject.trim(), sign, limit.trim()))
}

impl FromStr for Metric {
    type Err = ExpectationError;

    fn from_str(name: &str) -> Result<Self, ExpectationError> {
        if let Some((_, metric)) = NAMED.iter().find(|(known, _)| *known == name) {
            return Ok(*metric);
        }
        let (of, point): (fn(Point) -> Self, &str) = match name.split_once('_') {
            Some(("service", point)) => (Self::ServiceTime, point),
            Some(("lag", point)) => (Self::Lag, point),
            _ => (Self::Latency, name),
        };
        match point_of(point) {
            Err(ExpectationError::Metric(_)) => Err(ExpectationError::Metric(shown(name))),
            point => point.map(of),
        }
    }
}

fn point_of(text: &str) -> Result<Point, ExpectationError> {
    let digits = match text {
        "mean" => return Ok(Point::Mean),
        "max" => return Ok(Point::Max),
        text => text.strip_prefix('p').filter(|digits| is_number_like(digits)),
    };
    let digits = digits.ok_or_else(|| ExpectationError::Metric(shown(text)))?;
    let thousandths = decimal(digits, 3).filter(|thousandths| *thousandths <= 100_000);
    let thousandths = thousandths.and_then(|thousandths| u32::try_from(thousandths).ok());
    thousandths.map(Point::Percentile).ok_or_else(|| ExpectationError::Percentile(shown(text)))
}

/// What is meant as a number, be it one or not.
fn is_number_like(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

/// A decimal number times ten to the `decimals`, which it must not be finer than.
fn decimal(text: &str, decimals: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > decimals {
        return None;
    }
    format!("{whole}{fraction:0<decimals$}").parse().ok()
}

fn selector_of(inside: &str) -> Result<Selector, ExpectationError> {
    let mut of = Selector::default();
    let mut rest = inside.trim();
    loop {
        let (key, behind) = rest.split_once('=').ok_or(ExpectationError::Braces)?;
        let (value, behind) = value_of(behind.trim_start())?;
        take(&mut of, key.trim(), value)?;
        rest = match behind.trim_start() {
            "" => return Ok(of),
            more => more.strip_prefix(',').ok_or(ExpectationError::Braces)?,
        };
    }
}

/// A value, in quotes or up to a comma, and what stands behind it.
fn value_of(text: &str) -> Result<(String, &str), ExpectationError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '"', '{', '}']).unwrap_or(text.len());
        let (value, behind) = text.split_at(end);
        let value = value.trim_end();
        return if value.is_empty() { Err(ExpectationError::Braces) } else { Ok((value.to_owned(), behind)) };
    };
    let mut value = String::new();
    let mut letters = quoted.chars();
    loop {
        match letters.next().ok_or(ExpectationError::Braces)? {
            '"' => return Ok((value, letters.as_str())),
            '\\' => value.push(letters.next().ok_or(ExpectationError::Braces)?),
            letter => value.push(letter),
        }
    }
}

fn take(of: &mut Selector, key: &str, value: String) -> Result<(), ExpectationError> {
    let doubled = match key {
        "step" => of.step.replace(value).is_some().then_some("step"),
        "scenario" => of.scenario.replace(value).is_some().then_some("scenario"),
        "status" => of.status.replace(status_of(&value)?).is_some().then_some("status"),
        "kind" => {
            let kind = ErrorKind::from_name(&value).ok_or_else(|| ExpectationError::Kind(shown(&value)))?;
            of.kind.replace(kind).is_some().then_some("kind")
        }
        other => return Err(ExpectationError::Key(shown(other))),
    };
    doubled.map_or(Ok(()), |key| Err(ExpectationError::Doubled(key)))
}

fn status_of(text: &str) -> Result<u16, ExpectationError> {
    let status = text.parse().ok().filter(|status| (100..=999).contains(status) && text.len() == 3);
    status.ok_or_else(|| ExpectationError::Status(shown(text)))
}

/// Whether the metric can be told by what is named.
fn check_selector(metric: Metric, of: &Selector) -> Result<(), ExpectationError> {
    let knows_kinds = metric.counts_outcomes() && metric != Metric::OkRate;
    let keys = [
        (of.step.is_some(), "step", !metric.is_of_the_whole()),
        (of.scenario.is_some(), "scenario", !metric.is_of_the_whole()),
        (of.status.is_some(), "status", metric.counts_outcomes()),
        (of.kind.is_some(), "kind", knows_kinds && of.status.is_none()),
    ];
    let wrong = keys.into_iter().find(|(is_there, _, may_be)| *is_there && !may_be);
    wrong.map_or(Ok(()), |(_, key, _)| Err(ExpectationError::NotBy { metric: metric.to_string(), key }))
}

fn limit_of(metric: Metric, text: &str) -> Result<Limit, ExpectationError> {
    let plain = match metric.unit() {
        Unit::Time => {
            let nanoseconds = parse_duration(text)?.as_nanos();
            Ratio::whole(u64::try_from(nanoseconds).map_err(|_| DurationError::TooLong)?)
        }
        Unit::Share => share_of(text)?,
        Unit::PerSecond => {
            let rate: Rate = text.parse()?;
            Ratio::new(rate.micro_per_hour(), MICRO_PER_HOUR).unwrap_or(Ratio::whole(0))
        }
        Unit::Count if text.ends_with('%') && metric != Metric::Errors => {
            return share_of(text).map(Limit::OfPlanned);
        }
        Unit::Count => {
            let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
            Ratio::whole(number.ok_or_else(|| ExpectationError::Count(shown(text)))?)
        }
    };
    Ok(Limit::Plain(plain))
}

/// Millionths of an arrival an hour that are one a second.
const MICRO_PER_HOUR: u64 = 3_600_000_000;

/// A percentage, or a fraction of one.
fn share_of(text: &str) -> Result<Ratio, ExpectationError> {
    const ONE: u64 = 10_u64.pow(MAX_DECIMALS as u32);
    let wrong = || ExpectationError::Share(shown(text));
    let number = |text: &str| decimal(text, MAX_DECIMALS).ok_or_else(wrong);
    let (number, one) = match text.strip_suffix('%') {
        Some(percent) => (number(percent.trim_end())?, 100 * ONE),
        None => (number(text)?, ONE),
    };
    Ratio::new(number, one).filter(|share| *share <= Ratio::whole(1)).ok_or_else(wrong)
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, of, comparison, limit } = self;
        write!(f, "{metric}{of} {} {}", comparison.sign(), Written { metric: *metric, limit: *limit })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(point) => write!(f, "{point}"),
            Self::ServiceTime(point) => write!(f, "service_{point}"),
            Self::Lag(point) => write!(f, "lag_{point}"),
            other => {
                let named = NAMED.iter().find(|(_, metric)| metric == other);
                f.write_str(named.map_or("", |(name, _)| name))
            }
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Percentile(thousandths) => write!(f, "p{}", Decimal(u64::from(*thousandths), 3)),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = [("scenario", &self.scenario), ("step", &self.step)];
        let texts = texts.into_iter().filter_map(|(key, text)| Some((key, quoted(text.as_ref()?))));
        let status = self.status.map(|status| ("status", status.to_string()));
        let kind = self.kind.map(|kind| ("kind", kind.name().to_owned()));
        let pairs: Vec<_> =
            texts.chain(status).chain(kind).map(|(key, value)| format!("{key}={value}")).collect();
        if pairs.is_empty() { Ok(()) } else { write!(f, "{{{}}}", pairs.join(",")) }
    }
}

/// In quotes where it couldn't be read without.
fn quoted(text: &str) -> String {
    let is_plain =
        !text.is_empty() && text.trim() == text && !text.contains([',', '"', '{', '}', '\\', '<', '>']);
    if is_plain {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

impl Expectation {
    pub(super) fn limit_as_written(&self) -> String {
        Written { metric: self.metric, limit: self.limit }.to_string()
    }
}

/// A limit as plans write it.
struct Written {
    metric: Metric,
    limit: Limit,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, unit) = match self.limit {
            Limit::Plain(limit) => (limit, self.metric.unit()),
            Limit::OfPlanned(limit) => (limit, Unit::Share),
        };
        match unit {
            Unit::Time => {
                f.write_str(&crate::units::format_duration(std::time::Duration::from_nanos(limit.scaled(1))))
            }
            // Hundredths of what a share may be fine to, so that a percentage is whole.
            Unit::Share => {
                write!(f, "{}%", Decimal(limit.scaled(10_u64.pow(MAX_DECIMALS as u32 + 2)), MAX_DECIMALS))
            }
            Unit::PerSecond => {
                let rate = Rate::from_micro_per_hour(u128::from(limit.scaled(MICRO_PER_HOUR)));
                write!(f, "{}", rate.unwrap_or(Rate::ZERO))
            }
            Unit::Count => write!(f, "{}", limit.scaled(1)),
        }
    }
}

/// A number with so many decimals, none of them in vain.
struct Decimal(u64, usize);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>width$}", self.0, width = self.1 + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.1);
        match fraction.trim_end_matches('0') {
            "" => f.write_str(whole),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests;
