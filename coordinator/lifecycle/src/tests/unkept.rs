//! What becomes of a run when nothing can be kept any more.

use volley_plan::Verdict;

use super::{A, B, S, alive, iterations, share_of, short, started, verdict, window, window_facts};
use crate::{AgentState, Event, Gap, Run, StopReason, ToKeep};

fn broken() -> Event {
    Event::StoreFailed { reason: "no space left".to_owned() }
}

/// A has reported two seconds of its part and B one; then the store fails at 3 s.
fn unkept(load: &str) -> Run {
    let mut run = started(load, &[A, B]);
    alive(&mut run, &[A, B], 0, 3 * S);
    run.handle(3 * S, window(A, 1, 5, false));
    run.handle(3 * S, window(A, 2, 5, false));
    run.handle(3 * S, window(B, 1, 5, false));
    run.handle(3 * S, broken());
    run
}

#[test]
fn what_was_not_kept_is_unknown_and_the_account_adds_up() {
    let check = |load: &str, expected| {
        let run = unkept(load);
        assert_eq!(iterations(&run), expected, "{load}");
        assert_eq!(run.accounts().fault(), None, "{load}");
        let outcome = run.outcome().expect("nothing is waited for");
        assert_eq!(outcome.reason, StopReason::StoreFailed("no space left".to_owned()));
        assert_eq!((outcome.verdict, outcome.incomplete), (Verdict::Invalid, false), "nobody was lost");
        assert_eq!(verdict(&run).1, "results could not be kept: no space left");
        for agent in [A, B] {
            assert_eq!(share_of(&run, agent).state, AgentState::Undelivered);
        }
        run
    };
    let run = check("rate: 10/s\nduration: 60s", (Some(30), 15, 0, 15));
    assert_eq!(run.gap(share_of(&run, B)), Gap { missed: 0, unknown: 10 });
    // Twelve each were granted, of a hundred.
    check("users: 2\nrequests: 100", (Some(100), 15, 76, 9));
    check("users: 2\niterations_per_user: 20", (Some(40), 15, 0, 25));
    let run = check("users: 2\nduration: 60s", (None, 15, 0, 0));
    assert!(run.accounts().unknown_is_open, "nobody can say how much that is");
}

#[test]
fn requests_in_flight_when_the_store_fails_are_unresolved() {
    let mut run = started("users: 2\nduration: 60s", &[A, B]);
    let mut facts = window_facts(1, 5, 0, false);
    facts.ok = 3;
    run.handle(S, Event::Window { agent: A, facts });
    run.handle(S, broken());
    assert_eq!((run.accounts().unresolved, run.accounts().fault()), (2, None));
}

#[test]
fn nobody_is_let_go_before_it_has_delivered_what_it_has() {
    let mut run = unkept("users: 2\nduration: 60s");
    // What is delivered once it can be kept is late, and its agent free after its last word.
    let late = run.to_keep(A, &window_facts(3, 5, 0, true));
    assert!(matches!(late, Some(ToKeep { late: true, .. })), "{late:?}");
    let before = run.accounts();
    assert_eq!(short(&run.handle(9 * S, window(A, 3, 5, false))), ["ack a 3"]);
    assert_eq!(short(&run.handle(9 * S, window(A, 4, 5, true))), ["ack a 4", "send a release", "free a"]);
    assert_eq!(run.accounts(), before);
    assert_eq!(short(&run.handle(9 * S, window(B, 9, 5, true))), [""; 0], "others are missing before it");
}

#[test]
fn a_window_that_is_not_the_next_is_not_kept() {
    let run = unkept("users: 2\nduration: 60s");
    for sequence in [1, 2, 4] {
        assert_eq!(run.to_keep(A, &window_facts(sequence, 5, 0, false)), None, "{sequence}");
    }
    let running = started("users: 2\nduration: 60s", &[A, B]);
    let first = running.to_keep(B, &window_facts(1, 5, 0, false)).expect("it is the next");
    assert_eq!((first.reported.started, first.late), (5, false));
}
