//! A large store is thinned while a run goes on: no acknowledgement waits for it.

use volley_stats::TotalRow;

use super::*;
use crate::store::sqlite::{codec, merge};

/// Seconds of each run that is there before; half of them have their minutes already.
const SECONDS: u32 = 2_000;
/// The longest that an acknowledgement may take.
const WITHIN: Duration = Duration::from_secs(1);

/// Writes runs of two months ago into a store that is closed, until its file is so large.
fn fill(folder: &Folder, megabytes: u64) {
    drop(folder.store());
    let mut db = folder.db();
    let row = codec::encode_row(&rich_row(1, 3_000).seal());
    let total = codec::encode_total(&TotalRow::default());
    let mut n = 0;
    while std::fs::metadata(folder.path()).unwrap().len() < megabytes << 20 {
        n += 1;
        let transaction = db.transaction().unwrap();
        fill_run(&transaction, n, &row, &total);
        transaction.commit().unwrap();
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap_or_default();
    }
}

fn fill_run(db: &Connection, n: i64, row: &[u8], total: &[u8]) {
    let mut run = days_old(&format!("old-{n}"), 60);
    (run.progress.over, run.progress.state) = (true, "finished".to_owned());
    let created: Timestamp = run.created_at.parse().unwrap();
    let summary = serde_json::to_string(&crate::document::RunSummary::from(&run)).unwrap();
    let text =
        "INSERT INTO runs (key, id, created_s, over, complete_s, form, summary) VALUES (?, ?, ?, 1, ?, 1, ?)";
    let values = (n, run.id.as_str(), created.as_second(), SECONDS, summary);
    db.execute(text, values).unwrap();
    let body = serde_json::to_string(&run).unwrap();
    db.execute("INSERT INTO documents (run, form, body) VALUES (?, 1, ?)", (n, body)).unwrap();
    db.execute("INSERT INTO totals (run, part, step, form, body) VALUES (?, 1, 0, 1, ?)", (n, total))
        .unwrap();
    for second in 0..SECONDS {
        merge::write_row(db, n, Grain::Second, RowKey::second(second, 0), row).unwrap();
        write_span(db, n, Grain::Second, second, Second::default(), None);
    }
    if n % 2 == 0 {
        for from_s in (0..SECONDS).step_by(60) {
            let key = RowKey { to_s: from_s + 60, ..RowKey::second(from_s, 0) };
            merge::write_row(db, n, Grain::Minute, key, row).unwrap();
            write_span(db, n, Grain::Minute, from_s, Second::default(), None);
        }
    }
}

/// Keeps windows of four agents, one after the other as their run's driver does, until all is thinned. Gives back how
/// long each acknowledgement took, and how large the write-ahead log became.
async fn keep_meanwhile(folder: &Folder, store: &SqliteStore) -> (Vec<Duration>, u64) {
    let run = suite::document("now");
    store.create(&run).await.unwrap();
    let windows: Vec<_> = (0..4).map(|agent| rich_window(agent, 2, 500)).collect();
    let (mut took, mut log_bytes) = (Vec::new(), 0);
    let log = folder.path().with_extension("db-wal");
    for second in 0_u32.. {
        log_bytes = log_bytes.max(std::fs::metadata(&log).unwrap().len());
        for (agent, window) in (1..).zip(&windows) {
            let mut window = Window::clone(window);
            window.rows =
                window.rows.into_iter().map(|(key, row)| (RowKey::second(second, key.step), row)).collect();
            let window = Arc::new(window);
            let begun = Instant::now();
            keep(store, &run.id, agent, u64::from(second) + 1, &window).await;
            took.push(begun.elapsed());
        }
        store.complete(&run.id, second).await.unwrap();
        // A hundred times as fast as a real run.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let left = "SELECT count(*) FROM runs WHERE over AND thinned < 2";
        if second % 20 == 19 && folder.number(left) == 0 {
            break;
        }
    }
    (took, log_bytes)
}

/// The whole of it for a store of this size.
async fn check(megabytes: u64) {
    let folder = Folder::new();
    let begun = Instant::now();
    fill(&folder, megabytes);
    let filled = begun.elapsed();
    let runs = folder.number("SELECT count(*) FROM runs");
    let pages = folder.number("PRAGMA page_count");
    let begun = Instant::now();
    let store = folder.store();
    let opened = begun.elapsed();
    let begun = Instant::now();
    let (mut took, log_bytes) = keep_meanwhile(&folder, &store).await;
    let thinned = begun.elapsed();
    took.sort_unstable();
    let at = |part: usize| took[(took.len() - 1) * part / 1000];
    let slice = store.shared.longest_slice();
    println!(
        "{megabytes} MB in {runs} runs: filled in {filled:.1?}, opened in {opened:.1?}, thinned in {thinned:.1?}; \
         {} acknowledgements meanwhile: p50 {:.2?}, p99 {:.2?}, the slowest {:.2?}; longest slice {slice:.2?}; \
         the log had at most {} MB",
        took.len(),
        at(500),
        at(990),
        at(1000),
        log_bytes >> 20,
    );
    assert!(log_bytes < 1 << 30, "the log has grown to {log_bytes} bytes");
    assert!(at(1000) < WITHIN, "an acknowledgement took {:?}", at(1000));
    assert!(took.len() > 100, "it was over too soon to tell: {}", took.len());
    // What became free is given back but for a rest, and the store is as it should be.
    folder.until("SELECT (SELECT * FROM pragma_freelist_count) <= 8192", 1).await;
    let left = folder.number("PRAGMA page_count");
    assert!(left * 2 < pages, "{left} of {pages} pages are left");
    drop(store);
    let store = folder.store();
    let spans = store.spans(&RunId::new("old-1").unwrap(), Grain::Second, 0, u32::MAX).await.unwrap();
    assert_eq!(spans.iter().map(|span| span.row.counters.ok).sum::<u64>(), u64::from(SECONDS) * 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinning_a_large_store_holds_nobody_up() {
    check(200).await;
}

/// `make soak`: the same with 10 GB, or `VOLLEY_SOAK_MB`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes and 10 GB of disk: `make soak`"]
async fn soak_store_is_thinned_and_holds_nobody_up() {
    let megabytes = std::env::var("VOLLEY_SOAK_MB").map_or(10_240, |text| text.parse().unwrap());
    check(megabytes).await;
}
