//! A coarser window keeps every total, and what is split is taken.

use proptest::collection::vec;
use proptest::prelude::*;
use volley_proto::v1;
use volley_stats::{ALL_STEPS, AddressCounts, Addresses, SECOND_NS, Series, Timed};

use super::*;
use crate::testing::{window, window_of};

/// Latencies of every size, those beyond a histogram's bounds included.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    vec(
        prop_oneof![0u64..40, 1_000u64..10_000_000_000, 59_900_000_000u64..60_100_000_000, any::<u64>()],
        0..6,
    )
}

fn windows() -> impl Strategy<Value = Vec<Window>> {
    vec((0u32..90, any::<bool>(), latencies()), 1..8).prop_map(|all| {
        let part = |warm| if warm { Part::Warmup } else { Part::Measured };
        all.iter().map(|(second, warm, latencies)| window_of(*second, part(*warm), latencies)).collect()
    })
}

/// All that is told of health, in one.
fn health_in_all<'a>(windows: impl IntoIterator<Item = &'a Window>) -> Health {
    let mut sum = Health::default();
    windows.into_iter().flat_map(|window| window.health.values()).for_each(|health| sum.merge(health));
    sum
}

fn opened(window: &SealedWindow) -> Window {
    window.open().expect("what was sealed here")
}

fn of_rows(rows: BTreeMap<RowKey, SealedRow>) -> SealedWindow {
    SealedWindow { rows, ..SealedWindow::default() }
}

fn addresses() -> Addresses {
    let mut addresses = Addresses::default();
    addresses.add("127.0.0.1:80", &AddressCounts { requests: 3, ..AddressCounts::default() });
    addresses
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn merging_keeps_totals(windows in windows()) {
        let sealed = windows.iter().map(sealed).reduce(|sum, next| coarser(&sum, &next));
        let coarse = opened(&sealed.expect("there is one at least"));
        let (mut fine, mut merged) = (Series::default(), Series::default());
        for window in &windows {
            fine.add(window).expect("a good window");
        }
        merged.add(&coarse).expect("a good window");
        for part in [Part::Warmup, Part::Measured] {
            prop_assert_eq!(fine.whole_of(part), merged.whole_of(part));
        }
        prop_assert_eq!(fine.iterations(), merged.iterations());
        prop_assert_eq!(fine.warmup(), merged.warmup());
        prop_assert_eq!(health_in_all(&windows), health_in_all([&coarse]));
        for row in coarse.rows.values() {
            prop_assert_eq!(row.latency.count(), row.counters.ok);
            prop_assert_eq!(row.cancelled_age.count(), row.counters.cancelled);
        }
    }
}

#[test]
fn a_coarser_window_spans_both_and_keeps_the_later_watermark() {
    let (mut one, mut two) = (window(3, &[1_000]), window(9, &[5_000, 7_000]));
    (one.addresses, two.addresses) = (addresses(), addresses());
    let coarse = opened(&coarser(&sealed(&one), &sealed(&two)));
    let keys: Vec<RowKey> = coarse.rows.keys().copied().collect();
    let key = |step| RowKey { from_s: 3, to_s: 10, step, part: Part::Measured };
    assert_eq!(keys, [key(0), key(ALL_STEPS)]);
    assert_eq!(coarse.rows[&keys[0]].counters.ok, 3);
    assert_eq!(coarse.rows[&keys[0]].latency.max_ns(), Some(7_000));
    assert_eq!(coarse.rows[&keys[1]].timing.of(Timed::Lag).count(), 3);
    assert_eq!((coarse.watermark_s, coarse.latest_ns), (two.watermark_s, two.latest_ns));
    assert_eq!(coarse.addresses.iter().map(|(_, counts)| counts.requests).collect::<Vec<_>>(), [6]);
    assert_eq!(coarse.seconds.keys().copied().collect::<Vec<_>>(), [3, 9]);
    assert_eq!(coarse.health.keys().copied().collect::<Vec<_>>(), [3, 9]);
}

#[test]
fn seconds_are_bounded_and_what_they_add_up_to_is_kept() {
    let warmup_s = 50;
    let part = |second| if second < warmup_s { Part::Warmup } else { Part::Measured };
    let most = u32::try_from(MAX_SECONDS).expect("a few thousand");
    let scalars = |second| {
        let window = window_of(second, part(second), &[u64::from(second)]);
        Window { rows: BTreeMap::new(), ..window }
    };
    let windows: Vec<Window> = (0..most + 100).map(scalars).collect();
    let merged = |windows: &[Window]| {
        let mut sum = Window::default();
        windows.iter().for_each(|window| sum.merge(window));
        sealed(&sum)
    };
    let (earlier, later) = windows.split_at(MAX_SECONDS / 2);
    let all = opened(&coarser(&merged(earlier), &merged(later)));
    assert_eq!((all.seconds.len(), all.health.len()), (MAX_SECONDS, MAX_SECONDS));
    let mut series = Series::default();
    series.add(&all).expect("a good window");
    // The one that was ok and the one that was cut off.
    assert_eq!(series.iterations().started, 2 * u64::from(most + 100 - warmup_s));
    assert_eq!(series.warmup().started, 2 * u64::from(warmup_s));
    assert_eq!(health_in_all([&all]), health_in_all(&windows));
    let oldest = all.seconds.first_key_value().expect("there are some").1;
    assert_eq!((oldest.users, oldest.connections), (1, 1), "what is of a moment isn't summed");
}

/// After a stall: this many seconds of 200 steps at once, warm-up and measured, all histograms in use.
fn of_many_steps(seconds: u32) -> SealedWindow {
    let mut row = window(0, &[1_000, 2_000_000]).rows[&RowKey::second(0, 0)].clone();
    row.counters.started += 1;
    row.counters.failed += 1;
    row.failed_latency.record(7_000);
    let row = row.seal();
    let keys = (0..seconds).flat_map(|second| (0..200).map(move |step| RowKey::second(second, step)));
    let parts = keys.flat_map(|key| [Part::Warmup, Part::Measured].map(|part| RowKey { part, ..key }));
    let scalars = |second| (second, Second { users: 5, ..Second::default() });
    let health = |second| (second, Health { span_ns: SECOND_NS, ..Health::default() });
    SealedWindow {
        rows: parts.map(|key| (key, row.clone())).collect(),
        seconds: (0..seconds).map(scalars).collect(),
        health: (0..seconds).map(health).collect(),
        addresses: addresses(),
        watermark_s: seconds,
        latest_ns: 1,
    }
}

#[test]
fn however_many_rows_there_are_the_coordinator_takes_them() {
    let whole = of_many_steps(5);
    let windows = split(whole.clone());
    assert!(windows.len() > 10, "{}", windows.len());
    let (last, others) = windows.split_last().expect("there are many");
    let rows_only = |window: &SealedWindow| *window == of_rows(window.rows.clone());
    assert!(others.iter().all(rows_only));
    assert_eq!(*last, SealedWindow { rows: last.rows.clone(), ..whole.clone() });
    for window in &windows {
        assert_eq!(SealedWindow::try_from(v1::Window::from(window.clone())).as_ref(), Ok(window));
        assert_eq!(window.check(), Ok(()));
    }
    let rows: BTreeMap<_, _> = windows.into_iter().flat_map(|window| window.rows).collect();
    assert!(rows == whole.rows, "no row is lost or altered");
}

#[test]
fn what_fits_is_not_split() {
    for window in [SealedWindow::default(), sealed(&window(3, &[1_000]))] {
        assert_eq!(split(window.clone()), [window]);
    }
}

#[test]
fn rows_and_bytes_are_bounded_as_well() {
    let row = |bytes: usize| SealedRow {
        latency: volley_stats::SealedHistogram { bytes: vec![0; bytes], min_ns: 1, max_ns: 1 },
        ..SealedRow::default()
    };
    let check = |rows: u32, bytes: usize, windows: std::ops::Range<usize>| {
        let rows = (0..rows).map(|second| (RowKey::second(second, 0), row(bytes)));
        let parts = split(of_rows(rows.collect()));
        assert!(windows.contains(&parts.len()), "{} windows of {bytes} bytes a row", parts.len());
        for part in &parts {
            let sent: usize = part.rows.values().map(|row| row.latency.bytes.len()).sum();
            assert!(sent <= MAX_SENT_BYTES && part.rows.len() <= MAX_ROWS);
        }
    };
    check(25_000, 0, 3..5);
    check(200, 100_000, 5..7);
}
