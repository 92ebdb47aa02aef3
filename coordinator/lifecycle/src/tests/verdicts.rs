//! When a measurement can't be trusted, and what else is said at the end.

use volley_plan::Verdict;
use volley_plan::health::HealthSum;
use volley_plan::link::WindowFacts;
use volley_stats::Health;

use super::{A, B, MS, S, pass, started, verdict, window, window_facts};
use crate::{Action, Event, Level, Run};

/// The health of so many seconds, of which the last `late` ones had a lag of 50 ms under a CPU quota.
fn health(seconds: usize, late: usize) -> HealthSum {
    let good = Health { span_ns: S, latency_p99_ns: MS, ..Health::default() };
    let bad = Health { lag_p99_ns: 50 * MS, lag_max_ns: 60 * MS, throttled_ns: 40 * MS, ..good };
    let mut sum = HealthSum::default();
    (0..seconds).for_each(|second| sum.add(if second + late < seconds { &good } else { &bad }, true, 1));
    sum
}

/// A run of one agent and 1,000 requests that ended with `facts`; and the warnings said at its end.
fn ended(load: &str, facts: WindowFacts) -> (Run, Vec<String>) {
    let mut run = started(&format!("users: 1\nrequests: 1000\n{load}"), &[A]);
    let taken = share_taken(&mut run);
    assert_eq!(taken, 1000);
    let actions = run.handle(S, Event::Window { agent: A, facts });
    assert_eq!(actions.last(), Some(&Action::Finished));
    (run, warnings(&actions))
}

/// Grants the one agent everything.
fn share_taken(run: &mut Run) -> u64 {
    for _ in 0..1000 {
        let share = super::share_of(run, A).clone();
        if share.told_last {
            return share.granted;
        }
        run.handle(0, Event::GrantWanted { agent: A, taken: share.granted_to, iterations: 1000 });
    }
    panic!("grants that never end: {run:?}");
}

fn warnings(actions: &[Action]) -> Vec<String> {
    let warning = |action: &Action| match action {
        Action::Note(note) if note.level == Level::Warn => Some(note.text.clone()),
        _ => None,
    };
    actions.iter().filter_map(warning).collect()
}

/// Checks the verdict, what its sentence contains, and what the warnings contain.
fn check(load: &str, facts: WindowFacts, expected: Verdict, sentence: &str, notes: &[&str]) {
    let (run, warnings) = ended(load, facts);
    let (verdict, said) = verdict(&run);
    assert_eq!(verdict, expected, "{said}");
    assert!(if sentence.is_empty() { said.is_empty() } else { said.contains(sentence) }, "{said}");
    assert_eq!(warnings.len(), notes.len(), "{warnings:?}");
    for (warning, note) in warnings.iter().zip(notes) {
        assert!(warning.contains(note), "{warnings:?}");
    }
}

fn good() -> WindowFacts {
    window_facts(1, 1000, 0, true)
}

#[test]
fn a_generator_that_was_late_makes_the_run_invalid() {
    let facts = |seconds, late| WindowFacts { health: health(seconds, late), ..good() };
    check("", good(), Verdict::None, "", &[]);
    check("", facts(20, 0), Verdict::None, "", &[]);
    check("", facts(20, 1), Verdict::None, "", &["agent agent-a was late in 1 of 20 seconds"]);
    check(
        "",
        facts(20, 2),
        Verdict::Invalid,
        "agent agent-a was late in 2 of 20 seconds, by up to 60 ms: a CPU quota",
        &[],
    );
    let failed = WindowFacts { ok: 0, failed: 1000, ..facts(20, 2) };
    check("", failed, Verdict::Invalid, "nothing succeeded; agent agent-a was late", &[]);
}

#[test]
fn the_health_of_several_windows_adds_up() {
    let mut run = started("users: 1\nduration: 20s", &[A]);
    for sequence in 1..=20 {
        let facts = WindowFacts {
            health: health(1, usize::from(sequence % 10 == 0)),
            ..window_facts(sequence, 10, 0, sequence == 20)
        };
        run.handle(sequence * S, Event::Window { agent: A, facts });
    }
    assert!(verdict(&run).1.contains("late in 2 of 20 seconds"), "{:?}", run.outcome());
}

#[test]
fn not_every_late_agent_is_named() {
    let agents: Vec<_> = (1..=30).map(volley_plan::link::Incarnation).collect();
    let mut run = started("users: 30\nduration: 1s", &agents);
    let mut actions = Vec::new();
    for &agent in &agents {
        let health = if agent.0 <= 25 { health(20, 1) } else { health(2, 2) };
        actions = run
            .handle(S, Event::Window { agent, facts: WindowFacts { health, ..window_facts(1, 5, 0, true) } });
    }
    let (verdict, said) = verdict(&run);
    assert_eq!((verdict, said.matches("was late").count()), (Verdict::Invalid, 3), "{said}");
    assert!(said.ends_with("2 agents more late"), "{said}");
    let warnings = warnings(&actions);
    assert_eq!(
        (warnings.len(), warnings.last().map(String::as_str)),
        (21, Some("5 more notes on the health of agents left out"))
    );
}

#[test]
fn case_14_a_generator_without_ports_or_descriptors_says_so() {
    let without_port = |n| WindowFacts { ok: 1000 - n, failed: n, without_port: n, ..good() };
    check("", without_port(10), Verdict::None, "", &["the generator had no local port left for 10"]);
    check("", without_port(50), Verdict::Invalid, "the generator had no local port left for 50", &[]);
    check("tolerate: 5%", without_port(50), Verdict::None, "", &["no local port left for 50"]);
    let descriptors = WindowFacts { ok: 900, failed: 100, without_descriptor: 100, ..good() };
    check("", descriptors, Verdict::Invalid, "had no descriptor left for 100", &[]);
}

#[test]
fn the_plan_says_what_is_tolerated() {
    for (tolerate, expected) in [("4.9%", Verdict::Invalid), ("5%", Verdict::None)] {
        let mut run =
            started(&format!("rate: 100/s\nduration: 10s\ntolerate: {tolerate}\nmax_in_flight: 10"), &[A]);
        run.handle(10 * S, Event::Window { agent: A, facts: window_facts(1, 950, 50, true) });
        assert_eq!(verdict(&run).0, expected, "{tolerate}");
    }
}

#[test]
fn what_an_agent_misses_that_is_there_and_on_time_has_a_reason() {
    let load = "rate: 30/s\nduration: 10s\nmax_in_flight: 20";
    let said = |load: &str, facts: WindowFacts| {
        let mut run = started(load, &[A]);
        pass(&mut run, 2 * S);
        run.handle(10 * S, super::ping(A, 9));
        pass(&mut run, 10 * S);
        run.handle(10 * S, Event::Window { agent: A, facts });
        verdict(&run).1.to_owned()
    };
    let (missed, why) = (
        "180 missed of 300 planned iterations, more than 1%",
        "most likely more were waiting for the target",
    );
    let facts = window_facts(1, 120, 180, true);
    assert_eq!(said(load, facts), format!("{missed}: {why} than `max_in_flight` (20) permits"));
    assert_eq!(
        said(&format!("{load}\nconnections: 5"), facts),
        format!("{missed}: {why} than `max_in_flight` (20) permits and `connections` (5) carry")
    );
    let late = said(load, WindowFacts { health: health(5, 5), ..facts });
    assert!(late.starts_with(&format!("{missed}; agent agent-a was late")), "{late}");
    let failed = said(load, WindowFacts { ok: 0, failed: 120, ..facts });
    assert!(failed.ends_with("permits; nothing succeeded"), "{failed}");
}

#[test]
fn nothing_ok_is_invalid() {
    let facts = WindowFacts { ok: 0, failed: 1000, ..good() };
    check("", facts, Verdict::Invalid, "nothing succeeded", &[]);
    let mut run = started("users: 2\nduration: 1s", &[A, B]);
    run.handle(S, window(A, 1, 0, true));
    run.handle(S, window(B, 1, 0, true));
    assert_eq!(verdict(&run), (Verdict::Invalid, "nothing succeeded"));
}

#[test]
fn absurd_claims_show_in_the_account_and_break_nothing() {
    let absurd = WindowFacts {
        latest_ns: u64::MAX,
        watermark_s: u32::MAX,
        without_port: u64::MAX,
        cancelled: u64::MAX,
        ..window_facts(1, 0, u64::MAX, false)
    };
    let absurd = [WindowFacts { started: u64::MAX, ..absurd }, WindowFacts { ok: u64::MAX, ..absurd }];
    for load in [
        "users: 2\nrequests: 10",
        "users: 2\nduration: 10s",
        "users: 2\niterations_per_user: 5",
        "rate: 10/s\nduration: 10s",
    ] {
        for mut facts in absurd {
            for last in [false, true] {
                (facts.last, facts.iterations.started) = (last, facts.started);
                let mut run = started(load, &[A, B]);
                run.handle(S, Event::Window { agent: A, facts });
                run.handle(S, Event::Window { agent: A, facts: WindowFacts { sequence: 2, ..facts } });
                pass(&mut run, 5 * S);
                run.handle(5 * S, Event::Window { agent: B, facts });
                pass(&mut run, 600 * S);
                assert_eq!(verdict(&run).0, Verdict::Invalid, "{load}");
            }
        }
    }
}
