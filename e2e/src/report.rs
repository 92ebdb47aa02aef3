//! A run's document as a client reads it, and what must hold of each.

use std::fmt;

use serde_json::Value;

/// The percentiles of a document, ascending.
const PERCENTILES: [&str; 6] = ["50", "90", "95", "99", "99.9", "100"];

/// The document of one run.
#[derive(Clone)]
pub struct Report(Value);

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl Report {
    /// A report of a document.
    #[must_use]
    pub fn new(document: Value) -> Self {
        Self(document)
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.0
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0["over"] == true
    }

    /// A text at the top of the document; empty where there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    /// A count of the whole run, such as `started`.
    ///
    /// # Panics
    /// If there is no such count.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        number(&self.0["whole"], name)
    }

    /// A percentile of ok requests of the whole run in milliseconds; `None` where it is null.
    #[must_use]
    pub fn percentile_ms(&self, percent: &str) -> Option<f64> {
        self.0["whole"]["latency_ms"][percent].as_f64()
    }

    /// How many failed of this kind.
    #[must_use]
    pub fn errors(&self, kind: &str) -> u64 {
        let errors = self.0["errors"].as_array().into_iter().flatten();
        errors.filter(|error| error["kind"] == kind).map(|error| number(error, "count")).sum()
    }

    /// How many answers had this status.
    #[must_use]
    pub fn statuses(&self, status: u16) -> u64 {
        let statuses = self.0["statuses"].as_array().into_iter().flatten();
        statuses.filter(|entry| entry["status"] == status).map(|entry| number(entry, "count")).sum()
    }

    /// The agents' parts.
    #[must_use]
    pub fn agents(&self) -> Vec<&Value> {
        self.0["agents"].as_array().into_iter().flatten().collect()
    }

    /// The same, once it was held to all invariants.
    #[must_use]
    pub fn checked(self) -> Self {
        check_invariants(&self.0);
        self
    }
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no count {name} in {value:#}"))
}

/// Holds the document of a run that is over to what must hold of every run.
///
/// # Panics
/// If something doesn't.
pub fn check_invariants(document: &Value) {
    let faults = faults(document);
    assert!(faults.is_empty(), "{faults:#?} in {document:#}");
}

/// What doesn't hold.
pub(crate) fn faults(document: &Value) -> Vec<String> {
    let whole = &document["whole"];
    let of = |name| number(whole, name);
    let (started, ok, failed, cancelled, unresolved) =
        (of("started"), of("ok"), of("failed"), of("cancelled"), of("unresolved"));
    let mut faults = Vec::new();
    let mut hold = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    hold(document["over"] == true, "it is not over".to_owned());
    hold(document["verdict"].is_string(), "it has no verdict".to_owned());
    hold(document["account_faults"] == Value::Array(Vec::new()), "its own account has faults".to_owned());
    hold(
        started == ok + failed + cancelled + unresolved,
        format!("{started} started is not the sum of the outcomes"),
    );
    let errors = sum(&document["errors"], |_| true);
    hold(errors == failed, format!("{failed} failed, but the kinds sum to {errors}"));
    let with_status = |error: &Value| {
        matches!(error["kind"].as_str(), Some("status" | "check" | "decode" | "redirect_limit"))
    };
    let answered = sum(&document["statuses"], |_| true);
    let unanswered = sum(&document["errors"], |error| !with_status(error));
    hold(
        answered + unanswered == ok + failed,
        format!("{answered} statuses + {unanswered} errors without one are not {ok} ok + {failed} failed"),
    );
    let steps = document["steps"].as_array().into_iter().flatten();
    let steps: u64 = steps.map(|step| number(step, "started")).sum();
    hold(steps == started, format!("the steps sum to {steps}, the total is {started}"));
    hold(
        (of("ok") == 0) == whole["latency_ms"]["50"].is_null(),
        "a p50 without ok requests, or the reverse".to_owned(),
    );
    if let Some(planned) = document["accounts"]["planned"].as_u64() {
        let accounts = &document["accounts"];
        let parts: u64 = ["started", "missed", "unknown"].iter().map(|name| number(accounts, name)).sum();
        hold(planned == parts, format!("{planned} planned is not started + missed + unknown"));
    }
    faults.extend(misplaced(document));
    faults.extend(falling(whole));
    faults.extend(not_a_number("", document));
    faults
}

/// Requests that stand at no address, or on no connection. What a lost agent did not report is in no sum; and addresses
/// are counted with the warm-up, whose requests aren't told apart by whether they were sent.
fn misplaced(document: &Value) -> Vec<String> {
    let whole = &document["whole"];
    let of = |name| number(whole, name);
    let list = |name: &str| document[name].as_array().into_iter().flatten();
    let (opened, reused) = (of("connections_opened"), of("connections_reused"));
    let by_step = ["connections_opened", "connections_reused"]
        .map(|name| list("steps").map(|step| number(step, name)).sum::<u64>());
    let mut faults = Vec::new();
    if by_step != [opened, reused] {
        faults.push(format!(
            "the steps have {by_step:?} connections opened and re-used, not {opened} and {reused}"
        ));
    }
    let has_open_end = document["incomplete"] == true || of("unresolved") > 0;
    if has_open_end || !document["warmup"].is_null() {
        return faults;
    }
    let requests: u64 = list("addresses").map(|address| number(address, "requests")).sum();
    // One that was to be sent again may have found no connection.
    let once = of("started").saturating_sub(of("never_sent"));
    if !(once..=once + of("resent")).contains(&requests) {
        faults.push(format!("{requests} requests at addresses, {once} sent, {} of them again", of("resent")));
    }
    // The first request of a connection is one that does not re-use it.
    if reused > requests || requests - reused > opened {
        faults.push(format!("{opened} connections opened and {reused} re-used for {requests} requests"));
    }
    faults
}

fn sum(list: &Value, counts: impl Fn(&Value) -> bool) -> u64 {
    let entries = list.as_array().into_iter().flatten();
    entries.filter(|entry| counts(entry)).map(|entry| number(entry, "count")).sum()
}

/// Percentiles that fall where they should rise, from the minimum to the maximum.
fn falling(whole: &Value) -> Vec<String> {
    let minimum = whole["latency_min_ms"].as_f64();
    let rising: Vec<f64> = minimum
        .into_iter()
        .chain(PERCENTILES.iter().filter_map(|p| whole["latency_ms"][p].as_f64()))
        .collect();
    let falls = rising.windows(2).filter(|pair| pair[0] > pair[1]);
    falls.map(|pair| format!("a percentile of {} ms comes before one of {} ms", pair[0], pair[1])).collect()
}

/// JSON can't hold NaN; a writer that doesn't mind writes null, or a text. So no text may be one of those.
fn not_a_number(at: &str, value: &Value) -> Vec<String> {
    match value {
        Value::String(text)
            if matches!(text.as_str(), "NaN" | "nan" | "-nan" | "inf" | "-inf" | "Infinity") =>
        {
            vec![format!("{text} at {at}")]
        }
        Value::Array(list) => list.iter().flat_map(|value| not_a_number(at, value)).collect(),
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| not_a_number(&format!("{at}/{key}"), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "over": true, "verdict": "none", "account_faults": [],
            "whole": {
                "started": 5, "ok": 3, "failed": 2, "cancelled": 0, "unresolved": 0, "latency_min_ms": 1.0,
                "never_sent": 0, "resent": 1, "connections_opened": 2, "connections_reused": 3,
                "latency_ms": {"50": 1.0, "90": 2.0, "95": 2.0, "99": 2.0, "99.9": 2.0, "100": 2.0},
            },
            "incomplete": false, "warmup": null,
            "addresses": [{"requests": 2}, {"requests": 3}],
            "steps": [{"started": 5, "connections_opened": 2, "connections_reused": 3}],
            "errors": [{"kind": "status", "count": 1}, {"kind": "reset", "count": 1}],
            "statuses": [{"status": 200, "count": 3}, {"status": 500, "count": 1}],
            "accounts": {"planned": 5, "started": 5, "missed": 0, "unknown": 0},
        })
    }

    /// Changes a good document at a pointer; says what is then found.
    fn check(pointer: &str, value: Value, expected: &str) {
        let mut document = good();
        *document.pointer_mut(pointer).expect("a place in the document") = value;
        let faults = faults(&document);
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{pointer}: {faults:?}");
    }

    #[test]
    fn each_invariant_is_seen_to_break() {
        assert_eq!(faults(&good()), [""; 0]);
        check("/over", json!(false), "not over");
        check("/verdict", Value::Null, "no verdict");
        check("/account_faults", json!(["x"]), "faults");
        check("/whole/started", json!(6), "6 started");
        check("/whole/failed", json!(3), "kinds sum to 2");
        check("/statuses/0/count", json!(4), "5 statuses");
        check("/steps/0/started", json!(4), "steps sum to 4");
        check("/whole/latency_ms/90", json!(0.5), "before one of 0.5 ms");
        check("/whole/latency_min_ms", json!(1.5), "before one of 1 ms");
        check("/whole/latency_ms/50", Value::Null, "p50");
        check("/accounts/missed", json!(1), "5 planned");
        check("/addresses/0/requests", json!(1), "4 requests at addresses");
        check("/addresses/0/requests", json!(4), "7 requests at addresses");
        check("/addresses/0/requests", json!(3), "2 connections opened and 3 re-used for 6");
        check("/whole/connections_reused", json!(6), "2 connections opened and 6 re-used");
        check("/steps/0/connections_opened", json!(1), "the steps have [1, 3] connections");
        check("/whole/latency_ms/99", json!("NaN"), "NaN at /whole/latency_ms/99");
    }
}
