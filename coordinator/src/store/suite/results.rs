//! What windows add up to: totals, seconds and minutes.

use std::sync::Arc;

use volley_stats::{AddressCounts, Part, RowKey, Window};

use super::{Home, document, finish, keep, keep_late, window};
use crate::store::{Grain, Kept, SharedSeries, Store};

pub(super) async fn windows_are_merged_once(home: &impl Home) {
    let store = home.open();
    let (run, other) = (document("r"), document("s"));
    store.create(&run).await.unwrap();
    store.create(&other).await.unwrap();
    let windows = [(1, 1, window(0, 3)), (2, 1, window(0, 4)), (1, 2, window(1, 5)), (1, 1, window(0, 3))];
    let mut kept = Vec::new();
    for (agent, sequence, window) in &windows {
        kept.push(keep(&*store, &run.id, *agent, *sequence, window).await);
    }
    assert_eq!(kept, [Kept::New, Kept::New, Kept::New, Kept::Repeated]);
    let check = |series: SharedSeries| {
        assert_eq!(series.lock().whole().counters.ok, 12);
        assert_eq!(series.lock().second(0).unwrap().row.latency.count(), 7);
        assert_eq!(series.lock().second(0).unwrap().scalars.users, 2);
        assert_eq!(series.lock().iterations().started, 12);
        assert_eq!(series.lock().end_s(), 2);
    };
    check(store.series(&run.id).await.unwrap());
    assert_eq!(store.series(&other.id).await.unwrap().lock().end_s(), 0, "runs are kept apart");
    store.complete(&run.id, 1).await.unwrap();
    check(store.series(&run.id).await.unwrap());
    finish(&*store, &run).await;
    check(store.series(&run.id).await.unwrap());
    drop(store);
    let store = home.open();
    check(store.series(&run.id).await.unwrap());
    assert_eq!(store.series(&other.id).await.unwrap().lock().end_s(), 0);
}

/// A window that tells of requests to this address.
fn window_to(second: u32, address: &str, requests: u64) -> Arc<Window> {
    let mut window = Window::clone(&window(second, requests));
    window.addresses.add(address, &AddressCounts { connections: 1, failures: requests / 2, requests });
    Arc::new(window)
}

pub(super) async fn addresses_come_back(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    let check = async |store: &dyn Store, expected: &[(&str, [u64; 3])]| {
        let series = store.series(&run.id).await.unwrap();
        let series = series.lock();
        let said = series.addresses().iter();
        let said = said.map(|(address, of)| (address, [of.connections, of.failures, of.requests]));
        assert_eq!(said.collect::<Vec<_>>(), expected);
    };
    keep(&*store, &run.id, 1, 1, &window_to(0, "[::1]:80", 4)).await;
    keep(&*store, &run.id, 2, 1, &window_to(0, "10.0.0.1:80", 3)).await;
    keep(&*store, &run.id, 1, 2, &window(1, 1)).await;
    check(&*store, &[("10.0.0.1:80", [1, 1, 3]), ("[::1]:80", [1, 2, 4])]).await;
    store.complete(&run.id, 1).await.unwrap();
    // One that is known, one that is not; nothing but its address; and one that is in no total.
    keep(&*store, &run.id, 1, 3, &window_to(2, "[::1]:80", 2)).await;
    let mut bare = Window::default();
    bare.addresses.add("other", &AddressCounts { failures: 5, ..AddressCounts::default() });
    keep(&*store, &run.id, 1, 4, &bare).await;
    keep_late(&*store, &run.id, 3, 1, &window_to(2, "late", 9)).await;
    let all = [("10.0.0.1:80", [1, 1, 3]), ("[::1]:80", [2, 3, 6]), ("other", [0, 5, 0])];
    check(&*store, &all).await;
    drop(store);
    // Some are merged, some are not.
    let store = home.open();
    check(&*store, &all).await;
    keep(&*store, &run.id, 2, 2, &window_to(3, "10.0.0.1:80", 2)).await;
    let all = [("10.0.0.1:80", [2, 2, 5]), ("[::1]:80", [2, 3, 6]), ("other", [0, 5, 0])];
    check(&*store, &all).await;
    finish(&*store, &run).await;
    check(&*store, &all).await;
    drop(store);
    check(&*home.open(), &all).await;
}

pub(super) async fn steps_and_parts_are_told_apart(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    let mut window = Window::clone(&window(7, 3));
    let row = window.rows[&RowKey::second(7, 0)].clone();
    window.rows.insert(RowKey::second(7, 1), row.clone());
    window.rows.insert(RowKey { part: Part::Warmup, ..RowKey::second(7, 0) }, row.clone());
    window.rows.insert(RowKey { from_s: 3, to_s: 6, step: 2, part: Part::Measured }, row);
    keep(&*store, &run.id, 1, 1, &Arc::new(window)).await;
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    let series = store.series(&run.id).await.unwrap();
    let totals: Vec<_> = series.lock().totals().map(|(step, total)| (step, total.latency.count())).collect();
    assert_eq!(totals, [(0, 3), (1, 3), (2, 3)], "the warm-up is in no total");
    assert_eq!(series.lock().second(7).unwrap().row.latency.count(), 6, "the measured part is told");
    assert_eq!(series.lock().span(3, 6).unwrap().latency.count(), 3);
    let spans = store.spans(&run.id, Grain::Second, 0, 60).await.unwrap();
    let said: Vec<_> = spans.iter().map(|span| (span.from_s, span.row.counters.ok)).collect();
    assert_eq!(said, [(7, 6)]);
    let spans = store.spans(&run.id, Grain::Minute, 0, 60).await.unwrap();
    assert_eq!(spans.len(), 1);
}

pub(super) async fn late_rows_add_to_complete_seconds(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for second in 0..300 {
        keep(&*store, &run.id, 1, u64::from(second) + 1, &window(second, 10)).await;
        store.complete(&run.id, second + 1).await.unwrap();
    }
    // Long complete, and of the last minute.
    for (sequence, second) in [(1, 3), (2, 250), (3, 3)] {
        keep(&*store, &run.id, 2, sequence, &window(second, 7)).await;
        let series = store.series(&run.id).await.unwrap();
        let at_once = series.lock().second(second).unwrap().row.counters.ok;
        assert_eq!(at_once, if sequence == 3 { 24 } else { 17 }, "second {second}");
    }
    store.complete(&run.id, 300).await.unwrap();
    let check = async |store: &dyn Store| {
        let spans = store.spans(&run.id, Grain::Second, 0, 300).await.unwrap();
        let changed = spans.iter().filter(|span| span.row.counters.ok != 10);
        let changed: Vec<_> = changed.map(|span| (span.from_s, span.row.counters.ok)).collect();
        assert_eq!((spans.len(), changed), (300, vec![(3, 24), (250, 17)]));
        let minutes = store.spans(&run.id, Grain::Minute, 0, 300).await.unwrap();
        let minutes: Vec<_> = minutes.iter().map(|span| span.row.counters.ok).collect();
        assert_eq!(minutes, [614, 600, 600, 600, 607]);
        assert_eq!(store.series(&run.id).await.unwrap().lock().whole().latency.count(), 3021);
    };
    check(&*store).await;
    finish(&*store, &run).await;
    check(&*store).await;
    drop(store);
    let store = home.open();
    check(&*store).await;
    assert_eq!(store.series(&run.id).await.unwrap().lock().second(3).unwrap().row.counters.ok, 24);
}

pub(super) async fn spans_are_seconds_or_minutes(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for (sequence, second) in (1..).zip([0, 1, 59, 60, 200]) {
        keep(&*store, &run.id, 1, sequence, &window(second, u64::from(second) + 1)).await;
    }
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    let check = async |grain, from_s, to_s, expected: &[(u32, u32, u64)]| {
        let spans = store.spans(&run.id, grain, from_s, to_s).await.unwrap();
        let said = spans.iter().map(|span| (span.from_s, span.to_s, span.scalars.iterations.started));
        assert_eq!(said.collect::<Vec<_>>(), expected, "{grain:?} {from_s} {to_s}");
        for span in &spans {
            assert_eq!(span.row.open::<u32>().unwrap().latency.count(), span.scalars.iterations.started);
        }
    };
    check(Grain::Second, 1, 60, &[(1, 2, 2), (59, 60, 60)]).await;
    check(Grain::Minute, 0, u32::MAX, &[(0, 60, 63), (60, 120, 61), (180, 240, 201)]).await;
    check(Grain::Minute, 1, 61, &[(60, 120, 61)]).await;
    check(Grain::Minute, 0, 0, &[]).await;
}
