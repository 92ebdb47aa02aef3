//! The stored form of a document stays readable.

use super::*;

/// An old document, as a store or another version's coordinator might hand it over.
const SAMPLE: &str = include_str!("sample_v1.json");

#[test]
fn the_first_form_can_still_be_read_and_is_written_the_same() {
    let document: RunDocument = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!((document.volley, document.progress.whole.ok), (DOCUMENT_VERSION, 958));
    let written: serde_json::Value = serde_json::to_value(&document).unwrap();
    let sample: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
    assert_eq!(written, sample);
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
