//! Runs that only the store has: their pages, streams and places in memory.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use volley_plan::link::Incarnation;
use volley_stats::Row;

use super::*;
use crate::store::{Delivery, MemoryStore, Retention, SqliteStore, suite};
use crate::testing::{Server, json as body};

async fn server_on(folder: &TempDir) -> Server {
    let path = Path::new(folder.path()).join("volley.db");
    Server::on(Arc::new(SqliteStore::open(&path, Retention::default()).unwrap())).await
}

/// The events of a stream: (id, event, data) of each.
async fn events(server: &Server, run: &str, last: &str) -> Vec<(u64, String, Value)> {
    let request = server.request(Method::GET, &format!("{run}/stream")).header("last-event-id", last);
    let text = request.send().await.unwrap().text().await.unwrap();
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default().to_owned()
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    let event = |block| {
        let data = serde_json::from_str(&field(block, "data")).unwrap();
        (field(block, "id").parse().unwrap(), field(block, "event"), data)
    };
    blocks.map(event).collect()
}

/// What is to be the same of a stream: its ticks by second and its last state, but for when they were sent.
fn gist(events: &[(u64, String, Value)]) -> Value {
    let mut ticks = BTreeMap::new();
    for (_, _, tick) in events.iter().filter(|(_, event, _)| event == "tick") {
        let mut tick = tick.clone();
        tick["elapsed_s"] = Value::Null;
        ticks.insert(tick["second"].as_u64().unwrap(), tick);
    }
    let of = |name: &str| -> Vec<_> {
        events.iter().filter(|(_, event, _)| event == name).map(|(_, _, data)| data).collect()
    };
    let ends = events.last().map(|(_, event, _)| event);
    json!({ "ticks": ticks, "state": of("state").last(), "log": of("log"), "ends": ends })
}

/// A page without the moments at which its ticks were sent.
fn without_moments(html: &str) -> String {
    let mut parts = html.split("\"elapsed_s\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

#[tokio::test]
async fn a_run_is_the_same_after_a_restart() {
    check_restart("users: 1\nduration: 2s\nname: before").await;
}

#[tokio::test]
async fn a_run_of_the_open_model_is_the_same_after_a_restart() {
    check_restart("rate: 25/s\nduration: 2s\nwarmup: 1s").await;
}

async fn check_restart(plan: &str) {
    let folder = tempfile::tempdir().unwrap();
    let server = server_on(&folder).await.and_agent().await;
    let path = server.run(plan).await;
    let page = path.replace("/api/v1", "");
    let document = body(server.get(&format!("{path}?wait=60s")).await).await;
    assert_eq!(document["state"], "finished");
    let html = server.get(&page).await.text().await.unwrap();
    let seen = events(&server, &path, "").await;
    server.end().await;

    let server = server_on(&folder).await;
    assert_eq!(
        body(server.get(&format!("{path}?wait=60s")).await).await,
        document,
        "nobody waits for what is over"
    );
    assert_eq!(without_moments(&server.get(&page).await.text().await.unwrap()), without_moments(&html));
    let again = events(&server, &path, "").await;
    assert_eq!(gist(&again), gist(&seen));
    assert!(again.is_sorted_by(|a, b| a.0 < b.0), "ids rise");
    // Whoever was in the middle of the old stream knows nothing of the new one's numbers, so it gets all.
    for last in [seen[0].0, seen[seen.len() / 2].0, seen[seen.len() - 1].0] {
        assert_eq!(events(&server, &path, &last.to_string()).await, again);
    }
    let middle = again.len() / 2;
    assert_eq!(events(&server, &path, &again[middle].0.to_string()).await, again[middle + 1..]);
    let all = again[again.len() - 1].0.to_string();
    let done = server.request(Method::GET, &format!("{path}/stream")).header("last-event-id", all);
    assert_eq!(done.send().await.unwrap().status(), 204);
    assert_eq!(server.post(&format!("{path}/stop"), "").await.status(), 409, "it is over");
    assert_eq!(server.post(&format!("{page}/stop"), "").await.status(), 303, "likewise, as a page");
    let list = body(server.get("/api/v1/runs").await).await;
    assert_eq!((&list["runs"][0]["id"], &list["total"]), (&document["id"], &1.into()));
    server.end().await;
}

#[tokio::test]
async fn runs_that_are_over_make_room_in_memory_and_are_read_back() {
    let server = Server::with_agent().await;
    let mut paths = Vec::new();
    for n in 0..60 {
        let path = server.run(&format!("users: 1\nrequests: 5\nname: run-{n}")).await;
        assert_eq!(body(server.get(&format!("{path}?wait=60s")).await).await["over"], true);
        server.has_agent_in("idle").await;
        paths.push(path);
    }
    let shared = &server.coordinator.shared;
    let in_memory = |path: &String| {
        let id = path.rsplit('/').next().and_then(RunId::new).unwrap();
        shared.live(&id).is_some()
    };
    assert_eq!(paths.iter().filter(|path| in_memory(path)).count(), 50);
    assert!(!in_memory(&paths[9]) && in_memory(&paths[10]), "the oldest are not");
    for path in [&paths[0], &paths[59]] {
        assert_eq!(body(server.get(path).await).await["whole"]["ok"], 5);
        assert_eq!(server.get(&path.replace("/api/v1", "")).await.status(), 200);
    }
    let events = events(&server, &paths[0], "").await;
    let ticks = events.iter().filter(|(_, event, _)| event == "tick");
    assert_eq!(ticks.filter_map(|(_, _, tick)| tick["ok"].as_u64()).sum::<u64>(), 5);
    server.end().await;
}

/// The ticks of a run of this length that had 10 requests in each of these seconds: `from+length=ok`.
async fn check(elapsed_s: f64, seconds: &[u32], expected: &str) {
    let store = MemoryStore::default();
    let mut document = suite::document("r");
    document.progress.run_s = elapsed_s;
    store.create(&document).await.unwrap();
    for (sequence, second) in (1..).zip(seconds) {
        suite::keep(&store, &document.id, 1, sequence, &suite::window(*second, 10)).await;
    }
    let ticks = ticks(&store, &document).await.unwrap();
    let said = |tick: &Tick| format!("{}+{}={}", tick.second, tick.span_s, tick.ok);
    let (some, more) = ticks.split_at(ticks.len().min(5));
    let mut said: Vec<_> = some.iter().map(said).collect();
    if let Some(last) = more.last() {
        said.push(format!("... {}+{}={}", last.second, last.span_s, last.ok));
    }
    assert_eq!(said.join(" "), expected);
}

#[tokio::test]
async fn seconds_without_anything_are_zeros_and_long_runs_are_told_by_the_minute() {
    check(0.0, &[], "").await;
    check(1.0, &[0], "0+1=10").await;
    check(3.2, &[1], "0+1=0 1+1=10 2+1=0 3+1=0").await;
    check(2.0, &[0, 3], "0+1=10 1+1=0 2+1=0 3+1=10").await;
    check(3_600.0, &[1], "0+1=0 1+1=10 2+1=0 3+1=0 4+1=0 ... 3599+1=0").await;
    check(3_600.1, &[1, 3_600], "0+60=10 60+60=0 120+60=0 180+60=0 240+60=0 ... 3600+1=10").await;
    check(3_725.0, &[0, 59, 3_724], "0+60=20 60+60=0 120+60=0 180+60=0 240+60=0 ... 3720+5=10").await;
    // The drain is not part of the length.
    check(3_650.0, &[3_655], "0+60=0 60+60=0 120+60=0 180+60=0 240+60=0 ... 3600+50=10").await;
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_and_no_gap() {
    let span = |bytes: Vec<u8>| {
        let mut row = Row::<u32>::default();
        row.latency.record(1);
        let mut row = row.seal();
        row.latency.bytes.extend(bytes);
        Span { from_s: 0, to_s: 1, row, ..Span::default() }
    };
    let run = RunId::new("r").unwrap();
    let past = Past { id: run.clone(), load: None, stop_ns: None, gaps: Gaps::default(), run_s: 1.0 };
    let read = |span| past.ticks(Grain::Second, vec![span], 0..1);
    assert_eq!(read(span(Vec::new())).unwrap().len(), 1);
    assert!(matches!(read(span(vec![1])), Err(StoreError::Damaged { run: of, .. }) if of == run));
}

#[test]
fn the_shelf_is_bounded() {
    let feed = |ticks: u64| {
        let mut feed = Feed::default();
        (0..ticks).for_each(|second| feed.tick(Tick { second, ..Tick::default() }));
        Arc::new(SharedFeed::new(feed))
    };
    let run = |n: usize| RunId::new(&format!("r{n}")).unwrap();
    let mut shelf = Shelf::default();
    (0..9).for_each(|n| shelf.put(run(n), feed(1)));
    assert!(shelf.find(&run(0)).is_none() && shelf.find(&run(1)).is_some());
    shelf.put(run(9), feed(1));
    assert!(
        shelf.find(&run(1)).is_some() && shelf.find(&run(2)).is_none(),
        "what was asked for stays longer"
    );
    (10..13).for_each(|n| shelf.put(run(n), feed(20_000)));
    assert!(shelf.find(&run(12)).is_some() && shelf.find(&run(10)).is_none(), "large ones make room sooner");
}

/// A delivery after the end reaches the store as long as the run is in memory, and its document says so.
#[tokio::test]
async fn what_is_delivered_late_is_in_the_stored_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volley.db");
    let store = SqliteStore::open(&path, Retention::default()).unwrap();
    let mut run = suite::document("r");
    store.create(&run).await.unwrap();
    run.progress.over = true;
    store.update(&run).await.unwrap();
    let (agent, window) = (Incarnation(1), suite::window(0, 3));
    let arrival = crate::store::Arrival::Late;
    let facts = suite::facts(1, &window);
    let window = &suite::sealed(&window);
    let late = Delivery { run: &run.id, agent, sequence: 1, window, facts: &facts, arrival };
    store.keep_window(late).await.unwrap();
    run.progress.delivered_late.windows = 1;
    store.update(&run).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path, Retention::default()).unwrap();
    let document = store.document(&run.id).await.unwrap().unwrap();
    assert_eq!((document.progress.delivered_late.windows, document.progress.whole.ok), (1, 0));
}
