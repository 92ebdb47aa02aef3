//! Runs that begin without some of the agents that they were given, and runs that never begin.

use volley_plan::Verdict;
use volley_plan::link::Incarnation;

use super::{
    A, B, C, S, iterations, new_run, notes, pass, ping, settings, share_of, short, started, verdict, window,
};
use crate::{Event, Run, StopReason};

const OPEN: &str = "rate: 12/s\nduration: 10s\nagents: { min: 2 }";

fn refuses(agent: Incarnation) -> Event {
    Event::Refused { agent, reason: "not on its list".to_owned() }
}

/// The agents with their parts of the stripes from run time 0 on.
fn parts(run: &Run) -> Vec<(Incarnation, usize)> {
    let legs = run.agents().filter_map(|agent| Some((agent.facts.incarnation, agent.legs().first()?)));
    legs.map(|(agent, leg)| {
        assert_eq!(leg.from_ns, 0);
        (agent, leg.share.stripes.held().len())
    })
    .collect()
}

#[test]
fn a_run_begins_without_one_that_refuses_where_enough_are_left() {
    let (mut run, _) = new_run(OPEN, &[A, B, C]);
    run.handle(0, Event::Ready { agent: A });
    let actions = run.handle(0, refuses(B));
    let told = ["note", "send b release", "free b", "send a change 0 1260", "send c change 0 1260", "note"];
    assert_eq!(short(&actions), told);
    assert_eq!(
        notes(&actions),
        ["agent agent-b refused: not on its list", "the run begins on 2 agents: the plan wants 2"]
    );
    assert_eq!(run.handle(0, refuses(B)), [], "it may say so again");
    assert_eq!(run.handle(0, Event::Ready { agent: B }), []);
    assert_eq!(short(&run.handle(0, Event::Ready { agent: C })), ["send a start", "send c start", "note"]);
    assert_eq!((parts(&run), share_of(&run, B).state.name()), (vec![(A, 1260), (C, 1260)], "refused"));
    run.handle(10 * S, window(A, 1, 60, true));
    run.handle(10 * S, window(C, 1, 60, true));
    assert_eq!((iterations(&run), verdict(&run)), ((Some(120), 120, 0, 0), (Verdict::None, "")));
}

#[test]
fn the_last_one_that_is_waited_for_may_be_the_one_that_refuses() {
    for (load, granted) in [
        ("users: 4\nrequests: 100\nagents: { min: 2 }", 12),
        ("users: 4\niterations_per_user: 5\nagents: { min: 2 }", 10),
    ] {
        let (mut run, _) = new_run(load, &[A, B, C]);
        run.handle(0, Event::Ready { agent: A });
        run.handle(0, Event::Ready { agent: B });
        run.handle(0, refuses(C));
        assert_eq!((run.state().name(), parts(&run)), ("running", vec![(A, 1260), (B, 1260)]), "{load}");
        assert_eq!([A, B].map(|agent| share_of(&run, agent).granted), [granted; 2], "{load}");
    }
}

#[test]
fn a_refusal_ends_a_run_that_needs_all() {
    let check = |load: &str, agents: &[Incarnation]| {
        let (mut run, _) = new_run(load, agents);
        run.handle(0, refuses(B));
        let outcome = run.outcome().expect("it can't begin");
        assert_eq!(outcome.sentence, "agent agent-b refused: not on its list", "{load}");
        assert!(matches!(outcome.reason, StopReason::CouldNotRun(_)));
    };
    check(OPEN, &[A, B]);
    check("rate: 12/s\nduration: 10s", &[A, B, C]);
}

#[test]
fn those_that_do_not_get_ready_are_left_out_too() {
    let (mut run, _) = new_run(OPEN, &[A, B, C]);
    for agent in [A, C] {
        run.handle(0, Event::Ready { agent });
        run.handle(2 * S, ping(agent, 1));
    }
    let actions = pass(&mut run, 3 * S);
    assert_eq!(notes(&actions)[0], "agent agent-b went silent while it prepared");
    assert_eq!((run.state().name(), parts(&run)), ("running", vec![(A, 1260), (C, 1260)]));
    assert_eq!(short(&run.handle(4 * S, ping(B, 1))), ["send b release"], "it learns of it when it is back");

    let (mut run, _) = new_run(OPEN, &[A, B, C]);
    for at_s in 0..30 {
        pass(&mut run, at_s * S);
        for agent in [A, B, C] {
            run.handle(at_s * S, ping(agent, 1));
        }
    }
    pass(&mut run, settings().prepare_ns);
    let said = "agent agent-a was not ready in time; agent agent-b was not ready in time; agent agent-c was not \
                ready in time";
    assert_eq!(verdict(&run).1, said, "none is left");
}

#[test]
fn a_run_that_is_stopped_before_it_began_is_no_failed_measurement() {
    let check = |mut run: Run, load: &str| {
        run.handle(0, Event::StopAsked);
        pass(&mut run, 60 * S);
        assert_eq!(verdict(&run), (Verdict::None, ""), "{load}");
        assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::Asked));
        let accounts = run.accounts();
        assert_eq!((accounts.missed, accounts.unknown, accounts.fault()), (0, 0, None), "{load}");
        assert_eq!(accounts.planned.unwrap_or(0), 0, "nothing was planned until then: {load}");
    };
    for load in ["rate: 12/s\nduration: 9s", "users: 2\nduration: 9s", "users: 2\nrequests: 9"] {
        check(new_run(&format!("{load}\nagents: {{ min: 2, wait: 60s }}"), &[A]).0, load);
        check(new_run(load, &[A, B]).0, load);
    }
    // It had begun, if only just.
    let mut begun = started("rate: 12/s\nduration: 9s", &[A]);
    begun.handle(S, Event::StopAsked);
    begun.handle(S, window(A, 1, 0, true));
    assert_eq!(verdict(&begun).0, Verdict::Invalid);
}
