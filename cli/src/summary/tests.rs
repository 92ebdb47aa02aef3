//! Summaries of documents, as text.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

fn percentiles(ms: &Value) -> Value {
    json!({"50": ms, "90": ms, "95": ms, "99": ms, "99.9": ms, "100": ms})
}

fn whole() -> Value {
    json!({
        "started": 5, "ok": 3, "failed": 2, "cancelled": 0, "missed": 0, "unknown": 0, "unresolved": 0,
        "never_sent": 1, "resent": 0, "rate": 1.2, "error_rate": 0.4, "bytes_sent": 500,
        "bytes_received": 2048, "body_bytes": 15, "connections_opened": 2, "connections_reused": 1234,
        "connections_closed": 1, "handshakes": 0, "handshakes_resumed": 0,
        "latency_ms": percentiles(&json!(1.5)), "latency_min_ms": 1.5, "latency_mean_ms": 1.5,
        "failed_latency_ms": percentiles(&Value::Null),
    })
}

/// A document of a run that is over.
pub(crate) fn document() -> Value {
    json!({
        "volley": 1, "id": "r1", "name": "n", "note": null, "created_at": "", "started_at": null,
        "load": "2 users closed, 5 requests", "target": "http://127.0.0.1:1/", "plan": "{}", "plan_hash": "",
        "state": "finished", "over": true, "verdict": "none", "stop_reason": "count_reached", "incomplete": false,
        "sentence": "Finished: 5 of 5 requests sent, 2 failed.", "elapsed_s": 2.5, "planned_s": null,
        "planned_requests": 5,
        "whole": whole(),
        "last5": {"rate": 0.0, "error_rate": null, "latency_ms": percentiles(&Value::Null)},
        "steps": [],
        "errors": [
            {"kind": "status", "phase": "answer", "words": "any words", "count": 1, "first_s": 0, "last_s": 0},
            {"kind": "connect_refused", "phase": "connect", "count": 1, "first_s": 0, "last_s": 0},
        ],
        "statuses": [{"status": 200, "count": 3}, {"status": 503, "count": 1}],
        "agents": [], "account_faults": [], "log": [], "log_lines_dropped": 0,
        "accounts": {
            "planned": 5, "started": 5, "missed": 0, "unknown": 0, "requests_started": 5, "ok": 3, "failed": 2,
            "cancelled": 0, "unresolved": 0, "planned_user_ms": 0, "lost_user_ms": 0,
        },
        "delivered_late": {"windows": 0, "started": 0, "ok": 0, "failed": 0, "cancelled": 0},
    })
}

/// Changes the document at each pointer, and gives its summary.
fn told(changes: &[(&str, Value)], cpu: Option<CpuTime>) -> String {
    let mut document = document();
    for (pointer, value) in changes {
        *document.pointer_mut(pointer).expect("a place in the document") = value.clone();
    }
    summary(&serde_json::from_value(document).expect("a document"), cpu, false)
}

fn check(changes: &[(&str, Value)], expected: &str) {
    let text = told(changes, None);
    assert!(text.contains(expected), "{expected} in {text}");
}

#[test]
fn a_summary_says_all_of_it() {
    let cpu = CpuTime { user: Duration::from_millis(120), system: Duration::from_millis(480) };
    let expected = "
Finished: 5 of 5 requests sent, 2 failed.

target       http://127.0.0.1:1/
load         2 users closed, 5 requests
requests     5 started = 3 ok + 2 failed + 0 cancelled
error rate   40.0 %
rate         1.20/s over 2.50 s
latency      p50      1.50 ms
             p90      1.50 ms
             p95      1.50 ms
             p99      1.50 ms
             p99.9    1.50 ms
             max      1.50 ms
statuses     200: 3
             503: 1
errors       1 × any words (answer)
             1 × connection refused (connect)
bytes        2.00 KiB received (15 B of bodies), 500 B sent
connections  2 opened, 1,234 re-used, 1 closed by the target
CPU          0.60 s (0.12 user + 0.48 system) of this process
";
    assert_eq!(told(&[], Some(cpu)), expected);
}

#[test]
fn what_is_not_there_is_a_dash() {
    let nothing = [("/whole/latency_ms", percentiles(&Value::Null)), ("/whole/error_rate", Value::Null)];
    check(&nothing, "latency      p50            –\n");
    check(&nothing, "error rate   –\n");
}

#[test]
fn what_was_lost_is_said() {
    let lost = [("/incomplete", json!(true)), ("/whole/unknown", json!(42)), ("/whole/unresolved", json!(3))];
    check(
        &lost,
        "             0 missed (sent by nobody)\n             42 unknown (permitted to a lost agent)\n",
    );
    check(&lost, "0 cancelled + 3 unresolved\n");
    check(&lost, "             3 unresolved (a lost agent did not report their end)\n");
    check(&[("/whole/resent", json!(7))], "7 sent again");
    check(&[("/delivered_late/windows", json!(1))], "1 reports came after the end");
    check(&[("/account_faults", json!(["5 is not 6"]))], "faults       5 is not 6");
}

#[test]
fn handshakes_and_addresses_are_told_where_there_is_something_to_tell() {
    check(&[("/errors/1/phase", json!("tls"))], "connection refused (TLS)\n");
    check(&[("/whole/handshakes", json!(2))], "TLS          2 handshakes, 0 of them resumed\n");
    let older = [("/whole/connections_reused", Value::Null), ("/whole/connections_closed", Value::Null)];
    check(&older, "connections  2 opened\n");
    assert!(!told(&[], None).contains("TLS"));
    let address = |address: &str, failures: u64| json!({"address": address, "connections": 1, "failures": failures, "requests": 5});
    let addresses = |list: &[Value]| {
        let mut document = document();
        document["addresses"] = json!(list);
        summary(&serde_json::from_value(document).expect("a document"), None, false)
    };
    let one = address("10.0.0.1:80", 0);
    assert!(!addresses(std::slice::from_ref(&one)).contains("addresses"));
    let text = addresses(&[one.clone(), address("[::1]:80", 2)]);
    for line in [
        "addresses    10.0.0.1:80: 5 requests, 1 connection\n",
        "             [::1]:80: 5 requests, 1 connection, 2 failed attempts\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(addresses(&vec![one; 20]).contains("             and 4 more of them\n"));
}

#[test]
fn thresholds_say_how_they_stand() {
    let mut document = document();
    document["thresholds"] = json!([
        {"expect": "p99 < 300ms", "standing": "holds", "value_words": "150 ms", "margin": 0.5},
        {"expect": "missed <= 0", "standing": "holds", "value_words": "0"},
        {"expect": "p50 < 1ms", "over_s": 10.0, "standing": "broken", "value_words": "2.00 ms", "margin": -1.0,
         "standing_words": "broken at 12 s"},
        {"expect": "p50{step=a} < 1ms", "standing": "no_data", "standing_words": "no data"},
    ]);
    let text = summary(&serde_json::from_value(document).expect("a document"), None, false);
    for line in [
        "thresholds   ✓ p99 < 300ms: 150 ms, 50.0 % of the limit left\n",
        "             ✓ missed <= 0: 0\n",
        "             ✗ p50 < 1ms over 10 s: 2.00 ms (broken at 12 s)\n",
        "             ✗ p50{step=a} < 1ms (no data)\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn certificates_that_nobody_verified_are_said() {
    let plan = |tls: &str| json!(format!("target: https://h/\nusers: 1\nrequests: 5\n{tls}"));
    check(&[("/plan", plan(""))], "TLS          0 handshakes, 0 of them resumed\n");
    let insecure = [("/plan", plan("tls: { insecure: true }")), ("/whole/handshakes", json!(1))];
    check(&insecure, "TLS          1 handshake, 0 of them resumed; certificates were not verified\n");
}

#[test]
fn long_lines_are_parted_at_80_columns() {
    let words = "word ".repeat(20);
    let long = [("/errors/1/kind", json!("idle_timeout")), ("/errors/1/phase", json!("receive"))];
    check(&long, "1 × the answer stood still for longer than its timeout (receive)\n");
    let text = told(&[("/account_faults", json!([words.trim(), "x".repeat(100)]))], None);
    let line = ["word"; 13].join(" ");
    assert!(
        text.contains(&format!("faults       {line}\n             {}\n", ["word"; 7].join(" "))),
        "{text}"
    );
    assert!(
        text.contains(&format!("             {}\n", "x".repeat(100))),
        "what can't be parted stays whole"
    );
    let mut wide = told(&long, None).lines().map(|line| line.chars().count()).max();
    assert!(wide.take().is_some_and(|columns| columns <= COLUMNS));
    assert_eq!(lines(&"é ".repeat(50)).len(), 2);
}

#[test]
fn colours_are_for_terminals() {
    let document = serde_json::from_value(document()).expect("a document");
    assert!(summary(&document, None, true).contains("\x1b[1mFinished"));
    assert!(!summary(&document, None, false).contains('\x1b'));
}

#[test]
fn an_open_run_tells_service_time_phases_and_warm_up() {
    let phase = json!({"name": "first_byte", "count": 3, "latency_ms": percentiles(&json!(0.25))});
    let mut document = document();
    document["phases"] = json!([phase]);
    document["warmup_s"] = json!(5.0);
    document["run_s"] = json!(7.5);
    document["whole"]["rate_s"] = json!(3.127);
    document["warmup"] = json!({"started": 100, "ok": 99, "failed": 1, "cancelled": 0, "missed": 0});
    document["health_notes"] = json!(["agent a was late in 1 of 30 seconds"]);
    document["whole"]["service_ms"] = percentiles(&json!(0.5));
    document["whole"]["cancelled_age_ms"] = percentiles(&json!(2000.0));
    document["whole"]["cancelled"] = json!(4);
    document["whole"]["unknown"] = Value::Null;
    let text = summary(&serde_json::from_value(document.clone()).expect("a document"), None, false);
    document["run_s"] = json!(1.25);
    let stopped = summary(&serde_json::from_value(document).expect("a document"), None, false);
    assert!(stopped.contains("1 failed in 1.2 s, kept apart\n"), "the warm-up was cut short: {stopped}");
    for part in [
        "latency      p50      1.50 ms   service time   0.500 ms\n",
        "phases       first byte  p50   0.250 ms   p99   0.250 ms   max   0.250 ms\n",
        "warm-up      100 started, 99 ok, 1 failed in 5.0 s, kept apart\n",
        "rate         1.20/s over 3.13 s\n",
        "cut off      4 cancelled, up to 2,000 ms old\n",
        "             an unknown number (permitted to a lost agent)\n",
        "generator    agent a was late in 1 of 30 seconds\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
