//! Whole runs of the open model, told event by event.

use volley_plan::Model;
use volley_plan::Verdict;
use volley_plan::link::Incarnation;

use super::{
    A, B, MS, S, alive, iterations, new_run_with, notes, pass, ping, share_of, short, started, verdict,
    window, window_facts,
};
use crate::{Event, Gap, Run, Settings, StopReason};

/// 100 arrivals a second for 10 s, half of them on each of two agents.
const LOAD: &str = "rate: 100/s\nduration: 10s\nmax_in_flight: 100";

fn report(run: &mut Run, now_ns: u64, agent: Incarnation, started: u64, missed: u64, last: bool) {
    let sequence = share_of(run, agent).reported.sequence + 1;
    run.handle(now_ns, Event::Window { agent, facts: window_facts(sequence, started, missed, last) });
}

/// A reported its first second, 50 iterations, was last heard of at 2 s, and is lost at 5 s.
fn with_a_lost() -> Run {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    report(&mut run, 2 * S, A, 50, 0, false);
    alive(&mut run, &[B], 2 * S, 5 * S);
    assert!(share_of(&run, A).was_lost());
    run
}

#[test]
fn an_open_run_ends_on_time_with_all_that_was_due() {
    let mut run = started(LOAD, &[A, B]);
    assert_eq!(iterations(&run), (Some(1000), 0, 0, 0));
    alive(&mut run, &[A, B], 0, 10 * S);
    assert_eq!((run.state().name(), run.end_run_ns()), ("draining", Some(10 * S)));
    report(&mut run, 10 * S, A, 500, 0, true);
    report(&mut run, 10 * S, B, 495, 5, true);
    assert_eq!(iterations(&run), (Some(1000), 995, 5, 0));
    assert_eq!(verdict(&run), (Verdict::None, ""), "5 of 1,000 are borne");
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::DurationOver));
}

#[test]
fn what_a_lease_permitted_is_unknown_and_the_rest_is_done_by_others() {
    let mut run = with_a_lost();
    // Its lease ended at 5 s: 250 arrivals, of which it reported 50.
    assert_eq!(iterations(&run), (Some(1000), 50, 0, 200));
    alive(&mut run, &[B], 5 * S, 10 * S);
    assert_eq!(run.gap(share_of(&run, A)), Gap { missed: 0, unknown: 200 });
    assert_eq!((run.part_at(share_of(&run, A), 4 * S), run.part_at(share_of(&run, A), 5 * S)), (0.5, 0.0));
    report(&mut run, 10 * S, B, 750, 0, true);
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(1000), 800, 0, 200));
    let expected = "200 unknown of 1,000 planned iterations, more than 1%; lost 1 agent: agent-a";
    assert_eq!(verdict(&run), (Verdict::Invalid, expected));
}

#[test]
fn what_was_due_from_the_leases_end_to_the_hand_over_is_missed() {
    let settings = Settings { lead_ns: 1500 * MS, ..Settings::default() };
    let (mut run, _) = new_run_with(settings, LOAD, &[A, B]);
    run.handle(0, Event::Ready { agent: A });
    run.handle(0, Event::Ready { agent: B });
    // Run time 0 is at 1.5 s, so A's lease ends at 5 s of run time, and B has its part at 6.5 s.
    alive(&mut run, &[A, B], 500 * MS, 3500 * MS);
    report(&mut run, 3500 * MS, A, 100, 0, false);
    let actions = alive(&mut run, &[B], 3500 * MS, 7 * S);
    assert!(short(&actions).contains(&"send b change 6500 2520".to_owned()), "{:?}", short(&actions));
    let said = "agent agent-a was lost: 150 iterations unknown, 0 requests in flight unresolved; its part goes to agent-b \
                from 6.5 s on";
    assert_eq!(notes(&actions), [said]);
    assert_eq!(iterations(&run), (Some(1000), 100, 0, 150));
    alive(&mut run, &[B], 7 * S, 7500 * MS);
    assert_eq!(iterations(&run), (Some(1000), 100, 50, 150), "as time passes, by whole seconds");
    alive(&mut run, &[B], 8 * S, 11_500 * MS);
    assert_eq!(iterations(&run), (Some(1000), 100, 75, 150));
    let of = |missed, unknown| Gap { missed, unknown };
    let expected = [(2, of(0, 50)), (3, of(0, 50)), (4, of(0, 50)), (5, of(50, 0)), (6, of(25, 0))];
    assert_eq!(run.gap_by_second(share_of(&run, A)), expected.into());
    report(&mut run, 11_500 * MS, B, 675, 0, true);
    let mut back = run.clone();
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(1000), 775, 75, 150));
    report(&mut back, 11_500 * MS, A, 150, 75, true);
    assert_eq!(iterations(&back), (Some(1000), 925, 75, 0));
}

#[test]
fn a_lease_ends_between_seconds() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    run.handle(2300 * MS, ping(A, 1000));
    alive(&mut run, &[B], 2500 * MS, 5500 * MS);
    assert_eq!(iterations(&run), (Some(1000), 0, 0, 265), "until 5.3 s");
    alive(&mut run, &[B], 6 * S, 10 * S);
    report(&mut run, 10 * S, B, 735, 0, true);
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(1000), 735, 0, 265));
}

#[test]
fn an_agent_that_comes_back_leaves_nothing_unknown() {
    let mut run = with_a_lost();
    alive(&mut run, &[B], 5 * S, 8 * S);
    assert_eq!(short(&run.handle(8 * S, ping(A, 2))), ["send a stop 5000+0"], "it gets no lease");
    report(&mut run, 8 * S, A, 190, 0, false);
    assert_eq!(iterations(&run), (Some(1000), 240, 0, 10));
    report(&mut run, 8 * S, A, 0, 10, true);
    assert_eq!(iterations(&run), (Some(1000), 240, 10, 0));
    alive(&mut run, &[B], 8 * S, 10 * S);
    report(&mut run, 10 * S, B, 750, 0, true);
    assert_eq!(iterations(&run), (Some(1000), 990, 10, 0));
    let outcome = run.outcome().expect("nothing is owed");
    assert_eq!((outcome.verdict, outcome.incomplete), (Verdict::None, true));
}

#[test]
fn what_an_agent_had_leave_for_until_the_end_is_unknown() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    report(&mut run, 10 * S, B, 500, 0, true);
    report(&mut run, 10 * S, A, 400, 0, false);
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(1000), 900, 0, 100), "lost after the stop");
}

#[test]
fn what_was_missed_after_the_lease_is_not_missed_twice() {
    // The coordinator slept: A's lease ended at 5 s, and it is lost, and told to stop, at 7 s.
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    report(&mut run, 2 * S, A, 100, 0, false);
    run.handle(7 * S, ping(B, 1000));
    run.handle(7 * S, Event::Time);
    assert_eq!(iterations(&run), (Some(1000), 100, 100, 150));
    let mut mixed = run.clone();
    // One worker's missed ones come before what another had sent.
    report(&mut mixed, 7 * S, A, 0, 40, false);
    assert_eq!(iterations(&mixed), (Some(1000), 100, 100, 150));
    report(&mut mixed, 7 * S, A, 150, 60, true);
    assert_eq!(iterations(&mixed), (Some(1000), 250, 100, 0));

    report(&mut run, 7 * S, A, 150, 40, false);
    assert_eq!(iterations(&run), (Some(1000), 250, 100, 0));
    report(&mut run, 7 * S, A, 0, 60, true);
    assert_eq!(iterations(&run), (Some(1000), 250, 100, 0));
    alive(&mut run, &[B], 7 * S, 10 * S);
    report(&mut run, 10 * S, B, 650, 0, true);
    assert_eq!(iterations(&run), (Some(1000), 900, 100, 0));
}

#[test]
fn a_stop_plans_what_was_due_before_it_and_what_was_done_until_it_was_heard_of() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 4 * S);
    run.handle(4 * S, Event::StopAsked);
    assert_eq!(iterations(&run), (Some(400), 0, 0, 0));
    let (mut lost, mut absurd, mut short_of) = (run.clone(), run.clone(), run.clone());
    report(&mut run, 4 * S, A, 200, 0, true);
    // B hears of it 200 ms later.
    report(&mut run, 5 * S, B, 207, 3, true);
    assert_eq!(
        iterations(&run),
        (Some(407), 407, 0, 0),
        "what it turned away after the stop was not planned"
    );
    assert_eq!(verdict(&run), (Verdict::None, ""));

    report(&mut lost, 4 * S, A, 200, 0, true);
    report(&mut lost, 4 * S, B, 150, 0, false);
    pass(&mut lost, 60 * S);
    assert_eq!(iterations(&lost), (Some(400), 350, 0, 50), "what it did after the stop is in no account");

    let mut slow = absurd.clone();
    report(&mut slow, 4 * S, A, 200, 0, true);
    report(&mut slow, 5 * S, B, 351, 0, false);
    alive(&mut slow, &[B], 5 * S, 25 * S);
    assert!(verdict(&slow).1.contains("does not add up: 550 planned"), "later leases are for answers");

    // Leases ended at 7 s, so nobody can have taken up more than 350.
    report(&mut absurd, 5 * S, A, 200, 0, true);
    report(&mut absurd, 5 * S, B, 351, 0, true);
    assert!(verdict(&absurd).1.contains("does not add up: 550 planned"), "{:?}", absurd.outcome());

    report(&mut short_of, 5 * S, A, 200, 0, true);
    report(&mut short_of, 5 * S, B, 199, 0, true);
    assert!(verdict(&short_of).1.contains("does not add up: 400 planned"), "{:?}", short_of.outcome());
}

#[test]
fn what_is_missed_after_a_stop_that_was_not_heard_of_does_not_count() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 4 * S);
    report(&mut run, 4 * S, A, 190, 5, false);
    run.handle(4 * S, Event::StopAsked);
    report(&mut run, 4 * S, B, 200, 0, true);
    let mut never = run.clone();
    // It turns the rest of its arrivals away at the end of the plan's time.
    report(&mut never, 10 * S, A, 5, 300, true);
    assert_eq!(iterations(&never), (Some(400), 395, 5, 0));
    assert_eq!(verdict(&never).0, Verdict::Invalid);

    // What counts as missed goes on counting, however much it starts until it hears of the stop.
    report(&mut run, 5 * S, A, 3, 2, false);
    assert_eq!(iterations(&run), (Some(400), 393, 7, 0));
    report(&mut run, 6 * S, A, 20, 60, true);
    assert_eq!(iterations(&run), (Some(420), 413, 7, 0));
}

#[test]
fn without_any_agent_the_load_stops() {
    let mut run = started(LOAD, &[A]);
    report(&mut run, S, A, 100, 0, false);
    pass(&mut run, 3 * S);
    assert_eq!((run.state().name(), iterations(&run)), ("draining", (Some(300), 100, 0, 200)));
    let mut back = run.clone();
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(300), 100, 0, 200));
    assert!(verdict(&run).1.starts_with("no agent was left (agent-a)"), "{:?}", run.outcome());
    report(&mut back, 5 * S, A, 180, 0, true);
    assert_eq!(iterations(&back), (Some(300), 280, 20, 0));
}

#[test]
fn an_agent_of_an_open_run_that_ends_before_its_time_is_lost() {
    let mut run = started(LOAD, &[A, B]);
    report(&mut run, 2 * S, A, 100, 0, true);
    assert!(share_of(&run, A).was_lost());
    alive(&mut run, &[B], 2 * S, 4 * S);
    assert_eq!(iterations(&run), (Some(1000), 100, 0, 0));
    alive(&mut run, &[B], 4 * S, 10 * S);
    report(&mut run, 10 * S, B, 900, 0, true);
    assert_eq!(iterations(&run), (Some(1000), 1000, 0, 0));
    assert_eq!(verdict(&run), (Verdict::None, "lost 1 agent: agent-a"));
}

#[test]
fn arrivals_that_are_used_up_are_an_end() {
    let mut run = started("rate: 10/s\niterations: 20", &[A, B]);
    assert_eq!(iterations(&run), (Some(20), 0, 0, 0));
    alive(&mut run, &[A, B], 0, 1500 * MS);
    let mut slow = run.clone();
    alive(&mut slow, &[A, B], 2 * S, 3 * S);
    assert_eq!((slow.state().name(), slow.stop_reason()), ("draining", Some(&StopReason::CountReached)));
    report(&mut run, 1900 * MS, A, 10, 0, true);
    assert_eq!(run.state().name(), "running");
    let mut facts = window_facts(1, 10, 0, true);
    facts.latest_ns = 1_903 * MS;
    run.handle(1_905 * MS, Event::Window { agent: B, facts });
    assert_eq!(iterations(&run), (Some(20), 20, 0, 0));
    let outcome = run.outcome().expect("finished");
    assert_eq!((&outcome.reason, outcome.verdict), (&StopReason::CountReached, Verdict::None));
    assert_eq!((run.end_run_ns(), run.measured_ns()), (Some(1_903 * MS), Some(1_903 * MS)));
}

#[test]
fn a_number_that_time_does_not_reach_ends_by_time() {
    let mut run = started("rate: 10/s\niterations: 50\nduration: 3s", &[A]);
    assert_eq!(iterations(&run), (Some(30), 0, 0, 0));
    alive(&mut run, &[A], 0, 2_500 * MS);
    // Its last arrival was at 2.9 s.
    report(&mut run, 2_950 * MS - 60 * MS, A, 30, 0, true);
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::DurationOver));
    assert_eq!((run.end_run_ns(), iterations(&run)), (Some(3 * S), (Some(30), 30, 0, 0)));
}

#[test]
fn case_31_only_the_measured_part_is_in_the_account() {
    let mut run = started("rate: 20/s\nwarmup: 5s\nduration: 10s", &[A, B]);
    assert_eq!(iterations(&run), (Some(200), 0, 0, 0));
    alive(&mut run, &[A, B], 0, 15 * S);
    report(&mut run, 15 * S, A, 100, 0, true);
    report(&mut run, 15 * S, B, 100, 0, true);
    assert_eq!(iterations(&run), (Some(200), 200, 0, 0));
    assert_eq!(verdict(&run), (Verdict::None, ""));
    assert_eq!((run.end_run_ns(), run.measured_ns()), (Some(15 * S), Some(10 * S)));
}

#[test]
fn an_agent_lost_in_the_warm_up_leaves_nothing_unknown() {
    let mut run = started("rate: 20/s\nwarmup: 5s\nduration: 10s", &[A, B]);
    alive(&mut run, &[B], 0, 15 * S);
    report(&mut run, 15 * S, B, 200, 0, true);
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(200), 200, 0, 0), "its lease ended before the measured part began");
}

#[test]
fn a_run_stopped_in_its_warm_up_measured_nothing() {
    for load in ["rate: 20/s\nwarmup: 5s\nduration: 10s", "users: 2\nwarmup: 5s\nduration: 10s"] {
        let mut run = started(load, &[A]);
        run.handle(2 * S, Event::StopAsked);
        run.handle(2 * S, window(A, 1, 0, true));
        let expected = "it was over before its warm-up was, so nothing was measured";
        assert_eq!(verdict(&run), (Verdict::Invalid, expected), "{load}");
        assert_eq!((run.end_run_ns(), run.measured_ns()), (Some(2 * S), Some(0)));
    }
}

#[test]
fn a_run_that_never_started_missed_all_it_planned() {
    let load = format!("{LOAD}\nagents: {{ min: 2, wait: 10s }}");
    let (mut run, _) = super::new_run(&load, &[A]);
    assert_eq!(iterations(&run), (Some(1000), 0, 0, 0));
    pass(&mut run, 10 * S);
    assert_eq!(iterations(&run), (Some(1000), 0, 1000, 0));
}

#[test]
fn poisson_arrivals_are_counted_by_the_runs_seed() {
    let mut run = started("rate: 100/s\nduration: 10s\narrivals: poisson\nmax_in_flight: 100", &[A, B]);
    let Model::Open(open) = &run.plan().load.model else { panic!("an open load") };
    let mut counter = open.schedule(7).expect("a schedule").counter();
    let (due, all) = (counter.arrivals_before(4 * S), counter.arrivals_before(10 * S));
    assert!(due != 400 || all != 1000, "they come by chance");
    assert_eq!(iterations(&run).0, Some(all));
    alive(&mut run, &[A, B], 0, 4 * S);
    run.handle(4 * S, Event::StopAsked);
    assert_eq!(iterations(&run).0, Some(due));
}
