//! Case 16: a long run of many steps takes no more memory at its end than in its middle. Fifteen minutes of it are in
//! `soak.rs`; here it is short, and the totals are exact.

use std::fmt::Write as _;

use volley_e2e::{Fleet, Target};

use crate::play;

/// A plan of twenty steps at a rate of iterations.
pub(crate) fn plan(target: &Target, rate: u32, duration: &str) -> String {
    let mut text = format!("target: {}\nrate: {rate}/s\nduration: {duration}\nscenarios:\n", target.url("/"));
    for step in 0..20 {
        // Writing to a String can't fail.
        let _ = write!(text, "  s{step}:\n    steps:\n      - get: /bytes/11\n        name: step-{step}\n");
    }
    text
}

#[test]
fn case_16_a_rate_over_many_steps_is_exact() {
    let (fleet, target) = (Fleet::start(1), Target::start());
    let report = play(&fleet.api(), 1, &plan(&target, 1000, "8s"));
    assert_eq!((report.count("started"), report.count("ok")), (8000, 8000), "{report:?}");
    assert_eq!(target.stats()["requests"].as_u64(), Some(8000));
    let steps = report.document()["steps"].as_array().cloned().unwrap_or_default();
    let counts: Vec<_> = steps.iter().map(|step| step["ok"].as_u64()).collect();
    assert_eq!(counts, vec![Some(400); 20], "{report:?}");
}
