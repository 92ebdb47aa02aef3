//! The coordinator is started again in the middle of a run.

use volley_plan::Verdict;
use volley_plan::link::{Incarnation, Order};

use super::{
    A, B, MS, S, alive, facts, iterations, new_run, notes, pass, ping, settings, share_of, short, started,
    verdict, window, window_facts,
};
use crate::{Action, Event, Run, RunRecord, StopReason};

const LOAD: &str = "rate: 100/s\nduration: 60s\nmax_in_flight: 100";

/// How much further the clock of the new process is.
const SHIFT: u64 = 1000 * S;

/// The same run in a new process, `now_ns` of the old one's clock having passed.
fn restarted(run: &Run, now_ns: u64) -> Run {
    let written = serde_json::to_string(&run.record()).expect("can be written");
    let record: RunRecord = serde_json::from_str(&written).expect("can be read");
    let agents = run.agents().map(|agent| (agent.record(), agent.reported)).collect();
    let fallback_run_ns = run.run_ns(now_ns).unwrap_or(0);
    Run::resumed(
        SHIFT + now_ns,
        run.id().clone(),
        run.plan().clone(),
        settings(),
        record,
        agents,
        fallback_run_ns,
    )
}

/// A ping of an agent that knows when run time 0 was: at 0 of the old clock.
fn back(agent: Incarnation, acknowledged: u64) -> Event {
    Event::Pinged { agent, acknowledged, start_ns: Some(SHIFT) }
}

fn running() -> Run {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    for agent in [A, B] {
        run.handle(10 * S, window(agent, 1, 500, false));
    }
    run
}

#[test]
fn how_a_run_goes_on_is_told() {
    let check = |run: &Run, at_ns: u64, expected: &str| {
        let mut run = restarted(run, at_ns);
        let actions = run.handle(SHIFT + at_ns, back(A, 9));
        assert_eq!(notes(&actions)[0], format!("the coordinator was started again; {expected}"));
    };
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    for agent in [A, B] {
        let mut facts = window_facts(1, 500, 0, false);
        facts.watermark_s = 9;
        run.handle(10 * S, Event::Window { agent, facts });
    }
    check(&run, 12 * S, "the run goes on at 12.0 s");
    check(&run, 14 * S, "the run goes on at 14.0 s");
    let paused = "the run goes on at 20.0 s; nothing is known of agents after second 9, so they may have had no lease \
                  from 12.0 s on";
    check(&run, 20 * S, paused);
    check(&run, 61 * S, "its load was over by then, at 60.0 s");
    run.handle(11 * S, Event::StopAsked);
    check(&run, 20 * S, "its load had stopped at 11.0 s");
}

/// As where the coordinator itself was stopped for a while.
#[test]
fn a_pause_of_all_agents_is_told_once() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    assert_eq!(notes(&run.handle(13_400 * MS, ping(A, 2))), [""; 0], "hardly a pause");
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 10 * S);
    let told = "agent agent-b had no lease from 13.0 s to 15.2 s, and what was due then is missed";
    assert_eq!(notes(&run.handle(15_200 * MS, ping(B, 2))), [told]);
    assert_eq!(notes(&run.handle(15_300 * MS, ping(A, 2))), [""; 0]);
    assert_eq!(notes(&run.handle(15_800 * MS, ping(B, 2))), [""; 0]);
}

#[test]
fn a_run_goes_on_with_the_first_agent_that_knows_its_time() {
    let before = running();
    let mut run = restarted(&before, 12 * S);
    assert_eq!((run.state().name(), run.start_ns()), ("resuming", Some(SHIFT)));
    assert_eq!(run.accounts(), before.accounts());
    let actions = run.handle(SHIFT + 12_500 * MS, back(A, 2));
    assert_eq!(run.state().name(), "running");
    let said = "the coordinator was started again; the run goes on at 12.5 s; nothing is known of agents after second 1, \
                so they may have had no lease from 4.0 s on";
    assert_eq!(notes(&actions), [said]);
    assert_eq!(short(&actions).last().map(String::as_str), Some("renew a 15500"));
    assert_eq!(short(&run.handle(SHIFT + 12_500 * MS, ping(B, 2))), ["renew b 15500"]);
    assert_eq!(short(&run.handle(SHIFT + 12_500 * MS, window(A, 2, 100, false))), ["ack a 2"]);
    alive(&mut run, &[A, B], SHIFT + 13 * S, SHIFT + 60 * S);
    run.handle(SHIFT + 60 * S, Event::Window { agent: A, facts: window_facts(3, 2300, 100, true) });
    run.handle(SHIFT + 60 * S, Event::Window { agent: B, facts: window_facts(2, 2500, 0, true) });
    assert_eq!(iterations(&run), (Some(6000), 5900, 100, 0));
    let because = "100 missed of 6,000 planned iterations, more than 1%: most likely agents had no lease while the \
                   coordinator was started again";
    assert_eq!(verdict(&run), (Verdict::Invalid, because));
}

#[test]
fn nothing_changes_hands_before_the_predecessors_leases_are_over() {
    let mut run = restarted(&running(), 12 * S);
    run.handle(SHIFT + 12 * S, back(A, 2));
    run.handle(SHIFT + 12 * S, ping(B, 2));
    let actions = run.handle(SHIFT + 12 * S, Event::Leaving { agent: A });
    assert!(short(&actions).contains(&"send b change 15000 2520".to_owned()), "{:?}", short(&actions));
}

#[test]
fn absentees_are_lost_after_ten_seconds() {
    let mut run = restarted(&running(), 12 * S);
    run.handle(SHIFT + 12 * S, back(A, 2));
    alive(&mut run, &[A], SHIFT + 12 * S, SHIFT + 21_500 * MS);
    assert!(!share_of(&run, B).was_lost());
    let actions = alive(&mut run, &[A], SHIFT + 22 * S, SHIFT + 22 * S);
    assert!(share_of(&run, B).was_lost());
    assert!(short(&actions).contains(&"send a change 22000 2520".to_owned()), "{:?}", short(&actions));
    // It may have had a lease of the predecessor up to 15 s.
    assert_eq!(run.gap(share_of(&run, B)).unknown, 250);
}

#[test]
fn where_nobody_comes_the_run_ends_with_what_was_kept() {
    let mut run = restarted(&running(), 12 * S);
    assert_eq!(run.deadline_ns(), Some(SHIFT + 22 * S));
    pass(&mut run, SHIFT + 22 * S);
    assert_eq!(run.state().name(), "draining", "they may still deliver");
    let mut late = run.clone();
    pass(&mut run, SHIFT + 60 * S);
    assert_eq!(iterations(&run), (Some(2200), 1000, 700, 500));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::AgentsLost));
    assert_eq!(short(&late.handle(SHIFT + 23 * S, back(A, 2))), ["send a stop 22000+0"]);
    late.handle(SHIFT + 23 * S, window(A, 2, 250, true));
    assert_eq!(iterations(&late), (Some(2200), 1250, 700, 250));
}

#[test]
fn an_order_to_start_that_reached_nobody_is_given_anew() {
    let before = started(LOAD, &[A, B]);
    let mut run = restarted(&before, S);
    assert_eq!(short(&run.handle(SHIFT + 2 * S, ping(A, 1))), [""; 0], "B may have started");
    let mut without = run.clone();
    let actions = run.handle(SHIFT + 2 * S, ping(B, 1));
    assert_eq!((run.state().name(), run.start_ns()), ("running", Some(SHIFT + 2 * S)));
    assert_eq!(short(&actions), ["note", "send b start", "renew b 3000"]);
    let Some(Action::Send { order: Order::Start { at_ns, .. }, .. }) = actions.get(1) else {
        panic!("{actions:?}")
    };
    assert_eq!(*at_ns, SHIFT + 2 * S, "by the clock of this process");
    assert_eq!(short(&run.handle(SHIFT + 2 * S, ping(A, 1))), ["send a start", "renew a 3000"]);

    for half in 5..22 {
        pass(&mut without, SHIFT + half * 500 * MS);
        without.handle(SHIFT + half * 500 * MS, ping(A, 1));
    }
    pass(&mut without, SHIFT + 11 * S);
    assert_eq!((without.state().name(), without.start_ns()), ("running", Some(SHIFT + 11 * S)));
    // It may have started with the predecessor, of which it may have a lease up to 4 s of run time by its own account: before
    // that its part can't change hands, whenever the others come to it.
    alive(&mut without, &[A], SHIFT + 11 * S, SHIFT + 14_500 * MS);
    assert!(!share_of(&without, B).was_lost());
    let actions = alive(&mut without, &[A], SHIFT + 15 * S, SHIFT + 15 * S);
    assert!(share_of(&without, B).was_lost());
    assert!(short(&actions).contains(&"send a change 4000 2520".to_owned()), "{:?}", short(&actions));
    assert_eq!(without.gap(share_of(&without, B)).unknown, 200);
}

/// Agents that stood ready gave the run up when the coordinator was away for too long.
#[test]
fn a_run_that_nobody_knows_any_more_ends() {
    let mut run = restarted(&started("users: 2\nrequests: 100", &[A, B]), 70 * S);
    for agent in [A, B] {
        run.handle(SHIFT + 70 * S, ping(agent, 0));
    }
    assert_eq!(run.state().name(), "running");
    let actions = run.handle(SHIFT + 71 * S, window(A, 1, 0, true));
    assert!(notes(&actions)[0].contains("ended before its time"), "{:?}", notes(&actions));
    run.handle(SHIFT + 71 * S, window(B, 1, 0, true));
    assert_eq!(run.outcome().map(|outcome| &outcome.reason), Some(&StopReason::AgentsLost));
    assert_eq!(iterations(&run), (Some(100), 0, 100, 0));
}

/// It was told to end on its host at the moment when somebody stopped the run.
#[test]
fn what_an_agent_leaves_undone_that_ends_while_the_run_drains_is_missed() {
    let mut run = running();
    run.handle(12 * S, Event::StopAsked);
    run.handle(12 * S, Event::Leaving { agent: A });
    run.handle(12 * S, window(A, 2, 60, true));
    run.handle(12 * S, window(B, 2, 100, true));
    assert_eq!(iterations(&run), (Some(1200), 1160, 40, 0));
}

#[test]
fn what_came_while_the_time_was_unknown_is_made_up_for() {
    let mut run = restarted(&running(), 12 * S);
    assert_eq!(notes(&run.handle(SHIFT + 12 * S, Event::StopAsked)), ["stop asked for"]);
    let actions = run.handle(SHIFT + 13 * S, back(A, 2));
    assert_eq!(run.state().name(), "draining");
    assert!(short(&actions).contains(&"send b stop 13000+10000".to_owned()), "{:?}", short(&actions));

    let mut run = restarted(&running(), 12 * S);
    assert_eq!(run.handle(SHIFT + 12 * S, Event::Leaving { agent: B }), []);
    assert_eq!(short(&run.handle(SHIFT + 12 * S, Event::Joined(facts(super::C)))), ["free c"]);
    assert_eq!(
        run.can_adjust(volley_plan::Level::Users(3)).map_err(|why| why.to_string()).err().as_deref(),
        Some("the run is resuming; it can be adjusted while it is running")
    );
    let actions = run.handle(SHIFT + 13 * S, back(A, 2));
    assert!(short(&actions).contains(&"send b stop 15000+10000".to_owned()), "{:?}", short(&actions));

    let mut run = restarted(&started("users: 2\nrequests: 100", &[A, B]), S);
    let granted = run.handle(SHIFT + S, Event::GrantWanted { agent: A, taken: 12, iterations: 5 });
    assert_eq!(short(&granted), ["send a grant 24..29"], "nobody waits for its work");

    let mut run = restarted(&running(), 12 * S);
    run.handle(SHIFT + 12 * S, Event::StoreFailed { reason: "full".to_owned() });
    run.handle(SHIFT + 13 * S, back(A, 2));
    assert_eq!(run.stop_reason(), Some(&StopReason::StoreFailed("full".to_owned())));
}

#[test]
fn a_last_window_that_was_kept_and_not_answered_is_the_agents_last_word() {
    let mut before = running();
    before.handle(12 * S, Event::StopAsked);
    let saved = before.clone();
    before.handle(12 * S, window(A, 2, 100, true));
    // The order to release it was not saved any more.
    let agents = saved.agents().map(|agent| {
        let kept = share_of(&before, agent.facts.incarnation).reported;
        (agent.record(), kept)
    });
    let (id, plan, record) = (saved.id().clone(), saved.plan().clone(), saved.record());
    let mut run = Run::resumed(SHIFT + 13 * S, id, plan, settings(), record, agents.collect(), 13 * S);
    let actions = run.handle(SHIFT + 13 * S, back(B, 3));
    let expected = ["note", "send a release", "free a", "renew b 16000"];
    assert_eq!((run.state().name(), short(&actions)), ("draining", expected.map(str::to_owned).to_vec()));
    run.handle(SHIFT + 13 * S, window(B, 2, 100, true));
    assert_eq!(iterations(&run), (Some(1200), 1200, 0, 0));
}

#[test]
fn what_had_not_begun_begins_again() {
    let (gathering, _) = new_run("users: 2\nduration: 9s\nagents: { min: 2, wait: 60s }", &[A]);
    let mut run = restarted(&gathering, S);
    assert_eq!((run.state().name(), run.deadline_ns()), ("gathering", Some(SHIFT + 61 * S)));
    run.handle(SHIFT + S, Event::Joined(facts(A)));
    assert_eq!(run.candidates.len(), 1);

    let (mut preparing, prepare) = new_run(LOAD, &[A, B]);
    preparing.handle(0, Event::Ready { agent: A });
    let mut run = restarted(&preparing, S);
    assert_eq!(run.state().name(), "preparing");
    let again = run.handle(SHIFT + S, ping(B, 0));
    assert_eq!(again, prepare[1..], "with the text of the plan");
    run.handle(SHIFT + S, Event::Ready { agent: A });
    run.handle(SHIFT + S, Event::Ready { agent: B });
    assert_eq!(run.state().name(), "running");
}

#[test]
fn a_run_that_is_over_stays_so() {
    let mut before = running();
    before.handle(12 * S, Event::StopAsked);
    before.handle(12 * S, window(A, 2, 100, true));
    before.handle(12 * S, window(B, 2, 100, true));
    let mut run = restarted(&before, 13 * S);
    assert_eq!((run.outcome(), run.accounts()), (before.outcome(), before.accounts()));
    assert_eq!(run.deadline_ns(), None);
    assert_eq!(short(&run.handle(SHIFT + 13 * S, window(A, 2, 100, true))), ["ack a 2"]);
}

#[test]
fn a_record_of_another_version_is_not_read() {
    let written = serde_json::to_value(running().record()).expect("can be written");
    assert_eq!(written["version"], 1);
    let mut other = written;
    other["version"] = 2.into();
    let error = serde_json::from_value::<RunRecord>(other).expect_err("another version");
    assert!(error.to_string().contains("a record of version 2, not 1"), "{error}");
}

#[test]
fn a_first_lease_may_begin_further_ahead_than_this_process_would_let_it() {
    let mut before = started(LOAD, &[A, B]);
    alive(&mut before, &[A, B], 0, 0);
    let mut run = restarted(&before, 12 * S);
    // The predecessor's lead was longer: run time 0 is still 5 s away.
    run.handle(SHIFT + 12 * S, Event::Pinged { agent: A, acknowledged: 2, start_ns: Some(SHIFT + 17 * S) });
    alive(&mut run, &[A], SHIFT + 12 * S, SHIFT + 22 * S);
    assert!(share_of(&run, B).was_lost());
    assert_eq!(run.gap(share_of(&run, B)).unknown, 150);
}
