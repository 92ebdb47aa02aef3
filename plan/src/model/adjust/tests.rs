//! Adjusted loads: what is refused, and how levels are written.

use super::*;
use crate::model::MAX_USERS;

const SECOND_NS: u64 = 1_000_000_000;

fn load(lines: &str) -> Load {
    crate::parse(&format!("target: http://h/\n{lines}")).expect("a plan").load
}

fn rate(text: &str) -> Level {
    Level::Rate(text.parse().expect("a rate"))
}

/// Checks whether a load can be adjusted at `at_s`, or why it can't.
fn check(lines: &str, at_s: u64, to: Level, expected: Result<(), &str>) {
    let adjusted = load(lines).adjusted(Adjust { at_ns: at_s * SECOND_NS, to });
    let found = adjusted.map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(found, expected.map_err(str::to_owned), "{lines} to {to} at {at_s} s");
}

#[test]
fn what_can_not_be_adjusted_says_why() {
    let (open, closed) = ("rate: 10/s\nduration: 10s", "users: 10\nduration: 10s");
    for to in [rate("500/s"), rate("0/s")] {
        check(open, 5, to, Ok(()));
    }
    for to in [Level::Users(20), Level::Users(0), Level::Users(MAX_USERS)] {
        check(closed, 5, to, Ok(()));
    }
    let over = Err("the load is over by then");
    check(open, 10, rate("1/s"), over);
    check(closed, 10, Level::Users(1), over);
    check(open, 5, Level::Users(20), Err("the run has arrivals, so it can't be adjusted to 20 users"));
    check(closed, 5, rate("1/m"), Err("the run has users, so it can't be adjusted to 1/m"));
    let each = "each of the run's users does a number of iterations; more or fewer users would change what was planned";
    check("users: 2\niterations_per_user: 9", 0, Level::Users(1), Err(each));
    check("users: 2\niterations_per_user: 9\nduration: 9s", 0, Level::Users(1), Err(each));
    let endless = "only a number of iterations ends this run; give it a duration too, to adjust its users";
    check("users: 2\niterations: 9", 0, Level::Users(1), Err(endless));
    check("users: 2\niterations: 9\nduration: 9s", 1, Level::Users(1), Ok(()));
    check(closed, 5, Level::Users(MAX_USERS + 1), Err("more than 100000 users"));
    let poisson = "rate: 10/s\nduration: 1h\narrivals: poisson";
    check(poisson, 5, rate("1000000/s"), Err("more than 1000000000 Poisson arrivals"));
}

#[test]
fn a_load_can_be_adjusted_often_but_not_without_end() {
    let mut load = load("rate: 10/s\nduration: 1h");
    let last = (1..3_000).find_map(|second| {
        match load.adjusted(Adjust { at_ns: second * SECOND_NS, to: rate("20/s") }) {
            Ok(adjusted) => load = adjusted,
            Err(error) => return Some((second, error)),
        }
        None
    });
    assert_eq!(last, Some((2_000, AdjustError::Shape(ShapeError::TooOftenAdjusted))));
}

#[test]
fn levels_are_written_as_plans_write_them() {
    for (level, words, json) in [
        (rate("500/s"), "500/s", r#"{"rate":"500/s"}"#),
        (Level::Users(1), "1 user", r#"{"users":1}"#),
        (Level::Users(2000), "2,000 users", r#"{"users":2000}"#),
    ] {
        assert_eq!(level.to_string(), words);
        assert_eq!(serde_json::to_string(&level).unwrap(), json);
        assert_eq!(serde_json::from_str::<Level>(json).unwrap(), level);
    }
    let adjust = Adjust { at_ns: 5, to: Level::Users(3) };
    let written = serde_json::to_string(&adjust).unwrap();
    assert_eq!(written, r#"{"at_ns":5,"to":{"users":3}}"#);
    assert_eq!(serde_json::from_str::<Adjust>(&written).unwrap(), adjust);
    serde_json::from_str::<Level>(r#"{"rate":"500"}"#).unwrap_err();
}
