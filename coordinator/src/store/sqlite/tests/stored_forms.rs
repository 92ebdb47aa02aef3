//! What older versions stored can be read: a sample of each form that was released, see
//! `examples/stored_sample.rs`.

use volley_plan::link::{Order, Share};
use volley_stats::{ErrorKind, Timed};

use super::*;
use crate::store::Delivery;

/// A copy of a sample, opened. It stays as it was written, whatever the present version makes of its copy.
fn opened(sample: &str, folder: &Path) -> SqliteStore {
    let path = folder.join("volley.db");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored").join(sample);
    std::fs::copy(&sample, &path).unwrap_or_else(|error| panic!("{}: {error}", sample.display()));
    // Whatever the date, nothing of it is too old.
    let retention = Retention { seconds_for: Duration::MAX, age_max: Duration::MAX, ..Retention::default() };
    SqliteStore::open(&path, retention).unwrap()
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
        let window = Arc::new(Window::default());
        let (agent, arrival) = (Incarnation(u64::MAX), Arrival::InTime);
        let again = Delivery { run: &finished, agent, sequence, window: &window, arrival };
        assert_eq!(store.keep_window(again).await.unwrap(), Kept::Repeated, "{sequence}");
    }
}

/// `orders` is how many were given.
async fn check_going_on(store: &SqliteStore, orders: usize) {
    let going_on = run("20261201-110000-00000002");
    let document = store.document(&going_on).await.unwrap().unwrap();
    let progress = &document.progress;
    assert_eq!((progress.over, progress.whole.ok, progress.elapsed_s), (true, 30, 3.0));
    assert_eq!(progress.stop_reason.as_deref(), Some("coordinator_stopped"));
    assert_eq!((progress.accounts.planned, progress.accounts.unknown), (Some(100), 20));
    let series = store.series(&going_on).await.unwrap();
    assert_eq!(series.lock().second(2).unwrap().row.latency.count(), 10);
    let stored = store.orders(&going_on).await.unwrap();
    assert_eq!(stored.len(), orders);
    assert_eq!(stored[orders - 1].order, Order::Grant { from: 0, to: 50, last: false });
    assert_eq!((document.progress.agents.len(), stored[0].agent), (1, Incarnation(u64::MAX)));
    assert_eq!(document.progress.agents[0].incarnation, Incarnation(u64::MAX));
}

async fn check_open(store: &SqliteStore) {
    let open = run("20261201-120000-00000003");
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
    let Order::Prepare { share: Share::Arrivals(share), seed, .. } =
        &store.orders(&open).await.unwrap()[0].order
    else {
        panic!("the order to prepare")
    };
    assert_eq!((share.stripes.held().len(), share.connections, *seed), (2520, Some(7), 42));
}

#[tokio::test]
async fn form_1_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v1.db", folder.path());
    let listed = store.list(&Page::newest(9)).await.unwrap();
    let names: Vec<_> = listed.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["going on", "finished"]);
    check_finished(&store).await;
    check_going_on(&store, 2).await;
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
    check_going_on(&store, 3).await;
    check_open(&store).await;
}
