//! Who gets which turn, and who is there to take it.

use super::*;
use volley_plan::shape::Stripes;
use volley_plan::{Model, parse};
use volley_stats::Part;

fn arrivals(plan: &str, max_in_flight: u32, connections: Option<u32>) -> Arrivals {
    let plan = parse(&format!("target: http://h/\n{}", plan.replace(", ", "\n"))).unwrap();
    let Model::Open(load) = &plan.load.model else { panic!("not open") };
    let arrivals = Arrivals::default();
    let bounds = Some(Bounds { max_in_flight, connections });
    arrivals.learn(0, &Stripes::default().all(), &OpenPlan::new(load, 1).unwrap(), bounds);
    assert!(arrivals.change().is_empty());
    arrivals
}

/// Goes over to other bounds at once; gives the slots that are woken to leave.
fn bounded(arrivals: &Arrivals, connections: Option<u32>) -> Vec<usize> {
    let plan = parse("target: http://h/\nrate: 10/s\nduration: 1s").unwrap();
    let Model::Open(load) = &plan.load.model else { panic!("not open") };
    let all = Stripes::default().all();
    let plan = OpenPlan::new(load, 1).unwrap();
    match connections {
        None => arrivals.learn(500, &all.without(&all), &plan, None),
        Some(_) => arrivals.learn(500, &all, &plan, Some(Bounds { max_in_flight: 4, connections })),
    }
    assert_eq!(arrivals.change_at_ns(), 500);
    arrivals.change()
}

fn turn(n: u64) -> Turn {
    Turn { n, due_ns: n, part: Part::Measured, taken_ns: n, is_queued: false }
}

/// The slots that are made at this time.
fn made(arrivals: &Arrivals, now_ns: u64) -> Vec<usize> {
    std::iter::from_fn(|| arrivals.new_slot(now_ns)).collect()
}

#[test]
fn turns_go_to_the_latest_idle_slot_then_to_new_ones_then_wait() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 4, Some(2));
    let queued = |n| Next::Turn(Turn { is_queued: true, ..turn(n) });
    assert_eq!((arrivals.admit(turn(0)), made(&arrivals, 5), made(&arrivals, 5)), (None, vec![0], vec![]));
    assert_eq!((arrivals.admit(turn(1)), made(&arrivals, 6)), (None, vec![1]));
    assert_eq!((arrivals.next(0), arrivals.next(1)), (queued(0), queued(1)));
    assert_eq!((arrivals.admit(turn(2)), arrivals.slot_at_ns()), (None, NEVER));
    arrivals.iteration_over();
    assert_eq!(arrivals.next(1), queued(2));
    arrivals.iteration_over();
    arrivals.iteration_over();
    // Each says twice that it is idle, and gets one turn.
    for slot in [0, 1, 0, 1] {
        assert_eq!(arrivals.next(slot), Next::Wait);
    }
    assert_eq!([3, 4, 5].map(|n| arrivals.admit(turn(n))), [Some(1), Some(0), None]);
    assert_eq!(
        [1, 0, 1].map(|slot| arrivals.next(slot)),
        [Next::Turn(turn(3)), Next::Turn(turn(4)), queued(5)]
    );
    assert!(!arrivals.is_full());
    arrivals.admit(turn(6));
    assert!(arrivals.is_full());
    assert_eq!(std::iter::from_fn(|| arrivals.take_back()).count(), 1);
    (0..3).for_each(|_| arrivals.iteration_over());
    arrivals.close();
    assert!(arrivals.is_done());
}

#[test]
fn no_slot_is_made_for_a_turn_that_another_has_taken() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 100, None);
    (0..20).for_each(|n| assert_eq!(arrivals.admit(turn(n)), None));
    assert_eq!(made(&arrivals, 0), (0..20).collect::<Vec<_>>());
    // The first is there and works off what the others were made for.
    for _ in 0..15 {
        assert!(matches!(arrivals.next(0), Next::Turn(_)));
    }
    arrivals.admit(turn(20));
    assert_eq!((arrivals.slot_at_ns(), made(&arrivals, 0)), (NEVER, vec![]));
    for slot in 1..20 {
        assert_eq!(matches!(arrivals.next(slot), Next::Turn(_)), slot <= 6, "{slot}");
    }
    assert_eq!((arrivals.admit(turn(21)), arrivals.admit(turn(22))), (Some(19), Some(18)));
}

#[test]
fn connections_are_opened_at_a_bounded_rate() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 1000, None);
    (0..100).for_each(|n| assert_eq!(arrivals.admit(turn(n)), None));
    assert_eq!(made(&arrivals, 1_000_000_000).len() as u64, SLOTS_AT_ONCE);
    assert_eq!(arrivals.slot_at_ns(), 1_000_000_000 + SLOT_GAP_NS);
    let after = |gaps| made(&arrivals, 1_000_000_000 + gaps * SLOT_GAP_NS).len();
    assert_eq!([after(1), after(2), after(5), after(5), after(100)], [1, 1, 3, 0, 32]);
}

#[test]
fn a_slot_that_is_woken_by_chance_takes_a_turn() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 100, Some(2));
    arrivals.admit(turn(0));
    assert_eq!(
        (made(&arrivals, 0), arrivals.next(0), arrivals.next(0)),
        (vec![0], Next::Turn(Turn { is_queued: true, ..turn(0) }), Next::Wait)
    );
    arrivals.admit(turn(1));
    // It was woken for that one, and finds another one when it asks again, unwoken.
    assert_eq!((arrivals.next(0), arrivals.next(0)), (Next::Turn(turn(1)), Next::Wait));
    arrivals.waiting.borrow_mut().push_back(turn(2));
    assert_eq!((arrivals.next(0), arrivals.admit(turn(3))), (Next::Turn(turn(2)), None));
}

#[test]
fn slots_that_are_too_many_leave() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 4, Some(4));
    (0..4).for_each(|n| assert_eq!(arrivals.admit(turn(n)), None));
    assert_eq!(made(&arrivals, 0), [0, 1, 2, 3]);
    for slot in 0..4 {
        assert!(matches!(arrivals.next(slot), Next::Turn(_)));
    }
    (0..2).for_each(|_| arrivals.iteration_over());
    assert_eq!([0, 1].map(|slot| arrivals.next(slot)), [Next::Wait; 2]);
    // One may stay: both idle ones are told at once, the first of the others to end leaves too.
    assert_eq!(bounded(&arrivals, Some(1)), [0, 1]);
    assert_eq!([0, 1].map(|slot| arrivals.next(slot)), [Next::Over; 2]);
    arrivals.iteration_over();
    assert_eq!(arrivals.admit(turn(4)), None);
    assert_eq!((arrivals.next(2), arrivals.slot_at_ns()), (Next::Over, NEVER));
    arrivals.iteration_over();
    assert!(matches!(arrivals.next(3), Next::Turn(_)));
    assert!(bounded(&arrivals, Some(2)).is_empty());
    arrivals.admit(turn(5));
    assert_eq!(made(&arrivals, 1_000_000_000), [2], "a place is used again");
}

#[test]
fn without_a_share_what_was_taken_up_is_still_done() {
    let arrivals = arrivals("rate: 10/s, duration: 1s", 4, Some(1));
    assert_eq!([0, 1].map(|n| arrivals.admit(turn(n))), [None; 2]);
    assert_eq!(made(&arrivals, 0), [0]);
    assert!(matches!(arrivals.next(0), Next::Turn(_)));
    assert!(bounded(&arrivals, None).is_empty());
    assert!(arrivals.is_full() && arrivals.due_ns() == NEVER);
    arrivals.iteration_over();
    assert!(matches!(arrivals.next(0), Next::Turn(_)));
    arrivals.iteration_over();
    assert_eq!((arrivals.next(0), arrivals.is_done()), (Next::Over, true));
}

#[test]
fn a_leg_begins_where_the_one_before_ends() {
    let arrivals = arrivals("rate: 10/s, duration: 2s", 1, None);
    let plan = parse("target: http://h/\nrate: 10/s\nduration: 2s").unwrap();
    let Model::Open(load) = &plan.load.model else { panic!("not open") };
    let even: Vec<u32> = (0..2520).step_by(2).collect();
    let even = StripeSet::new(Stripes::default(), even).unwrap();
    let bounds = Some(Bounds { max_in_flight: 1, connections: None });
    arrivals.learn(1_000_000_000, &even, &OpenPlan::new(load, 1).unwrap(), bounds);
    let until_ns = arrivals.change_at_ns();
    let mut numbers: Vec<u64> =
        std::iter::from_fn(|| arrivals.take_before(until_ns)).map(|arrival| arrival.n).collect();
    assert!(!arrivals.is_done());
    arrivals.change();
    numbers.extend(std::iter::from_fn(|| arrivals.take_before(NEVER)).map(|arrival| arrival.n));
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18]);
    assert!(arrivals.is_done());
}

#[test]
fn a_number_of_iterations_or_the_time_ends_the_arrivals() {
    for (plan, expected) in [
        ("rate: 10/s, duration: 2s", 20),
        ("rate: 10/s, duration: 2s, iterations: 7", 7),
        ("rate: 10/s, duration: 2s, iterations: 7, warmup: 1s", 17),
        ("rate: 10/s, iterations: 13", 13),
    ] {
        let arrivals = arrivals(plan, 1, None);
        assert_eq!(std::iter::from_fn(|| arrivals.take_before(NEVER)).count(), expected, "{plan}");
    }
}
