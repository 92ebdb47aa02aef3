//! Plans of all kinds of loads.

use std::fmt::Write as _;

use crate::random::Random;

/// A plan, and about how long its load takes.
pub(super) struct Drawn {
    pub(super) text: String,
    pub(super) is_open: bool,
    pub(super) lasts_ms: u64,
}

pub(super) fn plan(random: &mut Random, hosts: usize) -> Drawn {
    let (load, hands, lasts_s) = match random.within(0..10) {
        0..4 => steady_rate(random),
        4 => staged_rate(random),
        5 => users(random),
        6 => staged_users(random),
        7..9 => iterations(random),
        _ => iterations_each(random),
    };
    let mut text = format!("target: http://127.0.0.1:8080/\n{load}");
    agents(random, hands.unwrap_or(u64::MAX).min(hosts as u64), &load, &mut text);
    Drawn { text, is_open: hands.is_none(), lasts_ms: lasts_s * 1_000 }
}

fn drain(random: &mut Random) -> &'static str {
    random.pick::<&'static str>(&["", "drain: 2s\n", "drain: 0s\n"])
}

/// The load, its users where it has some, and about how long it takes in seconds.
fn steady_rate(random: &mut Random) -> (String, Option<u64>, u64) {
    let (rate, lasts_s) = (random.within(3..60), random.within(4..22));
    let mut load = format!("rate: {rate}/s\n");
    let warmup_s = *random.pick(&[0, 0, 0, 2, 3]);
    match random.within(0..6) {
        // Their number ends it.
        0 => _ = writeln!(load, "iterations: {}", rate * lasts_s),
        1 => _ = writeln!(load, "duration: {lasts_s}s\niterations: {}", rate * lasts_s / 2),
        _ => _ = writeln!(load, "duration: {lasts_s}s"),
    }
    if warmup_s > 0 {
        _ = writeln!(load, "warmup: {warmup_s}s");
    }
    if random.percent(30) {
        load += "arrivals: poisson\n";
    }
    let in_flight = if random.percent(10) { 8 } else { 2_000 };
    _ = writeln!(load, "max_in_flight: {in_flight}");
    load += drain(random);
    (load, None, lasts_s + warmup_s)
}

fn staged_rate(random: &mut Random) -> (String, Option<u64>, u64) {
    let (ramp_s, steady_s) = (random.within(2..9), random.within(2..9));
    let (from, to) = (random.within(0..30), random.within(5..60));
    let load = format!(
        "load:\n  max_in_flight: 2000\n  stages:\n    - {{ rate: {from}/s, ramp_to: {to}/s, for: {ramp_s}s }}\n    \
         - {{ rate: {to}/s, for: {steady_s}s }}\n    - {{ ramp_to: 0/s, for: 2s }}\n"
    );
    (load, None, ramp_s + steady_s + 2)
}

fn users(random: &mut Random) -> (String, Option<u64>, u64) {
    let (users, lasts_s) = (random.within(1..9), random.within(4..20));
    let warmup = if random.percent(20) { "warmup: 2s\n" } else { "" };
    (format!("users: {users}\nduration: {lasts_s}s\n{warmup}{}", drain(random)), Some(users), lasts_s + 2)
}

fn staged_users(random: &mut Random) -> (String, Option<u64>, u64) {
    let (ramp_s, steady_s, users) = (random.within(2..7), random.within(2..9), random.within(3..9));
    let load = format!(
        "load:\n  stages:\n    - {{ users: 1, ramp_to: {users}, for: {ramp_s}s }}\n    - {{ users: {users}, for: \
         {steady_s}s }}\n    - {{ ramp_to: 0, for: 2s }}\n    - {{ users: 0, for: 1s }}\n"
    );
    (load, Some(users), ramp_s + steady_s + 3)
}

fn iterations(random: &mut Random) -> (String, Option<u64>, u64) {
    let (users, iterations) = (random.within(2..9), random.within(10..250));
    // An iteration takes a fifth of a second, more or less.
    let lasts_s = iterations / users / 4 + 2;
    let duration = if random.percent(30) { format!("duration: {lasts_s}s\n") } else { String::new() };
    (format!("users: {users}\niterations: {iterations}\n{duration}{}", drain(random)), Some(users), lasts_s)
}

fn iterations_each(random: &mut Random) -> (String, Option<u64>, u64) {
    let (users, each) = (random.within(1..7), random.within(3..40));
    let lasts_s = each / 4 + 2;
    let duration = if random.percent(30) { format!("duration: {lasts_s}s\n") } else { String::new() };
    (
        format!("users: {users}\niterations_per_user: {each}\n{duration}{}", drain(random)),
        Some(users),
        lasts_s,
    )
}

fn agents(random: &mut Random, hands: u64, load: &str, text: &mut String) {
    let min = random.within(1..hands + 1);
    let mut wanted = format!("min: {min}, wait: 20s");
    if random.percent(10) {
        _ = write!(wanted, ", max: {}", min + random.within(0..2));
    }
    if random.percent(40) && !load.contains("iterations_per_user") {
        wanted += ", elastic: true";
    }
    wanted += *random.pick::<&str>(&["", "", ", share_by: even", ", share_by: capacity"]);
    if random.percent(10) {
        wanted += ", lease: 5s";
    }
    _ = writeln!(text, "agents: {{ {wanted} }}");
}
