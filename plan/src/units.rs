//! Durations and sizes as plans and flags write them: numbers with units, never bare.

mod size;

use std::time::Duration;

pub use size::{SIZE_UNITS, SizeError, format_size, parse_size};

/// The units of a duration, as messages list them.
pub const DURATION_UNITS: &str = "ns us ms s m h";

/// Units from the longest to the shortest, each with its length in nanoseconds and its name in words.
const UNITS: [(&str, u128, &str); 6] = [
    ("h", 3_600_000_000_000, "h"),
    ("m", 60_000_000_000, "min"),
    ("s", 1_000_000_000, "s"),
    ("ms", 1_000_000, "ms"),
    ("us", 1_000, "µs"),
    ("ns", 1, "ns"),
];

/// Most digits before or after the point: with them every product below stays within 128 bits.
const MAX_DIGITS: usize = 18;

/// Most characters of an unknown unit that are repeated to its writer.
const MAX_UNIT_CHARS: usize = 20;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is empty.
    #[error("an empty text")]
    Empty,
    /// The number has no unit.
    #[error("a number without one of the units {DURATION_UNITS}")]
    NoUnit,
    /// The number has a sign.
    #[error("a negative duration")]
    Negative,
    /// A place where a number should be has none.
    #[error("no number before a unit")]
    NoNumber,
    /// There is a space in it.
    #[error("a space inside a duration")]
    Space,
    /// The unit is none of [`DURATION_UNITS`].
    #[error("the unit `{0}`, which is none of {DURATION_UNITS}")]
    UnknownUnit(String),
    /// The units don't fall from long to short, or one is there twice.
    #[error("units that don't go from long to short")]
    Order,
    /// The duration isn't a whole number of nanoseconds.
    #[error("a duration finer than a nanosecond")]
    TooFine,
    /// The duration doesn't fit into 64 bits of nanoseconds (584 years).
    #[error("a duration longer than 584 years")]
    TooLong,
}

impl DurationError {
    /// What the writer of `text` most likely meant, where that can be told.
    pub fn hint(&self, text: &str) -> Option<String> {
        match self {
            Self::NoUnit => Some(format!("did you mean {text}s?")),
            Self::Space => Some(format!("did you mean {}?", text.split_whitespace().collect::<String>())),
            Self::UnknownUnit(unit) => match likely_unit(unit)? {
                "d" => Some("days are not a unit; a day is 24h".to_owned()),
                likely => Some(format!("did you mean {}?", text.replacen(unit, likely, 1))),
            },
            Self::Order => Some("write it like 1m30s".to_owned()),
            Self::Empty | Self::Negative | Self::NoNumber | Self::TooFine | Self::TooLong => None,
        }
    }
}

/// The unit that a misspelt one stands for, told by how it begins.
fn likely_unit(unit: &str) -> Option<&'static str> {
    const BEGINNINGS: [(&str, &str); 10] = [
        ("mil", "ms"),
        ("mic", "us"),
        ("mse", "ms"),
        ("mi", "m"),
        ("µ", "us"),
        ("μ", "us"),
        ("s", "s"),
        ("h", "h"),
        ("n", "ns"),
        ("d", "d"),
    ];
    let lower = unit.to_lowercase();
    let spelt_otherwise = UNITS.iter().find(|(name, ..)| *name == lower).map(|(name, ..)| *name);
    spelt_otherwise.or_else(|| {
        BEGINNINGS.iter().find(|(beginning, _)| lower.starts_with(beginning)).map(|(_, unit)| *unit)
    })
}

/// Reads a duration: numbers with units, compound and decimal ones too (`10s`, `1m30s`, `1.5s`).
///
/// # Errors
/// [`DurationError`] says what is wrong; a bare number is an error, since nobody can know its unit.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    if text.starts_with('-') {
        return Err(DurationError::Negative);
    }
    let mut rest = text;
    let mut total_ns = 0_u128;
    let mut shortest_ns = u128::MAX;
    while !rest.is_empty() {
        let (whole, fraction, after) = take_number(rest)?;
        let (unit_ns, after) = take_unit(after)?;
        if unit_ns >= shortest_ns {
            return Err(DurationError::Order);
        }
        shortest_ns = unit_ns;
        total_ns += number_ns(whole, fraction, unit_ns)?;
        rest = after;
    }
    u64::try_from(total_ns).map(Duration::from_nanos).map_err(|_| DurationError::TooLong)
}

/// Splits the leading number off: its whole digits, its digits after the point, and the rest.
fn take_number(text: &str) -> Result<(&str, &str, &str), DurationError> {
    let (whole, rest) = take_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(after) => match take_digits(after) {
            ("", _) => return Err(DurationError::NoNumber),
            taken => taken,
        },
    };
    if whole.is_empty() {
        let space = text.starts_with(char::is_whitespace);
        return Err(if space { DurationError::Space } else { DurationError::NoNumber });
    }
    Ok((whole, fraction, rest))
}

fn take_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Splits the leading unit off: its length in nanoseconds, and the rest.
fn take_unit(text: &str) -> Result<(u128, &str), DurationError> {
    let end = text.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(text.len());
    let (unit, rest) = text.split_at(end);
    if let Some((_, unit_ns, _)) = UNITS.iter().find(|(name, ..)| *name == unit) {
        return Ok((*unit_ns, rest));
    }
    Err(if unit.is_empty() {
        DurationError::NoUnit
    } else if UNITS.iter().any(|(name, ..)| *name == unit.trim()) {
        DurationError::Space
    } else {
        DurationError::UnknownUnit(
            unit.trim().chars().filter(|c| !c.is_control()).take(MAX_UNIT_CHARS).collect(),
        )
    })
}

/// `whole.fraction` units in nanoseconds, exactly.
fn number_ns(whole: &str, fraction: &str, unit_ns: u128) -> Result<u128, DurationError> {
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.trim_start_matches('0');
    if fraction.len() > MAX_DIGITS {
        return Err(DurationError::TooFine);
    }
    if whole.len() > MAX_DIGITS {
        return Err(DurationError::TooLong);
    }
    let parts = digits(fraction) * unit_ns;
    let scale = fraction.bytes().fold(1_u128, |scale, _| scale * 10);
    if !parts.is_multiple_of(scale) {
        return Err(DurationError::TooFine);
    }
    Ok(digits(whole) * unit_ns + parts / scale)
}

/// The value of a text of ASCII digits.
fn digits(text: &str) -> u128 {
    text.bytes().fold(0, |value, digit| value * 10 + u128::from(digit - b'0'))
}

/// Writes a duration so that [`parse_duration`] reads the same one: `1m30s`, `1s500ms`, `0s`.
pub fn format_duration(duration: Duration) -> String {
    joined(duration, "", |number, unit, _| format!("{number}{unit}"))
}

/// Writes a duration for people: `10 s`, `1 min 30 s`.
pub fn duration_in_words(duration: Duration) -> String {
    joined(duration, " ", |number, _, words| format!("{number} {words}"))
}

fn joined(duration: Duration, between: &str, part: impl Fn(u128, &str, &str) -> String) -> String {
    if duration.is_zero() {
        return part(0, "s", "s");
    }
    let mut rest_ns = duration.as_nanos();
    let mut parts = Vec::new();
    for (unit, unit_ns, words) in UNITS {
        if rest_ns >= unit_ns {
            parts.push(part(rest_ns / unit_ns, unit, words));
            rest_ns %= unit_ns;
        }
    }
    parts.join(between)
}

#[cfg(test)]
mod tests;
