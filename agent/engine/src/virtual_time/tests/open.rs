//! The open model: what is due is sent when it is due, and its latency counts from then.

use volley_plan::Model;
use volley_stats::{Part, Timed};

use super::*;

/// A target that takes 1 ms, and holds all answers from 5 s to 7 s.
fn stalling(seen: &Seen) -> Option<u64> {
    let at_ns = seen.at_ns + MS;
    Some(if (5 * SECOND..7 * SECOND).contains(&at_ns) { 7 * SECOND } else { at_ns })
}

/// A thousand arrivals at a target that stalls for two seconds; so many iterations may be in flight at once.
fn check_stalled(connections: &str) -> Ran {
    let text = format!("rate: 100/s\nduration: 10s\n{connections}");
    let ran = Agent::alone(&text, 0).answered(stalling).run();
    let total = ran.measured();
    let near = |percent: f64, expected_ms: u64| {
        let found_ns = total.latency.percentile_ns(percent).unwrap();
        assert!(found_ns.abs_diff(expected_ms * MS) <= 50 * MS, "p{percent} is {found_ns}");
    };
    assert_eq!((total.counters.ok, total.latency.count(), ran.seen.len()), (1000, 1000, 1000));
    assert!(total.latency.percentile_ns(50.0).unwrap() < 5 * MS);
    near(90.0, 1000);
    near(99.0, 1900);
    near(100.0, 2000);
    let mean_ns = total.latency.mean_ns().unwrap();
    assert!((190e6..210e6).contains(&mean_ns), "{mean_ns}");
    assert_eq!((ran.window.iterations().missed, ran.timed(Timed::Lag).max_ns()), (0, Some(0)));
    ran
}

#[test]
fn case_07_coordinated_omission_with_connections_for_all() {
    let ran = check_stalled("connections: 250\nmax_in_flight: 250");
    let total = ran.measured();
    assert_eq!(total.service_time.percentile_ns(99.0), total.latency.percentile_ns(99.0));
    assert_eq!(ran.timed(Timed::Wait).count(), 0);
    // The arrivals of 5 s to 7 s each needed a connection, the first of which were there.
    assert_eq!(total.counters.connections_opened, 201);
}

#[test]
fn case_07_coordinated_omission_with_ten_connections() {
    let ran = check_stalled("connections: 10");
    let total = ran.measured();
    // The wait for a connection is part of the latency and of the service time, and a phase of its own.
    assert_eq!(total.service_time.max_ns(), total.latency.max_ns());
    assert_eq!(total.counters.connections_opened, 10);
    let wait = ran.timed(Timed::Wait);
    assert!((180..220).contains(&wait.count()), "{}", wait.count());
    assert!(wait.max_ns().unwrap() > 1850 * MS);
    assert!(ran.timed(Timed::FirstByte).count() == 1000);
}

/// The times of 30 a second for 30 s, from so many agents with so many workers.
fn rate_held(agents: usize, workers: usize) -> Vec<u64> {
    let agent = Agent::alone("rate: 30/s\nduration: 30s", 2 * MS).with_workers(workers);
    let ran = Ran::together((0..agents).map(|index| agent.clone().of(index, agents)));
    assert_eq!((ran.measured().counters.ok, ran.window.iterations().started), (900, 900));
    assert_eq!(ran.started(0, Part::Measured), [30; 30]);
    ran.times()
}

#[test]
fn case_19_rate_held_by_one_agent_and_by_three() {
    let expected: Vec<u64> = (0..900).map(|n: u64| (n * SECOND).div_ceil(30)).collect();
    for (agents, workers) in [(1, 1), (1, 4), (3, 1), (3, 2)] {
        let times = rate_held(agents, workers);
        assert_eq!(times, expected, "{agents} agents of {workers} workers");
        assert_eq!((times[0], gaps(&times)), (0, (33_333_333, 33_333_334)));
    }
}

#[test]
fn case_28_rates_ramp_alike_on_one_agent_and_on_four() {
    let text = "load:\n  stages:\n    - { rate: 0/s, ramp_to: 100/s, for: 10s }\n    - { rate: 100/s, for: 10s }\n    \
                - { ramp_to: 0/s, for: 10s }";
    let agent = Agent::alone(text, MS);
    let one = agent.clone().run();
    let four = Ran::together((0..4).map(|index| agent.clone().of(index, 4)));
    assert_eq!(one.times(), four.times());
    assert_eq!(one.seen.len(), 2000);
    let curve = by_second(&one.times(), 30);
    for (second, count) in (0_u64..).zip(&curve) {
        let expected = match second {
            0..10 => 10 * second + 5,
            10..20 => 100,
            _ => 295 - 10 * second,
        };
        assert!(count.abs_diff(expected) <= 1, "{count} in second {second}");
    }
}

#[test]
fn case_31_warm_up_is_measured_apart_and_told_by_when_it_was_due() {
    let slow_at_first = |seen: &Seen| {
        let takes_ns = if seen.at_ns < 5 * SECOND { 200 * MS } else { 10 * MS };
        Some(seen.at_ns + takes_ns)
    };
    let ran = Agent::alone("rate: 20/s\nwarmup: 5s\nduration: 10s", 0).answered(slow_at_first).run();
    let (warmup, measured) = (ran.total(Part::Warmup), ran.measured());
    assert_eq!((ran.seen.len(), warmup.counters.ok, measured.counters.ok), (300, 100, 200));
    assert_eq!((warmup.latency.min_ns(), warmup.latency.max_ns()), (Some(200 * MS), Some(200 * MS)));
    assert_eq!((measured.latency.min_ns(), measured.latency.max_ns()), (Some(10 * MS), Some(10 * MS)));
    // What was due in the warm-up and answered after it is still the warm-up's.
    let spilled = ran.window.rows.iter().filter(|(key, _)| key.part == Part::Warmup && key.from_s == 5);
    assert_eq!(spilled.map(|(_, row)| row.counters.ok).sum::<u64>(), 4);
    assert_eq!(ran.window.iterations().started, 200);
    assert_eq!(ran.window.seconds.values().map(|second| second.warmup.finished).sum::<u64>(), 100);
}

#[test]
fn poisson_arrivals_are_the_same_whoever_sends_them() {
    let agent = Agent::alone("rate: 200/s\nduration: 10s\narrivals: poisson", MS);
    let one = agent.clone().run();
    let three = Ran::together((0..3).map(|index| agent.clone().with_workers(2).of(index, 3)));
    assert_eq!(one.times(), three.times());
    let Model::Open(load) = &plan("rate: 200/s\nduration: 10s\narrivals: poisson").load.model else {
        panic!()
    };
    let due = load.schedule(1).unwrap().counter().arrivals_before(10 * SECOND);
    assert_eq!(one.seen.len() as u64, due);
    assert!((1850..2150).contains(&due), "{due}");
    let (least, most) = gaps(&one.times());
    assert!(least < MS && most > 15 * MS, "{least} to {most}");
}

#[test]
fn a_number_of_iterations_ends_the_run_before_its_time() {
    let ran = Agent::alone("rate: 50/s\nduration: 60s\niterations: 120\nwarmup: 1s", MS).run();
    assert_eq!((ran.measured().counters.ok, ran.total(Part::Warmup).counters.ok), (120, 50));
    assert_eq!(ran.window.watermark_s, 4);
    assert_eq!(ran.window.latest_ns, SECOND + 119 * 20 * MS + MS);
}

#[test]
fn case_20_a_slow_rate_has_the_latency_of_the_target_and_nothing_else() {
    let ran = Agent::alone("rate: 10/s\niterations: 200\nconnections: 100", MS).run();
    let total = ran.measured();
    assert_eq!((ran.seen.len(), ran.times()[199]), (200, 19_900 * MS));
    assert_eq!((total.latency.max_ns(), total.service_time.max_ns()), (Some(MS), Some(MS)));
    assert_eq!((total.counters.connections_opened, ran.timed(Timed::Connect).max_ns()), (1, Some(0)));
}
