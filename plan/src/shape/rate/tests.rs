//! Rates: what is read, what is refused, and that writing and reading are inverse.

use super::*;
use proptest::prelude::*;

fn check(text: &str, expected: &Result<(u64, u64), RateError>) {
    assert_eq!(&text.parse().map(Rate::per_nanosecond), expected, "{text}");
}

#[test]
fn rates_are_exact_fractions_of_arrivals_per_nanosecond() {
    for (text, fraction) in [
        ("200/s", (1, 5_000_000)),
        ("90/m", (3, 2_000_000_000)),
        ("0.5/s", (1, 2_000_000_000)),
        ("1000/h", (1, 3_600_000_000)),
        ("30/s", (3, 100_000_000)),
        ("007.50/s", (3, 400_000_000)),
        ("0.000001/h", (1, 3_600_000_000_000_000_000)),
        ("0.00000001/s", (1, 100_000_000_000_000_000)),
        ("10000000/s", (1, 100)),
        ("36000000000.000000000000000000000/h", (1, 100)),
        ("0/s", (0, 1)),
        ("0.000/h", (0, 1)),
    ] {
        check(text, &Ok(fraction));
    }
}

#[test]
fn what_is_no_rate_says_why() {
    use RateError as E;
    for (text, error) in [
        ("", E::Empty),
        ("200", E::NoUnit),
        ("200/", E::NoUnit),
        ("-1/s", E::Negative),
        ("/s", E::NoNumber),
        ("ten/s", E::NoNumber),
        (".5/s", E::NoNumber),
        ("1./s", E::NoNumber),
        ("1.2.3/s", E::NoNumber),
        ("+1/s", E::NoNumber),
        ("1e3/s", E::NoNumber),
        ("1_000/s", E::NoNumber),
        ("200rps", E::NoNumber),
        ("٣/s", E::NoNumber),
        ("200 /s", E::Space),
        (" 200/s", E::Space),
        ("200/sec", E::UnknownUnit("sec".to_owned())),
        ("200/S", E::UnknownUnit("S".to_owned())),
        ("200/ms", E::UnknownUnit("ms".to_owned())),
        ("200/s/s", E::UnknownUnit("s/s".to_owned())),
        ("0.0000001/h", E::TooFine),
        ("0.0000000000000000001/s", E::TooFine),
        ("10000000.1/s", E::TooHigh),
        ("600000001/m", E::TooHigh),
        ("9999999999999999999/h", E::TooHigh),
        ("999999999999999999/s", E::TooHigh),
    ] {
        check(text, &Err(error));
    }
}

#[test]
fn hints_name_what_was_meant() {
    for (text, hint) in [
        ("200", Some("did you mean 200/s?")),
        ("200/", Some("did you mean 200/s?")),
        ("200 /s", Some("did you mean 200/s?")),
        ("200/sec", Some("did you mean 200/s?")),
        ("200/Min", Some("did you mean 200/m?")),
        ("200/hour", Some("did you mean 200/h?")),
        ("200/ms", None),
        ("200/day", None),
        ("200rps", Some("write it like 200/s")),
        ("-5/s", None),
    ] {
        let error = text.parse::<Rate>().expect_err(text);
        assert_eq!(error.hint(text).as_deref(), hint, "{text}");
    }
}

#[test]
fn messages_name_the_units() {
    let message = |text: &str| text.parse::<Rate>().expect_err(text).to_string();
    assert_eq!(message("200"), "a number without one of the units /s /m /h");
    assert_eq!(message("200/d"), "the unit `/d`, which is none of /s /m /h");
    assert_eq!(message("20000000/s"), "a rate above 10000000/s");
}

#[test]
fn equal_rates_are_written_alike() {
    for (text, written) in [
        ("200/s", "200/s"),
        ("90/m", "1.5/s"),
        ("60.0/m", "1/s"),
        ("100/m", "100/m"),
        ("1000/h", "1000/h"),
        ("0.5/m", "0.5/m"),
        ("0.10/s", "0.1/s"),
        ("0.33333333/s", "1199.999988/h"),
        ("0/h", "0/s"),
    ] {
        let rate: Rate = text.parse().expect(text);
        assert_eq!(rate.to_string(), written);
        assert_eq!(written.parse(), Ok(rate));
    }
}

#[test]
fn whole_numbers_a_second_need_no_text() {
    assert_eq!(Rate::per_second(200), "200/s".parse());
    assert_eq!(Rate::per_second(10_000_000), Ok(MAX_RATE));
    assert_eq!(Rate::per_second(10_000_001), Err(RateError::TooHigh));
    assert_eq!(Rate::per_second(u64::MAX), Err(RateError::TooHigh));
    assert_eq!("90/m".parse().map(Rate::as_per_second), Ok(1.5));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(micro_per_hour in 0..=36_000_000_000_000_000_u64) {
        let rate = Rate::from_micro_per_hour(micro_per_hour.into()).expect("within the bounds");
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        prop_assert_eq!(rate.micro_per_hour(), micro_per_hour);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[0-9.]{0,40}/?[a-z/ -]{0,6}\\PC{0,5}") {
        let _ = text.parse::<Rate>().map_err(|error| error.hint(&text));
    }
}
