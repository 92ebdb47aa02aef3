//! State × event: what each event does in each state.

use volley_plan::link::Incarnation;

use super::{A, B, S, facts, new_run, pass, ping, short, started, window};
use crate::{Event, Run};

fn stop() -> Event {
    Event::StopAsked
}

fn broken_store() -> Event {
    Event::StoreFailed { reason: "disk full".to_owned() }
}

fn refused(agent: Incarnation) -> Event {
    Event::Refused { agent, reason: "no descriptors".to_owned() }
}

fn forbidden() -> Event {
    Event::Forbidden { reason: "not on the list".to_owned() }
}

fn wants(taken: u64) -> Event {
    Event::GrantWanted { agent: A, taken, iterations: 5 }
}

fn gathering() -> Run {
    new_run("users: 2\nrequests: 100\nagents: { min: 2, wait: 60s }", &[A]).0
}

fn preparing() -> Run {
    new_run("users: 2\nrequests: 100", &[A, B]).0
}

fn counted() -> Run {
    started("users: 2\nrequests: 100", &[A, B])
}

fn timed() -> Run {
    started("users: 2\nduration: 10s", &[A, B])
}

fn per_user() -> Run {
    started("users: 2\niterations_per_user: 5", &[A, B])
}

const OPEN: &str = "rate: 10/s\nduration: 10s\nmax_in_flight: 10";

fn open() -> Run {
    started(OPEN, &[A, B])
}

fn draining() -> Run {
    let mut run = timed();
    run.handle(S, stop());
    run
}

fn finished() -> Run {
    let mut run = draining();
    run.handle(S, window(A, 1, 5, true));
    run.handle(S, window(B, 1, 5, true));
    assert_eq!(run.state().name(), "finished");
    run
}

fn check(mut run: Run, event: Event, expected: &[&str], state: &str) {
    let told = format!("{event:?} in {}", run.state().name());
    let actions = run.handle(S, event);
    assert_eq!(
        (short(&actions), run.state().name()),
        (expected.iter().map(|&s| s.to_owned()).collect(), state),
        "{told}"
    );
}

#[test]
fn gathering_waits_for_agents() {
    check(gathering(), Event::Joined(facts(B)), &["send a prepare 1260", "send b prepare 1260"], "preparing");
    check(gathering(), Event::Joined(facts(A)), &[], "gathering");
    check(gathering(), ping(A, 0), &[], "gathering");
    check(gathering(), window(A, 1, 1, true), &[], "gathering");
    check(gathering(), wants(0), &[], "gathering");
    check(gathering(), Event::Time, &[], "gathering");
    check(gathering(), stop(), &["free a", "finished"], "finished");
    check(gathering(), broken_store(), &["note", "free a", "finished"], "finished");
    check(gathering(), forbidden(), &["free a", "finished"], "finished");
}

#[test]
fn preparing_ends_in_a_start_or_not_at_all() {
    check(preparing(), Event::Ready { agent: A }, &[], "preparing");
    check(preparing(), Event::Ready { agent: Incarnation(9) }, &[], "preparing");
    check(preparing(), Event::Joined(facts(Incarnation(9))), &["free 9"], "preparing");
    check(preparing(), Event::Joined(facts(A)), &[], "preparing");
    check(preparing(), wants(0), &[], "preparing");
    let let_go = ["send a release", "free a", "send b release", "free b", "finished"];
    check(preparing(), stop(), &let_go, "finished");
    check(preparing(), forbidden(), &let_go, "finished");
    check(preparing(), refused(B), &[&["note"][..], &let_go].concat(), "finished");
    check(preparing(), broken_store(), &[&["note"][..], &let_go].concat(), "finished");
    let mut run = preparing();
    run.handle(S, Event::Ready { agent: A });
    let started = ["send a grant 0..12", "send b grant 12..24", "send a start", "send b start", "note"];
    check(run, Event::Ready { agent: B }, &started, "running");
}

#[test]
fn only_a_number_in_all_is_granted() {
    for load in [OPEN, "users: 2\niterations_per_user: 5", "users: 2\nduration: 10s"] {
        let (mut run, actions) = new_run(load, &[A, B]);
        assert_eq!(short(&actions), ["send a prepare 1260", "send b prepare 1260"], "{load}");
        run.handle(S, Event::Ready { agent: A });
        check(run, Event::Ready { agent: B }, &["send a start", "send b start", "note"], "running");
    }
    for run in [open(), per_user(), timed()] {
        check(run, wants(0), &[], "running");
    }
}

#[test]
fn an_agents_last_word_ends_its_part() {
    let release = ["ack a 1", "send a release", "free a"];
    let early = ["ack a 1", "send b change 1000 2520", "note", "send a release", "free a"];
    check(per_user(), window(A, 1, 5, true), &release, "running");
    let nobody_can = ["ack a 1", "note", "send a release", "free a"];
    check(per_user(), window(A, 1, 4, true), &nobody_can, "running");
    check(open(), window(A, 1, 50, true), &release, "running");
    check(open(), window(A, 1, 49, true), &early, "running");
    check(timed(), window(A, 1, 50, true), &early, "running");
    check(counted(), window(A, 1, 12, true), &early, "running");
}

#[test]
fn running_renews_grants_and_keeps() {
    check(counted(), ping(A, 3), &["renew a 4000"], "running");
    check(counted(), ping(Incarnation(9), 3), &[], "running");
    check(counted(), wants(12), &["send a grant 24..29"], "running");
    check(counted(), wants(0), &[], "running");
    check(counted(), window(A, 1, 5, false), &["ack a 1"], "running");
    check(counted(), window(A, 2, 5, false), &[], "running");
    check(counted(), window(Incarnation(9), 1, 5, false), &[], "running");
    check(counted(), Event::Ready { agent: A }, &[], "running");
    check(counted(), refused(A), &["note"], "running");
    check(counted(), refused(Incarnation(9)), &[], "running");
    check(counted(), Event::Time, &[], "running");
    check(counted(), stop(), &["note", "send a stop 1000+10000", "send b stop 1000+10000"], "draining");
    for run in [open(), per_user()] {
        check(run.clone(), ping(A, 3), &["renew a 4000"], "running");
        check(run.clone(), window(A, 1, 5, false), &["ack a 1"], "running");
        check(run, stop(), &["note", "send a stop 1000+10000", "send b stop 1000+10000"], "draining");
    }
    let end = ["note", "send a stop 1000+0", "send b stop 1000+0", "note", "finished"];
    for run in [timed(), open(), counted(), per_user(), draining()] {
        check(run, broken_store(), &end, "finished");
    }
    check(timed(), forbidden(), &["note", "send a stop 1000+10000", "send b stop 1000+10000"], "draining");
}

#[test]
fn an_order_that_was_not_taken_is_sent_again() {
    check(timed(), ping(A, 1), &["send a start", "renew a 4000"], "running");
    check(timed(), ping(A, 0), &["send a prepare 1260", "send a start", "renew a 4000"], "running");
}

#[test]
fn draining_takes_what_is_owed() {
    check(draining(), window(A, 1, 5, false), &["ack a 1"], "draining");
    check(draining(), window(A, 1, 5, true), &["ack a 1", "send a release", "free a"], "draining");
    check(draining(), stop(), &["note", "send a stop 1000+0", "send b stop 1000+0"], "draining");
    check(draining(), forbidden(), &[], "draining");
    check(draining(), wants(0), &[], "draining");
    let mut run = draining();
    run.handle(S, window(A, 1, 5, true));
    let end = ["ack b 1", "send b release", "free b", "finished"];
    check(run, window(B, 1, 5, true), &end, "finished");
}

#[test]
fn finished_is_final() {
    for event in [stop(), forbidden(), Event::Time, refused(A), Event::Ready { agent: A }, wants(0)] {
        check(finished(), event, &[], "finished");
    }
    check(finished(), Event::Joined(facts(B)), &["free b"], "finished");
    check(finished(), broken_store(), &["note"], "finished");
    check(finished(), window(A, 1, 5, true), &["ack a 1"], "finished");
    check(finished(), window(A, 2, 5, false), &[], "finished");
    check(finished(), ping(A, 4), &[], "finished");
}

#[test]
fn a_lease_never_reaches_past_a_stop_that_was_not_taken() {
    let mut run = timed();
    run.handle(S, stop());
    // The last lease was until 3 s; the stop is at 1 s, so nothing is added to it.
    assert_eq!(short(&run.handle(S, ping(A, 2))), ["renew a 3000"]);
    assert_eq!(short(&run.handle(2 * S, ping(A, 3))), ["renew a 5000"]);
    assert_eq!(short(&run.handle(5 * S / 2, ping(B, 2))), ["send b stop 1000+10000", "renew b 3000"]);
}

fn leaving(agent: Incarnation) -> Event {
    Event::Leaving { agent }
}

fn adjusting() -> Event {
    Event::AdjustAsked { to: volley_plan::Level::Users(3) }
}

/// Started again; the new process knows no leases.
fn resuming() -> Run {
    let run = timed();
    let agents = run.agents().map(|agent| (agent.record(), agent.reported)).collect();
    let (id, plan) = (run.id().clone(), run.plan().clone());
    Run::resumed(S, id, plan, super::settings(), run.record(), agents, S)
}

#[test]
fn leaving_and_adjusting_matter_while_the_load_goes_on() {
    check(gathering(), leaving(A), &["free a"], "gathering");
    check(gathering(), leaving(B), &[], "gathering");
    check(preparing(), leaving(A), &[], "preparing");
    check(timed(), leaving(A), &["send b change 3000 2520", "note", "send a stop 3000+10000"], "running");
    check(open(), leaving(A), &["send b change 3000 2520", "note", "send a stop 3000+10000"], "running");
    check(counted(), leaving(A), &["send b change 3000 2520", "note", "send a stop 3000+10000"], "running");
    check(per_user(), leaving(A), &["note", "send a stop 1000+10000"], "running");
    check(timed(), leaving(Incarnation(9)), &[], "running");
    let changes = ["send a change 3000 1260 to 3 users", "send b change 3000 1260 to 3 users", "note"];
    check(timed(), adjusting(), &changes, "running");
    for (run, state) in [
        (gathering(), "gathering"),
        (preparing(), "preparing"),
        (counted(), "running"),
        (per_user(), "running"),
        (open(), "running"),
        (resuming(), "resuming"),
        (draining(), "draining"),
        (finished(), "finished"),
    ] {
        check(run, adjusting(), &["note"], state);
    }
    for (run, state) in [(resuming(), "resuming"), (draining(), "draining"), (finished(), "finished")] {
        check(run, leaving(A), &[], state);
    }
}

#[test]
fn resuming_waits_for_an_agent_that_knows_the_time() {
    let known = |start_ns| Event::Pinged { agent: A, acknowledged: 2, start_ns };
    check(resuming(), known(None), &[], "resuming");
    check(resuming(), known(Some(0)), &["note", "renew a 4000"], "running");
    check(resuming(), Event::Joined(facts(Incarnation(9))), &["free 9"], "resuming");
    check(resuming(), Event::Ready { agent: A }, &[], "resuming");
    check(resuming(), refused(A), &["note"], "resuming");
    check(resuming(), wants(0), &[], "resuming");
    check(resuming(), window(A, 1, 5, false), &["ack a 1"], "resuming");
    check(resuming(), window(A, 1, 5, true), &["ack a 1"], "resuming");
    check(resuming(), stop(), &["note"], "resuming");
    check(resuming(), broken_store(), &["note"], "resuming");
    check(resuming(), forbidden(), &["note"], "resuming");
    let mut run = resuming();
    run.handle(S, forbidden());
    let stopped = ["note", "send a stop 1000+10000", "send b stop 1000+10000", "renew a 1000"];
    check(run, known(Some(0)), &stopped, "draining");
    let mut run = resuming();
    run.handle(S, broken_store());
    let ended = ["note", "send a stop 1000+0", "send b stop 1000+0", "note", "finished"];
    check(run, known(Some(0)), &ended, "finished");
    check(resuming(), Event::Time, &[], "resuming");
}

#[test]
fn too_few_agents_end_it() {
    let mut run = gathering();
    assert_eq!(run.deadline_ns(), Some(60 * S));
    assert_eq!(short(&pass(&mut run, 60 * S)), ["free a", "finished"]);
    let outcome = run.outcome().expect("finished");
    assert_eq!(outcome.sentence, "1 of 2 agents were there in time");
}
