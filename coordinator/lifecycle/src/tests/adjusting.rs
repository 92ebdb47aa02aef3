//! A load that is adjusted while its run goes on.

use volley_plan::link::Order;
use volley_plan::{AdjustError, Level, Verdict};

use super::fleet::{end, orders};
use super::{A, B, C, MS, S, alive, facts, iterations, new_run, notes, started, verdict, window};
use crate::{Action, CannotAdjust, Event, Run};

const LOAD: &str = "rate: 100/s\nduration: 10s\nmax_in_flight: 100";

fn rate(text: &str) -> Level {
    Level::Rate(text.parse().expect("a rate"))
}

#[test]
fn a_load_is_adjusted_for_all_at_the_same_time() {
    let mut run = started(LOAD, &[A, B]);
    alive(&mut run, &[A, B], 0, 2 * S);
    assert_eq!(run.can_adjust(rate("200/s")), Ok(()));
    let actions = run.handle(2 * S, Event::AdjustAsked { to: rate("200/s") });
    assert_eq!(orders(&actions), ["send a change 5000 1260 to 200/s", "send b change 5000 1260 to 200/s"]);
    assert_eq!(notes(&actions), ["adjusted to 200/s from 5.0 s on"]);
    assert_eq!(run.adjusted().last().map(|adjust| adjust.at_ns), Some(5 * S));
    assert_eq!(iterations(&run), (Some(1500), 0, 0, 0));
    alive(&mut run, &[A, B], 2500 * MS, 6 * S);
    run.handle(6 * S, Event::AdjustAsked { to: rate("10/s") });
    assert_eq!(iterations(&run), (Some(500 + 800 + 10), 0, 0, 0), "from 9 s on");
    let mut stopped = run.clone();
    stopped.handle(7 * S, Event::StopAsked);
    assert_eq!(iterations(&stopped), (Some(500 + 400), 0, 0, 0));
    alive(&mut run, &[A, B], 6500 * MS, 10 * S);
    end(&mut run, 10 * S, &[A, B]);
    assert_eq!((iterations(&run), verdict(&run)), ((Some(1310), 1310, 0, 0), (Verdict::None, "")));
}

#[test]
fn users_are_adjusted_too() {
    let mut run = started("users: 4\nduration: 10s", &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    run.handle(S, Event::AdjustAsked { to: Level::Users(8) });
    let accounts = run.accounts();
    assert_eq!((accounts.planned_user_ms, accounts.lost_user_ms), (4 * 4_000 + 8 * 6_000, 0));
    alive(&mut run, &[A, B], 1500 * MS, 10 * S);
    run.handle(10 * S, window(A, 1, 50, true));
    run.handle(10 * S, window(B, 1, 50, true));
    assert_eq!(verdict(&run), (Verdict::None, ""));
}

#[test]
fn what_can_not_be_adjusted_is_said() {
    let check = |run: &mut Run, to: Level, expected: CannotAdjust| {
        assert_eq!(run.can_adjust(to), Err(expected.clone()));
        let actions = run.handle(run.seen_ns, Event::AdjustAsked { to });
        assert_eq!(notes(&actions), [format!("adjusting to {to} was refused: {expected}")]);
        assert!(run.adjusted().is_empty());
    };
    let (mut preparing, _) = new_run(LOAD, &[A]);
    check(&mut preparing, rate("5/s"), CannotAdjust::NotRunning("preparing"));
    let mut run = started(LOAD, &[A]);
    let other = AdjustError::Model { has: "arrivals", to: Level::Users(5) };
    check(&mut run, Level::Users(5), CannotAdjust::Load(other));
    alive(&mut run, &[A], 0, 7 * S);
    check(&mut run, rate("5/s"), CannotAdjust::Over);
    run.handle(7 * S, Event::StopAsked);
    check(&mut run, rate("5/s"), CannotAdjust::Over);
    let mut leaving = started(LOAD, &[A]);
    leaving.handle(0, Event::Leaving { agent: A });
    check(&mut leaving, rate("5/s"), CannotAdjust::Over);
    let mut counted = started("users: 4\nrequests: 100\nduration: 60s", &[A, B]);
    check(&mut counted, Level::Users(1), CannotAdjust::FewUsers { users: 1, agents: 2 });
    assert_eq!(counted.can_adjust(Level::Users(2)), Ok(()));
    let mut per_user = started("users: 2\niterations_per_user: 5\nduration: 60s", &[A]);
    check(&mut per_user, Level::Users(5), CannotAdjust::Load(AdjustError::PerUser));
}

#[test]
fn a_joiner_learns_of_an_adjustment_before_its_start() {
    let mut run = started(&format!("{LOAD}\nagents: {{ elastic: true }}"), &[A, B]);
    alive(&mut run, &[A, B], 0, S);
    run.handle(S, Event::AdjustAsked { to: rate("50/s") });
    let actions = run.handle(S, Event::Joined(facts(C)));
    let Some(Action::Send { order: Order::Prepare { adjusted, .. }, .. }) = actions.first() else {
        panic!("{actions:?}")
    };
    assert_eq!(adjusted, run.adjusted());
    alive(&mut run, &[A, B, C], 1500 * MS, 2 * S);
    let actions = run.handle(2 * S, Event::AdjustAsked { to: rate("80/s") });
    let expected = [
        "send a change 5000 1260 to 80/s",
        "send b change 5000 1260 to 80/s",
        "send c change 5000 840 to 80/s",
    ];
    assert_eq!(orders(&actions), expected);
    let actions = run.handle(2 * S, Event::Ready { agent: C });
    assert_eq!(orders(&actions).last().map(String::as_str), Some("send c start from 5000"));
}
