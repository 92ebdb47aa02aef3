//! Thresholds in plans: what each key means, and the canonical form.

use std::time::Duration;

use volley_plan::{Plan, Threshold, parse};

fn valid(thresholds: &str) -> Plan {
    let text = format!("target: http://h\nusers: 1\nduration: 60s\nthresholds: {thresholds}\n");
    let plan = parse(&text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let canonical = plan.canonical_json();
    assert_eq!(parse(&canonical).as_ref(), Ok(&plan), "{canonical}");
    plan
}

fn check(threshold: &str, expected: &Threshold, written: &str) {
    let plan = valid(&format!("[{threshold}]"));
    assert_eq!(plan.thresholds, std::slice::from_ref(expected));
    let canonical = plan.canonical_json();
    assert!(canonical.ends_with(&format!(",\"thresholds\":[{written}]}}")), "{canonical}");
}

fn of(expect: &str) -> Threshold {
    Threshold::of(expect.parse().expect(expect))
}

#[test]
fn a_text_or_a_mapping() {
    check("p99 < 300ms", &of("p99 < 300ms"), "\"p99 < 300ms\"");
    check("{ expect: p99<0.3s }", &of("p99 < 300ms"), "\"p99 < 300ms\"");
    let all = Threshold {
        over: Some(Duration::from_secs(10)),
        after: Duration::from_secs(20),
        abort: true,
        min_samples: 100,
        ..of("error_rate < 0.1%")
    };
    check(
        "{ expect: error_rate < 0.1%, over: 10s, after: 20s, abort: true, min_samples: 100 }",
        &all,
        r#"{"expect":"error_rate < 0.1%","over":"10s","after":"20s","abort":true,"min_samples":100}"#,
    );
    check("'p95{step=GET /} < 1s'", &of("p95{step=GET /} < 1s"), "\"p95{step=GET /} < 1s\"");
}

#[test]
fn none_are_left_out() {
    assert!(!valid("[]").canonical_json().contains("thresholds"));
}
