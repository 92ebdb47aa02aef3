//! When a run's news are in its feed, in paused time.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use volley_plan::link::{Order, RunId};

use crate::Coordinator;
use crate::feed::{Feed, FeedEvent};
use crate::testing::{FakeAgent, coordinator, new_run, outcome, window, working_agent};

/// A timed run of two agents, started.
async fn started(coordinator: &Coordinator) -> (RunId, FakeAgent, FakeAgent) {
    let mut a = FakeAgent::join(coordinator, 1, "a").await;
    let mut b = FakeAgent::join(coordinator, 2, "b").await;
    let run = coordinator.start_run(new_run("users: 2\nduration: 2h")).await.unwrap();
    for agent in [&mut a, &mut b] {
        agent.prepare(&run).await;
    }
    for agent in [&mut a, &mut b] {
        assert!(matches!(agent.order().await, Order::Start { .. }));
    }
    sleep(Duration::from_millis(200)).await;
    (run, a, b)
}

/// The published seconds with their ok counts.
fn ticks(coordinator: &Coordinator, run: &RunId) -> Vec<(u64, u64)> {
    let live = coordinator.shared.live(run).unwrap();
    live.feed().read(Feed::ticks).iter().map(|tick| (tick.second, tick.ok)).collect()
}

/// How long it takes until the published seconds are these.
async fn published_within(coordinator: &Coordinator, run: &RunId, expected: &[(u64, u64)]) -> Duration {
    let begun = Instant::now();
    let live = coordinator.shared.live(run).unwrap();
    let mut changes = live.feed().changes();
    while ticks(coordinator, run) != expected {
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", ticks(coordinator, run));
        changes.changed().await.unwrap();
    }
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_second_is_published_once_the_last_agent_has_reported_it() {
    let coordinator = coordinator();
    let (run, mut a, mut b) = started(&coordinator).await;
    sleep(Duration::from_millis(1010)).await;
    a.deliver(&run, 1, window(0, 10, 0), false).await;
    a.acknowledgement(1).await;
    a.ping().await;
    assert_eq!(ticks(&coordinator, &run), []);
    b.deliver(&run, 1, window(0, 5, 0), false).await;
    assert!(published_within(&coordinator, &run, &[(0, 15)]).await < Duration::from_millis(100));
    // A late row for the second: corrected soon, not at once.
    a.deliver(&run, 2, window(0, 1, 0), false).await;
    a.acknowledgement(2).await;
    assert_eq!(ticks(&coordinator, &run), [(0, 15)]);
    assert!(published_within(&coordinator, &run, &[(0, 16)]).await <= Duration::from_millis(100));
    b.ping().await;
}

#[tokio::test(start_paused = true)]
async fn seconds_without_traffic_are_zeros_and_the_future_is_not_believed() {
    let coordinator = coordinator();
    let (run, a, b) = started(&coordinator).await;
    sleep(Duration::from_millis(2500)).await;
    for agent in [&a, &b] {
        let mut quiet = window(0, 0, 0);
        quiet.rows.clear();
        quiet.watermark_s = u32::MAX;
        agent.deliver(&run, 1, quiet, false).await;
    }
    published_within(&coordinator, &run, &[(0, 0), (1, 0), (2, 0)]).await;
}

#[tokio::test(start_paused = true)]
async fn the_state_is_published_every_second_and_on_each_change() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 3s")).await.unwrap();
    let live = coordinator.shared.live(&run).unwrap();
    let (mut changes, mut last, mut states) = (live.feed().changes(), 0, Vec::new());
    loop {
        for (id, event) in live.feed().read(|feed| feed.after(last, 1000)) {
            last = id;
            if let FeedEvent::State(state) = event {
                states.push((state.state.clone(), state.elapsed_s.floor() as u64));
            }
        }
        if live.is_over() {
            break;
        }
        changes.changed().await.unwrap();
    }
    states.dedup();
    let names: Vec<_> = states.iter().map(|(name, second)| format!("{name} {second}")).collect();
    for expected in ["running 0", "running 1", "running 2", "finished 3"] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    let events = live.feed().read(|feed| feed.after(0, 1000));
    assert_eq!(events.last().map(|(_, event)| event.clone()), Some(FeedEvent::End));
    assert_eq!(ticks(&coordinator, &run), [(0, 10), (1, 10), (2, 10)]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_agents_says_so() {
    let coordinator = coordinator();
    let agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 3s")).await.unwrap();
    let live = coordinator.shared.live(&run).unwrap();
    let mut changes = live.feed().changes();
    let sentence = loop {
        let events = live.feed().read(|feed| feed.after(0, 10));
        if let Some((_, FeedEvent::State(state))) = events.last() {
            break state.sentence.clone();
        }
        changes.changed().await.unwrap();
    };
    assert_eq!(sentence, "Preparing 1 agent.");
    drop(agent);
}

#[tokio::test(start_paused = true)]
async fn errors_are_told_with_their_first_and_last_second() {
    let coordinator = coordinator();
    let (run, mut a, mut b) = started(&coordinator).await;
    for _ in 0..2 {
        sleep(Duration::from_millis(1550)).await;
        a.ping().await;
        b.ping().await;
    }
    a.deliver(&run, 1, window(1, 5, 2), false).await;
    b.deliver(&run, 1, window(2, 5, 3), false).await;
    published_within(&coordinator, &run, &[(0, 0), (1, 5)]).await;
    let progress = coordinator.document(&run).await.unwrap().progress;
    let error = &progress.errors[0];
    assert_eq!((error.kind.as_str(), error.count, error.first_s, error.last_s), ("connect_refused", 5, 1, 2));
    assert_eq!((progress.last5.rate, progress.whole.error_rate), (2.5, Some(5.0 / 15.0)));
    assert_eq!(progress.statuses.iter().map(|s| (s.status, s.count)).collect::<Vec<_>>(), [(200, 10)]);
}

/// A long run is told by the minute but for its latest hour, and by the minute alone once it is over.
#[tokio::test(start_paused = true)]
async fn seconds_of_more_than_an_hour_ago_become_minutes() {
    let coordinator = coordinator();
    working_agent(&coordinator, 1, "a");
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 1\nduration: 3850s")).await.unwrap();
    sleep(Duration::from_secs(3805)).await;
    let live = coordinator.shared.live(&run).unwrap();
    let said = || {
        let ticks = live.feed().read(Feed::ticks);
        let minutes: Vec<_> = ticks.iter().filter(|tick| tick.span_s != 1).map(|tick| tick.second).collect();
        let ok: u64 = ticks.iter().map(|tick| tick.ok).sum();
        let rising = ticks.windows(2).all(|pair| pair[0].second + pair[0].seconds() == pair[1].second);
        (minutes, ok / 10, ticks.len(), rising)
    };
    let (minutes, seconds, ticks, rising) = said();
    assert_eq!((minutes, rising), (vec![0, 60, 120], true));
    assert!((3800..=3806).contains(&seconds) && ticks as u64 == seconds - 180 + 3, "{seconds} {ticks}");
    outcome(&coordinator, &run).await;
    let (minutes, seconds, ticks, rising) = said();
    assert_eq!((minutes.len(), seconds, ticks, rising), (65, 3850, 65, true));
}

#[tokio::test(start_paused = true)]
async fn a_late_row_of_more_than_an_hour_ago_corrects_its_minute() {
    let coordinator = coordinator();
    let (run, mut a, mut b) = started(&coordinator).await;
    let live = coordinator.shared.live(&run).unwrap();
    let ok = |minute: u64| {
        let ticks = live.feed().read(Feed::ticks);
        ticks.iter().find(|tick| tick.second == minute * 60).map(|tick| (tick.span_s, tick.ok))
    };
    for second in 0..3_800 {
        sleep(Duration::from_millis(1000)).await;
        a.deliver(&run, u64::from(second) + 1, window(second, 2, 0), false).await;
        if second == 3_790 {
            assert_eq!(ok(1), Some((60, 180)));
            let missing = window(70, 5, 0);
            b.deliver(&run, u64::from(second) + 1, missing, false).await;
        }
        let sequence = u64::from(second) + 1 + u64::from(second >= 3_790);
        b.deliver(&run, sequence, window(second, 1, 0), false).await;
        a.ping().await;
        b.ping().await;
    }
    assert_eq!((ok(0), ok(1), ok(2)), (Some((60, 180)), Some((60, 185)), Some((60, 180))));
}

/// The clock jumps over the leases before anybody is heard, as for a process that was stopped and goes on.
#[tokio::test(start_paused = true)]
async fn a_coordinator_that_slept_reads_its_agents_before_it_calls_them_lost() {
    let coordinator = coordinator();
    let (run, mut a, mut b) = started(&coordinator).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    a.ping().await;
    b.ping().await;
    sleep(Duration::from_secs(1)).await;
    let progress = coordinator.document(&run).await.unwrap().progress;
    assert_eq!((progress.state.as_str(), progress.incomplete), ("running", false), "{}", progress.sentence);
    // Silence after that is a loss as ever.
    sleep(Duration::from_secs(4)).await;
    assert!(coordinator.document(&run).await.unwrap().progress.incomplete);
}
