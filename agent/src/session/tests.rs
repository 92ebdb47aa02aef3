//! What is said over a connection, and in which order.

use std::collections::BTreeMap;

use volley_engine::{Command, Event};
use volley_plan::link::{Incarnation, Lease, Progress, Report};

use super::*;
use crate::testing::{Engines, prepare, run_id, start, window};

fn hello() -> Hello {
    Hello {
        protocol: 1,
        version: "0".to_owned(),
        incarnation: Incarnation(7),
        name: "a".to_owned(),
        workers: 1,
        labels: BTreeMap::new(),
        weight: None,
        capacity: None,
    }
}

fn session() -> (Engines, Session) {
    let engines = Engines::default();
    let runs = engines.runs();
    (engines, Session::new(hello(), runs))
}

/// A session that has joined at time 100 and said its first ping at 101.
fn joined() -> (Engines, Session) {
    let (engines, mut session) = session();
    session.connected(100);
    session.say(100);
    session.hear(101, ToAgent::Welcome);
    assert!(matches!(session.say(101), Some(FromAgent::Ping { .. })));
    (engines, session)
}

fn pong(sent_ns: u64) -> ToAgent {
    ToAgent::Pong { sent_ns, received_ns: 5_000, answered_ns: 5_001, lease: None }
}

/// A ping of an agent that stays.
fn ping(sent_ns: u64, round_trip: Option<RoundTrip>, progress: Option<Progress>) -> FromAgent {
    FromAgent::Ping { sent_ns, round_trip, progress, leaving: false }
}

/// All that is to be said now.
fn said(session: &mut Session, now_ns: u64) -> Vec<FromAgent> {
    std::iter::from_fn(|| session.has_to_say().then(|| session.say(now_ns)).flatten()).collect()
}

#[test]
fn nothing_is_said_before_the_welcome_but_join() {
    let (_, mut session) = session();
    session.connected(100);
    assert_eq!(said(&mut session, 100), [FromAgent::Join(hello())]);
    assert!(session.beat());
    session.hear(110, ToAgent::Order { run: run_id("r"), number: 1, order: prepare() });
    assert_eq!(said(&mut session, 110), []);
    session.hear(120, ToAgent::Welcome);
    assert_eq!(said(&mut session, 120), [ping(120, None, None)]);
}

#[test]
fn the_first_pings_follow_each_other_at_once() {
    let (_, mut session) = joined();
    let mut trips = vec![];
    for now in [200, 300, 400] {
        session.hear(now, pong(now - 90));
        for message in said(&mut session, now + 1) {
            let FromAgent::Ping { sent_ns, round_trip: Some(trip), .. } = message else {
                panic!("{message:?} is no ping with a round trip")
            };
            trips.push((sent_ns, trip.sent_ns, trip.returned_ns));
        }
    }
    assert_eq!(trips, [(201, 110, 200), (301, 210, 300)]);
    assert!(session.beat());
    let trip = RoundTrip { sent_ns: 310, received_ns: 5_000, answered_ns: 5_001, returned_ns: 400 };
    assert_eq!(said(&mut session, 500), [ping(500, Some(trip), None)]);
    assert!(session.beat());
    let told_once = ping(900, None, None);
    assert_eq!(said(&mut session, 900), [told_once]);
}

#[test]
fn a_pong_for_no_ping_of_this_connection_is_no_round_trip() {
    let (_, mut session) = joined();
    for sent_ns in [0, 99, 201, u64::MAX] {
        session.hear(200, pong(sent_ns));
    }
    assert!(matches!(said(&mut session, 201).as_slice(), [FromAgent::Ping { round_trip: None, .. }]));
}

#[test]
fn an_order_is_acknowledged_by_a_ping_at_once() {
    let (_, mut session) = joined();
    session.hear(200, ToAgent::Order { run: run_id("r"), number: 1, order: prepare() });
    let progress = Some(Progress { run: run_id("r"), acknowledged: 1, start_ns: None });
    assert_eq!(said(&mut session, 210), [ping(210, None, progress)]);
    session.hear(220, ToAgent::Order { run: run_id("r"), number: 1, order: prepare() });
    assert_eq!(said(&mut session, 230), []);
}

#[test]
fn a_pong_renews_the_lease() {
    let (engines, mut session) = joined();
    let order = |number, order| ToAgent::Order { run: run_id("r"), number, order };
    session.hear(200, order(1, prepare()));
    session.hear(201, order(2, start(300)));
    let lease = Some(Lease { run: run_id("r"), until_ns: 90 });
    session.hear(210, ToAgent::Pong { sent_ns: 150, received_ns: 1, answered_ns: 1, lease });
    assert_eq!(engines.get(0).commands().last(), Some(&Command::Lease { until_ns: 90 }));
}

#[test]
fn pings_come_before_wishes_and_wishes_before_windows() {
    let (_, mut session) = joined();
    let order = |number, order| ToAgent::Order { run: run_id("r"), number, order };
    session.hear(200, order(1, prepare()));
    session.hear(201, order(2, start(300)));
    session.runs.hear(Some(Event::Window { window: window(0, &[1]), last: false }));
    session.runs.hear(Some(Event::GrantWanted { taken: 0, iterations: 9 }));
    let kinds: Vec<&str> = said(&mut session, 400)
        .iter()
        .map(|message| match message {
            FromAgent::Join(_) => "join",
            FromAgent::Ping { .. } => "ping",
            FromAgent::Report { report: Report::GrantWanted { .. }, .. } => "wish",
            FromAgent::Report { report: Report::Window { .. }, .. } => "window",
            FromAgent::Report { .. } => "other",
        })
        .collect();
    assert_eq!(kinds, ["ping", "wish", "window"]);
}

#[test]
fn after_a_reconnect_what_is_unacknowledged_is_sent_again() {
    let (_, mut session) = joined();
    let run = run_id("r");
    let order = |number, order| ToAgent::Order { run: run_id("r"), number, order };
    session.hear(200, order(1, prepare()));
    session.hear(201, order(2, start(300)));
    for second in 0..3 {
        session.runs.hear(Some(Event::Window { window: window(second, &[1]), last: second == 2 }));
    }
    let sequences = |session: &mut Session| -> Vec<u64> {
        let messages = said(session, 400).into_iter();
        messages
            .filter_map(|message| match message {
                FromAgent::Report { report: Report::Window { sequence, .. }, .. } => Some(sequence),
                _ => None,
            })
            .collect()
    };
    assert_eq!(sequences(&mut session), [1, 2, 3]);
    session.hear(410, ToAgent::Acknowledge { run: run.clone(), of: None, sequence: 1 });
    session.connected(500);
    assert_eq!(said(&mut session, 500), [FromAgent::Join(hello())]);
    session.hear(510, ToAgent::Welcome);
    assert_eq!(sequences(&mut session), [2, 3]);
    session.hear(520, ToAgent::Acknowledge { run, of: None, sequence: 3 });
    session.connected(600);
    session.say(600);
    session.hear(610, ToAgent::Welcome);
    assert_eq!(sequences(&mut session), [0; 0]);
}

#[test]
fn silence_ends_a_connection_and_a_word_saves_it() {
    let (_, mut session) = joined();
    let beats = |session: &mut Session| (0..MAX_SILENT_BEATS).map(|_| session.beat()).collect::<Vec<_>>();
    for _ in 1..MAX_SILENT_BEATS {
        assert!(session.beat());
    }
    session.hear(900, pong(150));
    assert_eq!(beats(&mut session).iter().position(|alive| !alive), Some(MAX_SILENT_BEATS as usize - 1));
}

#[test]
fn a_refusal_is_handed_on() {
    let (_, mut session) = session();
    session.connected(100);
    let reason = "agent speaks protocol 1, this coordinator 2".to_owned();
    assert_eq!(session.hear(110, ToAgent::Refused { reason: reason.clone() }), Some(reason));
}

#[test]
fn an_agent_that_leaves_says_so_at_once_and_with_each_ping() {
    let leaving = |session: &mut Session, now_ns| {
        let said = said(session, now_ns);
        said.iter()
            .map(|message| matches!(message, FromAgent::Ping { leaving: true, .. }))
            .collect::<Vec<_>>()
    };
    let (_, mut session) = joined();
    session.leave();
    assert_eq!(leaving(&mut session, 200), [true]);
    assert!(session.beat());
    assert_eq!(leaving(&mut session, 300), [true]);
    session.connected(400);
    assert_eq!(leaving(&mut session, 400), [false], "first it must join");
    session.hear(401, ToAgent::Welcome);
    assert_eq!(leaving(&mut session, 402), [true]);
}
