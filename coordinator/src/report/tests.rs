//! Every form of every kind of run, read back by what reads it.

use std::time::Duration;

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry, Tag};
use tokio::time::sleep;
use volley_plan::link::{Order, Report};
use volley_stats::{ErrorKind, Part, RowKey, Window};

use super::*;
use crate::RunDocument;
use crate::testing::{FakeAgent, coordinator, new_run, open_window, outcome, window};

/// A run of this plan, whose agent reports these windows, the last of them as its last.
async fn recorded(lines: &str, windows: Vec<Window>) -> Recording {
    let coordinator = coordinator();
    let mut agent = FakeAgent::join(&coordinator, 1, "a").await;
    let run = coordinator.start_run(new_run(lines)).await.unwrap();
    if windows.is_empty() {
        assert!(matches!(agent.order().await, Order::Prepare { .. }));
        agent.report(&run, Report::Refused { reason: "no <descriptors>".to_owned() }).await;
    } else {
        agent.prepare(&run).await;
        while !matches!(agent.order().await, Order::Start { .. }) {}
        let count = windows.len() as u64;
        for (sequence, window) in (1..).zip(windows) {
            sleep(Duration::from_millis(1_100)).await;
            agent.ping().await;
            agent.deliver(&run, sequence, window, sequence == count).await;
        }
    }
    let keep_alive = tokio::spawn(async move {
        loop {
            agent.ping().await;
            sleep(Duration::from_millis(500)).await;
        }
    });
    outcome(&coordinator, &run).await;
    keep_alive.abort();
    coordinator.recording(&run).await.unwrap().expect("it is over")
}

/// Nothing was sent.
fn quiet(second: u32) -> Window {
    let mut window = window(second, 0, 0);
    window.rows.clear();
    window
}

/// All answers were of this status.
fn failing(second: u32, n: u64) -> Window {
    let mut window = window(second, 0, n);
    for row in window.rows.values_mut() {
        row.counters.errors = volley_stats::ErrorCounts::default();
        row.counters.errors.add(ErrorKind::Status, n);
        row.counters.statuses.add(503, n);
    }
    window
}

/// A plan of one iteration with so many steps, and what an agent says of it.
fn many_steps(count: u16) -> (String, Window) {
    let steps: String = (0..count).map(|n| format!("      - {{ get: /, name: 'step {n}' }}\n")).collect();
    let plan = format!("users: 1\niterations: 1\nscenarios:\n  main:\n    steps:\n{steps}");
    let mut all = quiet(0);
    for step in 0..count {
        let mut row = window(0, 1, 0).rows.into_values().next().expect("one row");
        row.latency.record(2_000_000 + u64::from(step) * 1_000);
        (row.counters.started, row.counters.ok) = (2, 2);
        row.counters.statuses.add(200, 1);
        all.rows.insert(RowKey::second(0, step), row);
    }
    let iterations = volley_stats::Iterations { started: 1, finished: 1, missed: 0 };
    all.seconds.insert(0, volley_stats::Second { iterations, users: 1, ..Default::default() });
    (plan, all)
}

/// Reads every form back.
fn check(recording: &Recording) {
    let text = |form| render(form, recording).unwrap_or_else(|error| panic!("{form:?}: {error}"));
    let document: RunDocument = serde_json::from_str(&text(Form::Json)).unwrap();
    assert_eq!(document, recording.document);
    check_tables(recording, &text(Form::Csv), &text(Form::SeriesCsv));
    check_distribution(recording, &text(Form::Hgrm));
    check_log(recording, &text(Form::Hlog));
    check_metrics(recording, &text(Form::OpenMetrics));
    check_markdown(&text(Form::Markdown));
    let (junit, html) = (text(Form::Junit), text(Form::Html));
    assert!(junit.starts_with("<?xml") && junit.trim_end().ends_with("</testsuites>"), "{junit}");
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"), "{html}");
    for form in Form::ALL {
        let text = text(*form);
        assert!(!text.contains("NaN") && !text.contains("Infinity"), "{form:?}: {text}");
    }
}

fn check_tables(recording: &Recording, summary: &str, series: &str) {
    let progress = &recording.document.progress;
    for (text, rows) in [(summary, None), (series, Some(recording.ticks.len()))] {
        // It is an error where a row has another number of columns than the head.
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(records.len(), rows.unwrap_or(records.len()), "{text}");
    }
    let mut reader = csv::Reader::from_reader(summary.as_bytes());
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|known| known == name).unwrap();
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    let of_kind = |kind: &'static str| records.iter().filter(move |record| &record[0] == kind);
    let sum = |kind, column| -> u64 {
        of_kind(kind).map(|record| record[place(column)].parse::<u64>().unwrap()).sum()
    };
    assert_eq!(of_kind("step").count(), progress.steps.len());
    assert_eq!((sum("total", "ok"), sum("step", "ok")), (progress.whole.ok, progress.whole.ok));
    assert_eq!(
        (sum("step", "failed"), sum("error", "count")),
        (progress.whole.failed, progress.whole.failed)
    );
    let p99 = of_kind("total").next().unwrap()[place("p99_ms")].parse().ok();
    assert_eq!(p99, progress.whole.latency_ms.p99);
}

fn check_distribution(recording: &Recording, text: &str) {
    let last = text.lines().rfind(|line| !line.starts_with('#') && !line.trim().is_empty()).unwrap();
    let numbers: Vec<_> = last.split_whitespace().collect();
    match recording.document.progress.whole.ok {
        0 => assert_eq!(numbers[0], "Value", "{text}"),
        ok => assert_eq!((numbers.len(), numbers[2]), (3, ok.to_string().as_str()), "{text}"),
    }
}

/// The intervals of the log by their tags, added up.
fn logged(text: &str, tag: &str, digits: u8) -> Hdr<u64> {
    let mut sum = Hdr::new_with_bounds(volley_stats::LOWEST_NS, volley_stats::HIGHEST_NS, digits).unwrap();
    let mut before = Duration::ZERO;
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let LogEntry::Interval(interval) = entry.unwrap_or_else(|error| panic!("{error:?} in {text}")) else {
            continue;
        };
        assert!(interval.start_timestamp() >= before && interval.duration() >= Duration::from_secs(1));
        before = interval.start_timestamp();
        if interval.tag() == Tag::new(tag) {
            use base64::Engine as _;
            let bytes =
                base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
            let histogram: Hdr<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            sum.add(&histogram).unwrap();
        }
    }
    sum
}

fn check_log(recording: &Recording, text: &str) {
    let whole = &recording.whole;
    let of = [
        ("latency", &whole.latency),
        ("service_time", &whole.service_time),
        ("failed_latency", &whole.failed_latency),
        ("cancelled_age", &whole.cancelled_age),
    ];
    for (tag, histogram) in of {
        let logged = logged(text, tag, volley_stats::DIGITS);
        match histogram.hdr() {
            Some(hdr) => assert_eq!(&logged, hdr, "{tag}"),
            None => assert_eq!(logged.len(), 0, "{tag}"),
        }
    }
    let lag = whole.timing.of(volley_stats::Timed::Lag);
    assert_eq!(logged(text, "lag", volley_stats::COARSE_DIGITS).len(), lag.count());
}

/// The reference parser reads them in the tests of the whole system.
fn check_metrics(recording: &Recording, text: &str) {
    let whole = &recording.document.progress.whole;
    let requests = text.lines().filter(|line| line.starts_with("volley_requests_total{"));
    let counted = requests.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counted.sum::<u64>(), whole.ok + whole.failed + whole.cancelled, "{text}");
    let count = format!("volley_request_duration_seconds_count{{outcome=\"ok\"}} {}\n", whole.ok);
    assert!(text.contains(&count) && text.ends_with("# EOF\n"), "{text}");
}

/// All rows of a table have as many cells as its head.
fn check_markdown(text: &str) {
    let mut cells = None;
    for line in text.lines() {
        let here = line.starts_with('|').then(|| line.matches('|').count());
        assert!(cells.is_none() || here.is_none() || cells == here, "{line} in {text}");
        cells = here;
    }
}

#[tokio::test(start_paused = true)]
async fn every_form_of_every_kind_of_run_can_be_read() {
    let warm = |second, part, n| open_window(second, part, (n, 1), 2);
    for (what, lines, windows) in [
        ("refused by its agent", "users: 1\nduration: 2s", vec![]),
        ("empty", "users: 1\nduration: 2s", vec![quiet(0), quiet(1)]),
        ("of a refused target", "users: 1\nrequests: 5", vec![window(0, 0, 5)]),
        ("failed", "users: 1\nrequests: 7", vec![failing(0, 7)]),
        ("good", "users: 1\nduration: 2s", vec![window(0, 10, 2), window(1, 20, 0)]),
        ("judged", "users: 1\nrequests: 3\nthresholds: [p99 < 1us, error_rate < 5%]", vec![window(0, 3, 0)]),
        (
            "warmed up",
            "rate: 10/s\nduration: 2s\nwarmup: 1s",
            vec![warm(0, Part::Warmup, 9), warm(1, Part::Measured, 9), warm(2, Part::Measured, 9)],
        ),
    ] {
        let recording = recorded(lines, windows).await;
        let sentence = &recording.document.progress.sentence;
        assert!(
            !sentence.is_empty() && render(Form::Html, &recording).unwrap().contains("class=\"sentence\""),
            "{what}"
        );
        check(&recording);
    }
}

#[tokio::test(start_paused = true)]
async fn two_hundred_steps_are_a_few_megabytes() {
    let (plan, window) = many_steps(200);
    let recording = recorded(&plan, vec![window]).await;
    assert_eq!((recording.document.progress.steps.len(), recording.document.progress.whole.ok), (200, 400));
    check(&recording);
    for form in Form::ALL {
        let bytes = render(*form, &recording).unwrap().len();
        assert!(bytes < 10_000_000, "{form:?} has {bytes} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_begins_with_what_it_is_and_has_a_line_for_each_second() {
    let recording = recorded("users: 1\nduration: 2s", vec![window(0, 10, 2), window(1, 20, 0)]).await;
    let text = render(Form::Hlog, &recording).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]", "{text}");
    let starts: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("Tag=latency,")).collect();
    assert!(starts[0].starts_with("0.000,1.000,1.000,HISTFAAAA"), "{text}");
    assert!(starts[1].starts_with("1.000,1.000,1.000,HISTFAAAA") && starts.len() == 2, "{text}");
}
