//! Agents that come and go while a run goes on.

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order};

use super::{
    A, B, C, MS, S, alive, facts, iterations, new_run, notes, pass, ping, share_of, short, started, verdict,
    window, window_facts,
};
use crate::planned::Planned;
use crate::{Action, AgentState, Event, Run, StopReason};

/// 100 arrivals a second for 10 s.
const LOAD: &str = "rate: 100/s\nduration: 10s\nmax_in_flight: 100";
const ELASTIC: &str = "rate: 100/s\nduration: 10s\nmax_in_flight: 100\nagents: { elastic: true }";

fn report(
    run: &mut Run,
    now_ns: u64,
    agent: Incarnation,
    started: u64,
    missed: u64,
    last: bool,
) -> Vec<Action> {
    let sequence = share_of(run, agent).reported.sequence + 1;
    run.handle(now_ns, Event::Window { agent, facts: window_facts(sequence, started, missed, last) })
}

/// Reports everything that these agents have had to do, and their last word.
pub(super) fn end(run: &mut Run, now_ns: u64, agents: &[Incarnation]) {
    for &agent in agents {
        let share = share_of(run, agent);
        let Planned::Arrivals(arrivals) = &run.planned else { panic!("a closed run") };
        let left = arrivals.due_before_stop(share) - share.accounted();
        report(run, now_ns, agent, left, 0, true);
    }
}

pub(super) fn orders(actions: &[Action]) -> Vec<String> {
    short(actions).into_iter().filter(|line| line.starts_with("send") || line.starts_with("free")).collect()
}

#[test]
fn an_agent_that_leaves_hands_its_part_over_and_delivers() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    let actions = run.handle(2 * S, Event::Leaving { agent: A });
    // Leases reach to 5 s.
    assert_eq!(orders(&actions), ["send b change 5000 2520", "send a stop 5000+10000"]);
    assert_eq!(notes(&actions), ["agent agent-a leaves: its part goes to agent-b from 5.0 s on"]);
    assert_eq!(run.handle(2 * S, Event::Leaving { agent: A }), [], "once is enough");
    alive(&mut run, &[A, B], 2500 * MS, 5 * S);
    let actions = report(&mut run, 5 * S, A, 250, 0, true);
    assert_eq!(orders(&actions), ["send a release", "free a"]);
    assert_eq!(share_of(&run, A).state, AgentState::Left { at_run_ns: 5 * S });
    alive(&mut run, &[B], 5 * S, 10 * S);
    end(&mut run, 10 * S, &[B]);
    assert_eq!(iterations(&run), (Some(1000), 1000, 0, 0));
    assert_eq!(verdict(&run), (Verdict::None, ""));
    assert!(run.outcome().is_some_and(|outcome| !outcome.incomplete), "it left in order");
}

#[test]
fn a_lease_reaches_past_a_change_once_it_is_taken() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    run.handle(2 * S, Event::Leaving { agent: A });
    for agent in [A, B] {
        let name = format!("{:x}", agent.0);
        let lease = |actions: &[Action]| short(actions).last().cloned();
        assert_eq!(lease(&run.handle(4 * S, ping(agent, 2))), Some(format!("renew {name} 5000")));
        assert_eq!(lease(&run.handle(4 * S, ping(agent, 3))), Some(format!("renew {name} 7000")));
    }
}

#[test]
fn where_nobody_can_take_over_an_agent_that_leaves_stops_at_once() {
    let mut run = started(LOAD, &[A]);
    alive(&mut run, &[A], 0, 2 * S);
    let actions = run.handle(2 * S, Event::Leaving { agent: A });
    assert_eq!(orders(&actions), ["send a stop 2000+10000"]);
    report(&mut run, 3 * S, A, 200, 0, true);
    assert_eq!(iterations(&run), (Some(300), 200, 100, 0), "what was due until it had gone");
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::AgentsLost));
    assert_eq!(verdict(&run), (Verdict::Invalid, "no agent was left (agent-a)"));

    let mut run = started("users: 2\niterations_per_user: 10", &[A, B]);
    run.handle(S, Event::Leaving { agent: A });
    run.handle(2 * S, window(A, 1, 4, true));
    run.handle(2 * S, window(B, 1, 10, true));
    assert_eq!(iterations(&run), (Some(20), 14, 6, 0), "each user's work is its own");
}

#[test]
fn what_an_agent_that_leaves_has_not_begun_is_granted_again() {
    let mut run = started("users: 2\nrequests: 100", &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    run.handle(S, Event::Leaving { agent: A });
    let mut sequence = 0;
    for _ in 0..40 {
        let share = share_of(&run, B).clone();
        if share.granted == 88 {
            break;
        }
        run.handle(2 * S, Event::GrantWanted { agent: B, taken: share.granted_to, iterations: 50 });
        sequence += 1;
        run.handle(2 * S, window(B, sequence, share.unreported(), false));
    }
    assert!(!share_of(&run, B).told_last, "A may give some back");
    let at = share_of(&run, B).granted_to;
    assert_eq!(run.handle(2 * S, Event::GrantWanted { agent: B, taken: at, iterations: 5 }), []);
    let actions = run.handle(4 * S, window(A, 1, 7, true));
    let granted = ["send b grant 100..103", "send a release", "free a"];
    assert_eq!(orders(&actions), granted, "at most half of what is left, under new numbers");
    run.handle(4 * S, Event::GrantWanted { agent: B, taken: 103, iterations: 5 });
    run.handle(4 * S, Event::GrantWanted { agent: B, taken: 104, iterations: 5 });
    assert!(share_of(&run, B).told_last);
    let unreported = share_of(&run, B).unreported();
    run.handle(5 * S, window(B, sequence + 1, unreported, true));
    assert_eq!(iterations(&run), (Some(100), 100, 0, 0));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::CountReached));
}

#[test]
fn an_agent_that_takes_too_long_to_leave_is_lost() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    run.handle(S, Event::Leaving { agent: A });
    let mut silent = run.clone();
    alive(&mut silent, &[B], 1500 * MS, 8 * S);
    assert_eq!(iterations(&silent), (Some(1000), 0, 0, 200), "its lease ended where B took over");
    // Its part ended at 4 s; it has 10 s to drain, and 10 s to deliver.
    let mut run = started("users: 2\nduration: 60s", &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    run.handle(S, Event::Leaving { agent: A });
    alive(&mut run, &[A, B], 1500 * MS, 23_500 * MS);
    assert!(matches!(share_of(&run, A).state, AgentState::Leaving { .. }));
    let actions = alive(&mut run, &[A, B], 24 * S, 24 * S);
    assert!(share_of(&run, A).was_lost());
    assert!(notes(&actions)[0].contains("did not deliver its last results in time"), "{:?}", notes(&actions));
}

#[test]
fn an_agent_leaves_before_the_start_or_as_soon_as_the_run_has_started() {
    let (mut run, _) = new_run(LOAD, &[A, B]);
    assert_eq!(run.handle(S, Event::Leaving { agent: A }), []);
    run.handle(S, Event::Ready { agent: A });
    let mut both = run.clone();
    let started = run.handle(S, Event::Ready { agent: B });
    let expected = ["send a start", "send b start", "send b change 3000 2520", "send a stop 3000+10000"];
    assert_eq!(orders(&started), expected);

    let left = both.handle(S, Event::Leaving { agent: B });
    assert_eq!(notes(&left), ["agent agent-b left before the start"]);
    assert_eq!(both.state().name(), "finished");

    let (mut run, _) = new_run("rate: 1/s\nduration: 9s\nagents: { min: 2, wait: 9s }", &[A]);
    assert_eq!(short(&run.handle(S, Event::Leaving { agent: A })), ["free a"]);
    assert_eq!(run.candidates, []);
}

#[test]
fn a_joiner_gets_its_part_at_one_time_for_all() {
    let mut run = started(ELASTIC, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    assert!(run.wants_agents());
    let actions = run.handle(2 * S, Event::Joined(facts(C)));
    assert_eq!(short(&actions), ["send c prepare 840"]);
    report(&mut run, 2 * S, A, 100, 0, false);
    report(&mut run, 2 * S, B, 100, 0, false);
    assert_eq!(run.handle(2 * S, ping(C, 1)), [], "no lease before it has started");
    let actions = run.handle(2 * S, Event::Ready { agent: C });
    let expected = ["send a change 5000 840", "send b change 5000 840", "send c start from 5000"];
    assert_eq!(orders(&actions), expected);
    let Some(Action::Send { order: Order::Start { at_ns, lease_until_ns, .. }, .. }) =
        actions.iter().find(|action| matches!(action, Action::Send { order: Order::Start { .. }, .. }))
    else {
        panic!("{actions:?}")
    };
    assert_eq!((*at_ns, *lease_until_ns), (0, 5 * S), "run time 0 has passed");
    assert_eq!(notes(&actions), ["agent agent-c has joined: it has a part from 5.0 s on"]);
    assert_eq!(run.watermark_s(), 1, "its watermark begins with its part");
    alive(&mut run, &[A, B, C], 2500 * MS, 10 * S);
    end(&mut run, 10 * S, &[A, B, C]);
    assert_eq!(iterations(&run), (Some(1000), 1000, 0, 0));
    let started: Vec<_> = run.agents().map(|agent| agent.reported.iterations.started).collect();
    assert!(started.iter().zip([417, 417, 166]).all(|(&n, near)| n.abs_diff(near) <= 2), "{started:?}");
    assert_eq!(verdict(&run), (Verdict::None, ""));
}

#[test]
fn a_joiner_of_a_counted_run_has_something_to_do_at_once() {
    let mut run = started("users: 6\nrequests: 1000\nagents: { elastic: true }", &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    assert_eq!(short(&run.handle(S, Event::Joined(facts(C)))), ["send c prepare 840"]);
    let actions = run.handle(S, Event::Ready { agent: C });
    let expected = [
        "send c grant 250..254",
        "send a change 4000 840",
        "send b change 4000 840",
        "send c start from 4000",
    ];
    assert_eq!(orders(&actions), expected);
}

#[test]
fn an_agent_that_is_of_no_use_is_free_again() {
    let check = |load: &str, at_ns: u64, known: &[Incarnation]| {
        let mut run = started(load, known);
        alive(&mut run, known, 0, at_ns);
        assert!(!run.wants_agents(), "{load}");
        assert_eq!(short(&run.handle(at_ns, Event::Joined(facts(C)))), ["free c"], "{load}");
    };
    check(LOAD, S, &[A, B]);
    // The leases reach to 8 s, and two seconds more must be left.
    check(ELASTIC, 5 * S, &[A, B]);
    check(&ELASTIC.replace("elastic: true", "elastic: true, max: 2"), S, &[A, B]);
    check("users: 2\nduration: 10s\nagents: { elastic: true }", S, &[A, B]);
    let mut run = started(ELASTIC, &[A, B]);
    alive(&mut run, &[A, B], 0, 4500 * MS);
    assert!(run.wants_agents());
    assert_eq!(run.handle(4500 * MS, Event::Joined(facts(A))), [], "it takes part already");
}

#[test]
fn why_an_agent_ends_its_part_is_noted() {
    let mut run = started(LOAD, &[A, B]);
    let refused = |why: &str| Event::Refused { agent: A, reason: why.to_owned() };
    let actions = run.handle(S, refused("the load goes up to 90/s"));
    assert_eq!(notes(&actions), ["agent agent-a ends its part: the load goes up to 90/s"]);
    assert_eq!((actions.len(), &share_of(&run, A).state), (1, &AgentState::Running));
    alive(&mut run, &[B], S, 6 * S);
    assert!(share_of(&run, A).was_lost());
    let actions = run.handle(6 * S, refused("it had no word of the coordinator for 60 s"));
    assert_eq!(notes(&actions), ["agent agent-a ends its part: it had no word of the coordinator for 60 s"]);
}

/// No change comes before one that was announced, and the goal is two seconds after the lease.
#[test]
fn a_join_just_before_a_loss_does_not_hold_up_the_hand_over() {
    for ready_ms in [3_900, 4_000, 4_500, 5_500, 5_900] {
        let mut run = started(&ELASTIC.replace("10s", "30s"), &[A, B]);
        // B dies at 3 s.
        alive(&mut run, &[A, B], 0, 3 * S);
        run.handle(3 * S, Event::Joined(facts(C)));
        let mut actions = Vec::new();
        for now_ns in (3_000..=7_000).step_by(100).map(|ms| ms * MS) {
            actions.extend(pass(&mut run, now_ns));
            if now_ns == ready_ms * MS {
                actions.extend(run.handle(now_ns, Event::Ready { agent: C }));
            }
            for agent in [A, C] {
                let given = share_of(&run, agent).last_order();
                actions.extend(run.handle(now_ns, ping(agent, given)));
            }
        }
        let back_ns = share_of(&run, B).legs().last().expect("it had a part").from_ns;
        assert!(share_of(&run, B).was_lost() && back_ns <= 7 * S, "ready at {ready_ms} ms: {back_ns}");
        assert!(!share_of(&run, C).legs().is_empty(), "ready at {ready_ms} ms: {:?}", short(&actions));
    }
}

#[test]
fn a_joiner_that_does_not_get_ready_bothers_nobody() {
    let joining = || {
        let mut run = started(ELASTIC, &[A, B]);
        alive(&mut run, &[A, B], 0, S);
        run.handle(S, Event::Joined(facts(C)));
        run
    };
    let let_go = ["note", "send c release", "free c"];
    let check = |mut run: Run, actions: Vec<Action>, expected: &[&str]| {
        assert_eq!(
            short(&actions).into_iter().filter(|line| line.contains('c')).collect::<Vec<_>>(),
            expected[1..]
        );
        assert!(matches!(share_of(&run, C).state, AgentState::Refused { .. }));
        assert_eq!(short(&run.handle(2 * S, Event::Ready { agent: C })), [""; 0]);
        let seen_ns = run.seen_ns;
        alive(&mut run, &[A, B], seen_ns, 10 * S);
        end(&mut run, 10 * S, &[A, B]);
        assert_eq!((verdict(&run), iterations(&run)), ((Verdict::None, ""), (Some(1000), 1000, 0, 0)));
    };
    let mut run = joining();
    let refused = run.handle(S, Event::Refused { agent: C, reason: "no descriptors".to_owned() });
    check(run, refused, &let_go);
    let mut run = joining();
    let left = run.handle(S, Event::Leaving { agent: C });
    check(run, left, &let_go);
    let mut run = joining();
    let silent = alive(&mut run, &[A, B], 1500 * MS, 4500 * MS);
    let silent: Vec<_> =
        silent.into_iter().filter(|action| !matches!(action, Action::Renew { .. })).collect();
    check(run, silent, &let_go);
    let mut run = joining();
    alive(&mut run, &[A, B, C], 1500 * MS, 5 * S);
    let late = run.handle(5 * S, Event::Ready { agent: C });
    check(run, late, &let_go);

    let mut run = joining();
    let stopped = run.handle(2 * S, Event::StopAsked);
    let expected = ["send a stop 2000+10000", "send b stop 2000+10000", "send c release", "free c"];
    assert_eq!(orders(&stopped), expected);
}

#[test]
fn a_joiner_that_is_lost_before_its_part_begins_leaves_nothing_unknown() {
    let mut run = started(ELASTIC, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    run.handle(2 * S, Event::Joined(facts(C)));
    run.handle(2 * S, Event::Ready { agent: C });
    let actions = alive(&mut run, &[A, B], 2500 * MS, 5500 * MS);
    // Its lease ended at 5 s, which is when it was to begin.
    let changes: Vec<_> = orders(&actions).into_iter().filter(|line| line.contains("change")).collect();
    assert_eq!(changes, ["send a change 5000 1260", "send b change 5000 1260"]);
    alive(&mut run, &[A, B], 6 * S, 10 * S);
    end(&mut run, 10 * S, &[A, B]);
    pass(&mut run, 60 * S);
    assert_eq!(iterations(&run), (Some(1000), 1000, 0, 0));
}

#[test]
fn two_losses_in_a_row_leave_the_third_with_everything() {
    let mut run = started(LOAD, &[A, B, C]);
    alive(&mut run, &[A, B, C], 0, S);
    alive(&mut run, &[B, C], 1500 * MS, 2 * S);
    let actions = alive(&mut run, &[C], 2500 * MS, 5500 * MS);
    let changes: Vec<_> = orders(&actions).into_iter().filter(|line| line.contains("change")).collect();
    assert_eq!(changes, ["send b change 4000 1260", "send c change 4000 1260", "send c change 5000 2520"]);
    let gap = |agent| run.gap(share_of(&run, agent));
    // B never took the order, so what it was given at 4 s is missed until C has it.
    assert_eq!((gap(A).unknown, gap(A).missed), (134, 0));
    assert_eq!((gap(B).unknown + gap(B).missed, iterations(&run).0), (133 + 51, Some(1000)));
    alive(&mut run, &[C], 6 * S, 10 * S);
    end(&mut run, 10 * S, &[C]);
    pass(&mut run, 60 * S);
    let (planned, started, missed, unknown) = iterations(&run);
    assert_eq!((planned, started + missed + unknown), (Some(1000), 1000));
}

#[test]
fn those_lost_at_the_same_time_are_given_nothing_of_each_other() {
    let mut run = started(LOAD, &[A, B, C]);
    alive(&mut run, &[A, B, C], 0, S);
    let actions = alive(&mut run, &[C], 1500 * MS, 4 * S);
    let changes: Vec<_> = orders(&actions).into_iter().filter(|line| line.contains("change")).collect();
    assert_eq!(changes, ["send c change 4000 2520"]);
}

#[test]
fn what_an_agent_that_leaves_still_has_changes_hands_beyond_its_lease() {
    let mut run = started(LOAD, &[A, B, C]);
    alive(&mut run, &[A, B, C], 0, 8 * S);
    // All leases reach beyond the end, so A stops at once and nobody takes over; its lease goes on.
    let actions = run.handle(8 * S, Event::Leaving { agent: A });
    assert_eq!(notes(&actions), ["agent agent-a leaves, and nobody can take its part over"]);
    let actions = report(&mut run, 8 * S, B, 100, 0, true);
    assert!(share_of(&run, B).was_lost(), "it has ended before its time");
    assert!(orders(&actions).iter().all(|line| !line.contains("change")), "{:?}", orders(&actions));
}

#[test]
fn users_of_a_lost_agent_begin_anew_over_some_seconds() {
    let mut run = started("users: 4\nduration: 20s", &[A, B]);
    let actions = alive(&mut run, &[B], 0, 3 * S);
    let change = actions.iter().find_map(|action| match action {
        Action::Send { agent: B, order: Order::Change { at_ns, over_ns, .. }, .. } => {
            Some((*at_ns, *over_ns))
        }
        _ => None,
    });
    assert_eq!(change, Some((3 * S, 5 * S)));
    assert_eq!(run.accounts().lost_user_ms, 2 * 3_000 + 5_000);
}
