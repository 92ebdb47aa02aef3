//! Which runs get which agents, and what becomes of the load when agents come and go.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::sleep;
use volley_plan::Level;
use volley_plan::link::{Hello, Incarnation, RunId};

use crate::document::Progress;
use crate::testing::{
    FakeAgent, agent_that_leaves, coordinator, hello, idle_and_busy, new_run, outcome, working_agent,
};
use crate::{AdjustRefused, Coordinator, StartError};

const SECOND: Duration = Duration::from_secs(1);

async fn started(coordinator: &Coordinator, lines: &str) -> RunId {
    coordinator.start_run(new_run(lines)).await.unwrap()
}

async fn progress(coordinator: &Coordinator, run: &RunId) -> Progress {
    coordinator.document(run).await.unwrap().progress
}

/// Waits until a run is in this state.
async fn reaches(coordinator: &Coordinator, run: &RunId, state: &str) {
    for _ in 0..10_000 {
        if progress(coordinator, run).await.state == state {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{run} is not {state}: {}", progress(coordinator, run).await.sentence);
}

fn names(progress: &Progress) -> Vec<&str> {
    progress.agents.iter().map(|agent| agent.name.as_str()).collect()
}

/// Nothing is missed, unknown, or out of balance.
fn check_whole(progress: &Progress, started: u64) {
    assert_eq!(progress.account_faults, Vec::<String>::new());
    let accounts = &progress.accounts;
    assert_eq!(
        (accounts.started, accounts.missed, accounts.unknown),
        (started, 0, 0),
        "{}",
        progress.sentence
    );
    assert!(!progress.incomplete, "{}", progress.sentence);
}

#[tokio::test(start_paused = true)]
async fn runs_on_one_target_go_one_after_the_other() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    working_agent(&coordinator, 2, "b");
    sleep(SECOND).await;
    let one = "users: 1\nduration: 5s\nagents: { max: 1 }";
    let first = started(&coordinator, one).await;
    let second = started(&coordinator, one).await;
    let third = started(&coordinator, one).await;
    let beside = started(&coordinator, "users: 1\nduration: 2s\nagents: { max: 1, beside: true }").await;
    reaches(&coordinator, &beside, "running").await;
    for (run, place) in [(&second, 1), (&third, 2)] {
        let Progress { state, queue, sentence, over, .. } = progress(&coordinator, run).await;
        let queue = queue.unwrap();
        assert_eq!((state.as_str(), queue.place, over), ("queued", place, false));
        assert_eq!(queue.because, format!("run {first} loads 127.0.0.1:1"));
        assert!(sentence.contains(&queue.because), "{sentence}");
    }
    let stored = coordinator.shared.store.document(&second).await.unwrap().unwrap();
    assert_eq!(stored.progress.state, "queued", "what is kept says so too");
    outcome(&coordinator, &first).await;
    reaches(&coordinator, &second, "running").await;
    assert_eq!(progress(&coordinator, &third).await.queue.map(|queue| queue.place), Some(1));
    assert_eq!(progress(&coordinator, &second).await.queue, None);
    for run in [second, third] {
        check_whole(&outcome(&coordinator, &run).await.progress, 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_agents_that_are_busy_and_is_told_of_on_its_stream() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(SECOND).await;
    let first = started(&coordinator, "users: 1\nduration: 5s").await;
    let second = started(&coordinator, "users: 1\nduration: 1s\nagents: { beside: true }").await;
    let place = progress(&coordinator, &second).await.queue.unwrap();
    assert_eq!(place.because, "the plan wants 1 agent, and the only one that fits is busy");
    let feed = coordinator.shared.feed(&second).await.unwrap().unwrap();
    let said = feed.read(|feed| format!("{:?}", feed.after(0, 9)));
    assert!(said.contains("Queued, next in line: the plan wants 1 agent"), "{said}");
    outcome(&coordinator, &first).await;
    check_whole(&outcome(&coordinator, &second).await.progress, 10);
    let last = feed.read(|feed| format!("{:?}", feed.after(0, 99)));
    assert!(last.contains("Finished: 10 requests"), "the same stream tells of all of it: {last}");
}

#[tokio::test(start_paused = true)]
async fn a_queued_run_can_be_cancelled_and_its_place_is_free() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(SECOND).await;
    let first = started(&coordinator, "users: 1\nduration: 5s").await;
    let second = started(&coordinator, "users: 1\nduration: 600s").await;
    let third = started(&coordinator, "users: 1\nduration: 1s").await;
    let refused = coordinator.adjust_run(&second, Level::Users(2)).await.unwrap_err();
    assert_eq!(refused, AdjustRefused::Queued);
    coordinator.stop_run(&second).unwrap();
    let progress = outcome(&coordinator, &second).await.progress;
    assert_eq!((progress.state.as_str(), progress.queue, progress.whole.started), ("finished", None, 0));
    assert!(progress.sentence.to_lowercase().contains("stopped before it"), "{}", progress.sentence);
    for run in [first, third] {
        assert!(!outcome(&coordinator, &run).await.progress.incomplete);
    }
    assert_eq!(idle_and_busy(&coordinator), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_queued_run_starts_by_itself_when_agents_come() {
    let coordinator = coordinator();
    let (gone, leave) = agent_that_leaves(&coordinator, hello(Incarnation(1), "a"));
    sleep(SECOND).await;
    let first = started(&coordinator, "users: 1\nduration: 2s").await;
    let second = started(&coordinator, "users: 1\nduration: 1s\nagents: { beside: true }").await;
    leave.send(true).unwrap();
    outcome(&coordinator, &first).await;
    gone.await.unwrap();
    sleep(SECOND).await;
    let because = progress(&coordinator, &second).await.queue.unwrap().because;
    assert_eq!(because, "the plan wants 1 agent, and none that fits is connected");
    working_agent(&coordinator, 2, "b");
    check_whole(&outcome(&coordinator, &second).await.progress, 10);
}

fn labelled(incarnation: u64, name: &str, zone: &str) -> Hello {
    let labels = BTreeMap::from([("zone".to_owned(), zone.to_owned())]);
    Hello { labels, ..hello(Incarnation(incarnation), name) }
}

#[tokio::test(start_paused = true)]
async fn runs_go_on_side_by_side_on_the_agents_that_their_plans_want() {
    let coordinator = coordinator();
    let _agents: Vec<_> = [(1, "a", "eu"), (2, "b", "us"), (3, "c", "eu")]
        .map(|(n, name, zone)| agent_that_leaves(&coordinator, labelled(n, name, zone)))
        .into();
    sleep(SECOND).await;
    let in_zone =
        |zone| format!("rate: 20/s\nduration: 3s\nagents: {{ beside: true, labels: {{ zone: {zone} }} }}");
    let eu = started(&coordinator, &in_zone("eu")).await;
    let us = started(&coordinator, &in_zone("us")).await;
    for (run, expected) in [(eu, vec!["a", "c"]), (us, vec!["b"])] {
        let progress = outcome(&coordinator, &run).await.progress;
        assert_eq!(names(&progress), expected);
        check_whole(&progress, 60);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_leaves_hands_its_share_over_and_nothing_is_missed() {
    let coordinator = coordinator();
    let (gone, leave) = agent_that_leaves(&coordinator, hello(Incarnation(1), "a"));
    working_agent(&coordinator, 2, "b");
    sleep(SECOND).await;
    let run = started(&coordinator, "rate: 20/s\nduration: 12s").await;
    reaches(&coordinator, &run, "running").await;
    sleep(3 * SECOND).await;
    leave.send(true).unwrap();
    gone.await.unwrap();
    let progress = outcome(&coordinator, &run).await.progress;
    assert_eq!(
        progress.agents.iter().map(|agent| agent.state.as_str()).collect::<Vec<_>>(),
        ["left", "done"]
    );
    check_whole(&progress, 240);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_drained_stays_and_takes_runs_again_when_told() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    working_agent(&coordinator, 2, "b");
    sleep(SECOND).await;
    let run = started(&coordinator, "rate: 20/s\nduration: 12s").await;
    reaches(&coordinator, &run, "running").await;
    sleep(2 * SECOND).await;
    let view = coordinator.shared.drain(Incarnation(1), true).await.unwrap();
    assert_eq!((view.state, view.run.as_ref(), view.leaving), ("draining", Some(&run), false));
    check_whole(&outcome(&coordinator, &run).await.progress, 240);
    let run = started(&coordinator, "rate: 20/s\nduration: 2s").await;
    let progress = outcome(&coordinator, &run).await.progress;
    assert_eq!(names(&progress), ["b"], "it gets no further run");
    let view = coordinator.shared.drain(Incarnation(1), false).await.unwrap();
    assert_eq!(view.state, "idle");
    let run = started(&coordinator, "rate: 20/s\nduration: 2s").await;
    assert_eq!(names(&outcome(&coordinator, &run).await.progress), ["a", "b"]);
    assert!(coordinator.shared.drain(Incarnation(9), true).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_elastic_run_takes_in_who_comes_and_another_does_not() {
    for (elastic, expected) in [(true, vec!["a", "b"]), (false, vec!["a"])] {
        let coordinator = coordinator();
        working_agent(&coordinator, 1, "a");
        sleep(SECOND).await;
        let lines = format!("rate: 20/s\nduration: 20s\nagents: {{ elastic: {elastic} }}");
        let run = started(&coordinator, &lines).await;
        reaches(&coordinator, &run, "running").await;
        sleep(3 * SECOND).await;
        working_agent(&coordinator, 2, "b");
        sleep(8 * SECOND).await;
        let progress = progress(&coordinator, &run).await;
        assert_eq!(names(&progress), expected);
        let parts: Vec<_> = progress.agents.iter().map(|agent| agent.part).collect();
        assert_eq!(parts, if elastic { vec![0.5, 0.5] } else { vec![1.0] });
        let progress = outcome(&coordinator, &run).await.progress;
        check_whole(&progress, 400);
        assert!(progress.agents.iter().all(|agent| agent.started > 0), "{:?}", progress.agents);
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_let_go_by_an_elastic_run_is_not_offered_to_it_for_ever() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(SECOND).await;
    let run = started(&coordinator, "rate: 20/s\nduration: 20s\nagents: { elastic: true }").await;
    reaches(&coordinator, &run, "running").await;
    let mut unwilling = FakeAgent::join(&coordinator, 2, "b").await;
    let refused = volley_plan::link::Report::Refused { reason: "no".to_owned() };
    assert!(matches!(unwilling.order().await, volley_plan::link::Order::Prepare { .. }));
    unwilling.report(&run, refused).await;
    assert_eq!(unwilling.order().await, volley_plan::link::Order::Release);
    unwilling.ping().await;
    assert_eq!((unwilling.progress.clone(), idle_and_busy(&coordinator)), (None, (1, 1)));
    check_whole(&outcome(&coordinator, &run).await.progress, 400);
}

#[tokio::test(start_paused = true)]
async fn a_load_is_adjusted_while_it_goes_on() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(SECOND).await;
    let run = started(&coordinator, "rate: 20/s\nduration: 20s").await;
    reaches(&coordinator, &run, "running").await;
    sleep(5 * SECOND).await;
    let wrong = coordinator.adjust_run(&run, Level::Users(3)).await.unwrap_err();
    assert!(wrong.to_string().contains("can't be adjusted to 3 users"), "{wrong}");
    let at_ns = coordinator.adjust_run(&run, Level::Rate("40/s".parse().unwrap())).await.unwrap();
    let progress = outcome(&coordinator, &run).await.progress;
    let adjusted: Vec<_> = progress.adjusted.iter().map(|adjusted| adjusted.to.to_string()).collect();
    assert_eq!(adjusted, ["40/s"]);
    let planned = 20 * at_ns / 1_000_000_000 + 40 * (20_000_000_000 - at_ns) / 1_000_000_000;
    assert!(progress.accounts.started.abs_diff(planned) <= 1, "{} of {planned}", progress.accounts.started);
    check_whole(&progress, progress.accounts.started);
    let over = coordinator.adjust_run(&run, Level::Users(3)).await.unwrap_err();
    assert!(matches!(over, AdjustRefused::Not(_) | AdjustRefused::Over(_)), "{over}");
    let nobody = coordinator.adjust_run(&RunId::new("nobody").unwrap(), Level::Users(3)).await.unwrap_err();
    assert!(matches!(nobody, AdjustRefused::NotFound(_)), "{nobody}");
}

/// A caller that asks for something, and goes away before it has come about.
fn ask_and_go(asked: impl Future) {
    assert!(pin!(asked).poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_for_comes_about_though_who_asked_goes_away() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    working_agent(&coordinator, 2, "b");
    sleep(SECOND).await;
    let run = started(&coordinator, "rate: 20/s\nduration: 12s").await;
    reaches(&coordinator, &run, "running").await;
    sleep(3 * SECOND).await;
    coordinator.shared.keep_busy(&run);
    let adjusted = coordinator.adjust_run(&run, Level::Rate("40/s".parse().unwrap())).now_or_never();
    assert!(adjusted.is_some_and(|at_ns| at_ns.is_ok()), "it waits for no driver");
    sleep(SECOND).await;
    coordinator.shared.keep_busy(&run);
    ask_and_go(coordinator.shared.drain(Incarnation(1), true));
    let progress = outcome(&coordinator, &run).await.progress;
    assert_eq!(progress.adjusted.len(), 1);
    let states: Vec<_> = progress.agents.iter().map(|agent| agent.state.as_str()).collect();
    assert_eq!(states, ["left", "done"]);
    check_whole(&progress, progress.accounts.started);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_runs_and_no_more_are_taken_at_once() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(SECOND).await;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..150 {
        let coordinator = coordinator.clone();
        asked.spawn(async move { coordinator.start_run(new_run("users: 1\nduration: 600s")).await });
    }
    let answers = asked.join_all().await;
    let refused = answers.iter().filter(|answer| matches!(answer, Err(StartError::TooManyRuns))).count();
    assert_eq!(refused, 50);
    // Places of those that were refused, or are over, are free.
    coordinator.stop_run(answers.iter().find_map(|answer| answer.as_ref().ok()).unwrap()).unwrap();
    sleep(20 * SECOND).await;
    started(&coordinator, "users: 1\nduration: 600s").await;
}

#[tokio::test(start_paused = true)]
async fn idle_agents_are_offered_at_each_change_and_else_once_a_second() {
    let coordinator = coordinator();
    let _agent = FakeAgent::join(&coordinator, 1, "a").await;
    assert!(!coordinator.shared.offer_again(), "it was offered when it joined");
    sleep(SECOND).await;
    assert!(coordinator.shared.offer_again());
    assert!(!coordinator.shared.offer_again());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lacks_agents_holds_no_other_up() {
    let coordinator = coordinator();
    let (gone, leave) = agent_that_leaves(&coordinator, hello(Incarnation(1), "a"));
    working_agent(&coordinator, 2, "b");
    sleep(SECOND).await;
    let first = started(&coordinator, "users: 1\nduration: 5s\nagents: { max: 1 }").await;
    let big = started(&coordinator, "users: 2\nduration: 1s\nagents: { min: 2, beside: true }").await;
    let small = started(&coordinator, "users: 1\nduration: 1s\nagents: { beside: true }").await;
    assert_eq!(progress(&coordinator, &small).await.state, "queued", "its turn comes after the other's");
    leave.send(true).unwrap();
    gone.await.unwrap();
    for run in [first, small] {
        outcome(&coordinator, &run).await;
    }
    let because = progress(&coordinator, &big).await.queue.unwrap().because;
    assert_eq!(because, "the plan wants 2 agents, and only 1 of those that fit is connected");
}
