//! Small pieces that pages share: the badge, a bound value, the percentile list.

use askama::Template;
use serde_json::Value;

use crate::format::Format;

/// A percentile of the one list: its key in JSON, its name on the page, its CSS class (and so its colour).
pub(crate) struct Percentile {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) class: &'static str,
}

/// The one list, ascending.
pub(crate) const PERCENTILES: [Percentile; 6] = [
    Percentile { key: "50", label: "p50", class: "s-p50" },
    Percentile { key: "90", label: "p90", class: "s-p90" },
    Percentile { key: "95", label: "p95", class: "s-p95" },
    Percentile { key: "99", label: "p99", class: "s-p99" },
    Percentile { key: "99.9", label: "p99.9", class: "s-p999" },
    Percentile { key: "100", label: "max", class: "s-max" },
];

/// A verdict, or a state where there is no verdict yet: icon and word.
#[derive(Template)]
#[template(path = "parts/badge.html")]
pub(crate) struct Badge<'a> {
    pub(crate) word: &'a str,
}

impl<'a> Badge<'a> {
    pub(crate) fn new(state: &'a str, verdict: Option<&'a str>) -> Self {
        Self { word: verdict.unwrap_or(state) }
    }

    /// The icon's name: a verdict has its own, any other word is that of something going on.
    fn icon(&self) -> &'static str {
        match self.word {
            "passed" => "passed",
            "failed" => "failed",
            "invalid" => "invalid",
            "none" => "none",
            _ => "going",
        }
    }
}

/// A value of the view, found by its path, that the script keeps up to date.
#[derive(Template)]
#[template(path = "parts/bound.html")]
pub(crate) struct Bound {
    path: String,
    format: Format,
    text: String,
}

impl Bound {
    pub(crate) fn new(view: &Value, path: &str, format: Format) -> Self {
        Self { path: path.to_owned(), format, text: text(view, path, format) }
    }
}

/// The text at a path (`whole/latency_ms/99`), a dash where it leads nowhere.
pub(crate) fn text(value: &Value, path: &str, format: Format) -> String {
    format.write(at(value, path))
}

/// Whether there is nothing to show at a path: what a script takes for false.
pub(crate) fn is_nothing(value: &Value, path: &str) -> bool {
    match at(value, path) {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    // A path is a JSON pointer (RFC 6901) but for its first slash.
    value.pointer(&format!("/{path}")).unwrap_or(&Value::Null)
}

/// An RFC 3339 time as people read it: a space for the `T` (its section 5.6 allows it), no fraction.
pub(crate) fn readable_time(rfc3339: &str) -> String {
    let (seconds, zone) = match rfc3339.split_once('.') {
        Some((seconds, rest)) => (seconds, rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => (rfc3339, ""),
    };
    format!("{}{zone}", seconds.replacen('T', " ", 1))
}

/// A text as it stands in a query: all but what RFC 3986 section 2.3 calls unreserved as its bytes in percent.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
