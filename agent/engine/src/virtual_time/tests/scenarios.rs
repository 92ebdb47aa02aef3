//! Several scenarios, several steps, pauses.

use std::collections::BTreeMap;

use volley_stats::{Iterations, Part};

use super::*;

const SHOP: &str = "scenarios:\n  browse:\n    weight: 9\n    steps:\n      - get: /list\n      - think: 100ms..300ms\n      \
                    - get: /item\n  buy:\n    weight: 1\n    steps:\n      - think: 50ms\n      - post: /cart\n";

/// Requests by path.
fn by_path(ran: &Ran) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    ran.seen.iter().for_each(|seen| *counts.entry(seen.path.as_str()).or_default() += 1);
    counts
}

#[test]
fn scenarios_have_their_weights_on_any_number_of_agents() {
    let agent = Agent::alone(&format!("rate: 100/s\nduration: 10s\n{SHOP}"), 10 * MS).with_workers(2);
    let one = agent.clone().run();
    let three = Ran::together((0..3).map(|index| agent.clone().of(index, 3)));
    for ran in [&one, &three] {
        let counts: Vec<u64> = (0..3).map(|step| ran.started(step, Part::Measured).iter().sum()).collect();
        // The pauses of the last ones end after the stop, and nothing follows them.
        assert!(
            counts[0] == 900 && (870..900).contains(&counts[1]) && (99..=100).contains(&counts[2]),
            "{counts:?}"
        );
        let seen = by_path(ran);
        assert_eq!(["/list", "/item", "/cart"].map(|path| seen[path] as u64).to_vec(), counts);
    }
    assert_eq!((one.times(), by_path(&one)), (three.times(), by_path(&three)));
}

#[test]
fn a_pause_is_exact_and_the_stop_ends_it() {
    let text = "scenarios:\n  only:\n    steps:\n      - get: /a\n      - think: 70ms\n      - get: /b\n      - think: 20ms\n";
    let ran = Agent::alone(&format!("users: 1\nduration: 990ms\n{text}"), 5 * MS).run();
    let of = |path: &str| -> Vec<u64> {
        ran.seen.iter().filter(|seen| seen.path == path).map(|seen| seen.at_ns).collect()
    };
    let expected: Vec<u64> = (0..10).map(|iteration| iteration * 100 * MS).collect();
    assert_eq!(of("/a"), expected);
    assert_eq!(of("/b"), expected.iter().map(|at_ns| at_ns + 75 * MS).collect::<Vec<_>>());
    assert_eq!(ran.window.iterations(), Iterations { started: 10, finished: 9, missed: 0 });
    assert_eq!(ran.window.watermark_s, 1);
}

#[test]
fn a_pause_is_no_part_of_a_latency() {
    let text = "scenarios:\n  only:\n    steps:\n      - think: 40ms\n      - get: /\n";
    let ran = Agent::alone(&format!("rate: 10/s\nduration: 1s\nconnections: 1\n{text}"), 5 * MS).run();
    assert_eq!(ran.measured().latency.max_ns(), Some(5 * MS));
    assert_eq!(ran.times()[0], 40 * MS);
}
