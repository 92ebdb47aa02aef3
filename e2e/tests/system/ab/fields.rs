//! Reads a report of ab's manner, and holds two of them against each other.

use std::collections::BTreeMap;

use volley_e2e::Outcome;

/// Lines before the report proper: who wrote it.
const BANNER_LINES: usize = 3;

/// Labels of values that time decides.
const OF_TIME: [&str; 5] =
    ["Time taken for tests", "Requests per second", "Time per request", "Transfer rate", "Percentage"];

/// The lines behind the banner, without ab's warnings, which time decides as well.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut lines = text.lines().skip(BANNER_LINES).collect::<Vec<_>>();
    while let Some(at) =
        lines.iter().position(|line| line.starts_with("WARNING:") || line.starts_with("ERROR:"))
    {
        lines.drain(at..at + 2);
    }
    lines
}

/// The values by label of those lines that have both.
pub(super) fn fields(text: &str) -> BTreeMap<&str, &str> {
    let pair = |line: &'_ str| line.split_once(':').is_some();
    let lines = lines(text).into_iter().filter(|line| pair(line));
    lines.filter_map(|line| line.split_once(':')).map(|(label, value)| (label.trim(), value.trim())).collect()
}

/// A value whose first word is a number.
pub(super) fn number(text: &str, label: &str) -> f64 {
    let fields = fields(text);
    let value = fields.get(label).unwrap_or_else(|| panic!("no {label} in {text}"));
    let word = value.split_whitespace().next().unwrap_or_default();
    word.parse().unwrap_or_else(|error| panic!("{label}: {word}: {error}"))
}

/// A row of the table of times: min, mean, deviation, median, max.
pub(super) fn row(text: &str, label: &str) -> Vec<f64> {
    let fields = fields(text);
    let values = fields.get(label).unwrap_or_else(|| panic!("no {label} in {text}"));
    values.split_whitespace().map(|value| value.parse().expect("a number")).collect()
}

/// A line with `#` for each number and the spaces before it.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' | '.' if shape.ends_with('#') => {}
            '0'..='9' => {
                shape.truncate(shape.trim_end_matches(' ').len());
                shape.push('#');
            }
            _ => shape.push(c),
        }
    }
    shape
}

/// Whether time decides what a line says.
fn is_of_time(line: &str) -> bool {
    let is_row =
        ["Connect:", "Processing:", "Waiting:", "Total:"].iter().any(|label| line.starts_with(label));
    let is_percent =
        line.trim_start().split_once("% ").is_some_and(|(front, _)| front.parse::<u32>().is_ok());
    is_row || is_percent || line.contains("kb/s") || OF_TIME.iter().any(|label| line.starts_with(label))
}

/// The two programs printed the same lines: to the letter where nothing but time could make them differ, else with numbers in
/// the same places.
pub(super) fn check_alike(ab: &Outcome, volley: &Outcome) {
    assert_eq!(ab.code, volley.code, "{ab:?}\n{volley:?}");
    let (of_ab, of_volley) = (lines(&ab.stdout), lines(&volley.stdout));
    let told = || format!("ab:\n{}\nvolley:\n{}", ab.stdout, volley.stdout);
    assert_eq!(of_ab.len(), of_volley.len(), "{}", told());
    for (theirs, ours) in of_ab.into_iter().zip(of_volley) {
        if is_of_time(theirs) {
            assert_eq!(shape(theirs), shape(ours), "{}", told());
            check_columns(theirs, ours);
        } else {
            assert_eq!(theirs, ours, "{}", told());
        }
    }
}

/// Columns of a table end at the same places, unless a number is too large for one.
fn check_columns(theirs: &str, ours: &str) {
    let is_table = !theirs.contains("[") && !theirs.contains("seconds") && !theirs.contains("kb/s");
    let fits =
        |line: &str| line.split_whitespace().all(|word| word.len() < 5 || word.parse::<f64>().is_err());
    if is_table && fits(theirs) && fits(ours) {
        assert_eq!(theirs.len(), ours.len(), "{theirs:?}\n{ours:?}");
    }
}

#[test]
fn numbers_are_left_out_of_shapes() {
    let check = |line: &str, expected: &str| assert_eq!(shape(line), expected);
    check("Connect:        0    0   0.1      0       1", "Connect:#####");
    check(" 100%     31 (longest request)", "#%# (longest request)");
    check("Time taken for tests:   0.005 seconds", "Time taken for tests:# seconds");
    assert!(
        is_of_time("  50%     31") && is_of_time("Total:  1") && !is_of_time("Total transferred:  7 bytes")
    );
}
