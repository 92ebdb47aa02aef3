//! Coordinators that are killed in the middle of runs, and others that go on with them; in paused time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use volley_plan::link::{Order, Report, RunId};
use volley_plan::{AllowList, Level, Verdict};

use crate::document::RunDocument;
use crate::feed::{Feed, FeedEvent};
use crate::store::{Page, Retention, Store};
use crate::testing::{FakeAgent, new_run, outcome, window, with_store};
use crate::{Coordinator, Ending, MemoryStore, Settings, SqliteStore};

mod mortal;
mod worker;

use mortal::{Death, MortalStore};
use worker::Worker;

/// A coordinator that has gone on with what there is in the store.
async fn next(store: Arc<dyn Store>) -> Coordinator {
    let coordinator = with_store(store);
    coordinator.shared.resume().await.unwrap();
    coordinator
}

/// Kills a coordinator: nothing that it says comes through any more, and nothing that it asks of its store.
fn kill(coordinator: &Coordinator, store: &MortalStore) {
    store.kill();
    coordinator.shared.fleet(|fleet, _| fleet.cut_all());
}

/// Has a run done by two agents, under a coordinator that dies so and another that goes on. Gives its document, and how
/// many requests they did; `None` if it died before the run was there.
async fn done(plan: &str, death: Death, down: Duration) -> Option<(RunDocument, usize, u64)> {
    let store = Arc::new(MortalStore::new(Arc::new(MemoryStore::default()), death));
    let first = with_store(store.clone());
    let (tell, present) = watch::channel(Some(first.clone()));
    let counts = [1, 2].map(|agent| Worker::start(agent, &present));
    let starting = tokio::spawn({
        let (first, plan) = (first.clone(), new_run(plan));
        async move {
            sleep(Duration::from_secs(1)).await;
            first.start_run(plan).await
        }
    });
    // A store that never dies is as good as one that dies long after.
    let died = tokio::time::timeout(Duration::from_secs(60), store.death()).await.is_ok();
    assert_eq!(died, death != Death::Never, "{death:?} is no place that is passed");
    let last = if died {
        tell.send_replace(None);
        kill(&first, &store);
        sleep(down).await;
        let second = next(store.inner.clone()).await;
        tell.send_replace(Some(second.clone()));
        second
    } else {
        first
    };
    let listed = store.inner.list(&Page::newest(1)).await.unwrap();
    starting.abort();
    let run = listed.runs.first()?.id.clone();
    let document = outcome(&last, &run).await;
    // What is late comes late.
    sleep(Duration::from_secs(5)).await;
    let document = last.document(&run).await.unwrap_or(document);
    let asked = store.asked();
    Some((document, asked, counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()))
}

/// Wherever it is killed, each window counts once, and nothing is lost.
async fn check_everywhere(plan: &str) {
    let (undisturbed, places, _) = done(plan, Death::Never, Duration::ZERO).await.unwrap();
    for place in 0..places - 1 {
        for death in [Death::Before(place), Death::After(place)] {
            let Some((document, _, requests)) = done(plan, death, Duration::from_secs(1)).await else {
                assert_eq!(death, Death::Before(0));
                continue;
            };
            let progress = document.progress;
            let said = format!("{death:?}: {} {:?}", progress.sentence, document.log);
            assert_eq!((progress.whole.ok, progress.whole.started), (requests, requests), "{said}");
            assert_eq!((progress.incomplete, progress.verdict), (false, Some(Verdict::None)), "{said}");
            assert_eq!(progress.account_faults, [""; 0], "{said}");
            assert_eq!(progress.delivered_late.windows, 0, "{said}");
            if let Some(planned) = undisturbed.progress.accounts.planned {
                assert_eq!(
                    (progress.accounts.planned, progress.accounts.started),
                    (Some(planned), planned),
                    "{said}"
                );
            }
            assert_eq!(progress.stop_reason, undisturbed.progress.stop_reason, "{said}");
            let again = document.log.iter().filter(|line| line.text.contains("started again")).count();
            assert!(again <= 1, "{said}");
            if progress.whole.ok == undisturbed.progress.whole.ok {
                assert_eq!(progress.whole.latency_ms, undisturbed.progress.whole.latency_ms, "{said}");
                assert_eq!(progress.steps[0].totals.ok, undisturbed.progress.steps[0].totals.ok, "{said}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_wherever_its_coordinator_is_killed() {
    check_everywhere("users: 4\nduration: 8s\nagents: { min: 2 }").await;
}

#[tokio::test(start_paused = true)]
async fn a_counted_run_goes_on_wherever_its_coordinator_is_killed() {
    check_everywhere("users: 4\nrequests: 200\nagents: { min: 2 }").await;
}

#[tokio::test(start_paused = true)]
async fn a_run_of_the_open_model_goes_on_wherever_its_coordinator_is_killed() {
    check_everywhere("rate: 21/s\nduration: 5s\nagents: { min: 2 }").await;
}

/// What a test looks at before and after a coordinator is killed.
struct Fleet {
    store: Arc<MortalStore>,
    coordinator: Coordinator,
    tell: watch::Sender<Option<Coordinator>>,
    workers: u64,
}

impl Fleet {
    fn new() -> Self {
        let store = Arc::new(MortalStore::new(Arc::new(MemoryStore::default()), Death::Never));
        let coordinator = with_store(store.clone());
        let tell = watch::Sender::new(Some(coordinator.clone()));
        Self { store, coordinator, tell, workers: 0 }
    }

    fn add_worker(&mut self) {
        self.workers += 1;
        Worker::start(self.workers, &self.tell.subscribe());
    }

    async fn start(&self, plan: &str) -> RunId {
        self.coordinator.start_run(new_run(plan)).await.unwrap()
    }

    async fn restart(&mut self) {
        self.tell.send_replace(None);
        kill(&self.coordinator, &self.store);
        self.begin_again().await;
    }

    async fn begin_again(&mut self) {
        self.store = Arc::new(MortalStore::new(self.store.inner.clone(), Death::Never));
        self.coordinator = next(self.store.clone()).await;
        self.tell.send_replace(Some(self.coordinator.clone()));
    }

    async fn state(&self, run: &RunId) -> String {
        self.coordinator.document(run).await.unwrap().progress.state
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_gathers_or_waits_for_its_turn_does_so_again() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let first = fleet.start("users: 4\nduration: 3s\nagents: { min: 2, wait: 60s }").await;
    let second = fleet.start("users: 1\nduration: 3s").await;
    for _ in 0..2 {
        assert_eq!(fleet.state(&first).await, "gathering");
        assert_eq!(fleet.state(&second).await, "queued");
        fleet.restart().await;
        sleep(Duration::from_secs(2)).await;
    }
    fleet.add_worker();
    for run in [&first, &second] {
        let progress = outcome(&fleet.coordinator, run).await.progress;
        assert_eq!((progress.incomplete, progress.stop_reason.as_deref()), (false, Some("duration_over")));
    }
}

#[tokio::test(start_paused = true)]
async fn agents_that_do_not_come_back_are_lost_and_others_go_on() {
    let store = Arc::new(MortalStore::new(Arc::new(MemoryStore::default()), Death::Never));
    let coordinator = with_store(store.clone());
    let tell = watch::Sender::new(Some(coordinator.clone()));
    Worker::start(1, &tell.subscribe());
    let present = watch::Sender::new(Some(coordinator.clone()));
    Worker::start(2, &present.subscribe());
    sleep(Duration::from_secs(1)).await;
    let run = coordinator.start_run(new_run("users: 4\nduration: 30s\nagents: { min: 2 }")).await.unwrap();
    sleep(Duration::from_secs(4)).await;
    tell.send_replace(None);
    present.send_replace(None);
    kill(&coordinator, &store);
    let coordinator = next(store.inner.clone()).await;
    tell.send_replace(Some(coordinator.clone()));
    sleep(Duration::from_secs(8)).await;
    let progress = coordinator.document(&run).await.unwrap().progress;
    assert_eq!((progress.state.as_str(), progress.incomplete), ("running", false), "{}", progress.sentence);
    sleep(Duration::from_secs(4)).await;
    let progress = coordinator.document(&run).await.unwrap().progress;
    assert!(progress.incomplete, "10 s are enough: {}", progress.sentence);
    let document = outcome(&coordinator, &run).await;
    let states: BTreeMap<_, _> =
        document.progress.agents.iter().map(|agent| (agent.incarnation.0, agent.state.as_str())).collect();
    assert_eq!(states, BTreeMap::from([(1, "done"), (2, "lost")]), "{:?}", document.log);
    assert_eq!(document.progress.account_faults, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_agents_are_all_gone_ends_with_what_is_stored() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let run = fleet.start("users: 1\nduration: 60s").await;
    sleep(Duration::from_millis(4700)).await;
    fleet.tell.send_replace(None);
    kill(&fleet.coordinator, &fleet.store);
    let coordinator = next(fleet.store.inner.clone()).await;
    let progress = coordinator.document(&run).await.unwrap().progress;
    assert_eq!(progress.state, "resuming");
    assert!(progress.sentence.contains("started again"), "{}", progress.sentence);
    let progress = outcome(&coordinator, &run).await.progress;
    assert_eq!((progress.stop_reason.as_deref(), progress.whole.ok), (Some("agents_lost"), 1 + 4 + 7 + 10));
    assert_eq!(progress.account_faults, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn pages_and_streams_go_on() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let run = fleet.start("users: 1\nduration: 12s").await;
    sleep(Duration::from_millis(5700)).await;
    let before = fleet.coordinator.shared.live(&run).unwrap();
    let ticks = |feed: &Feed| feed.ticks().iter().map(|tick| (tick.second, tick.ok)).collect::<Vec<_>>();
    let seen = before.feed().read(|feed| (ticks(feed), feed.after(0, 1_000).last().map(|(id, _)| *id)));
    let started_at = fleet.coordinator.document(&run).await.unwrap().started_at;
    fleet.restart().await;
    let live = fleet.coordinator.shared.live(&run).unwrap();
    let again = live.feed().read(|feed| ticks(feed));
    assert_eq!(again, seen.0[..again.len()]);
    assert!(again.len() >= 4, "{again:?}");
    // Whoever was there before gets all of it once more, since nothing tells what has changed.
    let events = live.feed().read(|feed| feed.after(seen.1.unwrap(), 1_000));
    let count = |is: fn(&FeedEvent) -> bool| events.iter().filter(|(_, event)| is(event)).count();
    assert_eq!(count(|event| matches!(event, FeedEvent::Tick(_))), again.len());
    assert_eq!(count(|event| matches!(event, FeedEvent::Log(_))), 1);
    let document = outcome(&fleet.coordinator, &run).await;
    assert_eq!(document.started_at, started_at);
    let all = live.feed().read(|feed| ticks(feed));
    let expected: Vec<_> = (0..12).map(|second| (second, 1 + second * 3)).collect();
    assert_eq!(all[..12], expected);
    let texts: Vec<_> = document.log.iter().map(|line| line.text.as_str()).collect();
    assert!(texts[0].starts_with("started on 1 agent"), "{texts:?}");
    assert!(texts[1].starts_with("the coordinator was started again"), "{texts:?}");
}

/// A run that has not begun does not begin, and one that goes on is stopped.
#[tokio::test(start_paused = true)]
async fn runs_that_a_stricter_list_forbids_end() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let going = fleet.start("rate: 10/s\nduration: 60s").await;
    let queued = fleet.start("rate: 10/s\nduration: 60s").await;
    sleep(Duration::from_secs(3)).await;
    fleet.tell.send_replace(None);
    kill(&fleet.coordinator, &fleet.store);
    let allow = Arc::new(AllowList::parse(["127.0.0.1 max 9/s"]).unwrap());
    let settings = Settings { allow, ..Settings::default() };
    let second = Coordinator::new(fleet.store.inner.clone(), settings);
    second.shared.resume().await.unwrap();
    fleet.tell.send_replace(Some(second.clone()));
    let RunDocument { progress, log, .. } = outcome(&second, &going).await;
    let notes: Vec<_> = log.iter().map(|line| line.text.as_str()).collect();
    assert!(notes.iter().any(|text| text.contains("forbidden by now") && text.contains("9/s")), "{notes:?}");
    assert_eq!(progress.stop_reason.as_deref(), Some("asked"), "{notes:?}");
    assert!(progress.whole.started < 100, "{}", progress.sentence);
    let progress = outcome(&second, &queued).await.progress;
    assert_eq!((progress.stop_reason.as_deref(), progress.whole.started), (Some("could_not_run"), 0));
    assert!(progress.sentence.contains("bounds 127.0.0.1:1 to 9/s"), "{}", progress.sentence);
}

/// What is told by the minute already is so again.
#[tokio::test(start_paused = true)]
async fn a_long_run_goes_on_where_it_was() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let run = fleet.start("users: 1\nduration: 3900s").await;
    sleep(Duration::from_millis(3_805_700)).await;
    let ticks = |fleet: &Fleet| {
        let ticks = fleet.coordinator.shared.live(&run).unwrap().feed().read(Feed::ticks);
        ticks.iter().map(|tick| (tick.second, tick.span_s, tick.ok, tick.users)).collect::<Vec<_>>()
    };
    let before = ticks(&fleet);
    assert_eq!((before[2].1, before[3].1), (60, 1));
    fleet.restart().await;
    let after = ticks(&fleet);
    assert!(after.len() + 2 >= before.len(), "{} of {}", after.len(), before.len());
    assert_eq!(after, before[..after.len()]);
    let progress = outcome(&fleet.coordinator, &run).await.progress;
    assert_eq!(
        (progress.incomplete, progress.verdict),
        (false, Some(Verdict::None)),
        "{}",
        progress.sentence
    );
    assert_eq!(ticks(&fleet).len(), 65);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_ends_leaves_its_runs_to_the_next() {
    let mut fleet = Fleet::new();
    fleet.add_worker();
    sleep(Duration::from_secs(1)).await;
    let run = fleet.start("users: 1\nduration: 10s").await;
    sleep(Duration::from_secs(4)).await;
    fleet.tell.send_replace(None);
    fleet.coordinator.shared.wind_down(Ending::LeaveRuns).await;
    let kept = fleet.store.inner.document(&run).await.unwrap().unwrap();
    assert_eq!((kept.progress.over, kept.progress.state.as_str()), (false, "running"));
    fleet.begin_again().await;
    let progress = outcome(&fleet.coordinator, &run).await.progress;
    assert_eq!((progress.incomplete, progress.stop_reason.as_deref()), (false, Some("duration_over")));
    // A second time, and for good.
    let run = fleet.start("users: 1\nduration: 60s").await;
    sleep(Duration::from_secs(2)).await;
    fleet.coordinator.shared.wind_down(Ending::StopRuns).await;
    let kept = fleet.store.inner.document(&run).await.unwrap().unwrap().progress;
    assert_eq!((kept.over, kept.stop_reason.as_deref()), (true, Some("asked")));
}

/// The same over a real file, in real time. Opening it waits for the one before, which others let go of meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        || Arc::new(SqliteStore::open(&folder.path().join("volley.db"), Retention::default()).unwrap());
    let coordinator = with_store(open());
    let tell = watch::Sender::new(Some(coordinator.clone()));
    let counts = [1, 2].map(|agent| Worker::start(agent, &tell.subscribe()));
    sleep(Duration::from_millis(500)).await;
    let plan = "rate: 40/s\nduration: 5s\nagents: { min: 2 }";
    let run = coordinator.start_run(new_run(plan)).await.unwrap();
    sleep(Duration::from_millis(2500)).await;
    tell.send_replace(None);
    coordinator.shared.wind_down(Ending::LeaveRuns).await;
    drop(coordinator);
    let coordinator = next(open()).await;
    tell.send_replace(Some(coordinator.clone()));
    let RunDocument { progress, log, .. } = outcome(&coordinator, &run).await;
    let requests: u64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    assert_eq!((progress.whole.ok, progress.accounts.planned), (requests, Some(200)), "{log:?}");
    assert_eq!(
        (requests, progress.incomplete, progress.verdict),
        (200, false, Some(Verdict::None)),
        "{log:?}"
    );
    assert!(log.iter().any(|line| line.text.contains("started again")), "{log:?}");
    let ok: u64 = coordinator
        .shared
        .live(&run)
        .unwrap()
        .feed()
        .read(|feed| feed.ticks().iter().map(|tick| tick.ok).sum());
    assert_eq!(ok, 200);
}

/// What is still to come of a run that only the store knows is kept, and its agent let go.
#[tokio::test(start_paused = true)]
async fn what_comes_after_a_run_was_forgotten_is_late() {
    let mut fleet = Fleet::new();
    let mut agent = FakeAgent::join(&fleet.coordinator, 9, "a").await;
    let run = fleet.start("users: 1\nduration: 3s").await;
    agent.prepare(&run).await;
    assert!(matches!(agent.order().await, Order::Start { .. }));
    outcome(&fleet.coordinator, &run).await;
    fleet.restart().await;
    assert!(fleet.coordinator.shared.live(&run).is_none(), "it is over, and in the store alone");
    agent.reconnect(&fleet.coordinator).await;
    assert!(matches!(agent.order().await, Order::Stop { drain_ns: 0, .. }));
    for sequence in [1, 2, 2] {
        agent.deliver(&run, sequence, window(sequence as u32, 5, 0), sequence == 2).await;
        agent.acknowledgement(sequence).await;
    }
    agent.ping().await;
    while !matches!(agent.order().await, Order::Release) {}
    let progress = fleet.coordinator.document(&run).await.unwrap().progress;
    assert_eq!((progress.delivered_late.windows, progress.delivered_late.ok, progress.whole.ok), (2, 10, 0));
    // Of a run that nobody knows, nothing is wanted.
    let unknown = RunId::new("20260101-000000-00000000").unwrap();
    agent.deliver(&unknown, 7, window(0, 1, 0), true).await;
    agent.acknowledgement(u64::MAX).await;
}

/// The driver waits for its store while the load is adjusted, and the orders that it saves next are others.
#[tokio::test(start_paused = true)]
async fn what_was_decided_beside_the_driver_is_saved_whole_or_not_at_all() {
    let store = Arc::new(MortalStore::new(Arc::new(MemoryStore::default()), Death::Never));
    let coordinator = with_store(store.clone());
    let mut a = FakeAgent::join(&coordinator, 1, "a").await;
    let mut b = FakeAgent::join(&coordinator, 2, "b").await;
    let plan = new_run("rate: 20/s\nduration: 60s\nagents: { min: 2, elastic: true }");
    let run = coordinator.start_run(plan).await.unwrap();
    for agent in [&mut a, &mut b] {
        agent.prepare(&run).await;
    }
    for agent in [&mut a, &mut b] {
        assert!(matches!(agent.order().await, Order::Start { .. }));
    }
    sleep(Duration::from_millis(1500)).await;
    let mut c = FakeAgent::join(&coordinator, 3, "c").await;
    assert!(matches!(c.order().await, Order::Prepare { .. }));
    store.die_slowly();
    for agent in [&mut a, &mut b] {
        agent.ping().await;
        agent.deliver(&run, 1, window(0, 5, 0), false).await;
    }
    // The first second is complete, and the store is at it.
    sleep(Duration::from_secs(1)).await;
    c.report(&run, Report::Refused { reason: "no".to_owned() }).await;
    sleep(Duration::from_millis(1)).await;
    coordinator.adjust_run(&run, Level::Rate("40/s".parse().unwrap())).await.unwrap();
    store.death().await;
    kill(&coordinator, &store);
    let coordinator = next(store.inner.clone()).await;
    let live = coordinator.shared.live(&run).unwrap();
    assert_eq!(live.ask(|run| run.adjusted().len()), 1, "what c was told was saved after that");
    for agent in [&mut a, &mut b] {
        agent.reconnect(&coordinator).await;
        agent.ping().await;
        let order = tokio::time::timeout(Duration::from_secs(5), agent.order()).await;
        assert!(matches!(order, Ok(Order::Change { to: Some(_), .. })), "{order:?}");
    }
}
