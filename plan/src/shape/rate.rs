//! Rates as plans and flags write them: a number with `/s`, `/m` or `/h`, kept exactly.

use crate::words::count;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The units of a rate, as messages list them.
pub const RATE_UNITS: &str = "/s /m /h";

/// The highest rate: ten million arrivals a second.
pub const MAX_RATE: Rate = Rate { micro_per_hour: 36_000_000_000_000_000 };

/// Nanoseconds of an hour times the millionths of an arrival: what one [`Rate`] step is the inverse of.
const NANOHOUR_MICROS: u64 = 3_600_000_000_000 * MICRO;

/// Millionths in a whole.
const MICRO: u64 = 1_000_000;

/// Units, each with the millionths of an arrival an hour that one of it makes.
const UNITS: [(&str, u64); 3] = [("s", 3_600 * MICRO), ("m", 60 * MICRO), ("h", MICRO)];

/// Most digits before or after the point: with them every product below stays within 128 bits.
const MAX_DIGITS: usize = 18;

/// Most characters of an unknown unit that are repeated to its writer.
const MAX_UNIT_CHARS: usize = 20;

/// Arrivals per time, from none to [`MAX_RATE`], exactly.
///
/// It is a whole number of millionths of an arrival an hour. That is a fraction whose denominator never changes, so any
/// number of stages adds up without rounding; and it holds every number with up to six decimals in each of the units
/// [`RATE_UNITS`]. Its text is read by `parse` and written by `Display`, which choose the same unit for equal rates; in
/// JSON it is this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    pub(super) micro_per_hour: u64,
}

impl Rate {
    /// No arrivals.
    pub const ZERO: Self = Self { micro_per_hour: 0 };

    /// A whole number of arrivals a second.
    ///
    /// # Errors
    /// [`RateError::TooHigh`] above [`MAX_RATE`].
    pub fn per_second(arrivals: u64) -> Result<Self, RateError> {
        Self::from_micro_per_hour(u128::from(arrivals) * u128::from(3_600 * MICRO))
    }

    /// A rate in millionths of an arrival an hour, see [`Rate`].
    ///
    /// # Errors
    /// [`RateError::TooHigh`] above [`MAX_RATE`].
    pub fn from_micro_per_hour(micro_per_hour: u128) -> Result<Self, RateError> {
        let micro_per_hour = u64::try_from(micro_per_hour).map_err(|_| RateError::TooHigh)?;
        let rate = Self { micro_per_hour };
        if rate > MAX_RATE { Err(RateError::TooHigh) } else { Ok(rate) }
    }

    /// Millionths of an arrival an hour.
    pub fn micro_per_hour(self) -> u64 {
        self.micro_per_hour
    }

    /// Arrivals per nanosecond as a fraction in lowest terms: numerator and denominator.
    pub fn per_nanosecond(self) -> (u64, u64) {
        let common = greatest_common_divisor(self.micro_per_hour, NANOHOUR_MICROS);
        (self.micro_per_hour / common, NANOHOUR_MICROS / common)
    }

    /// Arrivals a second for charts and sums that may be rounded.
    pub fn as_per_second(self) -> f64 {
        self.micro_per_hour as f64 / (3_600 * MICRO) as f64
    }

    /// As people read it, its thousands apart: `10,000/s`.
    #[must_use]
    pub fn in_words(self) -> String {
        let text = self.to_string();
        let (whole, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        whole.parse().map_or_else(|_| text.clone(), |whole| format!("{}{rest}", count(whole)))
    }

    /// Whether it stands for no arrivals at all.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// Euclid's algorithm; `second` is not zero.
pub(crate) fn greatest_common_divisor(first: u64, second: u64) -> u64 {
    let (mut larger, mut smaller) = (second, first % second);
    while smaller != 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    larger
}

impl fmt::Display for Rate {
    /// Writes it in the first of `/s`, `/m`, `/h` that takes at most six decimals: `200/s`, `1.5/s`, `100/m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (micros, unit) = match self.micro_per_hour {
            value if value.is_multiple_of(3_600) => (value / 3_600, "s"),
            value if value.is_multiple_of(60) => (value / 60, "m"),
            value => (value, "h"),
        };
        write!(f, "{}", micros / MICRO)?;
        if !micros.is_multiple_of(MICRO) {
            write!(f, ".{}", format!("{:06}", micros % MICRO).trim_end_matches('0'))?;
        }
        write!(f, "/{unit}")
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

/// In JSON it is the text that plans have.
impl utoipa::PartialSchema for Rate {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        String::schema()
    }
}

impl utoipa::ToSchema for Rate {}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        text.parse()
    }
}

/// Why a text is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// The text is empty.
    #[error("an empty text")]
    Empty,
    /// The number has no unit.
    #[error("a number without one of the units {RATE_UNITS}")]
    NoUnit,
    /// The number has a sign.
    #[error("a negative rate")]
    Negative,
    /// What stands before the unit is not a number.
    #[error("no number with one of the units {RATE_UNITS}")]
    NoNumber,
    /// There is a space in it.
    #[error("a space inside a rate")]
    Space,
    /// The unit is none of [`RATE_UNITS`].
    #[error("the unit `/{0}`, which is none of {RATE_UNITS}")]
    UnknownUnit(String),
    /// It has decimals that a [`Rate`] does not hold.
    #[error("a rate finer than a millionth of an arrival an hour")]
    TooFine,
    /// It is above [`MAX_RATE`].
    #[error("a rate above {MAX_RATE}")]
    TooHigh,
}

impl RateError {
    /// What the writer of `text` most likely meant, where that can be told.
    pub fn hint(&self, text: &str) -> Option<String> {
        match self {
            Self::NoUnit => Some(format!("did you mean {}/s?", text.trim_end_matches('/'))),
            Self::Space => Some(format!("did you mean {}?", text.split_whitespace().collect::<String>())),
            Self::UnknownUnit(unit) => {
                let number = text.split('/').next().unwrap_or_default();
                likely_unit(unit).map(|likely| format!("did you mean {number}/{likely}?"))
            }
            Self::NoNumber => Some("write it like 200/s".to_owned()),
            Self::Empty | Self::Negative | Self::TooFine | Self::TooHigh => None,
        }
    }
}

/// The unit that a misspelt one stands for, told by how it begins. `/ms` is no slip of the pen but another unit.
fn likely_unit(unit: &str) -> Option<&'static str> {
    let unit = unit.to_lowercase();
    UNITS.iter().map(|(name, _)| *name).find(|name| unit.starts_with(name) && !unit.starts_with("ms"))
}

impl FromStr for Rate {
    type Err = RateError;

    /// Reads a rate: a number, also a decimal one, and a unit (`200/s`, `1.5/m`, `1000/h`).
    fn from_str(text: &str) -> Result<Self, RateError> {
        if text.is_empty() {
            return Err(RateError::Empty);
        }
        if text.starts_with('-') {
            return Err(RateError::Negative);
        }
        if text.contains(char::is_whitespace) {
            return Err(RateError::Space);
        }
        let (number, unit) = text.split_once('/').unwrap_or((text, ""));
        let (whole, fraction) = split_number(number).ok_or(RateError::NoNumber)?;
        let micro_per_hour = number_micro(whole, fraction, unit_micro(unit)?)?;
        Self::from_micro_per_hour(micro_per_hour)
    }
}

/// The digits before and after the point, without the zeros that change nothing.
fn split_number(number: &str) -> Option<(&str, &str)> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let both = is_digits(whole) && is_digits(fraction);
    both.then(|| (whole.trim_start_matches('0'), fraction.trim_end_matches('0')))
}

/// The millionths of an arrival an hour that one of `unit` makes.
fn unit_micro(unit: &str) -> Result<u128, RateError> {
    match UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, micro)) => Ok(u128::from(*micro)),
        None if unit.is_empty() => Err(RateError::NoUnit),
        None => Err(RateError::UnknownUnit(
            unit.chars().filter(|c| !c.is_control()).take(MAX_UNIT_CHARS).collect(),
        )),
    }
}

/// `whole.fraction` units in millionths of an arrival an hour, exactly.
fn number_micro(whole: &str, fraction: &str, unit_micro: u128) -> Result<u128, RateError> {
    if fraction.len() > MAX_DIGITS {
        return Err(RateError::TooFine);
    }
    if whole.len() > MAX_DIGITS {
        return Err(RateError::TooHigh);
    }
    let parts = digits(fraction) * unit_micro;
    let scale = fraction.bytes().fold(1_u128, |scale, _| scale * 10);
    if !parts.is_multiple_of(scale) {
        return Err(RateError::TooFine);
    }
    Ok(digits(whole) * unit_micro + parts / scale)
}

/// The value of a text of ASCII digits.
fn digits(text: &str) -> u128 {
    text.bytes().fold(0, |value, digit| value * 10 + u128::from(digit - b'0'))
}

#[cfg(test)]
mod tests;
