//! What takes minutes: the cases with their own numbers, and bounds that a busy machine may break. `make soak` runs
//! them, all or by case (`make soak CASE=19`); nothing here is part of `make test`.

use std::fs;
use std::time::{Duration, Instant};

use volley_e2e::{Coordinator, Fleet, Target};

use crate::case_28::{ramp_of_rate, users_by_second};
use crate::{case_16, case_19, case_20, case_31, health, play, thousand_agents};

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[test]
#[ignore = "five minutes and more"]
fn soak_case_19_ten_runs_of_thirty_seconds() {
    for agents in [1, 3] {
        let fleet = Fleet::start(agents);
        for run in 0..if agents == 1 { 10 } else { 3 } {
            let mut gaps = case_19::hold_rate(&fleet.api(), agents, 30);
            let expected = Duration::from_nanos(1_000_000_000 / 30);
            gaps.sort_unstable_by_key(|gap| gap.abs_diff(expected));
            let p99 = gaps[gaps.len() * 99 / 100].abs_diff(expected);
            println!("case 19, {agents} agents, run {run}: 900 sent, p99 deviation {:.2} ms", ms(p99));
            assert!(p99 < Duration::from_millis(5), "{p99:?}");
        }
    }
}

#[test]
#[ignore = "twenty seconds, and tight bounds"]
fn soak_case_20_low_rate() {
    let (report, span) = case_20::low_rate(10, 200);
    let p99 = report.percentile_ms("99").expect("a percentile");
    println!("case 20: span {:.1} ms, p99 {p99:.2} ms", ms(span));
    assert!(span.abs_diff(Duration::from_millis(19_900)) < Duration::from_millis(100), "{span:?}");
    assert!(p99 < 10.0, "{report:?}");
}

#[test]
#[ignore = "minutes"]
fn soak_case_28_ramps() {
    for agents in [1, 4] {
        let fleet = Fleet::start(agents);
        let rise = ramp_of_rate(&fleet.api(), agents, 10);
        println!("case 28: the rise by second on {agents} agents: {rise:?}");
        for (second, count) in rise.iter().enumerate() {
            assert!(count.abs_diff(10 * second + 5) <= 2, "second {second} of {rise:?}");
        }
        let target = Target::start();
        let stages = "load:\n  stages:\n    - { users: 0, ramp_to: 100, for: 10s }\n";
        let plan = format!("target: {}\n{stages}", target.url("/delay/20ms"));
        let report = play(&fleet.api(), agents, &plan);
        let users = users_by_second(&fleet.api(), &report);
        println!("case 28: users by second on {agents} agents: {users:?}");
        assert!(users[5].abs_diff(50) <= 4, "{users:?}");
    }
}

#[test]
#[ignore = "a minute"]
fn soak_case_31_warm_up() {
    let report = case_31::warm_up(&case_31::Seconds { wait: 30, warmup: 5, measured: 10 });
    let p99 = report.percentile_ms("99").expect("a percentile");
    println!("case 31: p99 {p99:.2} ms, elapsed {} s", report.document()["elapsed_s"]);
    assert!((10.0..20.0).contains(&p99), "{report:?}");
}

#[test]
#[ignore = "a minute and more, and a quiet machine"]
fn soak_twenty_healthy_runs() {
    health::healthy_runs(20, "5s");
}

#[test]
#[ignore = "a minute, and a quiet machine"]
fn soak_fleet_of_a_thousand_agents() {
    let agents = std::env::var("VOLLEY_SOAK_AGENTS").map_or(1_000, |text| text.parse().expect("a number"));
    let cost = thousand_agents::play(agents, 60);
    println!(
        "fleet: {agents} agents, 10 steps, 100 requests a step and second: {:.2} cores, {} MiB, page {:.2} s behind",
        cost.cores, cost.resident_mib, cost.page_behind_s
    );
    assert!(cost.cores <= 1.0 && cost.resident_mib <= 1024 && cost.page_behind_s <= 2.0);
}

/// Memory of a process that is resident, in KiB.
fn resident_kib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

#[test]
#[ignore = "fifteen minutes"]
fn soak_case_16_memory_stays() {
    let (coordinator, target) = (Coordinator::start(), Target::start());
    let agent = coordinator.agent("only");
    let api = coordinator.api();
    let id = api.start(&case_16::plan(&target, 2000, "15m"));
    // The dashboard: a reader of the stream for as long as the run goes on.
    let reader = std::thread::spawn({
        let (api, id) = (api.clone(), id.clone());
        move || api.read_stream(&format!("/api/v1/runs/{id}/stream"), Duration::from_secs(1000))
    });
    let begun = Instant::now();
    let mut seen = Vec::new();
    for minute in 1..=15 {
        std::thread::sleep(Duration::from_secs(60 * minute - 2).saturating_sub(begun.elapsed()));
        let kib = (resident_kib(agent.id()), resident_kib(coordinator.id()));
        println!("case 16: minute {minute}: agent {} KiB, coordinator {} KiB", kib.0, kib.1);
        seen.push(kib);
    }
    let report = api.finished(&id).checked();
    assert_eq!((report.count("ok"), target.stats()["requests"].as_u64()), (1_800_000, Some(1_800_000)));
    assert!(reader.join().expect("the reader") > 100_000, "the dashboard read its stream");
    let grown = |from: u64, to: u64| to as f64 / from as f64 - 1.0;
    let growth = (grown(seen[2].0, seen[14].0), grown(seen[2].1, seen[14].1));
    println!(
        "case 16: growth from minute 3 to 15: agent {:.1} %, coordinator {:.1} %",
        growth.0 * 100.0,
        growth.1 * 100.0
    );
    assert!(growth.0 < 0.05 && growth.1 < 0.05, "{seen:?}");
}
