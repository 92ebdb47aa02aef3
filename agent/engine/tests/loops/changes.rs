//! Shares that change while engines are at work, over real sockets.

use volley_engine::{Command, Event};
use volley_plan::allow::AllowList;
use volley_plan::link::{Hand, Share};
use volley_plan::{Level, Plan};

use crate::run::{FOR_EVER, Run, plan};
use crate::target::Target;

const MS: u64 = 1_000_000;

/// Two engines with half of a plan each.
async fn halves(plan: &Plan, workers: usize) -> [Run; 2] {
    let hands = [const { Hand { weight: 1, holds: None } }; 2];
    let shares = Share::all(plan).dealt(&plan.load, &hands);
    let mut runs = [0, 1]
        .map(|half| Run::launch_share(plan.clone(), shares[half].clone(), workers, AllowList::anything()));
    for run in &mut runs {
        assert_eq!(run.event().await, Event::Ready);
        run.start(FOR_EVER);
    }
    runs
}

/// The second half is stopped at 500 ms, and the first one has all from then on.
fn hand_over([first, second]: &[Run; 2], plan: &Plan) {
    let share = Share::all(plan);
    first.command(Command::Change { at_ns: 500 * MS, share, to: None, over_ns: 200 * MS });
    second.command(Command::Stop { at_ns: 500 * MS, drain_ns: 1000 * MS });
}

#[tokio::test]
async fn arrivals_go_from_one_engine_to_the_other() {
    let target = Target::hello();
    for workers in [1, 3] {
        let plan = plan(target.address, "rate: 200/s, duration: 1s");
        let runs = halves(&plan, workers).await;
        hand_over(&runs, &plan);
        let [first, second] = runs;
        let (first, second) = (first.finish().await, second.finish().await);
        assert_eq!((first.iterations.started, second.iterations.started), (150, 50), "{workers} workers");
        assert_eq!((first.iterations.missed, second.iterations.missed), (0, 0));
    }
    assert_eq!(target.seen().requests(), 400);
}

#[tokio::test]
async fn users_go_from_one_engine_to_the_other() {
    let target = Target::hello();
    let plan = plan(target.address, "users: 6, duration: 1s");
    let runs = halves(&plan, 2).await;
    hand_over(&runs, &plan);
    let [first, second] = runs;
    let (first, second) = (first.finish().await, second.finish().await);
    assert_eq!((first.counters().connections_opened, second.counters().connections_opened), (6, 3));
    assert_eq!(first.counters().ok + second.counters().ok, target.seen().requests());
    assert_eq!(first.iterations.started, first.iterations.finished);
}

#[tokio::test]
async fn only_what_the_list_permits_is_connected_to() {
    let target = Target::hello();
    let plan = plan(target.address, "users: 1, duration: 1s");
    let allow = AllowList::parse(["10.0.0.0/8"]).unwrap();
    let mut run = Run::launch_share(plan.clone(), Share::all(&plan), 1, allow);
    let Event::Refused { reason } = run.event().await else { panic!("not refused") };
    assert!(reason.contains("is not on the allow-list"), "{reason}");
    assert_eq!(target.seen().requests(), 0);
}

#[tokio::test]
async fn a_change_to_what_the_list_forbids_ends_the_share_and_says_why() {
    let target = Target::hello();
    let plan = plan(target.address, "rate: 20/s, duration: 30s");
    let allow = AllowList::parse(["127.0.0.1 max 20/s"]).unwrap();
    let mut run = Run::launch_share(plan.clone(), Share::all(&plan), 1, allow);
    assert_eq!(run.event().await, Event::Ready);
    run.start(FOR_EVER);
    let to = Some(Level::Rate("21/s".parse().unwrap()));
    run.command(Command::Change { at_ns: 500 * MS, share: Share::all(&plan), to, over_ns: 0 });
    let Event::Vetoed { reason } = run.event().await else { panic!("not vetoed") };
    assert!(reason.contains("bounds 127.0.0.1") && reason.contains("20/s"), "{reason}");
    let report = run.finish().await;
    assert_eq!(report.iterations.started, 10);
}
