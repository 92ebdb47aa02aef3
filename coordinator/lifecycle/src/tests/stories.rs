//! Whole runs, told event by event.

use volley_plan::Verdict;

use super::{A, B, MS, S, new_run, pass, ping, short, started, window};
use crate::{Action, AgentState, Event, Run, StopReason};

/// Pings of both agents every half second from `from_ns` to `to_ns`.
fn alive(run: &mut Run, agents: &[volley_plan::link::Incarnation], from_ns: u64, to_ns: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut now_ns = from_ns;
    while now_ns <= to_ns {
        actions.extend(pass(run, now_ns));
        for &agent in agents {
            actions.extend(run.handle(now_ns, ping(agent, 1_000)));
        }
        now_ns += 500 * MS;
    }
    actions
}

#[test]
fn case_01_a_count_is_granted_exactly() {
    for (requests, users) in [(100, 30), (7, 50), (401, 400)] {
        let mut run = started(&format!("users: {users}\nrequests: {requests}"), &[A, B]);
        let mut sequences = [0, 0];
        for round in 0..1000 {
            let (index, agent) = [(0, A), (1, B)][round % 2];
            let share =
                run.agents().find(|share| share.facts.incarnation == agent).expect("takes part").clone();
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
        let accounts = run.accounts();
        assert_eq!(
            (accounts.planned, accounts.started, accounts.missed, accounts.unknown),
            (Some(requests), requests, 0, 0)
        );
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
        let share = run.agents().find(|share| share.facts.incarnation == B).expect("takes part").clone();
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
    let actions = run.handle(61 * S, window(A, 1, 50, true));
    assert_eq!(short(&actions), ["keep a 1 late", "ack a 1", "send a release", "free a"]);
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
    let accounts = run.accounts();
    assert_eq!((accounts.planned, accounts.started, accounts.missed), (Some(200), 200, 0));
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
fn users_are_split_evenly_and_an_agent_without_any_is_let_go() {
    let agents: Vec<_> = (1..=3).map(volley_plan::link::Incarnation).collect();
    let (run, _) = new_run("users: 10\nrequests: 10", &agents);
    assert_eq!(run.agents().map(|agent| agent.share.users).collect::<Vec<_>>(), [4, 3, 3]);
    assert_eq!(run.agents().map(|agent| agent.share.first_user).collect::<Vec<_>>(), [0, 4, 7]);
    let (run, actions) = new_run("users: 2\nrequests: 10", &agents);
    assert_eq!(run.agents().count(), 2);
    assert!(actions.contains(&Action::Free { agent: agents[2] }));
}

#[test]
fn nothing_ok_is_invalid() {
    let mut run = started("users: 1\nrequests: 2", &[A]);
    let Event::Window { agent, mut facts } = window(A, 1, 2, true) else { unreachable!() };
    (facts.ok, facts.failed) = (0, 2);
    run.handle(S, Event::Window { agent, facts });
    let outcome = run.outcome().expect("finished");
    assert_eq!((outcome.verdict, outcome.sentence.as_str()), (Verdict::Invalid, "nothing succeeded"));
}
