//! What is measured beside the results: the warm-up, what is timed of all steps, and how agents were.

use std::sync::Arc;

use volley_plan::link::Incarnation;
use volley_stats::{Part, Row, RowKey, Second, Timed, Window};

use super::{Home, document, finish, health, keep, keep_late, open_window, warmup_window, window};
use crate::store::{Grain, Span, Store};

pub(super) async fn the_warm_up_is_counted_apart(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for second in 0..3 {
        let window = if second < 2 { warmup_window(second, 7) } else { window(second, 5) };
        keep(&*store, &run.id, 1, u64::from(second) + 1, &window).await;
    }
    let check = async |store: &dyn Store| {
        let series = store.series(&run.id).await.unwrap();
        let series = series.lock();
        let ok = |part| series.whole_of(part).counters.ok;
        assert_eq!((ok(Part::Warmup), ok(Part::Measured)), (14, 5));
        assert_eq!((series.warmup().started, series.iterations().started), (14, 5));
        assert_eq!(series.scalars(1).warmup.finished, 7);
    };
    check(&*store).await;
    store.complete(&run.id, 2).await.unwrap();
    // A straggler of the warm-up ends in a second that is measured.
    keep(&*store, &run.id, 2, 1, &warmup_window(2, 0)).await;
    check(&*store).await;
    finish(&*store, &run).await;
    drop(store);
    let store = home.open();
    check(&*store).await;
    let said = async |grain| {
        let spans = store.spans(&run.id, grain, 0, 60).await.unwrap();
        let said = spans.iter().map(|span| {
            let Second { iterations, warmup, .. } = span.scalars;
            (span.row.counters.ok, iterations.started, warmup.started)
        });
        said.collect::<Vec<_>>()
    };
    assert_eq!(said(Grain::Second).await, [(7, 0, 7), (7, 0, 7), (5, 5, 0)]);
    assert_eq!(said(Grain::Minute).await, [(5, 5, 14)], "of the measured part");
}

pub(super) async fn what_is_timed_of_all_steps_comes_back(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for (sequence, (second, lag_ms)) in (1..).zip([(0, 3), (1, 12), (61, 5)]) {
        keep(&*store, &run.id, 1, sequence, &open_window(second, 4, lag_ms)).await;
    }
    // A second agent has the same, and another step.
    let mut other = Window::clone(&open_window(1, 4, 20));
    other.rows.insert(RowKey::second(1, 1), Row::default());
    keep(&*store, &run.id, 2, 1, &Arc::new(other)).await;
    store.complete(&run.id, 62).await.unwrap();
    let check = async |store: &dyn Store| {
        let series = store.series(&run.id).await.unwrap();
        let whole = series.lock().whole();
        let lag = whole.timing.of(Timed::Lag);
        assert_eq!((lag.count(), lag.max_ns(), whole.service_time.count()), (16, Some(20_000_000), 16));
        assert_eq!(series.lock().totals().map(|(step, _)| step).collect::<Vec<_>>(), [0, 1]);
        let spans = async |grain| {
            let spans = store.spans(&run.id, grain, 0, 120).await.unwrap();
            let of = |span: &Span| {
                let row = span.row.open::<u32>().unwrap();
                let lag = row.timing.of(Timed::Lag);
                (span.from_s, lag.count(), lag.max_ns().unwrap() / 1_000_000, row.service_time.count())
            };
            spans.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(spans(Grain::Second).await, [(0, 4, 3, 4), (1, 8, 20, 8), (61, 4, 5, 4)]);
        assert_eq!(spans(Grain::Minute).await, [(0, 12, 20, 12), (60, 4, 5, 4)]);
        let minutes = store.spans(&run.id, Grain::Minute, 0, 120).await.unwrap();
        let busiest: Vec<_> = minutes.iter().map(|span| span.strain.busiest()).collect();
        assert_eq!(busiest, [Some(0.2), Some(0.05)]);
    };
    check(&*store).await;
    finish(&*store, &run).await;
    check(&*store).await;
    drop(store);
    check(&*home.open()).await;
}

pub(super) async fn health_comes_back(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    for second in 0..4 {
        for agent in [1, u64::MAX] {
            keep(&*store, &run.id, agent, u64::from(second) + 1, &open_window(second, 1, 5)).await;
        }
        if second == 1 {
            store.complete(&run.id, 2).await.unwrap();
        }
    }
    // Late, about a second that is complete, and about one that isn't.
    let mut late = Window::default();
    late.health.extend([(0, health(40)), (3, health(50))]);
    keep(&*store, &run.id, 1, 5, &Arc::new(late)).await;
    keep_late(&*store, &run.id, 1, 6, &open_window(3, 1, 90)).await;
    let check = async |store: &dyn Store| {
        let page = async |from_s, most| {
            let found = store.health(&run.id, from_s, most).await.unwrap();
            let said = found.reports.iter();
            let said = said
                .map(|((s, Incarnation(agent)), health)| (*s, *agent == 1, health.lag_max_ns / 1_000_000));
            (said.collect::<Vec<_>>(), found.next_s)
        };
        let second = |second, first| [(second, true, first), (second, false, 5)];
        let all = [second(0, 40), second(1, 5), second(2, 5), second(3, 50)].concat();
        assert_eq!(page(0, 100).await, (all.clone(), None));
        assert_eq!(page(0, 8).await, (all.clone(), None));
        assert_eq!(page(0, 7).await, (all[..6].to_vec(), Some(3)));
        assert_eq!(page(1, 3).await, (all[2..4].to_vec(), Some(2)));
        assert_eq!(page(2, 2).await, (all[4..6].to_vec(), Some(3)));
        assert_eq!(page(4, 2).await, (Vec::new(), None));
        let found = store.health(&run.id, 0, 100).await.unwrap();
        let twice = found.reports[&(0, Incarnation(1))];
        assert_eq!((twice.span_ns, twice.descriptors), (2_000_000_000, 20), "times are summed");
    };
    check(&*store).await;
    store.complete(&run.id, 4).await.unwrap();
    check(&*store).await;
    finish(&*store, &run).await;
    check(&*store).await;
    drop(store);
    check(&*home.open()).await;
}
