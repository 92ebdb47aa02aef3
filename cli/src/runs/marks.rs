//! Notes and labels of runs.

use reqwest::Method;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use volley_plan::link::RunId;

use crate::exit::Failure;
use crate::rest::Rest;

/// A label to give, or without a value one to take away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    key: String,
    value: Option<String>,
}

/// Reads `KEY=VALUE`, or `KEY-`.
pub(super) fn label(text: &str) -> Result<Label, &'static str> {
    let (key, value) = match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) => (key, Some(value.to_owned())),
        (None, Some(key)) => (key, None),
        (None, None) => ("", None),
    };
    if key.is_empty() {
        return Err("expected KEY=VALUE to give a label, or KEY- to take it away");
    }
    Ok(Label { key: key.to_owned(), value })
}

/// Notes something; gives what to print.
pub(super) async fn note(rest: &Rest, id: &RunId, text: &str) -> Result<String, Failure> {
    let note = if text.is_empty() { Value::Null } else { text.into() };
    patch(rest, id, &json!({ "note": note })).await?;
    Ok(format!("run {id} has {}\n", if text.is_empty() { "no note" } else { "a note" }))
}

/// Gives and takes labels; gives what to print.
pub(super) async fn set(rest: &Rest, id: &RunId, labels: &[Label]) -> Result<String, Failure> {
    let entries = labels.iter().map(|Label { key, value }| (key.clone(), json!(value)));
    patch(rest, id, &json!({ "labels": entries.collect::<Map<_, _>>() })).await?;
    Ok(format!("the labels of run {id} are changed\n"))
}

/// Changes what people wrote to a run (a JSON merge patch, RFC 7396).
async fn patch(rest: &Rest, id: &RunId, change: &Value) -> Result<(), Failure> {
    let request = rest.request(Method::PATCH, &format!("runs/{id}")).json(change);
    rest.ask(request).await.map(|IgnoredAny| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_given_and_taken_away() {
        let check = |text: &str, expected: Option<(&str, Option<&str>)>| {
            let found = label(text).ok();
            let found = found.as_ref().map(|label| (label.key.as_str(), label.value.as_deref()));
            assert_eq!(found, expected, "{text}");
        };
        check("team=shop", Some(("team", Some("shop"))));
        check("team=a=b-", Some(("team", Some("a=b-"))));
        check("team=", Some(("team", Some(""))));
        check("team-", Some(("team", None)));
        check("my-team-", Some(("my-team", None)));
        check("team", None);
        check("=x", None);
        check("-", None);
    }
}
