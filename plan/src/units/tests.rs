//! Durations: what is read, what is refused, and that writing and reading are inverse.

use super::*;
use proptest::prelude::*;

fn check(text: &str, expected: Result<u64, DurationError>) {
    assert_eq!(parse_duration(text), expected.map(Duration::from_nanos), "{text}");
}

#[test]
fn durations_are_numbers_with_units() {
    for (text, nanoseconds) in [
        ("0s", 0),
        ("1ns", 1),
        ("2us", 2_000),
        ("3ms", 3_000_000),
        ("10s", 10_000_000_000),
        ("010s", 10_000_000_000),
        ("2m", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h0m1ns", 3_600_000_000_001),
        ("1.5s", 1_500_000_000),
        ("0.000000001s", 1),
        ("1.50000000000000000000000000s", 1_500_000_000),
        ("0.5m1.25s", 31_250_000_000),
        ("18446744073709551.615us", u64::MAX),
    ] {
        check(text, Ok(nanoseconds));
    }
}

#[test]
fn what_is_no_duration_says_why() {
    use DurationError as E;
    for (text, error) in [
        ("", E::Empty),
        ("10", E::NoUnit),
        ("1m30", E::NoUnit),
        ("-1s", E::Negative),
        ("s", E::NoNumber),
        ("ten", E::NoNumber),
        (".5s", E::NoNumber),
        ("1.s", E::NoNumber),
        ("+1s", E::NoNumber),
        ("10 s", E::Space),
        (" 10s", E::Space),
        ("10s ", E::Space),
        ("10minuts", E::UnknownUnit("minuts".to_owned())),
        ("1d", E::UnknownUnit("d".to_owned())),
        ("10S", E::UnknownUnit("S".to_owned())),
        ("1s1s", E::Order),
        ("1s1m", E::Order),
        ("1.5ns", E::TooFine),
        ("0.0000000001s", E::TooFine),
        ("0.0000000000000000001h", E::TooFine),
        ("18446744073709551616ns", E::TooLong),
        ("999999999999999999999999999h", E::TooLong),
        ("9999999h", E::TooLong),
    ] {
        check(text, Err(error));
    }
}

#[test]
fn hints_name_what_was_meant() {
    for (text, hint) in [
        ("10", Some("did you mean 10s?")),
        ("10 s", Some("did you mean 10s?")),
        ("10minuts", Some("did you mean 10m?")),
        ("5sec", Some("did you mean 5s?")),
        ("5MS", Some("did you mean 5ms?")),
        ("5millis", Some("did you mean 5ms?")),
        ("5µs", Some("did you mean 5us?")),
        ("1d", Some("days are not a unit; a day is 24h")),
        ("1s1m", Some("write it like 1m30s")),
        ("5x", None),
        ("-5s", None),
    ] {
        let error = parse_duration(text).expect_err(text);
        assert_eq!(error.hint(text).as_deref(), hint, "{text}");
    }
}

#[test]
fn durations_are_written_for_plans_and_for_people() {
    for (nanoseconds, written, words) in [
        (0, "0s", "0 s"),
        (10_000_000_000, "10s", "10 s"),
        (90_000_000_000, "1m30s", "1 min 30 s"),
        (1_500_000_000, "1s500ms", "1 s 500 ms"),
        (3_600_000_002_001, "1h2us1ns", "1 h 2 µs 1 ns"),
    ] {
        let duration = Duration::from_nanos(nanoseconds);
        assert_eq!(format_duration(duration), written);
        assert_eq!(duration_in_words(duration), words);
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(nanoseconds: u64) {
        let duration = Duration::from_nanos(nanoseconds);
        prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[0-9.]{0,30}[a-zµ -]{0,6}[0-9.]{0,30}\\PC{0,5}") {
        let _ = parse_duration(&text).map_err(|error| error.hint(&text));
    }
}
