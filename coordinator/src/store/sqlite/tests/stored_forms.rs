//! What older versions stored can be read: a sample of each form that was released, see
//! `examples/stored_sample.rs`.

use volley_plan::link::Order;
use volley_stats::ErrorKind;

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
        let of = |span: &Span| (span.from_s, span.row.open().unwrap().latency.count());
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

async fn check_going_on(store: &SqliteStore) {
    let going_on = run("20261201-110000-00000002");
    let document = store.document(&going_on).await.unwrap().unwrap();
    let progress = &document.progress;
    assert_eq!((progress.over, progress.whole.ok, progress.elapsed_s), (true, 30, 3.0));
    assert_eq!(progress.stop_reason.as_deref(), Some("coordinator_stopped"));
    assert_eq!((progress.accounts.planned, progress.accounts.unknown), (Some(100), 20));
    let series = store.series(&going_on).await.unwrap();
    assert_eq!(series.lock().second(2).unwrap().row.latency.count(), 10);
    let orders = store.orders(&going_on).await.unwrap();
    assert_eq!(orders[1].order, Order::Grant { from: 0, to: 50, last: false });
}

#[tokio::test]
async fn form_1_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened("v1.db", folder.path());
    let listed = store.list(&Page::newest(9)).await.unwrap();
    let names: Vec<_> = listed.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["going on", "finished"]);
    check_finished(&store).await;
    check_going_on(&store).await;
}
