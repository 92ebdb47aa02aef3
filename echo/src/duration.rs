//! Durations as people write them: numbers with a unit, also several in a row (`250ms`, `1m30s`).

use std::time::Duration;

/// Reads a duration; `None` where the text is none, or one too long to hold.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number_end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        total = total.checked_add(of_unit(number.parse().ok()?, unit)?)?;
        rest = after;
    }
    Some(total)
}

fn of_unit(number: u64, unit: &str) -> Option<Duration> {
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Duration>) {
        assert_eq!(parse(text), expected, "{text:?}");
    }

    #[test]
    fn reads_numbers_with_units() {
        check("250ms", Some(Duration::from_millis(250)));
        check("1s", Some(Duration::from_secs(1)));
        check("0s", Some(Duration::ZERO));
        check("7ns", Some(Duration::from_nanos(7)));
        check("7us", Some(Duration::from_micros(7)));
        check("1m30s", Some(Duration::from_secs(90)));
        check("2h", Some(Duration::from_secs(7200)));
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "1.5s",
            "1 s",
            "1d",
            "1s2",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            check(text, None);
        }
    }
}
