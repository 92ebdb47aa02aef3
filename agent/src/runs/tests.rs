//! Orders are taken once and in their order; what one run leaves behind doesn't disturb the next.

use volley_engine::Command;
use volley_plan::link::FromAgent;

use super::*;
use crate::testing::{Engines, only_user, prepare, run_id, window};

const START: Order = Order::Start { at_ns: 1_000, lease_until_ns: 50 };
const START_COMMAND: Command = Command::Start { at_ns: 1_000, lease_until_ns: 50 };
const GRANT: Order = Order::Grant { from: 0, to: 5, last: false };
const GRANT_COMMAND: Command = Command::Grant { from: 0, to: 5, last: false };
const END: Command = Command::Stop { at_ns: 0, drain_ns: 0 };

/// Runs with one that was prepared.
fn prepared() -> (Engines, Runs, RunId) {
    let engines = Engines::default();
    let mut runs = engines.runs();
    let run = run_id("one");
    assert!(runs.order(&run, 1, prepare()));
    (engines, runs, run)
}

fn reports(runs: &mut Runs) -> Vec<Report> {
    std::iter::from_fn(|| runs.next_report())
        .map(|message| match message {
            FromAgent::Report { report, .. } => report,
            other => panic!("{other:?} is no report"),
        })
        .collect()
}

/// What an engine is told of orders with these numbers, and how far they are acknowledged.
fn check_orders(orders: &[(u64, Order)], told: &[Command], acknowledged: u64) {
    let (engines, mut runs, run) = prepared();
    for (number, order) in orders {
        runs.order(&run, *number, order.clone());
    }
    assert_eq!(engines.get(0).commands(), told, "{orders:?}");
    assert_eq!(runs.progress(), Some(Progress { run, acknowledged }), "{orders:?}");
    assert_eq!(engines.count(), 1);
}

#[test]
fn orders_are_taken_once_and_in_order() {
    check_orders(&[], &[], 1);
    check_orders(&[(2, GRANT), (3, START)], &[GRANT_COMMAND, START_COMMAND], 3);
    check_orders(&[(2, GRANT), (2, GRANT), (3, START), (2, GRANT)], &[GRANT_COMMAND, START_COMMAND], 3);
    check_orders(&[(3, START)], &[], 1);
    check_orders(&[(3, START), (2, GRANT), (3, START)], &[GRANT_COMMAND, START_COMMAND], 3);
    check_orders(&[(0, START), (u64::MAX, START), (1, prepare())], &[], 1);
    let stop = Order::Stop { at_ns: 9, drain_ns: 1 };
    let stopped = Command::Stop { at_ns: 9, drain_ns: 1 };
    check_orders(&[(2, START), (3, stop)], &[START_COMMAND, stopped], 3);
    check_orders(&[(2, START), (3, START)], &[START_COMMAND], 3);
}

#[test]
fn a_first_order_must_be_to_prepare() {
    let engines = Engines::default();
    let mut runs = engines.runs();
    for order in [START, GRANT, Order::Release] {
        assert!(!runs.order(&run_id("one"), 1, order));
    }
    assert!(!runs.order(&run_id("one"), 2, prepare()));
    assert_eq!((engines.count(), runs.progress()), (0, None));
}

#[test]
fn an_engine_gets_plan_share_and_seed() {
    let (engines, ..) = prepared();
    let setup = engines.get(0).setup;
    assert_eq!((setup.share, setup.seed), (only_user(), 42));
    assert_eq!((setup.workers, setup.spin), (3, Spin::On));
    assert_eq!(setup.plan.target.to_string(), "http://127.0.0.1:9/");
}

/// Prepares with a broken order and gives back the reason of the refusal.
fn refusal(order: Order) -> String {
    let engines = Engines::default();
    let mut runs = engines.runs();
    assert!(runs.order(&run_id("one"), 1, order));
    assert_eq!(engines.count(), 0);
    match reports(&mut runs).as_slice() {
        [Report::Refused { reason }] => reason.clone(),
        other => panic!("{other:?} is not one refusal"),
    }
}

#[test]
fn another_hash_is_refused_with_both_named() {
    let Order::Prepare { plan, hash, share, seed } = prepare() else { panic!("it is an order to prepare") };
    let other = hash.replace(|c| c != '0', "0");
    let reason = refusal(Order::Prepare { plan, hash: other.clone(), share, seed });
    assert!(reason.contains(&hash) && reason.contains(&other), "{reason}");
}

#[test]
fn a_plan_that_cannot_be_read_is_refused_with_its_faults() {
    let Order::Prepare { hash, share, seed, .. } = prepare() else { panic!("it is an order to prepare") };
    let reason = refusal(Order::Prepare { plan: "{\"tarket\":1}".to_owned(), hash, share, seed });
    assert!(reason.contains("tarket"), "{reason}");
}

#[test]
fn readiness_is_said_once_for_each_connection_until_the_start() {
    let (_, mut runs, run) = prepared();
    assert_eq!(reports(&mut runs), []);
    runs.hear(Some(Event::Ready));
    assert_eq!(reports(&mut runs), [Report::Ready]);
    runs.reconnected();
    assert_eq!(reports(&mut runs), [Report::Ready]);
    runs.order(&run, 2, START);
    runs.reconnected();
    assert_eq!(reports(&mut runs), []);
}

#[test]
fn a_refusing_engine_is_ended_and_its_reason_told() {
    let (engines, mut runs, run) = prepared();
    let refused = [Report::Refused { reason: "no such host".to_owned() }];
    runs.hear(Some(Event::Refused { reason: "no such host".to_owned() }));
    assert_eq!(reports(&mut runs), refused);
    assert_eq!(engines.get(0).commands(), [END]);
    runs.reconnected();
    assert!(runs.order(&run, 2, START), "an order to a run that was refused is taken and does nothing");
    assert_eq!(reports(&mut runs), refused);
}

#[test]
fn a_wish_is_told_again_until_a_grant_comes() {
    let (_, mut runs, run) = prepared();
    runs.order(&run, 2, GRANT);
    runs.order(&run, 3, START);
    runs.hear(Some(Event::GrantWanted { taken: 5, iterations: 7 }));
    let wish = [Report::GrantWanted { taken: 5, iterations: 7 }];
    assert_eq!(reports(&mut runs), wish);
    assert_eq!(reports(&mut runs), []);
    runs.reconnected();
    assert_eq!(reports(&mut runs), wish);
    runs.order(&run, 4, Order::Grant { from: 5, to: 12, last: true });
    runs.reconnected();
    assert_eq!(reports(&mut runs), []);
}

#[test]
fn a_lease_only_grows_and_only_for_the_run_at_hand() {
    let (engines, mut runs, run) = prepared();
    let lease = |name: &str, until_ns| Lease { run: run_id(name), until_ns };
    runs.lease(&lease("one", 500));
    assert_eq!(engines.get(0).commands(), [], "before the start there is no run time");
    runs.order(&run, 2, START);
    for lease in [lease("one", 50), lease("one", 70), lease("one", 60), lease("two", 90), lease("one", 71)] {
        runs.lease(&lease);
    }
    let leases = [70, 71].map(|until_ns| Command::Lease { until_ns });
    assert_eq!(engines.get(0).commands()[1..], leases);
}

#[test]
fn a_new_run_ends_the_old_one_whose_windows_are_still_owed() {
    let (engines, mut runs, one) = prepared();
    let two = run_id("two");
    runs.order(&one, 2, START);
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: false }));
    engines.get(0).tell(Event::Window { window: window(1, &[2]), last: false });
    assert!(runs.order(&two, 1, prepare()));
    assert_eq!(engines.get(0).commands(), [START_COMMAND, END]);
    assert_eq!(runs.progress(), Some(Progress { run: two.clone(), acknowledged: 1 }));
    let windows: Vec<FromAgent> = std::iter::from_fn(|| runs.next_report()).collect();
    let owed = |sequence, second, ns| FromAgent::Report {
        run: one.clone(),
        report: Report::Window { sequence, window: window(second, &[ns]), last: false },
    };
    assert_eq!(windows, [owed(1, 0, 1), owed(2, 1, 2)]);

    assert!(!runs.order(&one, 1, prepare()), "a repeat doesn't bring the old run back");
    assert!(runs.order(&one, 3, Order::Stop { at_ns: 5, drain_ns: 0 }));
    assert!(runs.order(&one, 4, Order::Release));
    runs.reconnected();
    assert_eq!(reports(&mut runs), []);
    assert_eq!((engines.count(), engines.get(1).commands()), (2, vec![]));
}

#[test]
fn a_released_run_is_forgotten_and_cannot_come_back() {
    let (engines, mut runs, run) = prepared();
    runs.order(&run, 2, START);
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: true }));
    assert_eq!(engines.get(0).commands(), [START_COMMAND, END]);
    assert!(!runs.needs_contact());
    assert!(runs.order(&run, 3, Order::Release));
    assert!(!runs.order(&run, 3, Order::Release));
    assert!(!runs.order(&run, 1, prepare()));
    assert_eq!((runs.progress(), reports(&mut runs)), (None, vec![]));
    assert!(runs.order(&run_id("two"), 1, prepare()));
}

#[test]
fn a_stopped_run_owes_its_windows_until_they_are_acknowledged() {
    let (engines, mut runs, run) = prepared();
    runs.stop(1_005);
    assert_eq!((engines.get(0).commands(), runs.owes_windows()), (vec![], false), "it never began");
    runs.order(&run, 2, START);
    assert!(runs.owes_windows());
    runs.stop(1_005);
    assert_eq!(engines.get(0).commands(), [START_COMMAND, Command::Stop { at_ns: 5, drain_ns: 0 }]);
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: true }));
    assert_eq!((reports(&mut runs).len(), runs.owes_windows()), (1, true));
    runs.acknowledge(&run, 1);
    assert!(!runs.owes_windows());
}

#[test]
fn an_engine_that_breaks_down_still_gives_a_last_window() {
    let (_, mut runs, run) = prepared();
    runs.order(&run, 2, START);
    runs.hear(Some(Event::Window { window: window(3, &[1]), last: false }));
    runs.hear(None);
    let reports = reports(&mut runs);
    let [_, Report::Window { sequence: 2, window, last: true }] = reports.as_slice() else {
        panic!("{reports:?} are not a window and a last one")
    };
    assert_eq!((window.rows.len(), window.watermark_s), (0, 4));
}

#[test]
fn an_engine_that_breaks_down_before_the_start_refuses() {
    let (_, mut runs, _) = prepared();
    runs.hear(None);
    assert!(matches!(reports(&mut runs).as_slice(), [Report::Refused { .. }]));
}
