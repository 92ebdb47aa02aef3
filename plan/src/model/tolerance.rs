//! How much of a planned load may be missing: a share in per cent.

use std::fmt;
use std::str::FromStr;

/// A share of the planned load, in thousandths, 0 to 1,000. Its text is a percentage: `1%`, `0.5%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tolerance {
    /// Thousandths.
    pub thousandths: u32,
}

impl Default for Tolerance {
    /// One in a hundred.
    fn default() -> Self {
        Self { thousandths: 10 }
    }
}

impl Tolerance {
    /// Whether `part` of `whole` is no more than this.
    #[must_use]
    pub fn allows(self, part: u64, whole: u64) -> bool {
        u128::from(part) * 1000 <= u128::from(whole) * u128::from(self.thousandths)
    }
}

impl fmt::Display for Tolerance {
    /// As people and plans write it: `1%`, `0.5%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tenth) = (self.thousandths / 10, self.thousandths % 10);
        if tenth == 0 { write!(f, "{whole}%") } else { write!(f, "{whole}.{tenth}%") }
    }
}

/// Why a text is not a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ToleranceError {
    /// The number has no `%` behind it: 0.01 could be meant as one in a hundred or one in ten thousand.
    #[error("a number without %")]
    NoPercent,
    /// What stands before the `%` is not a number.
    #[error("no number before %")]
    NoNumber,
    /// It has more than one decimal.
    #[error("more than one decimal")]
    TooFine,
    /// It is more than all of the load.
    #[error("more than 100%")]
    TooMuch,
}

impl ToleranceError {
    /// What the writer of `text` most likely meant, where that can be told.
    pub fn hint(self, text: &str) -> Option<String> {
        let with_percent = format!("{text}%");
        match (self, with_percent.parse::<Tolerance>()) {
            (Self::NoPercent, Ok(_)) => Some(format!("did you mean {with_percent}?")),
            // As a fraction of one, most likely.
            (Self::NoPercent, Err(Self::TooFine)) => Some("one in a hundred is 1%".to_owned()),
            _ => None,
        }
    }
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    /// Reads a percentage from `0%` to `100%`, with one decimal at most.
    fn from_str(text: &str) -> Result<Self, ToleranceError> {
        let number = text.strip_suffix('%').ok_or(ToleranceError::NoPercent)?;
        let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(tenth) {
            return Err(ToleranceError::NoNumber);
        }
        if tenth.len() > 1 {
            return Err(ToleranceError::TooFine);
        }
        // Without the point a number of tenths of per cent, so of thousandths.
        let thousandths = format!("{whole}{tenth}").parse().map_err(|_| ToleranceError::TooMuch)?;
        if thousandths > 1000 { Err(ToleranceError::TooMuch) } else { Ok(Self { thousandths }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<u32, ToleranceError>) {
        assert_eq!(text.parse::<Tolerance>().map(|tolerance| tolerance.thousandths), expected, "{text}");
    }

    #[test]
    fn tolerances_are_percentages_of_one_decimal() {
        for (text, thousandths) in
            [("0%", 0), ("1%", 10), ("0.5%", 5), ("01.0%", 10), ("99.9%", 999), ("100%", 1000)]
        {
            check(text, Ok(thousandths));
        }
        use ToleranceError as E;
        for (text, error) in [
            ("", E::NoPercent),
            ("1", E::NoPercent),
            ("1 %", E::NoNumber),
            ("%", E::NoNumber),
            ("-1%", E::NoNumber),
            (".5%", E::NoNumber),
            ("1.%", E::NoNumber),
            ("one%", E::NoNumber),
            ("0.05%", E::TooFine),
            ("100.1%", E::TooMuch),
            ("99999999999%", E::TooMuch),
        ] {
            check(text, Err(error));
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for thousandths in 0..=1000 {
            check(&Tolerance { thousandths }.to_string(), Ok(thousandths));
        }
    }

    #[test]
    fn hints_name_the_percentage() {
        for (text, hint) in
            [("1", Some("did you mean 1%?")), ("0.5", Some("did you mean 0.5%?")), ("x", None)]
        {
            let error = text.parse::<Tolerance>().expect_err(text);
            assert_eq!(error.hint(text).as_deref(), hint, "{text}");
        }
    }

    #[test]
    fn a_part_is_held_against_the_whole() {
        let one_percent = Tolerance::default();
        assert!(one_percent.allows(0, 0) && one_percent.allows(1, 100) && one_percent.allows(10, 1000));
        assert!(!one_percent.allows(1, 99) && !one_percent.allows(1, 0));
        assert!(Tolerance { thousandths: 1000 }.allows(u64::MAX, u64::MAX));
    }
}
