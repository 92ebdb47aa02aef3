//! What older versions stored can be read: a sample of each form that was released, see
//! `examples/stored_sample.rs`.

use volley_lifecycle::Run;
use volley_plan::link::{Order, WindowFacts};
use volley_stats::{ErrorKind, SealedWindow, Timed};

use super::*;
use crate::store::{Delivery, Left};

/// A copy of a sample, opened. It stays as it was written, whatever the present version makes of its copy.
fn opened(sample: &str, folder: &Path) -> SqliteStore {
    let path = folder.join("volley.db");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored").join(sample);
    std::fs::copy(&sample, &path).unwrap_or_else(|error| panic!("{}: {error}", sample.display()));
    // Whatever the date, nothing of it is too old.
    let retention = Retention { seconds_for: Duration::MAX, age_max: Duration::MAX, ..Retention::default() };
    SqliteStore::open(&path, retention).unwrap()
}

const GOING_ON: &str = "20261201-110000-00000002";
const OPEN: &str = "20261201-120000-00000003";

/// The last grant of the run that goes on.
fn grant(from: u64) -> Order {
    Order::Grant { from, to: 50, last: false }
}

fn run(name: &str) -> RunId {
    RunId::new(name).unwrap()
}

async fn check_finished(store: &SqliteStore) {
    let finished = run("20261201-100000-00000001");
    let document = store.document(&finished).await.unwrap().unwrap();
    assert_eq!((document.name.as_str(), document.progress.state.as_str()), ("finished", "finished"));
    assert_eq!((document.note.as_deref(), document.log.len()), (Some("a note"), 1));
    let series = store.series(&finished).await.unwrap();
    let whole = series.lock().whole();
    assert_eq!((whole.latency.count(), whole.failed_latency.count()), (705, 10));
    assert_eq!(whole.counters.errors.get(ErrorKind::Reset), 10);
    assert_eq!(whole.counters.statuses.sorted(), [(200, 705)]);
    assert_eq!((whole.latency.min_ns(), whole.latency.max_ns()), (Some(1_000_000), Some(1_900_000)));
    let tenth = series.lock().second(10).unwrap();
    assert_eq!((tenth.row.latency.count(), tenth.scalars.connections), (15, 2));
    let spans = async |grain| {
        let spans = store.spans(&finished, grain, 0, u32::MAX).await.unwrap();
        let of = |span: &Span| (span.from_s, span.row.open::<u32>().unwrap().latency.count());
        spans.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(spans(Grain::Second).await.len(), 70);
    assert_eq!(spans(Grain::Minute).await, [(0, 605), (60, 100)]);
    for sequence in [1, 70, 71] {
        let window = Arc::new(SealedWindow::default());
        let (agent, arrival) = (Incarnation(u64::MAX), Arrival::InTime);
        let facts = WindowFacts::default();
        let again = Delivery { run: &finished, agent, sequence, window: &window, facts: &facts, arrival };
        assert_eq!(store.keep_window(again).await.unwrap(), Kept::Repeated, "{sequence}");
    }
}

/// Where the decider of a run stood that was going on.
async fn left(store: &SqliteStore, run: &str) -> Left {
    let unfinished = store.unfinished().await.unwrap();
    unfinished.into_iter().find(|unfinished| unfinished.document.id.as_str() == run).expect(run).left
}

/// What older versions kept of a run that was going on was not enough to go on from.
async fn check_unreadable(store: &SqliteStore, run: &str) {
    let left = left(store, run).await;
    assert!(matches!(&left, Left::Unreadable(why) if why.contains("nothing was kept")), "{left:?}");
}

/// Goes on with a run, and gives what its one agent had leave for, and what of it was reported.
async fn resumed(store: &SqliteStore, run: &str) -> (&'static str, u64, u64) {
    let Left::Begun { run: record, agents } = left(store, run).await else { panic!("{run}") };
    let id = RunId::new(run).unwrap();
    let plan = volley_plan::parse(&store.document(&id).await.unwrap().unwrap().plan).unwrap();
    let settings = volley_lifecycle::Settings::default();
    let run = Run::resumed(1 << 60, id, Arc::new(plan), settings, record, agents, 5_000_000_000);
    let agent = run.agents().next().unwrap();
    (run.state().name(), agent.granted, agent.reported.iterations.started)
}

/// Closes a run that was going on. `orders` is how many were given, `grant` the last of them.
async fn check_going_on(store: &SqliteStore, orders: usize, grant: Order) {
    let going_on = run(GOING_ON);
    store.close(&going_on).await.unwrap();
    let document = store.document(&going_on).await.unwrap().unwrap();
    let progress = &document.progress;
    assert_eq!((progress.over, progress.whole.ok, progress.elapsed_s), (true, 30, 3.0));
    assert_eq!(progress.stop_reason.as_deref(), Some("coordinator_stopped"));
    assert_eq!((progress.accounts.planned, progress.accounts.unknown), (Some(100), 20));
    let series = store.series(&going_on).await.unwrap();
    assert_eq!(series.lock().second(2).unwrap().row.latency.count(), 10);
    let stored = store.orders(&going_on).await.unwrap();
    assert_eq!(stored.len(), orders);
    assert_eq!(stored[orders - 1].order, grant);
    assert_eq!((document.progress.agents.len(), stored[0].agent), (1, Incarnation(u64::MAX)));
    assert_eq!(document.progress.agents[0].incarnation, Incarnation(u64::MAX));
}

async fn check_open(store: &SqliteStore) {
    let open = run(OPEN);
    store.close(&open).await.unwrap();
    let progress = store.document(&open).await.unwrap().unwrap().progress;
    assert_eq!((progress.whole.ok, progress.run_s, progress.elapsed_s), (27, 5.0, 3.0));
    let accounts = progress.accounts;
    assert_eq!((accounts.planned, accounts.started, accounts.missed, accounts.unknown), (Some(36), 30, 3, 3));
    assert_eq!((progress.whole.unknown, progress.phases.len()), (None, Timed::ALL.len()));
    let warmup = progress.warmup.unwrap();
    assert_eq!((warmup.started, warmup.ok, warmup.cancelled, warmup.missed), (20, 18, 2, 2));
    assert_eq!((progress.agents[0].health.seconds, progress.agents[0].health.lag_max_ns), (3, 3_000_000));
    let series = store.series(&open).await.unwrap();
    let whole = series.lock().whole();
    assert_eq!((whole.service_time.count(), whole.cancelled_age.max_ns()), (27, Some(5_000_000)));
    let (iterations, warmup) = {
        let series = series.lock();
        (series.iterations(), series.warmup())
    };
    assert_eq!((iterations.missed, warmup.missed), (3, 2));
    let spans = store.spans(&open, Grain::Second, 0, 9).await.unwrap();
    let said =
        |span: &Span| (span.scalars.warmup.started, span.scalars.iterations.started, span.strain.busiest());
    let said: Vec<_> = spans.iter().map(said).collect();
    assert_eq!(said, [[(10, 0, Some(0.25)); 2].as_slice(), &[(0, 10, Some(0.25)); 3]].concat());
    let health = store.health(&open, 0, 100).await.unwrap();
    assert_eq!((health.reports.len(), health.next_s), (5, None));
    assert_eq!(health.reports[&(4, Incarnation(u64::MAX))].stolen_ns, 10_000_000);
    let Order::Prepare { share, seed, .. } = &store.orders(&open).await.unwrap()[0].order else {
        panic!("the order to prepare")
    };
    let connections = share.bounds.and_then(|bounds| bounds.connections);
    assert_eq!((share.stripes.held().len(), connections, *seed), (2520, Some(7), 42));
}

/// What was counted of connections in so many measured rows, and what so many windows said of addresses.
async fn check_connections(store: &SqliteStore, run: &str, rows: u64, windows: u64) {
    let run = RunId::new(run).unwrap();
    let series = store.series(&run).await.unwrap();
    let series = series.lock();
    let counters = series.whole().counters;
    let counts = [
        counters.connections_opened,
        counters.connections_reused,
        counters.connections_closed,
        counters.handshakes,
        counters.handshakes_resumed,
    ];
    assert_eq!(counts, [2, 3, 4, 6, 5].map(|n| n * rows), "{run}");
    let said = series.addresses().iter();
    let said = said.map(|(address, of)| (address, [of.connections, of.failures, of.requests]));
    let expected = [("127.0.0.1:1", [windows, 0, 10 * windows]), ("[::1]:1", [0, windows, 0])];
    assert_eq!(said.collect::<Vec<_>>(), expected, "{run}");
}

#[tokio::test]
async fn form_1_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v1.db", folder.path());
    let listed = store.list(&Page::newest(9)).await.unwrap();
    let names: Vec<_> = listed.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["going on", "finished"]);
    check_finished(&store).await;
    check_unreadable(&store, GOING_ON).await;
    check_going_on(&store, 2, grant(0)).await;
    // What wasn't kept then is nothing now.
    let health = store.health(&run("20261201-100000-00000001"), 0, 10).await.unwrap();
    assert_eq!(health, HealthBySecond::default());
}

#[tokio::test]
async fn what_came_with_the_open_model_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v2.db", folder.path());
    let listed = store.list(&Page::newest(9)).await.unwrap();
    assert_eq!(
        listed.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(),
        ["open", "going on", "finished"]
    );
    check_finished(&store).await;
    for run in [GOING_ON, OPEN] {
        check_unreadable(&store, run).await;
    }
    check_going_on(&store, 3, grant(0)).await;
    check_open(&store).await;
}

#[tokio::test]
async fn what_can_be_gone_on_with_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v3.db", folder.path());
    assert_eq!(resumed(&store, GOING_ON).await, ("resuming", 50, 30));
    assert_eq!(resumed(&store, OPEN).await, ("resuming", 0, 30));
    check_finished(&store).await;
    check_going_on(&store, 4, grant(25)).await;
    check_open(&store).await;
}

#[tokio::test]
async fn what_is_told_of_connections_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v4.db", folder.path());
    assert_eq!(resumed(&store, GOING_ON).await, ("resuming", 50, 30));
    assert_eq!(resumed(&store, OPEN).await, ("resuming", 0, 30));
    check_finished(&store).await;
    check_going_on(&store, 4, grant(25)).await;
    check_open(&store).await;
    for (run, rows, windows) in [("20261201-100000-00000001", 71, 70), (GOING_ON, 3, 3), (OPEN, 3, 5)] {
        check_connections(&store, run, rows, windows).await;
    }
}
