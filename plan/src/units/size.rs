//! Sizes as plans write them: a number with a binary unit, never bare.

use super::{MAX_DIGITS, MAX_UNIT_CHARS, digits, take_digits};

/// The units of a size, as messages list them.
pub const SIZE_UNITS: &str = "B KiB MiB GiB";

/// Units from the largest to the smallest, each with its bytes.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Most digits of the whole number: those of 64 bits.
const MAX_WHOLE_DIGITS: usize = 20;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The text is empty.
    #[error("an empty text")]
    Empty,
    /// The number has no unit.
    #[error("a number without one of the units {SIZE_UNITS}")]
    NoUnit,
    /// The number has a sign.
    #[error("a negative size")]
    Negative,
    /// There is no number.
    #[error("no number before a unit")]
    NoNumber,
    /// There is a space in it.
    #[error("a space inside a size")]
    Space,
    /// The unit is none of [`SIZE_UNITS`].
    #[error("the unit `{0}`, which is none of {SIZE_UNITS}")]
    UnknownUnit(String),
    /// The size isn't a whole number of bytes.
    #[error("a size finer than a byte")]
    TooFine,
    /// The size doesn't fit into 64 bits.
    #[error("a size of more than 64 bits")]
    TooLarge,
}

impl SizeError {
    /// What the writer of `text` most likely meant, where that can be told.
    pub fn hint(&self, text: &str) -> Option<String> {
        match self {
            Self::NoUnit => Some(format!("did you mean {text}B?")),
            Self::Space => Some(format!("did you mean {}?", text.split_whitespace().collect::<String>())),
            Self::UnknownUnit(unit) => {
                likely_unit(unit).map(|likely| format!("did you mean {}?", text.replacen(unit, likely, 1)))
            }
            Self::Empty | Self::Negative | Self::NoNumber | Self::TooFine | Self::TooLarge => None,
        }
    }
}

/// The unit that a decimal, a short or an otherwise spelt one stands for.
fn likely_unit(unit: &str) -> Option<&'static str> {
    match unit.to_lowercase().as_str() {
        "b" | "byte" | "bytes" => Some("B"),
        "k" | "kb" | "ki" | "kib" => Some("KiB"),
        "m" | "mb" | "mi" | "mib" => Some("MiB"),
        "g" | "gb" | "gi" | "gib" => Some("GiB"),
        _ => None,
    }
}

/// Reads a size in bytes: a number with a unit, a decimal one too where it makes whole bytes (`10MiB`, `1.5KiB`).
///
/// # Errors
/// [`SizeError`] says what is wrong; a bare number is an error, since nobody can know its unit.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    if text.is_empty() {
        return Err(SizeError::Empty);
    }
    if text.starts_with('-') {
        return Err(SizeError::Negative);
    }
    let (whole, rest) = take_digits(text);
    let (fraction, unit) = match rest.strip_prefix('.') {
        Some(after) => take_digits(after),
        None => ("", rest),
    };
    if whole.is_empty() || rest.starts_with('.') && fraction.is_empty() {
        return Err(SizeError::NoNumber);
    }
    bytes(whole.trim_start_matches('0'), fraction.trim_end_matches('0'), read_unit(unit)?)
}

/// The bytes of a unit.
fn read_unit(unit: &str) -> Result<u64, SizeError> {
    let of = |unit: &str| UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes);
    match of(unit) {
        Some(bytes) => Ok(bytes),
        None if unit.is_empty() => Err(SizeError::NoUnit),
        None if of(unit.trim()).is_some() => Err(SizeError::Space),
        None => {
            let shown = unit.trim().chars().filter(|c| !c.is_control()).take(MAX_UNIT_CHARS).collect();
            Err(SizeError::UnknownUnit(shown))
        }
    }
}

/// `whole.fraction` units in bytes, exactly.
fn bytes(whole: &str, fraction: &str, unit: u64) -> Result<u64, SizeError> {
    if fraction.len() > MAX_DIGITS {
        return Err(SizeError::TooFine);
    }
    if whole.len() > MAX_WHOLE_DIGITS {
        return Err(SizeError::TooLarge);
    }
    let parts = digits(fraction) * u128::from(unit);
    let scale = fraction.bytes().fold(1_u128, |scale, _| scale * 10);
    if !parts.is_multiple_of(scale) {
        return Err(SizeError::TooFine);
    }
    u64::try_from(digits(whole) * u128::from(unit) + parts / scale).map_err(|_| SizeError::TooLarge)
}

/// Writes a size so that [`parse_size`] reads the same one, in the largest unit that divides it: `10MiB`, `1537B`.
pub fn format_size(bytes: u64) -> String {
    let unit = UNITS.iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_numbers_with_a_unit() {
        let check = |text: &str, bytes: u64, shown: &str| {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
            assert_eq!(format_size(bytes), shown, "{text}");
        };
        check("0B", 0, "0B");
        check("1B", 1, "1B");
        check("1024B", 1024, "1KiB");
        check("10MiB", 10 << 20, "10MiB");
        check("1.5KiB", 1536, "1536B");
        check("0.5GiB", 512 << 20, "512MiB");
        check("01024GiB", 1 << 40, "1024GiB");
    }

    #[test]
    fn what_is_no_size_says_why() {
        use SizeError as E;
        let check = |text: &str, error: E, hint: Option<&str>| {
            assert_eq!(parse_size(text), Err(error.clone()), "{text}");
            assert_eq!(error.hint(text).as_deref(), hint, "{text}");
        };
        check("", E::Empty, None);
        check("10", E::NoUnit, Some("did you mean 10B?"));
        check("-1B", E::Negative, None);
        check("MiB", E::NoNumber, None);
        check("1.KiB", E::NoNumber, None);
        check("10 MiB", E::Space, Some("did you mean 10MiB?"));
        check("10MB", E::UnknownUnit("MB".to_owned()), Some("did you mean 10MiB?"));
        check("10k", E::UnknownUnit("k".to_owned()), Some("did you mean 10KiB?"));
        check("1TiB", E::UnknownUnit("TiB".to_owned()), None);
        check("0.5B", E::TooFine, None);
        check("1.0001KiB", E::TooFine, None);
        check("17179869184GiB", E::TooLarge, None);
        check("1000000000000000000000GiB", E::TooLarge, None);
    }

    proptest! {
        #[test]
        fn a_size_reads_back_from_what_is_written(bytes: u64) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9]{0,22}\\.?[0-9]{0,22}\\PC{0,5}") {
            let _ = parse_size(&text).map_err(|error| error.hint(&text));
        }
    }
}
