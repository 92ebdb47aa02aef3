//! Commands and the times that they make.

use std::sync::Arc;

use volley_plan::allow::AllowList;
use volley_plan::link::Share;

use super::*;
use crate::{Clock, Setup, Spin};

const MS: u64 = 1_000_000;

/// An engine's control for all of a plan.
fn control(load: &str) -> Control {
    let text = format!("target: http://h/\n{}", load.replace(", ", "\n"));
    let plan = Arc::new(volley_plan::parse(&text).unwrap());
    let (share, allow, clock) = (Share::all(&plan), Arc::new(AllowList::anything()), Clock::start());
    let setup = Setup {
        plan,
        share,
        adjusted: Vec::new(),
        allow,
        workers: 2,
        seed: 1,
        clock,
        spin: Spin::Off,
        files: None,
        listener: None,
    };
    Control::new(Deal::new(&setup).unwrap())
}

/// Start, lease, stop and cancel after these commands, which come 1 ns after each other.
fn check(load: &str, commands: &[Command], expected: [u64; 4]) {
    let control = control(load);
    for (now_ns, command) in (0..).zip(commands) {
        control.obey(command.clone(), now_ns).unwrap();
    }
    let times = [control.start_ns(), control.lease_until_ns(), control.stop_at_ns(), control.cancel_at_ns()];
    assert_eq!(times, expected, "{load}: {commands:?}");
}

const START: Command = Command::Start { at_ns: 500, from_ns: 0, lease_until_ns: 300 };

fn stop(at_ns: u64, drain_ns: u64) -> Command {
    Command::Stop { at_ns, drain_ns }
}

fn lease(until_ns: u64) -> Command {
    Command::Lease { until_ns }
}

#[test]
fn commands_set_the_times() {
    let (endless, timed) = ("users: 1, iterations: 5", "users: 1, duration: 1ms, drain: 10ms");
    let again = Command::Start { at_ns: 7, from_ns: 0, lease_until_ns: 1 };
    let (end, cut) = (500 + MS, 500 + 11 * MS);
    check(endless, &[], [NEVER, 0, NEVER, NEVER]);
    check(endless, &[START], [500, 800, NEVER, NEVER]);
    check(timed, &[START], [500, 800, end, cut]);
    check(timed, &[START, START, lease(400), lease(350)], [500, 900, end, cut]);
    check(timed, &[START, again], [500, 800, end, cut]);
    check(timed, &[START, stop(100, 5)], [500, 800, 600, 605]);
    check(timed, &[START, stop(MS, 0)], [500, 800, end, end]);
    check(timed, &[START, stop(2 * MS, 10 * MS)], [500, 800, end, cut]);
    check(endless, &[START, stop(100, u64::MAX)], [500, 800, 600, u64::MAX]);
    let counted = "rate: 1000000/s, duration: 1ms, iterations: 1, drain: 10ms";
    check(counted, &[START], [500, 800, NEVER, cut]);
    check(counted, &[START, stop(100, 5)], [500, 800, 600, 605]);
    check(endless, &[stop(100, 5)], [NEVER, 0, 0, 0]);
    check(timed, &[lease(9), stop(100, 5), START], [500, 800, 0, 0]);
}

#[test]
fn a_lease_that_ran_out_leaves_a_gap() {
    let control = control("users: 1, duration: 60s");
    control.obey(START, 0).unwrap();
    let given = [
        (700, 800),
        (1000, 2000),
        (2499, 2500),
        (2600, 2400),
        (2700, 3000),
        (3600, 3100),
        (3700, 3150),
        (4000, 9000),
    ];
    let settled = given.map(|(now_ns, until_ns)| {
        control.obey(lease(until_ns), now_ns).unwrap();
        control.settled_ns()
    });
    // Run time 0 is at 500: the third comes in the last moment, the fourth is shorter and none, those
    // after the fifth are too late, and one of them is over when it comes.
    assert_eq!(settled, [0, 0, 0, 0, 0, 3600, 3650, 4000]);
}

#[test]
fn who_joins_later_begins_later() {
    let control = control("users: 1, duration: 60s");
    assert_eq!((control.first_second(), control.begin_ns()), (0, NEVER));
    let from_ns = 12 * SECOND_NS + 5;
    control.obey(Command::Start { at_ns: 500, from_ns, lease_until_ns: 14 * SECOND_NS }, 0).unwrap();
    assert_eq!(
        (control.start_ns(), control.begin_ns(), control.first_second()),
        (500, 505 + 12 * SECOND_NS, 12)
    );
}

#[test]
fn workers_take_their_legs_once_and_in_order() {
    let control = control("users: 4, duration: 60s");
    let plan = Arc::new(volley_plan::parse("target: http://h/\nusers: 4\nduration: 60s").unwrap());
    let change = |at_ns| Command::Change { at_ns, share: Share::all(&plan), to: None, over_ns: 0 };
    control.obey(change(3), 0).unwrap();
    assert_eq!((control.legs_laid_out(), control.take_legs(0).len()), (0, 0));
    [START, change(7), change(9)].into_iter().for_each(|command| control.obey(command, 0).unwrap());
    for worker in 0..2 {
        let begins: Vec<u64> = control.take_legs(worker).iter().map(|leg| leg.from_ns).collect();
        assert_eq!((begins, control.take_legs(worker).len()), (vec![0, 7, 9], 0));
    }
    assert_eq!(control.legs_laid_out(), 3);
}

#[test]
fn a_change_that_is_none_of_the_plan_ends_the_share() {
    let control = control("rate: 10/s, duration: 60s");
    control.obey(START, 0).unwrap();
    let plan = volley_plan::parse("target: http://h/\nusers: 4\nduration: 60s").unwrap();
    let change = Command::Change { at_ns: 100, share: Share::all(&plan), to: None, over_ns: 0 };
    assert!(control.obey(change, 0).unwrap_err().contains("bounds"));
    // What is in flight may finish within the drain.
    let times = (control.stop_at_ns(), control.cancel_at_ns(), control.legs_laid_out());
    assert_eq!(times, (600, 600 + 10 * SECOND_NS, 1));
}
