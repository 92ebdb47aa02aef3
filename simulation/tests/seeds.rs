//! Plays many seeds, and every scenario that once failed.

use volley_simulation::{Scenario, kept, play, play_seeds};

/// As many as are quick in a build that is not optimised; `make simulate` plays more.
const SEEDS: u64 = 2_000;

#[test]
fn what_must_hold_holds_for_many_seeds() {
    let tally = play_seeds(0, SEEDS, 2).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{tally}");
    assert_eq!(tally.runs, SEEDS);
    // A simulation in which nothing happens proves nothing.
    for name in ["agents killed", "agents told to end", "coordinators killed", "links cut", "loads adjusted"]
    {
        assert!(tally.happened.get(name).is_some_and(|count| *count > 20), "{name}: {tally}");
    }
}

#[test]
fn what_once_failed_holds() {
    for (name, scenario) in kept().expect("the folder of seeds can be read") {
        play(&scenario).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn a_scenario_is_the_same_whenever_it_is_played() {
    for seed in [3, 14, 159] {
        let scenario = Scenario::of_seed(seed);
        let once = play(&scenario).unwrap_or_else(|failure| panic!("{failure}"));
        let again = play(&scenario).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, again, "seed {seed}");
    }
}
