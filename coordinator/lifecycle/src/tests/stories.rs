//! Whole runs, told event by event.

use volley_plan::Verdict;

use super::{
    A, B, MS, S, alive, iterations, new_run, pass, ping, settings, share_of, short, started, verdict, window,
    window_facts,
};
use crate::{Action, AgentState, Event, Gap, StopReason};

#[test]
fn case_01_a_count_is_granted_exactly() {
    for (requests, users) in [(100, 30), (7, 50), (401, 400)] {
        let mut run = started(&format!("users: {users}\nrequests: {requests}"), &[A, B]);
        let mut sequences = [0, 0];
        for round in 0..1000 {
            let (index, agent) = [(0, A), (1, B)][round % 2];
            let share = share_of(&run, agent).clone();
            if matches!(share.state, AgentState::Done) {
                continue;
            }
            let (undone, last) = (share.granted - share.reported.iterations.started, share.told_last);
            sequences[index] += 1;
            run.handle(S, Event::GrantWanted { agent, taken: share.granted_to, iterations: 5 });
            run.handle(S, window(agent, sequences[index], undone, last));
            if run.outcome().is_some() {
                break;
            }
        }
        assert_eq!(iterations(&run), (Some(requests), requests, 0, 0));
        assert_eq!(
            run.outcome().map(|outcome| (&outcome.reason, outcome.verdict)),
            Some((&StopReason::CountReached, Verdict::None))
        );
    }
}

#[test]
fn a_lost_agent_leaves_unknown_and_the_rest_goes_to_the_other() {
    let mut run = started("users: 2\nrequests: 100", &[A, B]);
    run.handle(S, window(A, 1, 7, false));
    alive(&mut run, &[B], S, 5 * S);
    let lost = run.agents().find(|agent| agent.was_lost()).expect("one is lost").clone();
    assert_eq!((lost.facts.incarnation, lost.unreported()), (A, 5));
    // B does all that was not granted: 100 - 12 of A.
    for sequence in 1..40 {
        let share = share_of(&run, B).clone();
        run.handle(5 * S, Event::GrantWanted { agent: B, taken: share.granted_to, iterations: 50 });
        let undone = share.granted - share.reported.iterations.started;
        run.handle(5 * S, window(B, sequence, undone, share.told_last));
        if share.told_last {
            break;
        }
    }
    assert_eq!(run.state().name(), "draining", "A may still come back");
    pass(&mut run, 60 * S);
    let accounts = run.accounts();
    assert_eq!((accounts.started, accounts.missed, accounts.unknown), (95, 0, 5));
    let outcome = run.outcome().expect("finished");
    assert!(outcome.incomplete);
    assert_eq!(outcome.verdict, Verdict::Invalid, "5 of 100 is more than 1 %");
}

#[test]
fn an_agent_that_comes_back_turns_unknown_into_started_and_missed() {
    let mut run = started("users: 2\nrequests: 100", &[A, B]);
    pass(&mut run, 3 * S);
    assert_eq!(run.agents().filter(|agent| agent.was_lost()).count(), 2);
    assert_eq!(run.accounts().unknown, 24);
    let told = short(&run.handle(5 * S, ping(A, 3)));
    assert_eq!(told, ["send a stop 3000+0"], "it learns that its share is gone, and gets no lease");
    run.handle(5 * S, window(A, 1, 9, true));
    let accounts = run.accounts();
    assert_eq!((accounts.started, accounts.unknown), (9, 12));
    pass(&mut run, 60 * S);
    let accounts = run.accounts();
    assert_eq!((accounts.started, accounts.missed, accounts.unknown), (9, 79, 12));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::AgentsLost));
}

#[test]
fn what_comes_after_the_end_is_kept_apart() {
    let mut run = started("users: 2\nduration: 10s", &[A, B]);
    pass(&mut run, 60 * S);
    let (before, outcome) = (run.accounts(), run.outcome().cloned());
    assert_eq!(run.to_keep(A, &window_facts(1, 50, 0, true)).map(|to_keep| to_keep.late), Some(true));
    let actions = run.handle(61 * S, window(A, 1, 50, true));
    assert_eq!(short(&actions), ["ack a 1", "send a release", "free a"]);
    assert_eq!((run.accounts(), run.outcome().cloned()), (before, outcome));
}

#[test]
fn a_timed_run_ends_on_time_and_waits_for_the_last_windows() {
    let mut run = started("users: 2\nduration: 10s\ndrain: 1s", &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    assert_eq!((run.state().name(), run.end_run_ns()), ("draining", Some(10 * S)));
    run.handle(10 * S, window(A, 1, 500, true));
    run.handle(11 * S, window(B, 1, 500, true));
    let outcome = run.outcome().expect("finished");
    assert_eq!(
        (&outcome.reason, outcome.incomplete, outcome.sentence.as_str()),
        (&StopReason::DurationOver, false, "")
    );
    assert_eq!(run.end_run_ns(), Some(10 * S));
    assert_eq!(run.active_run_ns(), Some(10 * S));
}

#[test]
fn half_of_the_results_lost_is_no_valid_run() {
    let mut run = started("users: 2\nrequests: 2", &[A, B]);
    let Event::Window { agent, mut facts } = window(A, 1, 1, false) else { unreachable!() };
    facts.ok = 0;
    run.handle(S, Event::Window { agent, facts });
    run.handle(S, window(B, 1, 1, true));
    pass(&mut run, 60 * S);
    let accounts = run.accounts();
    assert_eq!((accounts.started, accounts.ok, accounts.unresolved), (2, 1, 1));
    assert_eq!(run.outcome().map(|outcome| outcome.verdict), Some(Verdict::Invalid));
}

#[test]
fn without_a_count_what_a_lost_agent_sent_is_open() {
    let mut run = started("users: 2\nduration: 10s", &[A, B]);
    alive(&mut run, &[A], 0, 5 * S);
    assert!(run.accounts().unknown_is_open);
    run.handle(6 * S, window(B, 1, 3, true));
    assert!(!run.accounts().unknown_is_open, "it came back and told");
}

#[test]
fn a_last_window_just_before_the_deadline_is_the_end_of_the_time() {
    let mut run = started("users: 1\nduration: 10s", &[A]);
    alive(&mut run, &[A], 0, 9 * S);
    run.handle(10 * S - 2 * MS, window(A, 1, 500, true));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::DurationOver));
    assert_eq!(run.end_run_ns(), Some(10 * S));
}

#[test]
fn an_agent_that_ends_before_its_time_is_no_clean_end() {
    let mut run = started("users: 1\nduration: 10s", &[A]);
    run.handle(3 * S, window(A, 1, 500, true));
    let outcome = run.outcome().expect("finished");
    assert_eq!((outcome.verdict, outcome.incomplete), (Verdict::Invalid, true));
    let mut run = started("users: 1\nrequests: 100", &[A]);
    run.handle(3 * S, window(A, 1, 10, true));
    let accounts = run.accounts();
    assert_eq!((accounts.started, accounts.missed, accounts.unknown, accounts.fault()), (10, 90, 0, None));
    assert_eq!(run.outcome().map(|outcome| outcome.verdict), Some(Verdict::Invalid));
}

#[test]
fn a_count_cut_off_by_time_planned_what_it_did() {
    let mut run = started("users: 1\nrequests: 1000\nduration: 2s", &[A]);
    run.handle(2 * S, window(A, 1, 200, true));
    assert_eq!(iterations(&run), (Some(200), 200, 0, 0));
    let outcome = run.outcome().expect("finished");
    assert_eq!((&outcome.reason, outcome.verdict), (&StopReason::DurationOver, Verdict::None));
}

#[test]
fn silence_while_preparing_ends_it() {
    let (mut run, _) = new_run("users: 2\nrequests: 10", &[A, B]);
    run.handle(2 * S, ping(B, 1));
    pass(&mut run, 3 * S);
    let outcome = run.outcome().expect("finished");
    assert_eq!(outcome.sentence, "agent agent-a went silent while it prepared");
}

#[test]
fn a_number_for_each_user_needs_no_grants() {
    let mut run = started("users: 3\niterations_per_user: 4", &[A, B]);
    assert_eq!((share_of(&run, A).granted, share_of(&run, B).granted), (8, 4));
    assert_eq!(short(&run.handle(S, Event::GrantWanted { agent: A, taken: 0, iterations: 5 })), [""; 0]);
    let (mut lost, mut early) = (run.clone(), run.clone());

    run.handle(S, window(A, 1, 8, true));
    assert_eq!((run.state().name(), iterations(&run)), ("running", (Some(12), 8, 0, 0)));
    run.handle(2 * S, window(B, 1, 4, true));
    assert_eq!(iterations(&run), (Some(12), 12, 0, 0));
    assert_eq!(verdict(&run), (Verdict::None, ""));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::CountReached));

    lost.handle(S, window(A, 1, 8, true));
    pass(&mut lost, 4 * S);
    assert_eq!(iterations(&lost), (Some(12), 8, 0, 4));
    assert_eq!(lost.gap(share_of(&lost, B)), Gap { missed: 0, unknown: 4 });
    lost.handle(5 * S, window(B, 1, 3, true));
    assert_eq!(iterations(&lost), (Some(12), 11, 1, 0));

    early.handle(S, window(A, 1, 5, true));
    assert!(share_of(&early, A).was_lost(), "it had work left");
    early.handle(2 * S, window(B, 1, 4, true));
    assert_eq!(iterations(&early), (Some(12), 9, 3, 0));
}

#[test]
fn a_number_for_each_user_cut_off_by_time_planned_what_was_done() {
    let mut run = started("users: 1\niterations_per_user: 1000\nduration: 2s", &[A]);
    run.handle(2 * S, window(A, 1, 200, true));
    assert_eq!(iterations(&run), (Some(200), 200, 0, 0));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::DurationOver));
}

#[test]
fn users_that_are_gone_before_the_end_have_no_time_left() {
    let load = "load:\n  stages:\n    - { users: 2, for: 4s }\n    - { ramp_to: 0, for: 4s }\n    - { users: 0, for: 4s }";
    // User 1 of B goes at 5 s, user 0 of A at 7 s: there are u(t) + ½ of them, rounded down.
    let mut run = started(load, &[A, B]);
    alive(&mut run, &[A, B], 0, 5 * S);
    let mut early = run.clone();
    run.handle(5 * S, window(B, 1, 50, true));
    assert!(!share_of(&run, B).was_lost());
    alive(&mut run, &[A], 5 * S, 7 * S);
    run.handle(7 * S, window(A, 1, 70, true));
    assert_eq!(verdict(&run), (Verdict::None, ""));
    assert_eq!((run.end_run_ns(), run.accounts().planned_user_ms), (Some(12 * S), 12_000));
    early.handle(5 * S, window(A, 1, 50, true));
    assert!(share_of(&early, A).was_lost(), "its user had two seconds left");
}

#[test]
fn the_time_of_lost_users_counts_without_the_warm_up() {
    let mut run = started("users: 4\nwarmup: 2s\nduration: 10s", &[A, B]);
    assert_eq!(run.accounts().planned_user_ms, 40_000);
    alive(&mut run, &[A, B], 0, 3 * S);
    run.handle(3 * S, window(A, 1, 5, false));
    alive(&mut run, &[B], 3 * S, 7 * S);
    // Seconds before 1 are reported, and those before 2 are warm-up; B has A's users from 6 s on, and over 5 s.
    assert_eq!(run.accounts().lost_user_ms, 8_000 + 5_000);
    let Event::Window { agent, mut facts } = window(A, 2, 5, false) else { unreachable!() };
    facts.watermark_s = 5;
    run.handle(7 * S, Event::Window { agent, facts });
    assert_eq!(run.accounts().lost_user_ms, 2_000 + 5_000);
    run.handle(8 * S, Event::StopAsked);
    let accounts = run.accounts();
    assert_eq!((accounts.planned_user_ms, accounts.lost_user_ms), (24_000, 2_000 + 3_200));
    run.handle(8 * S, window(B, 1, 5, true));
    pass(&mut run, 60 * S);
    assert!(verdict(&run).1.contains("users' time was lost"), "{:?}", run.outcome());
}

#[test]
fn a_warm_up_is_run_time_and_not_measured() {
    let mut run = started("users: 1\nwarmup: 5s\nduration: 10s", &[A]);
    alive(&mut run, &[A], 0, 14 * S);
    assert_eq!(run.state().name(), "running");
    pass(&mut run, 15 * S);
    assert_eq!((run.end_run_ns(), run.measured_ns()), (Some(15 * S), Some(10 * S)));
    let mut facts = window_facts(1, 100, 0, true);
    facts.latest_ns = 15 * S + 7 * MS;
    run.handle(15 * S, Event::Window { agent: A, facts });
    assert_eq!((run.end_run_ns(), run.active_run_ns()), (Some(15 * S), Some(15 * S + 7 * MS)));
    assert_eq!(run.measured_ns(), Some(10 * S + 7 * MS));
    assert_eq!(verdict(&run), (Verdict::None, ""));
}

#[test]
fn the_plans_drain_is_waited_for() {
    let mut run = started("users: 1\nduration: 10s\ndrain: 7s", &[A]);
    alive(&mut run, &[A], 0, 10 * S);
    assert_eq!(run.deadline_ns(), Some(13 * S), "silence comes first");
    alive(&mut run, &[A], 10 * S, 26 * S);
    assert_eq!(run.deadline_ns(), Some(27 * S), "the drain, and ten seconds for reports that are owed");
}

#[test]
fn a_second_stop_cuts_off_what_is_in_flight() {
    let mut run = started("users: 2\nduration: 10s\ndrain: 60s", &[A, B]);
    run.handle(S, Event::StopAsked);
    let patience_ns = settings().owed_ns;
    assert_eq!(run.deadline_ns().map(|_| run.state().name()), Some("draining"));
    alive(&mut run, &[A, B], S, 5 * S);
    run.handle(5 * S, window(A, 1, 5, true));
    let actions = run.handle(5 * S, Event::StopAsked);
    assert_eq!(short(&actions), ["note", "send b stop 1000+0"], "A has delivered");
    let Some(Action::Note(note)) = actions.first() else { panic!("{actions:?}") };
    assert_eq!(note.text, "what is in flight is cut off, as was asked for");
    assert_eq!(short(&run.handle(5 * S, Event::StopAsked)), Vec::<String>::new(), "once is enough");
    alive(&mut run, &[B], 5 * S, 5 * S + patience_ns);
    assert_eq!(run.state().name(), "finished");
    assert!(share_of(&run, B).was_lost(), "it did not deliver in time");
}

#[test]
fn a_stop_in_the_drain_at_the_planned_end_cuts_off_too() {
    let mut run = started("users: 1\nduration: 2s\ndrain: 60s", &[A]);
    alive(&mut run, &[A], 0, 3 * S);
    assert_eq!(run.state().name(), "draining");
    let actions = run.handle(3 * S, Event::StopAsked);
    assert_eq!(short(&actions), ["note", "send a stop 2000+0"]);
    let Some(Action::Note(note)) = actions.first() else { panic!("{actions:?}") };
    assert_eq!(note.text, "what is in flight is cut off, as was asked for");
    run.handle(4 * S, window(A, 1, 5, true));
    let outcome = run.outcome().expect("finished");
    assert_eq!((&outcome.reason, outcome.verdict), (&StopReason::DurationOver, Verdict::None));
}
