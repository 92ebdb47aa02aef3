//! The stored form of a document stays readable.

use std::collections::BTreeMap;

use volley_stats::{AddressCounts, ErrorKind, RowKey, Series, Window};

use super::*;

/// Documents as a store or another version's coordinator might hand them over.
const FIRST: &str = include_str!("sample_v1.json");
const SAMPLE: &str = include_str!("sample_v2.json");

/// A document with everything in it.
pub(super) fn sample() -> RunDocument {
    serde_json::from_str(SAMPLE).unwrap()
}

#[test]
fn the_present_form_can_be_read_and_is_written_the_same() {
    let document: RunDocument = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!((document.volley, document.progress.whole.ok), (DOCUMENT_VERSION, 958));
    let written: serde_json::Value = serde_json::to_value(&document).unwrap();
    let sample: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!(written, sample);
}

#[test]
fn the_first_form_can_still_be_read() {
    let document: RunDocument = serde_json::from_str(FIRST).unwrap();
    let progress = &document.progress;
    assert_eq!((document.volley, progress.whole.ok, progress.whole.unknown), (1, 958, Some(42)));
    assert_eq!((progress.run_s(), progress.warmup_s, progress.stop_s), (10.5, 0.0, None));
    let agents: Vec<_> = progress.agents.iter().map(|agent| (agent.incarnation.0, agent.unknown)).collect();
    assert_eq!(agents, [(1, Some(0)), (2, Some(42))]);
    assert_eq!((progress.phases.len(), progress.health_notes.len()), (0, 0));
    // What it doesn't say of connections is not said to be none.
    let connections = progress.whole.connections;
    assert_eq!((connections.connections_opened, connections.connections_reused), (20, None));
    assert_eq!(progress.addresses.len(), 0);
    // Written again it says the same, in the present form.
    let written = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<RunDocument>(&written).unwrap(), document);
}

#[test]
fn a_list_says_what_the_document_says() {
    let document: RunDocument = serde_json::from_str(SAMPLE).unwrap();
    let summary = RunSummary::from(&document);
    assert_eq!((summary.id, summary.sentence), (document.id, document.progress.sentence));
    assert_eq!(summary.whole, document.progress.whole);
}

#[test]
fn numbers_that_are_not_there_are_null() {
    let json = serde_json::to_value(Progress::default()).unwrap();
    assert_eq!(json["whole"]["latency_ms"]["99.9"], serde_json::Value::Null);
    assert_eq!(json["whole"]["rate"], 0.0);
    assert_eq!(json["last5"]["error_rate"], serde_json::Value::Null);
}

#[test]
fn what_was_counted_of_connections_and_errors_is_told() {
    let mut series = Series::default();
    let mut window = Window::default();
    let row = window.rows.entry(RowKey::second(0, 0)).or_default();
    (row.counters.connections_opened, row.counters.connections_reused) = (2, 9);
    (row.counters.handshakes, row.counters.handshakes_resumed, row.counters.connections_closed) = (2, 1, 3);
    row.counters.errors.add(ErrorKind::FirstByteTimeout, 1);
    window.addresses.add("[::1]:443", &AddressCounts { connections: 2, failures: 1, requests: 11 });
    series.add(&window).unwrap();
    let whole = series.whole();
    let told = totals::whole(&Accounts::default(), &whole, 1.0).connections;
    assert_eq!(
        (told.connections_opened, told.connections_reused, told.connections_closed),
        (2, Some(9), Some(3))
    );
    assert_eq!((told.handshakes, told.handshakes_resumed), (Some(2), Some(1)));
    let plan = volley_plan::parse("target: http://h/\nusers: 1\nduration: 1s").unwrap();
    assert_eq!(totals::steps(&plan, &series, 1.0)[0].connections, told);
    let error = &errors(&whole.counters, &BTreeMap::new())[0];
    let said = [&error.kind, &error.phase, &error.words].map(String::as_str);
    assert_eq!(said, ["first_byte_timeout", "first_byte", "no first byte within its timeout"]);
    let address = &totals::addresses(&series)[0];
    assert_eq!(
        (address.address.as_str(), address.connections, address.failures, address.requests),
        ("[::1]:443", 2, 1, 11)
    );
}
