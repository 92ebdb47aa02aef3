//! An agent that joins a run which goes on: its part begins at a time, and so does what it reports.

use volley_plan::{Adjust, Level};

use super::*;

#[test]
fn arrivals_are_its_own_from_then_on() {
    let agent = Agent::alone("rate: 10/s\nduration: 20s", MS);
    let stripes = &agent.shares(2)[1].stripes;
    let ran = agent.clone().of(1, 2).joining(12_300 * MS, &[]).run();
    let expected: Vec<u64> = (123..200).filter(|n| stripes.contains(*n)).map(|n| n * 100 * MS).collect();
    assert_eq!(ran.times(), expected);
    let seconds: Vec<u32> = ran.window.seconds.keys().copied().collect();
    assert_eq!((seconds, ran.window.watermark_s), ((12..20).collect(), 20));
    assert_eq!(ran.window.iterations().missed, 0);
}

#[test]
fn the_load_is_the_adjusted_one() {
    let text = "rate: 10/s\nduration: 6s";
    let adjusted = [(SECOND, "40/s"), (3 * SECOND, "20/s")]
        .map(|(at_ns, rate)| Adjust { at_ns, to: Level::Rate(rate.parse().unwrap()) });
    let ran = Agent::alone(text, MS).joining(2 * SECOND, &adjusted).run();
    assert_eq!(by_second(&ran.times(), 6), [0, 0, 40, 20, 20, 20]);
    assert_eq!(ran.times()[0], 2 * SECOND);
}

#[test]
fn users_begin_one_after_the_other() {
    let ran = Agent::alone("users: 4\nduration: 20s", 100 * MS).of(0, 2).joining(12_300 * MS, &[]).run();
    // One at 12.3 s, one half of the take-over later.
    assert_eq!(by_second(&ran.times(), 20)[12..], [7, 10, 12, 20, 20, 20, 20, 20]);
    assert_eq!(ran.users()[..4], [0, 1, 1, 2]);
    let first = ran.times()[0];
    assert_eq!((first, ran.window.seconds.keys().next()), (12_300 * MS, Some(&12)));
}

#[test]
fn users_that_begin_with_a_second_count_in_it() {
    let ran = Agent::alone("users: 1\nduration: 5s", 100 * MS).joining(2 * SECOND, &[]).run();
    assert_eq!(
        (ran.users()[..3].to_vec(), by_second(&ran.times(), 5)),
        (vec![1, 1, 1], vec![0, 0, 10, 10, 10])
    );
}

#[test]
fn who_hears_of_it_without_a_lease_misses_its_part_until_it_has_one() {
    let lease = crate::Command::Lease { until_ns: 9 * SECOND };
    let agent = Agent::alone("rate: 10/s\nduration: 6s", MS).joining(2 * SECOND, &[]);
    let ran = agent.with_lease(2 * SECOND).told(3050 * MS, lease).run();
    assert_eq!(ran.iterations(), [(0, 10), (9, 1), (10, 0), (10, 0)]);
}
