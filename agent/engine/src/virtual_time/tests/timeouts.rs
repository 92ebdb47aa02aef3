//! How long is waited for what: each time-out in its place, to the nanosecond.

use std::time::Duration;

use volley_plan::{Body, Plan, Step};
use volley_stats::{ErrorKind, Row};

use super::super::target::BODY;
use super::*;

/// One request, within ten seconds. A target that is to answer does so in these pieces after the request,
/// at these milliseconds.
fn one(change: impl FnOnce(&mut Plan)) -> Plan {
    let mut plan = plan("rate: 1/s\niterations: 1\nmethod: POST\ntimeout: 10s\ndrain: 30s\n");
    change(&mut plan);
    plan
}

fn sends(plan: &mut Plan, bytes: u64, ask_first: Option<u64>) {
    let Step::Request(request) = &mut plan.scenarios[0].steps[0] else { panic!("no request") };
    request.body = Body::Filled(bytes);
    request.ask_first = ask_first.map(Duration::from_millis);
}

fn waits(plan: &mut Plan, first_byte_ms: Option<u64>, idle_ms: Option<u64>) {
    plan.http.first_byte_timeout = first_byte_ms.map(Duration::from_millis);
    plan.http.idle_timeout = idle_ms.map(Duration::from_millis);
}

type Pieces = &'static [(u64, &'static [u8])];

/// What became of the request, after how many milliseconds.
fn check(plan: Plan, pieces: Pieces, expected: Result<(), ErrorKind>, after_ms: u64) {
    let at = |seen: &Seen| pieces.iter().map(|&(ms, piece)| (seen.at_ns + ms * MS, piece)).collect();
    let row = Agent::doing(plan).answered_by(at).run().measured();
    assert_eq!(ended(&row), (expected, after_ms * MS), "{pieces:?}");
}

fn ended(row: &Row<u64>) -> (Result<(), ErrorKind>, u64) {
    let counters = &row.counters;
    assert_eq!((counters.started, counters.completed(), counters.fault()), (1, 1, None));
    match counters.errors.iter().next() {
        None => (Ok(()), row.latency.max_ns().unwrap()),
        Some((kind, _)) => (Err(kind), row.failed_latency.max_ns().unwrap()),
    }
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

#[test]
fn the_first_byte_is_waited_for_as_long_as_the_plan_says() {
    let first_byte = |ms| one(|plan| waits(plan, Some(ms), None));
    check(first_byte(300), &[], Err(ErrorKind::FirstByteTimeout), 300);
    check(first_byte(300), &[(301, HEAD), (302, b"hello")], Err(ErrorKind::FirstByteTimeout), 300);
    check(first_byte(300), &[(299, HEAD), (5000, b"hello")], Ok(()), 5000);
    check(first_byte(300), &[(299, HEAD)], Err(ErrorKind::TotalTimeout), 10_000);
    check(first_byte(20_000), &[], Err(ErrorKind::TotalTimeout), 10_000);
}

#[test]
fn an_answer_stands_still_for_as_long_as_the_plan_lets_it() {
    let idle = |ms| one(|plan| waits(plan, None, Some(ms)));
    check(idle(300), &[(2000, HEAD), (2299, b"he"), (2598, b"llo")], Ok(()), 2598);
    check(idle(300), &[(2000, HEAD), (2299, b"he"), (2600, b"llo")], Err(ErrorKind::IdleTimeout), 2599);
    check(idle(300), &[(2000, b"HTTP/1.1 200 OK\r\n")], Err(ErrorKind::IdleTimeout), 2300);
    // What hasn't begun doesn't stand still.
    check(idle(300), &[], Err(ErrorKind::TotalTimeout), 10_000);
    check(idle(300), &[(9900, HEAD)], Err(ErrorKind::TotalTimeout), 10_000);
}

#[test]
fn whichever_is_due_first_counts() {
    let both = || one(|plan| waits(plan, Some(700), Some(300)));
    check(both(), &[(699, HEAD), (998, b"hello")], Ok(()), 998);
    check(both(), &[(699, HEAD)], Err(ErrorKind::IdleTimeout), 999);
    check(
        both(),
        &[(100, b"HTTP/1.1 103 Early Hints\r\n\r\n"), (401, HEAD)],
        Err(ErrorKind::IdleTimeout),
        400,
    );
    check(both(), &[], Err(ErrorKind::FirstByteTimeout), 700);
}

/// A process that stood still looks late, and names what was due first all the same.
#[test]
fn a_late_look_changes_no_verdict() {
    let stopped = |first_byte_ms, pieces: Pieces| {
        let at = |seen: &Seen| pieces.iter().map(|&(ms, piece)| (seen.at_ns + ms * MS, piece)).collect();
        let plan = one(|plan| waits(plan, Some(first_byte_ms), None));
        ended(&Agent::doing(plan).answered_by(at).stopped(200 * MS..15_000 * MS).run().measured())
    };
    assert_eq!(stopped(300, &[]), (Err(ErrorKind::FirstByteTimeout), 15_000 * MS));
    assert_eq!(stopped(300, &[(290, HEAD)]), (Err(ErrorKind::FirstByteTimeout), 15_000 * MS));
    assert_eq!(stopped(20_000, &[(290, HEAD), (291, b"hello")]), (Err(ErrorKind::TotalTimeout), 15_000 * MS));
}

#[test]
fn the_first_byte_is_not_waited_for_while_the_body_is_being_written() {
    // The pipe holds 64 KiB, and the target reads nothing until its answer is out.
    let large = || {
        one(|plan| {
            waits(plan, Some(300), Some(300));
            sends(plan, 300_000, Some(1000));
        })
    };
    // It says 100 and reads the body 4 s later: here, as another request, which it answers after 299 ms.
    let continued = |answer_ms: u64| {
        move |seen: &Seen| match seen.path.as_str() {
            BODY => vec![(seen.at_ns + answer_ms * MS, HEAD), (seen.at_ns + answer_ms * MS, &b"hello"[..])],
            _ => vec![
                (seen.at_ns + 50 * MS, &b"HTTP/1.1 100 Continue\r\n\r\n"[..]),
                (seen.at_ns + 4000 * MS, b""),
            ],
        }
    };
    let ran = Agent::doing(large()).answered_by(continued(299)).run();
    assert_eq!(ended(&ran.measured()), (Ok(()), 4299 * MS));
    let ran = Agent::doing(large()).answered_by(continued(301)).run();
    assert_eq!(ended(&ran.measured()), (Err(ErrorKind::FirstByteTimeout), 4300 * MS));
}

#[test]
fn leave_is_waited_for_as_long_as_the_plan_says() {
    let asking = || one(|plan| sends(plan, 1000, Some(400)));
    let answers = |leave: Pieces| {
        move |seen: &Seen| match seen.path.as_str() {
            BODY => vec![(seen.at_ns + 10 * MS, HEAD), (seen.at_ns + 20 * MS, &b"hello"[..])],
            _ => leave.iter().map(|&(ms, piece)| (seen.at_ns + ms * MS, piece)).collect(),
        }
    };
    let check = |leave: Pieces, seen_ms: &[u64], expected: Result<(), ErrorKind>, after_ms: u64| {
        let ran = Agent::doing(asking()).answered_by(answers(leave)).run();
        let seen: Vec<u64> = ran.times().iter().map(|at_ns| at_ns / MS).collect();
        assert_eq!((seen.as_slice(), ended(&ran.measured())), (seen_ms, (expected, after_ms * MS)));
    };
    check(&[(150, b"HTTP/1.1 100 Continue\r\n\r\n")], &[0, 150], Ok(()), 170);
    check(&[], &[0, 400], Ok(()), 420);
    // Half an interim answer is no leave.
    check(&[(150, b"HTTP/1.1 100 Cont")], &[0, 400], Err(ErrorKind::Protocol), 420);
    // The body never comes.
    check(&[(150, b"HTTP/1.1 417 X\r\nContent-Length: 0\r\n\r\n")], &[0], Err(ErrorKind::Status), 150);
    check(&[(150, HEAD), (9000, b"hello")], &[0], Ok(()), 9000);
}

#[test]
fn the_wait_for_leave_is_within_the_time_of_the_request() {
    let plan = one(|plan| sends(plan, 1000, Some(20_000)));
    check(plan, &[], Err(ErrorKind::TotalTimeout), 10_000);
}
