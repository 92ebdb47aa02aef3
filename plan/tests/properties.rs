//! What holds of every text and of every plan: nothing panics, and the canonical form reads back as the same plan.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use volley_plan::{Faults, Plan, QuickPlan, parse};

const PLAN: &str = "version: 1\nname: 'a'\ntarget: http://[::1]:8080/a?b=c\nmethod: POST\nheaders:\n  x-a: \
                    \"b\"\n  c: [d, 'e']\nbody: |\n  {\"f\": 1}\nusers: 5\nrequests: 10\nduration: 1m30s\n\
                    drain: 1.5s\nkeep_alive: true\ntimeout: 3s\nconnect_timeout: 1s\nagents: {min: 1, wait: 0s}\n";

/// What must hold of an answer, whichever it is.
fn check(text: &str, answer: &Result<Plan, Faults>) -> Result<(), TestCaseError> {
    match answer {
        Ok(plan) => {
            let again = parse(&plan.canonical_json());
            prop_assert_eq!(again.as_ref(), Ok(plan), "{}", text);
            prop_assert_eq!(again.map(|plan| plan.hash()), Ok(plan.hash()));
        }
        Err(faults) => {
            prop_assert!(!faults.0.is_empty(), "refused without a reason: {}", text);
            let lines = text.split(['\n', '\r']).count() + 1;
            for fault in &faults.0 {
                prop_assert!(
                    fault.line().is_none_or(|line| (1..=lines).contains(&(line as usize))),
                    "{}",
                    fault
                );
                prop_assert!(!fault.to_string().contains('\n'), "{:?}", fault);
            }
        }
    }
    Ok(())
}

/// A value for any key, some right and some not.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,7}",
        "[0-9]{1,3}(ns|us|ms|s|m|h|x)([0-9]{1,2}s)?",
        "http://[a-z\\[\\]:.]{1,9}(:[0-9]{1,5})?(/[a-z?&=%$\\{\\}]{0,9})?",
        Just("true".to_owned()),
        "[\\[\\]{}:,\"'#&*!|>%@`$ a-z0-9-]{0,12}",
        any::<String>().prop_map(|text| serde_json::Value::String(text).to_string()),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "version",
        "name",
        "target",
        "method",
        "headers",
        "body",
        "users",
        "requests",
        "duration",
        "drain",
        "keep_alive",
        "timeout",
        "connect_timeout",
        "agents",
        "rate",
        "usrs",
        "  min",
        "  x-a",
        "- ",
        "",
    ])
    .prop_map(str::to_owned)
}

/// What can be typed, so that most of it makes a plan.
fn quick() -> impl Strategy<Value = QuickPlan> {
    let duration = || prop::option::of("[1-9][0-9]{0,3}(ms|s|m)([1-9]us)?");
    let header = "[A-Za-z-]{1,6}:[ -~ü]{0,12}";
    (
        "http://[a-z]{1,8}(:[1-9][0-9]{0,3})?/[!-~ü]{0,12}",
        prop::option::of(1_u64..200_000),
        prop::option::of(1_u64..2_000_000_000_000),
        (duration(), duration(), duration()),
        prop::option::of("[A-Z]{1,8}"),
        prop::collection::vec(header, 0..6),
        prop::option::of(any::<String>()),
        any::<Option<bool>>(),
    )
        .prop_map(
            |(url, users, requests, (duration, timeout, drain), method, headers, body, keep_alive)| {
                QuickPlan {
                    url,
                    users,
                    requests,
                    duration,
                    method,
                    headers,
                    body,
                    keep_alive,
                    timeout,
                    drain,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/properties.regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_gets_an_answer(text: String) {
        check(&text, &parse(&text))?;
    }

    #[test]
    fn text_like_yaml_gets_an_answer(text in "([\\[\\]{}:,\"'#&*!|>%@`?$ \\t\n\r\\\\a-c0-9.\u{feff}-]|: |- |--- )*") {
        check(&text, &parse(&text))?;
    }

    #[test]
    fn any_lines_get_an_answer(
        begin in prop::sample::select(vec!["", "target: http://h\nusers: 1\nrequests: 1\n"]),
        lines in prop::collection::vec((key(), value()), 0..6),
    ) {
        let text: String = lines.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        let text = format!("{begin}{text}");
        check(&text, &parse(&text))?;
    }

    #[test]
    fn a_damaged_plan_gets_an_answer(
        at in 0..PLAN.len(), length in 0_usize..20, with in "[\\[\\]{}:,\"'#&*!|>$ \n\ta-z0-9]{0,4}"
    ) {
        let mut text = PLAN.to_owned();
        text.replace_range(at..(at + length).min(PLAN.len()), &with);
        check(&text, &parse(&text))?;
        let canonical = parse(PLAN).unwrap().canonical_json();
        let mut text = canonical.clone();
        text.replace_range(at.min(canonical.len())..(at + length).min(canonical.len()), &with);
        check(&text, &parse(&text))?;
    }

    #[test]
    fn flags_get_an_answer(quick in quick()) {
        check("", &quick.into_plan())?;
    }
}

#[test]
fn the_plan_that_is_damaged_is_right_before() {
    assert!(parse(PLAN).is_ok(), "{:?}", parse(PLAN));
}
