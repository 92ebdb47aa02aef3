//! What a plain scalar means: in YAML 1.2's core schema, and to the YAML 1.1 readers that take some otherwise.

/// A plain scalar by the core schema (YAML 1.2.2 section 10.3.2).
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Core {
    Null,
    Bool(bool),
    Number,
    Text,
}

pub(super) fn core(plain: &str) -> Core {
    match plain {
        "" | "~" | "null" | "Null" | "NULL" => Core::Null,
        "true" | "True" | "TRUE" => Core::Bool(true),
        "false" | "False" | "FALSE" => Core::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Core::Number,
        _ if is_number(plain) => Core::Number,
        _ => Core::Text,
    }
}

fn is_number(plain: &str) -> bool {
    if let Some(octal) = plain.strip_prefix("0o") {
        return all(octal, |digit| (b'0'..=b'7').contains(&digit));
    }
    if let Some(hex) = plain.strip_prefix("0x") {
        return all(hex, |digit| digit.is_ascii_hexdigit());
    }
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    match unsigned.split_once(['e', 'E']) {
        None => is_mantissa(unsigned),
        Some((mantissa, exponent)) => {
            is_mantissa(mantissa) && is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))
        }
    }
}

fn is_mantissa(text: &str) -> bool {
    match text.split_once('.') {
        None => is_digits(text),
        Some(("", after)) => is_digits(after),
        Some((before, after)) => is_digits(before) && (after.is_empty() || is_digits(after)),
    }
}

/// Whether a number is written as everybody reads it, so that its text can stand for it: digits, a sign, a point.
pub(super) fn is_simple_number(plain: &str) -> bool {
    let unsigned = plain.strip_prefix('-').unwrap_or(plain);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    is_digits(whole) && is_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// What a YAML 1.1 reader takes a plain scalar for, where YAML 1.2 reads something else (yaml.org/type).
pub(super) fn yaml_1_1(plain: &str) -> Option<&'static str> {
    const BOOLEANS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    let lower = plain.to_ascii_lowercase();
    let cased = plain == lower || plain == plain.to_ascii_uppercase() || is_capitalised(plain);
    if cased && BOOLEANS.contains(&lower.as_str()) && core(plain) == Core::Text {
        return Some("a boolean");
    }
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    if unsigned.len() > 1 && unsigned.starts_with('0') && all(unsigned, is_digit_or_underscore) {
        Some("an octal number")
    } else if unsigned.starts_with(|c: char| c.is_ascii_digit())
        && all(unsigned, |byte| is_digit_or_underscore(byte) || byte == b'.')
        && unsigned.contains('_')
    {
        Some("a number")
    } else if unsigned.strip_prefix("0b").is_some_and(|bits| all(bits, |bit| b"01_".contains(&bit))) {
        Some("a binary number")
    } else if is_base_60(unsigned) {
        Some("a number of base 60")
    } else if is_date(plain) {
        Some("a date")
    } else {
        None
    }
}

fn is_capitalised(text: &str) -> bool {
    text.get(1..).is_some_and(|rest| rest == rest.to_ascii_lowercase())
}

/// `12:30`, `12:30:00`, `1:00.5`: numbers joined by colons, each after the first below 60.
fn is_base_60(text: &str) -> bool {
    let mut parts = text.split(':');
    let first = parts.next().is_some_and(|part| all(part, is_digit_or_underscore) && !part.starts_with('_'));
    let mut rest = parts.peekable();
    first
        && rest.peek().is_some()
        && rest.all(|part| {
            let whole = part.split_once('.').map_or(part, |(whole, _)| whole);
            is_digits(whole) && whole.len() <= 2 && whole.parse().is_ok_and(|number: u8| number < 60)
        })
}

/// `2026-01-31`, with or without a time behind it.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (year, month, rest) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let day_end = rest.find(['t', 'T', ' ', '\t']).unwrap_or(rest.len());
    year.is_some_and(|year| year.len() == 4 && is_digits(year))
        && month.is_some_and(|month| month.len() <= 2 && is_digits(month))
        && day_end <= 2
        && is_digits(&rest[..day_end])
}

fn is_digits(text: &str) -> bool {
    all(text, |byte| byte.is_ascii_digit())
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// Whether there is at least one byte, and all are as asked.
fn all(text: &str, asked: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plain: &str, meaning: Core, trap: Option<&str>) {
        assert_eq!((core(plain), yaml_1_1(plain)), (meaning, trap), "{plain}");
    }

    #[test]
    fn plain_scalars_mean_what_the_core_schema_says() {
        for plain in ["", "~", "null", "NULL"] {
            check(plain, Core::Null, None);
        }
        for (plain, value) in [("true", true), ("TRUE", true), ("False", false)] {
            check(plain, Core::Bool(value), None);
        }
        for plain in [
            "0", "12", "-3", "+4", "1.5", ".5", "1.", "1e3", "1.5E-3", "0x1F", "0o17", ".inf", "-.INF",
            ".nan",
        ] {
            check(plain, Core::Number, None);
        }
        for plain in [
            "a", "nuLL", "tRUE", "nO", "1x", "1e", ".", "-", "e5", "0x", "0b2", "1:2x", "10:99", "2026-1",
            "1-2-3",
        ] {
            check(plain, Core::Text, None);
        }
    }

    #[test]
    fn what_yaml_1_1_takes_otherwise_is_known() {
        for plain in ["no", "No", "NO", "on", "Off", "yes", "y", "N"] {
            check(plain, Core::Text, Some("a boolean"));
        }
        for plain in ["042", "-01", "00", "08"] {
            check(plain, Core::Number, Some("an octal number"));
        }
        check("0_7", Core::Text, Some("an octal number"));
        check("1_000", Core::Text, Some("a number"));
        check("1_0.5", Core::Text, Some("a number"));
        check("0b101", Core::Text, Some("a binary number"));
        for plain in ["12:30", "12:30:00", "-1:00", "1:00.5"] {
            check(plain, Core::Text, Some("a number of base 60"));
        }
        for plain in ["2026-01-31", "2026-1-3", "2026-01-31T10:00:00Z", "2026-01-31 10:00:00"] {
            check(plain, Core::Text, Some("a date"));
        }
    }

    #[test]
    fn simple_numbers_are_those_that_everybody_reads_alike() {
        for plain in ["0", "7", "-12", "1.50", "0.5", "-0.5"] {
            assert!(is_simple_number(plain), "{plain}");
        }
        for plain in ["", "+1", "1e3", "0x1", ".5", "1.", "042", ".inf", "00.5", "1_0"] {
            assert!(!is_simple_number(plain), "{plain}");
        }
    }
}
