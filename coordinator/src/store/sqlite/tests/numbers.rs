//! How long it takes to list, to open and to begin where a lot is there. Bounds are wide, since other work may go on
//! beside; the figures are printed.

use rusqlite::Transaction;
use volley_plan::Verdict;
use volley_stats::TotalRow;

use super::*;
use crate::document::{RunSummary, Whole, latency_ms};
use crate::store::sqlite::{codec, merge};
use crate::testing::Server;

const DAY_S: u32 = 86_400;

/// A run that is over, with figures as a real one has them.
fn over(id: &str, elapsed_s: f64) -> RunDocument {
    let mut run = days_old(id, 1);
    run.started_at = Some(run.created_at.clone());
    run.plan = r#"{"target":"http://127.0.0.1:1/","users":50,"duration":"24h"}"#.to_owned();
    let latency = rich_row(1, 500).latency;
    let progress = &mut run.progress;
    (progress.over, progress.state, progress.verdict) = (true, "finished".to_owned(), Some(Verdict::None));
    "Finished: 50,123 requests in 10 s (5,012 requests/s), 0 failed, p99 1.20 ms."
        .clone_into(&mut progress.sentence);
    (progress.elapsed_s, progress.run_s) = (elapsed_s, elapsed_s);
    progress.whole = Whole {
        started: 50_123,
        ok: 50_123,
        rate: 5012.3,
        error_rate: Some(0.0),
        bytes_sent: 4_000_000,
        bytes_received: 9_000_000,
        latency_ms: latency_ms(&latency),
        latency_mean_ms: latency.mean_ns().map(|ns| ns / 1e6),
        ..Whole::default()
    };
    run
}

fn add(db: &Transaction<'_>, key: i64, run: &RunDocument, complete_s: u32) {
    let (summary, body) = (RunSummary::from(run), serde_json::to_string(run).unwrap());
    let created: Timestamp = run.created_at.parse().unwrap();
    let text = "INSERT INTO runs (key, id, created_s, over, complete_s, rolled, form, summary)
                VALUES (?, ?, ?, 1, ?, 1, 1, ?)";
    let summary = serde_json::to_string(&summary).unwrap();
    db.execute(text, (key, run.id.as_str(), created.as_second(), complete_s, summary)).unwrap();
    db.execute("INSERT INTO documents (run, form, body) VALUES (?, 1, ?)", (key, body)).unwrap();
}

/// A store with so many runs that are over.
fn with_runs(runs: i64) -> Folder {
    let folder = Folder::new();
    drop(folder.store());
    let mut db = folder.db();
    let transaction = db.transaction().unwrap();
    (1..=runs).for_each(|n| add(&transaction, n, &over(&format!("20260101-{n:06}"), 10.0), 10));
    transaction.commit().unwrap();
    folder
}

/// How long an answer takes, at the median of several, with its size.
async fn median(server: &Server, path: &str) -> (Duration, usize) {
    let mut took = Vec::new();
    let mut bytes = 0;
    for _ in 0..7 {
        let begun = Instant::now();
        let answer = server.get(path).await;
        assert_eq!(answer.status(), 200, "{path}");
        bytes = answer.bytes().await.unwrap().len();
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    (took[took.len() / 2], bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_runs_are_listed_quickly() {
    let folder = with_runs(10_000);
    let begun = Instant::now();
    let store = folder.store();
    let opened = begun.elapsed();
    let server = Server::on(Arc::new(store)).await;
    let (page, page_bytes) = median(&server, "/api/v1/runs").await;
    let (all, all_bytes) = median(&server, "/api/v1/runs?limit=10000").await;
    let (home, _) = median(&server, "/").await;
    println!(
        "10,000 runs: opened in {opened:.1?}; GET /runs of 100 ({page_bytes} bytes) in {page:.2?}, of all \
         ({all_bytes} bytes) in {all:.1?}; the home page in {home:.1?}"
    );
    assert!(page < Duration::from_millis(250), "{page:?}");
    assert!(all < Duration::from_millis(1_000), "{all:?}");
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_with_a_thousand_runs_serves_soon() {
    let folder = with_runs(1_000);
    let begun = Instant::now();
    let server = Server::on(Arc::new(folder.store())).await;
    assert_eq!(server.get("/readyz").await.status(), 200);
    let ready = begun.elapsed();
    assert_eq!(server.get("/").await.status(), 200);
    println!("1,000 runs: ready in {ready:.1?}, the home page there after {:.1?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(2));
    server.end().await;
}

/// A run of a day with ten steps, its seconds and minutes in their tables; and one of an hour with one.
fn with_a_day() -> Folder {
    let folder = Folder::new();
    drop(folder.store());
    let mut db = folder.db();
    let transaction = db.transaction().unwrap();
    add(&transaction, 1, &over("day", f64::from(DAY_S)), DAY_S);
    let second = codec::encode_row(&rich_row(1, 40).seal());
    for from_s in 0..DAY_S {
        merge::write_row(&transaction, 1, Grain::Second, RowKey::second(from_s, 0), &second).unwrap();
        write_span(&transaction, 1, Grain::Second, from_s, Second::default(), None);
    }
    for from_s in (0..DAY_S).step_by(60) {
        let minute = rich_row(from_s.into(), 4_000).seal();
        let body = codec::encode_row(&minute);
        for step in 0..10 {
            let key = RowKey { to_s: from_s + 60, ..RowKey::second(from_s, step) };
            merge::write_row(&transaction, 1, Grain::Minute, key, &body).unwrap();
        }
        let scalars = Second { users: 50, in_flight: 50, ..Second::default() };
        write_span(&transaction, 1, Grain::Minute, from_s, scalars, Some(&body));
    }
    add(&transaction, 2, &over("hour", 3_600.0), 3_600);
    for from_s in 0..3_600 {
        let row = codec::encode_row(&rich_row(from_s.into(), 500).seal());
        merge::write_row(&transaction, 2, Grain::Second, RowKey::second(from_s, 0), &row).unwrap();
        write_span(&transaction, 2, Grain::Second, from_s, Second::default(), None);
    }
    let total = codec::encode_total(&TotalRow::default());
    let text = "INSERT INTO totals (run, part, step, form, body) VALUES (1, 1, 0, 1, ?)";
    transaction.execute(text, [total]).unwrap();
    transaction.commit().unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_a_day_opens_within_a_second() {
    let folder = with_a_day();
    let server = Server::on(Arc::new(folder.store())).await;
    let open = async |path: &str| {
        let begun = Instant::now();
        let answer = server.get(path).await;
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.unwrap();
        (begun.elapsed(), text)
    };
    let (first, html) = open("/runs/day").await;
    let (again, _) = open("/runs/day").await;
    let (stream, events) = open("/api/v1/runs/day/stream").await;
    let (hour, hour_html) = open("/runs/hour").await;
    println!(
        "24 h, 10 steps: the page ({} bytes) in {first:.1?}, again in {again:.1?}; its stream in {stream:.1?}; \
         1 h by the second: the page ({} bytes) in {hour:.1?}",
        html.len(),
        hour_html.len(),
    );
    assert!(hour < Duration::from_secs(3), "{hour:?}");
    assert!(html.contains("Each row is of a minute."), "the page says what its rows are");
    let ticks = events.lines().filter(|line| *line == "event: tick").count();
    assert_eq!((ticks, events.matches("\"span_s\":60").count()), (1_440, 1_440));
    assert!(first < Duration::from_secs(3), "{first:?}");
    server.end().await;
}
