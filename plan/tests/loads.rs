//! Loads of both models: what each way of writing them means, in which words people read it, and its canonical form.

use std::time::Duration;
use volley_plan::shape::{Arrivals, Rate};
use volley_plan::{Amount, ClosedLoad, Model, OpenLoad, Plan, Users, parse};

const SECOND_NS: u64 = 1_000_000_000;

/// The plan of these lines, of one request unless they have scenarios.
fn valid(lines: &str) -> Plan {
    let text = format!("target: http://h\n{lines}\n");
    let plan = parse(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let canonical = plan.canonical_json();
    assert_eq!(parse(&canonical).as_ref(), Ok(&plan), "{canonical}");
    plan
}

fn open(lines: &str) -> OpenLoad {
    match valid(lines).load.model {
        Model::Open(open) => open,
        Model::Closed(closed) => panic!("{closed:?}"),
    }
}

fn closed(lines: &str) -> ClosedLoad {
    match valid(lines).load.model {
        Model::Closed(closed) => closed,
        Model::Open(open) => panic!("{open:?}"),
    }
}

fn rate(text: &str) -> Rate {
    text.parse().expect(text)
}

/// The value of `load` in the canonical form.
fn check_canonical(lines: &str, load: &str) {
    let canonical: serde_json::Value = serde_json::from_str(&valid(lines).canonical_json()).expect("JSON");
    let load: serde_json::Value = serde_json::from_str(load).expect(load);
    assert_eq!(canonical["load"], load, "{lines}");
}

#[test]
fn short_forms_expand_to_one_stage() {
    check_canonical(
        "rate: 200/s\nduration: 30s",
        r#"{"arrivals": "uniform", "max_in_flight": 2000, "warmup": "0s", "stages": [{"rate": "200/s", "for": "30s"}],
            "tolerate": "1%", "drain": "10s"}"#,
    );
    check_canonical(
        "users: 10\nduration: 1m\nwarmup: 5s\npacing: 1s\ntolerate: 0.5%\ndrain: 0s",
        r#"{"pacing": "1s", "warmup": "5s", "stages": [{"users": 10, "for": "1m"}], "tolerate": "0.5%",
            "drain": "0s"}"#,
    );
    check_canonical(
        "users: 10\niterations_per_user: 5",
        r#"{"warmup": "0s", "stages": [{"users": 10}], "iterations_per_user": 5, "tolerate": "1%", "drain": "10s"}"#,
    );
    check_canonical(
        "rate: 30/m\nrequests: 2\narrivals: poisson\nmax_in_flight: 7",
        r#"{"arrivals": "poisson", "max_in_flight": 7, "warmup": "0s", "stages": [{"rate": "0.5/s", "for": "44s"}],
            "iterations": 2, "tolerate": "1%", "drain": "10s"}"#,
    );
}

#[test]
fn stages_begin_where_the_one_before_ended() {
    let lines = "load:
  arrivals: poisson
  max_in_flight: 2000
  warmup: 30s
  stages:
    - { rate: 50/s, ramp_to: 500/s, for: 2m }
    - { rate: 500/s, for: 5m }
    - { ramp_to: 100/s, for: 0s }
    - { ramp_to: 0/s, for: 10s }
    - { steps: { from: 10/s, to: 25/s, by: 10/s, every: 1s } }";
    let load = open(lines);
    let stages: Vec<_> = load.shape.stages().collect();
    let found: Vec<_> = stages
        .iter()
        .map(|stage| (stage.from.to_string(), stage.to.to_string(), stage.duration.as_secs()))
        .collect();
    let found: Vec<_> =
        found.iter().map(|(from, to, seconds)| (from.as_str(), to.as_str(), *seconds)).collect();
    assert_eq!(
        found,
        [
            ("50/s", "500/s", 120),
            ("500/s", "500/s", 300),
            ("100/s", "0/s", 10),
            ("10/s", "10/s", 1),
            ("20/s", "20/s", 1),
            ("25/s", "25/s", 1),
        ]
    );
    assert_eq!((load.arrivals, load.max_in_flight, load.iterations), (Arrivals::Poisson, 2000, None));
    assert_eq!(load.shape.warmup_ns(), 30 * SECOND_NS);
    assert_eq!(load.shape.rate_at(0), rate("50/s"), "the warm-up is at the first stage's starting rate");
}

#[test]
fn users_have_stages_too() {
    let load = closed(
        "load: { stages: [{ users: 0, ramp_to: 100, for: 10s }, { users: 50, for: 5s }, { ramp_to: 0, for: 5s }] }",
    );
    let Users::Staged(shape) = &load.users else { panic!("users by the time") };
    let curve: Vec<_> = [1, 5, 9, 10, 14, 16, 19].map(|second| shape.users_at(second * SECOND_NS)).to_vec();
    assert_eq!(curve, [10, 50, 90, 50, 50, 40, 10]);
    assert_eq!((load.iterations, load.pacing), (None, None));
    let counted = closed("load: { stages: [{ users: 7 }], iterations: 9, pacing: 1500us }");
    assert_eq!((counted.users, counted.iterations), (Users::Steady(7), Some(Amount::InAll(9))));
    assert_eq!(counted.pacing, Some(Duration::from_micros(1500)));
}

#[test]
fn a_count_makes_an_open_load_just_long_enough() {
    for (lines, total_ns, due) in [
        ("rate: 10/s\nrequests: 200", 20 * SECOND_NS, 200),
        ("rate: 3/s\nrequests: 1", 333_333_334, 1),
        ("rate: 3/s\nrequests: 10", 3_333_333_334, 10),
        ("rate: 7/h\niterations: 3", 1_542_857_142_858, 3),
        ("rate: 10000000/s\nrequests: 1", 100, 1),
        ("rate: 20/s\nwarmup: 5s\nrequests: 200", 15 * SECOND_NS, 300),
        ("rate: 3/s\nwarmup: 1ns\nrequests: 3", SECOND_NS + 1, 4),
        ("rate: 3/s\nwarmup: 333333334ns\nrequests: 2", SECOND_NS + 1, 4),
        ("rate: 3/s\nwarmup: 333333335ns\nrequests: 2", SECOND_NS + 2, 4),
        ("load: { stages: [{ rate: 10/s }], iterations: 200 }", 20 * SECOND_NS, 200),
    ] {
        let load = open(lines);
        assert_eq!((load.shape.total_ns(), load.shape.count()), (total_ns, due), "{lines}");
        let schedule = load.schedule(1).expect("tried when it was parsed");
        let measured = load.measured(&schedule, u64::MAX);
        assert_eq!(Some(measured.end - measured.start), load.iterations, "{lines}");
    }
}

#[test]
fn poisson_arrivals_with_a_count_have_time_enough() {
    for (n, total_ns) in [(1, 2_100_000_000), (10_000, 1_101 * SECOND_NS)] {
        let load = open(&format!("rate: 10/s\nrequests: {n}\narrivals: poisson"));
        assert_eq!(load.shape.total_ns(), total_ns);
        for seed in 0..100 {
            let schedule = load.schedule(seed).expect("tried when it was parsed");
            let measured = load.measured(&schedule, u64::MAX);
            assert_eq!(measured.end - measured.start, n, "seed {seed}");
        }
    }
}

#[test]
fn what_bounds_the_open_model_has_defaults_that_fit() {
    for (lines, in_flight) in [
        ("rate: 1/s\nduration: 1s", 100),
        ("rate: 200/s\nduration: 1s", 2_000),
        ("rate: 200/s\nduration: 1s\ntimeout: 1s", 200),
        ("rate: 200.5/s\nduration: 1s\ntimeout: 1s", 201),
        ("rate: 1000000/s\nduration: 1s", 10_000),
        ("rate: 1/s\nduration: 1s\nconnections: 5000", 5_000),
        ("rate: 1/s\nduration: 1s\nconnections: 10", 100),
        ("rate: 1/s\nduration: 1s\nmax_in_flight: 1", 1),
        ("load: { stages: [{ rate: 0/s, ramp_to: 300/s, for: 1s }] }\ntimeout: 1s", 300),
        (
            "rate: 10/s\nduration: 1s\ntimeout: 5s\nscenarios: { a: { steps: [get: /] }, \
          b: { steps: [get: /, think: 1s..10s, get: /b] } }",
            200,
        ),
    ] {
        assert_eq!(open(lines).max_in_flight, in_flight, "{lines}");
    }
}

#[test]
fn loads_are_said_in_words() {
    let two = "\nscenarios: { a: { steps: [get: /, get: /] } }";
    let thinking = "\nscenarios: { a: { steps: [get: /, think: 1s] } }";
    for (lines, words) in [
        ("users: 50\nduration: 10s", "50 users closed, 10 s"),
        ("users: 10\nrequests: 1000", "10 users closed, 1,000 requests"),
        ("users: 1\nrequests: 1\nduration: 90s", "1 user closed, 1 request, at most 1 min 30 s"),
        (&format!("users: 10\niterations: 1000{two}"), "10 users closed, 1,000 iterations"),
        (&format!("users: 10\nrequests: 1000{thinking}"), "10 users closed, 1,000 iterations"),
        ("users: 1\niterations_per_user: 1", "1 user closed, 1 request each"),
        (&format!("users: 10\niterations_per_user: 5{two}"), "10 users closed, 5 iterations each"),
        ("users: 1000\nduration: 5m\nwarmup: 30s", "1,000 users closed, 5 min after 30 s of warm-up"),
        ("users: 10\nduration: 5m\npacing: 1500ms", "10 users closed, each user every 1 s 500 ms, 5 min"),
        ("users: 2\nrequests: 8\npacing: 2s", "2 users closed, 8 requests, each user every 2 s"),
        (
            "load: { stages: [{ users: 0, ramp_to: 100, for: 10s }, { users: 100, for: 20s }], iterations: 5 }",
            "up to 100 users closed, 5 requests, at most 30 s",
        ),
        ("load: { stages: [{ users: 9, for: 1s }, { users: 9, for: 1s }] }", "9 users closed, 2 s"),
        ("rate: 200/s\nduration: 30s", "200/s open, 30 s"),
        ("rate: 10000/s\nduration: 30s", "10,000/s open, 30 s"),
        ("rate: 90/m\nduration: 1h", "1.5/s open, 1 h"),
        ("rate: 1000/h\nduration: 1h", "1,000/h open, 1 h"),
        ("rate: 200/s\nduration: 30s\narrivals: poisson", "200/s open, Poisson, 30 s"),
        ("rate: 200/s\nrequests: 1000", "200/s open, 1,000 requests"),
        ("rate: 200/s\nrequests: 1000\narrivals: poisson", "200/s open, Poisson, 1,000 requests"),
        ("rate: 200/s\nrequests: 1000\nduration: 1m", "200/s open, 1,000 requests"),
        ("rate: 200/s\nrequests: 1000\nduration: 4s", "200/s open, at most 1,000 requests, 4 s"),
        ("rate: 20/s\nrequests: 200\nwarmup: 5s", "20/s open, 200 requests after 5 s of warm-up"),
        (
            "load: { warmup: 30s, stages: [{ rate: 50/s, ramp_to: 500/s, for: 2m }, { rate: 500/s, for: 5m }] }",
            "up to 500/s open, 7 min after 30 s of warm-up",
        ),
        ("load: { stages: [{ rate: 9/s, ramp_to: 0/s, for: 10s }] }", "up to 9/s open, 10 s"),
    ] {
        assert_eq!(valid(lines).load_in_words(), words, "{lines}");
    }
}
