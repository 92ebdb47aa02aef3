//! Orders are taken once and in their order; what one run leaves behind doesn't disturb the next.

mod kept;

use volley_engine::Command;
use volley_plan::Level;
use volley_plan::link::Report;
use volley_plan::shape::Rate;
use volley_stats::SealedWindow;

use super::*;
use crate::sealed::sealed;
use crate::testing::{Engines, all_users, prepare, prepare_to, run_id, window};

const START: Order = Order::Start { at_ns: 1_000, from_ns: 7, lease_until_ns: 50 };
const START_COMMAND: Command = Command::Start { at_ns: 1_000, from_ns: 7, lease_until_ns: 50 };
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
    let progress = runs.progress().map(|progress| (progress.run, progress.acknowledged));
    assert_eq!(progress, Some((run, acknowledged)), "{orders:?}");
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
    let (share, over_ns) = (all_users(), 5);
    let change = Order::Change { at_ns: 8, share: share.clone(), to: Some(Level::Users(3)), over_ns };
    let changed = Command::Change { at_ns: 8, share, to: Some(Level::Users(3)), over_ns };
    check_orders(&[(2, START), (3, change.clone()), (3, change)], &[START_COMMAND, changed], 3);
}

#[test]
fn run_time_0_is_told_once_it_is_known_and_to_the_end() {
    let (_, mut runs, run) = prepared();
    let told = |runs: &Runs| runs.progress().and_then(|progress| progress.start_ns);
    assert_eq!(told(&runs), None);
    runs.order(&run, 2, START);
    assert_eq!(told(&runs), Some(1_000));
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: true }));
    assert_eq!(told(&runs), Some(1_000));
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
    assert_eq!((setup.share, setup.seed), (all_users(), 42));
    assert_eq!((setup.workers, setup.spin), (3, Spin::On));
    assert_eq!(setup.plan.target.to_string(), "http://127.0.0.1:9/");
}

/// Prepares with a broken order and gives back the reason of the refusal.
fn refusal(order: Order) -> String {
    refusal_by(&mut |_| {}, "any", order)
}

/// The same of an agent that has this rule for what it may do, after something was done with it.
fn refusal_by(before: &mut dyn FnMut(&mut Runs), rule: &str, order: Order) -> String {
    let engines = Engines::default();
    let mut runs = engines.runs_allowed(rule);
    before(&mut runs);
    assert!(runs.order(&run_id("one"), 1, order));
    assert_eq!(engines.count(), 0);
    match reports(&mut runs).as_slice() {
        [Report::Refused { reason }] => reason.clone(),
        other => panic!("{other:?} is not one refusal"),
    }
}

#[test]
fn another_hash_is_refused_with_both_named() {
    let Order::Prepare { plan, hash, share, seed, adjusted } = prepare() else {
        panic!("it is an order to prepare")
    };
    let other = hash.replace(|c| c != '0', "0");
    let reason = refusal(Order::Prepare { plan, hash: other.clone(), share, seed, adjusted });
    assert!(reason.contains(&hash) && reason.contains(&other), "{reason}");
}

#[test]
fn a_plan_that_cannot_be_read_is_refused_with_its_faults() {
    let Order::Prepare { hash, share, seed, adjusted, .. } = prepare() else {
        panic!("it is an order to prepare")
    };
    let reason = refusal(Order::Prepare { plan: "{\"tarket\":1}".to_owned(), hash, share, seed, adjusted });
    assert!(reason.contains("tarket"), "{reason}");
}

/// An order to prepare a load of ten a second.
fn prepare_ten_a_second(adjusted: Vec<Adjust>) -> Order {
    let plan =
        volley_plan::parse("target: http://127.0.0.1:9/\nrate: 10/s\nduration: 9s").expect("a good plan");
    match prepare_to(&plan) {
        Order::Prepare { plan, hash, share, seed, .. } => {
            Order::Prepare { plan, hash, share, seed, adjusted }
        }
        other => panic!("{other:?} is no order to prepare"),
    }
}

fn rate(per_second: u64) -> Level {
    Level::Rate(Rate::per_second(per_second).expect("a moderate rate"))
}

#[test]
fn what_the_agents_own_list_forbids_is_refused_with_what_to_do() {
    let other_host = refusal_by(&mut |_| {}, "shop.test", prepare());
    assert!(
        other_host.contains("agent's own allow-list") && other_host.contains("127.0.0.1:9"),
        "{other_host}"
    );
    let rule = "127.0.0.1 max 20/s";
    let too_fast =
        refusal_by(&mut |_| {}, rule, prepare_ten_a_second(vec![Adjust { at_ns: 5, to: rate(21) }]));
    assert!(too_fast.contains("agent's own allow-list"), "{too_fast}");
    let not_its_load = vec![Adjust { at_ns: 5, to: Level::Users(3) }];
    let impossible = refusal(prepare_ten_a_second(not_its_load));
    assert!(impossible.contains("can't be adjusted"), "{impossible}");
}

#[test]
fn a_load_that_is_adjusted_to_what_is_forbidden_here_ends_here() {
    let engines = Engines::default();
    let mut runs = engines.runs_allowed("127.0.0.1 max 20/s");
    let run = run_id("one");
    assert!(runs.order(&run, 1, prepare_ten_a_second(vec![Adjust { at_ns: 5, to: rate(20) }])));
    let setup = engines.get(0).setup;
    assert_eq!(setup.adjusted, [Adjust { at_ns: 5, to: rate(20) }]);
    assert_eq!(
        *setup.allow,
        runs.means.allow.for_load(&setup.plan.load.adjusted(setup.adjusted[0]).expect("so it is"))
    );
    let change = |at_ns, to| Order::Change { at_ns, share: all_users(), to: Some(to), over_ns: 0 };
    runs.order(&run, 2, change(100, rate(15)));
    runs.order(&run, 3, change(200, rate(30)));
    runs.order(&run, 4, change(300, rate(10)));
    // What is forbidden never comes to the engine, nor what follows it.
    let permitted = Command::Change { at_ns: 100, share: all_users(), to: Some(rate(15)), over_ns: 0 };
    let stop = Command::Stop { at_ns: 200, drain_ns: 10_000_000_000 };
    assert_eq!(engines.get(0).commands(), [permitted, stop]);
    // It says why, once for each connection, and the engine's reason is the same.
    runs.hear(Some(Event::Vetoed { reason: "another".to_owned() }));
    let said = |runs: &mut Runs| match reports(runs).as_slice() {
        [Report::Refused { reason }] => reason.clone(),
        other => panic!("{other:?} is not one refusal"),
    };
    assert!(said(&mut runs).contains("bounds 127.0.0.1:9 to 20/s"));
    assert_eq!(reports(&mut runs), []);
    runs.reconnected();
    assert!(said(&mut runs).contains("the agent's own allow-list forbids it"), "and whose list it is");
}

#[test]
fn what_an_engine_vetoes_is_told() {
    let (_, mut runs, run) = prepared();
    runs.hear(Some(Event::Ready));
    runs.order(&run, 2, START);
    assert_eq!(reports(&mut runs), []);
    runs.hear(Some(Event::Vetoed { reason: "too much for 10.0.0.1".to_owned() }));
    let told = reports(&mut runs);
    assert!(matches!(&told[..], [Report::Refused { reason }] if reason.contains("10.0.0.1")), "{told:?}");
}

#[test]
fn an_agent_that_leaves_takes_no_further_run() {
    let reason = refusal_by(&mut Runs::leave, "any", prepare());
    assert!(reason.contains("about to end"), "{reason}");
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
    assert_eq!(runs.progress(), Some(Progress { run: two.clone(), acknowledged: 1, start_ns: None }));
    let windows: Vec<FromAgent> = std::iter::from_fn(|| runs.next_report()).collect();
    let owed = |sequence, second, ns| FromAgent::Report {
        run: one.clone(),
        of: None,
        report: Report::Window { sequence, window: sealed(&window(second, &[ns])), last: false },
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
    let said = reports(&mut runs);
    assert!(
        matches!(&said[..], [Report::Refused { reason }, Report::Window { .. }] if reason.contains("told to end"))
    );
    assert!(runs.owes_windows());
    runs.acknowledge(run, None, 1);
    assert!(!runs.owes_windows());
}

/// What was due after the lease may be somebody else's by then.
#[test]
fn who_is_alone_stops_no_later_than_its_lease() {
    let (engines, mut runs, run) = prepared();
    runs.order(&run, 2, START);
    runs.lease(&Lease { run, until_ns: 70 });
    runs.abandon(1_100);
    let stop = Command::Stop { at_ns: 70, drain_ns: 0 };
    assert_eq!(engines.get(0).commands(), [START_COMMAND, Command::Lease { until_ns: 70 }, stop]);
    let told = Report::Refused { reason: "it had no word of the coordinator for 60 s".to_owned() };
    assert_eq!(reports(&mut runs), [told], "it says why, once it can");
}

#[test]
fn a_run_that_was_given_up_before_it_starts_ends_with_nothing_done() {
    let (engines, mut runs, run) = prepared();
    runs.hear(Some(Event::Ready));
    reports(&mut runs);
    runs.abandon(5);
    assert_eq!((runs.progress(), reports(&mut runs)), (None, vec![]));
    runs.order(&run, 2, GRANT);
    assert_eq!(reports(&mut runs), []);
    runs.order(&run, 3, START);
    let ended = Report::Window { sequence: 1, window: SealedWindow::default(), last: true };
    assert_eq!(reports(&mut runs), [ended]);
    assert!(runs.order(&run, 4, Order::Release));
    runs.reconnected();
    assert_eq!((engines.count(), reports(&mut runs), runs.has_work()), (1, vec![], false));
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

#[test]
fn a_run_that_the_coordinator_does_not_know_is_forgotten() {
    let (engines, mut runs, run) = prepared();
    runs.order(&run, 2, START);
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: false }));
    runs.acknowledge(run_id("other"), None, u64::MAX);
    assert_eq!((runs.owed_windows(), engines.get(0).commands()), (1, vec![START_COMMAND]));
    runs.acknowledge(run.clone(), None, u64::MAX);
    assert_eq!((runs.progress(), runs.owed_windows(), runs.has_work()), (None, 0, false));
    assert_eq!(engines.get(0).commands(), [START_COMMAND, END]);
    assert!(runs.order(&run_id("other"), 1, prepare()), "it was never at hand");
}

#[test]
fn there_is_work_until_the_run_is_over_or_released_and_all_is_delivered() {
    let (_, mut runs, run) = prepared();
    assert!(runs.has_work(), "it may be started at any moment");
    runs.order(&run, 2, START);
    runs.hear(Some(Event::Window { window: window(0, &[1]), last: true }));
    assert!(runs.has_work());
    runs.acknowledge(run, None, 1);
    assert!(!runs.has_work());
}

#[test]
fn what_an_engine_has_told_can_be_had_without_waiting() {
    let (engines, mut runs, _) = prepared();
    assert_eq!(runs.ready_event(), None);
    engines.get(0).tell(Event::Ready);
    assert_eq!(runs.ready_event(), Some(Some(Event::Ready)));
    assert_eq!(runs.ready_event(), None);
}
