//! The JSON reader against serde_json, which knows what JSON is but not where it stands.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, Number, Value as Json};

/// The tree as a serde_json value, numbers by their text.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Plain(word) => serde_json::from_str(word).unwrap(),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect())
        }
        Value::Bad(_) => unreachable!("the JSON reader reports nothing by itself"),
    }
}

/// Both readers agree on whether `text` is JSON, and on what it says.
fn check(text: &str) {
    let ours = read(text).ok().map(|root| json(&root));
    let theirs = serde_json::from_str::<Json>(text).ok();
    assert_eq!(ours, theirs, "{text}");
}

#[test]
fn json_is_what_serde_json_takes_for_it() {
    for text in [
        "{}",
        " [ ] ",
        r#"{"a":1,"b":[true,false,null],"c":{"d":"e"}}"#,
        "{\t\"a\"\t:\t1\r\n,\n\"b\":2}",
        r#""\"\\\/\b\f\n\r\t\u00e9\u20AC""#,
        r#""\ud83d\uDE00""#,
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#""\ud83d\ud83d""#,
        r#""\ude00""#,
        r#""\u12""#,
        r#""\x41""#,
        "\"a\nb\"",
        "\"a",
        "0",
        "-0.5e+3",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "nul",
        "True",
        "",
        "{",
        "[1,]",
        "[1 2]",
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{a:1}"#,
        r#"{"a":1} x"#,
        "\"\u{7f}\u{85}\u{feff}\u{2028}\"",
    ] {
        check(text);
    }
}

#[test]
fn faults_have_the_place_where_json_ends() {
    for (text, expected) in [
        ("{\"a\": 1\n \"b\": 2}", "2:2: found '\"', expected `,` or `}`"),
        ("{\"a\": tru}", "1:7: found 't', expected a value"),
        ("{\"a\": \"x", "1:7: a text without its closing quote"),
        ("{\"a\": \"é\\ud83d\"}", "1:9: an escape that JSON doesn't have"),
        ("{\"a\": \"\t\"}", "1:8: found '\\t' in a text, which needs an escape"),
        ("{} {}", "1:4: found '{', expected the end"),
        ("{a: 1}", "1:2: found 'a', expected a key in double quotes"),
        ("{\"a\": [", "1:8: found the end of the text, expected a value"),
    ] {
        assert_eq!(read(text).expect_err(text).into_fault().to_string(), expected);
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(MAX_DEPTH + 1)).is_ok());
    assert!(read(&nested(MAX_DEPTH + 2)).unwrap_err().detail.contains("nested deeper"));
    assert!(read(&"[".repeat(1 << 20)).unwrap_err().detail.contains("nested deeper"));
    let wide = |nodes: usize| format!("[{}1]", "1,".repeat(nodes - 2));
    assert!(read(&wide(MAX_NODES)).is_ok());
    assert!(read(&wide(MAX_NODES + 1)).unwrap_err().detail.contains("more than"));
}

/// Any JSON value of a few levels.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(|number| Json::Number(Number::from(number))),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|entries| Json::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_reads_back(value in any_json()) {
        check(&value.to_string());
        check(&serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn texts_like_json_are_judged_alike(text in "[\\[\\]{}:,\"\\\\0-9eu.truefalsn \\-+dD8c]{0,12}") {
        // Doubled keys are left to the sections, and serde_json refuses numbers that no float can hold.
        prop_assume!(!text.contains('e') || !text.contains(|c: char| c.is_ascii_digit()));
        check(&text);
    }
}
