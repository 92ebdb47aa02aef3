//! What progress looks like.

use serde_json::{Value, json};

use super::*;

fn document() -> RunDocument {
    let ms = json!({"50": 1.2, "90": 2, "95": 2, "99": 3.45, "99.9": 4, "100": 412});
    let agent = |state| {
        json!({
            "incarnation": 1, "name": "a", "version": "0", "workers": 1, "state": state, "users": 1, "granted": 0,
            "started": 0, "completed": 0, "unknown": 0, "lost_at_s": null, "offset_ms": null, "round_trip_ms": null,
            "last_seen_s": null,
        })
    };
    let progress = json!({
        "state": "running", "over": false, "verdict": null, "stop_reason": null, "incomplete": false, "sentence": "",
        "elapsed_s": 12.34, "planned_s": 30.0, "planned_requests": 100_000,
        "whole": {
            "started": 50_012, "ok": 50_000, "failed": 7, "cancelled": 0, "missed": 0, "unknown": 0, "unresolved": 0,
            "never_sent": 0, "resent": 0, "rate": 5001.0, "error_rate": 0.0, "bytes_sent": 0, "bytes_received": 0,
            "body_bytes": 0, "connections_opened": 0, "latency_ms": ms, "latency_min_ms": 1, "latency_mean_ms": 1,
            "failed_latency_ms": ms,
        },
        "last5": {"rate": 4990.0, "error_rate": 0.0, "latency_ms": ms}, "steps": [], "errors": [], "statuses": [],
        "agents": [agent("running"), agent("lost")], "account_faults": [],
        "accounts": {
            "planned": null, "started": 0, "missed": 0, "unknown": 0, "requests_started": 0, "ok": 0, "failed": 0,
            "cancelled": 0, "unresolved": 0, "planned_user_ms": 0, "lost_user_ms": 0,
        },
        "delivered_late": {"windows": 0, "started": 0, "ok": 0, "failed": 0, "cancelled": 0},
    });
    let mut document = json!({
        "volley": 1, "id": "r1", "name": "n", "note": null, "created_at": "", "started_at": null, "load": "",
        "target": "", "plan": "{}", "plan_hash": "", "log": [], "log_lines_dropped": 0,
    });
    if let (Value::Object(all), Value::Object(progress)) = (&mut document, progress) {
        all.extend(progress);
    }
    serde_json::from_value(document).expect("a document")
}

#[test]
fn a_terminal_gets_four_lines() {
    let expected = [
        "running   12.3 s of 30.0 s, 2 agents, 1 lost",
        "rate      4,990/s in the last 5 s, 5,001/s in all",
        "latency   p50 1.20 ms, p99 3.45 ms in the last 5 s; p99 3.45 ms, max 412 ms in all",
        "requests  50,000 ok, 7 failed, 50,012 of 100,000 started",
    ];
    assert_eq!(block(&document(), 200), expected);
}

#[test]
fn no_line_wraps() {
    assert!(block(&document(), 20).iter().all(|line| line.chars().count() == 19));
}

#[test]
fn a_log_gets_one_line() {
    let expected = "running: 12.3 s of 30.0 s, 50,000 ok, 7 failed, 4,990/s, p50 1.20 ms, p99 3.45 ms";
    assert_eq!(line(&document()), expected);
}

#[test]
fn what_was_drawn_is_taken_away() {
    assert_eq!((erase(0), erase(4)), (String::new(), "\x1b[4A\r\x1b[0J".to_owned()));
}

#[test]
fn what_goes_wrong_is_told_when_it_is_known_and_once() {
    let mut document = document();
    let line = |at_s, level: &str, text: &str| {
        serde_json::from_value(json!({"at_s": at_s, "level": level, "text": text})).expect("a line")
    };
    document.log = vec![
        line(0.0, "info", "started"),
        line(0.0, "warn", "agent a refused"),
        line(12.34, "warn", "b was lost"),
    ];
    let mut read = 0;
    assert_eq!(news(&document, &mut read), ["agent a refused", "at 12.3 s: b was lost"]);
    assert_eq!(news(&document, &mut read), [""; 0]);
    document.log.push(line(15.0, "warn", "b came back"));
    assert_eq!(news(&document, &mut read), ["at 15.0 s: b came back"]);
}
