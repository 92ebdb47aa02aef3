//! A page of text in GitHub's Markdown (GFM 0.29): for comments in pull requests, and for the summary of a CI job.

use volley_plan::Verdict;
use volley_plan::words::{count, significant};
use volley_web::stream::Percentiles;

use crate::document::{RunDocument, Standing, ThresholdTotals};
use crate::words::seconds;

/// What stands where there is no number.
const NOTHING: &str = "–";

/// The page.
pub(super) fn text(document: &RunDocument) -> String {
    let parts = [
        head(document),
        numbers(document),
        thresholds(document),
        errors(document),
        statuses(document),
        steps(document),
        notes(document),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Text that reads as it is, wherever it stands: in a cell, in a line, or at the beginning of one. No character of it is
/// markup, a mention, or the end of a cell.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            // GitHub looks for mentions, references and formulas by itself, hence not by a backslash.
            '&' | '<' | '>' | '@' | '#' | '|' | '`' | '\\' | '$' => {
                out += &format!("&#{};", u32::from(letter));
            }
            letter if letter.is_control() => out += &format!("&#{};", u32::from(letter)),
            '*' | '_' | '~' | '[' | ']' => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    if let Some(place) = block_mark(&out) {
        out.insert(place, '\\');
    }
    out
}

/// Where that stands which would make a list, a rule or a heading of a line that begins so.
fn block_mark(line: &str) -> Option<usize> {
    if line.starts_with(['-', '+', '=']) {
        return Some(0);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')'])?;
    (digits > 0 && (rest.is_empty() || rest.starts_with(' '))).then_some(digits)
}

/// A table; the columns from `numbers_from` on are set right.
fn table(head: &[&str], numbers_from: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let names: Vec<_> = head.iter().map(|name| (*name).to_owned()).collect();
    let rules = (0..head.len()).map(|column| if column < numbers_from { ":---" } else { "---:" });
    let rules: Vec<_> = rules.map(str::to_owned).collect();
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    if rows.is_empty() { rows } else { line(&names) + &line(&rules) + &rows }
}

fn titled(title: &str, table: String) -> String {
    if table.is_empty() { table } else { format!("### {title}\n\n{table}") }
}

fn head(document: &RunDocument) -> String {
    let progress = &document.progress;
    let verdict = match progress.verdict {
        Some(Verdict::Passed) => "✅ passed",
        Some(Verdict::Failed) => "❌ failed",
        Some(Verdict::Invalid) => "⚠️ invalid",
        Some(Verdict::None) => "finished",
        None => progress.state.as_str(),
    };
    let started = document.started_at.as_deref().unwrap_or(&document.created_at);
    format!(
        "## {}: {verdict}\n\n{}\n\nTarget {}, load {}, started {}, run {}.\n",
        escaped(&document.name),
        escaped(&progress.sentence),
        escaped(&document.target),
        escaped(&document.load),
        escaped(started),
        escaped(document.id.as_str())
    )
}

fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| NOTHING.to_owned(), significant)
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{} %", significant(value * 100.0)))
}

const PERCENTILES: [&str; 6] = ["p50 ms", "p90 ms", "p95 ms", "p99 ms", "p99.9 ms", "max ms"];

fn percentiles(of: &Percentiles) -> impl Iterator<Item = String> {
    [of.p50, of.p90, of.p95, of.p99, of.p99_9, of.max].into_iter().map(number)
}

/// Counts and latency of the whole run, and what else is timed.
fn numbers(document: &RunDocument) -> String {
    let whole = &document.progress.whole;
    let unknown = whole.unknown.map_or_else(|| NOTHING.to_owned(), count);
    let counted = [whole.started, whole.ok, whole.failed, whole.cancelled, whole.missed].map(count);
    let row = counted.into_iter().chain([unknown, number(Some(whole.rate)), share(whole.error_rate)]);
    let names = ["started", "ok", "failed", "cancelled", "missed", "unknown", "ok /s", "errors"];
    let counts = table(&names, 0, [row.collect()]);
    let measures = [
        ("latency", Some(&whole.latency_ms)),
        ("service time", whole.service_ms.max.map(|_| &whole.service_ms)),
        ("latency of failed", whole.failed_latency_ms.max.map(|_| &whole.failed_latency_ms)),
    ];
    let rows = measures
        .into_iter()
        .filter_map(|(name, of)| Some(std::iter::once(name.to_owned()).chain(percentiles(of?)).collect()));
    let names: Vec<_> = std::iter::once("").chain(PERCENTILES).collect();
    format!("{counts}\n{}", table(&names, 1, rows))
}

fn thresholds(document: &RunDocument) -> String {
    let rows = document.progress.thresholds.iter().map(|of: &ThresholdTotals| {
        let mark = if of.standing == Standing::Holds { "✅" } else { "❌" };
        let measured = if of.value_words.is_empty() { NOTHING } else { of.value_words.as_str() };
        let words = [&of.standing_words, &of.expect, &of.scope].map(|text| escaped(text));
        let [standing, expect, scope] = words;
        vec![format!("{mark} {standing}"), expect, scope, escaped(measured), escaped(&of.limit_words)]
    });
    titled("Thresholds", table(&["", "threshold", "over", "measured", "limit"], 3, rows))
}

fn errors(document: &RunDocument) -> String {
    let rows = document.progress.errors.iter().map(|error| {
        let words = if error.words.is_empty() { &error.kind } else { &error.words };
        let seen = [error.first_s, error.last_s].map(|s| seconds(s as f64));
        let [first, last] = seen;
        vec![escaped(words), escaped(&error.kind), count(error.count), first, last]
    });
    titled("Errors", table(&["error", "kind", "count", "first seen", "last seen"], 2, rows))
}

fn statuses(document: &RunDocument) -> String {
    let rows = document.progress.statuses.iter().map(|of| vec![of.status.to_string(), count(of.count)]);
    titled("Statuses", table(&["status", "answers"], 1, rows))
}

fn steps(document: &RunDocument) -> String {
    let steps = &document.progress.steps;
    let several = steps.windows(2).any(|pair| pair[0].totals.scenario != pair[1].totals.scenario);
    let rows = steps.iter().map(|step| {
        let of = &step.totals;
        let name = if several { format!("{} / {}", of.scenario, of.name) } else { of.name.clone() };
        let counts = [of.started, of.ok, of.failed].map(count);
        let rate = number(Some(of.rate));
        let row = std::iter::once(escaped(&name)).chain(counts).chain([rate]);
        row.chain(percentiles(&of.latency_ms)).collect()
    });
    let names: Vec<_> = ["step", "started", "ok", "failed", "ok /s"].into_iter().chain(PERCENTILES).collect();
    titled("Steps", table(&names, 1, rows))
}

/// What is to be known of the generator.
fn notes(document: &RunDocument) -> String {
    let notes = document.progress.health_notes.iter().chain(&document.progress.account_faults);
    let lines: String = notes.map(|note| format!("- {}\n", escaped(note))).collect();
    titled("Generator", lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_literal() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check("GET /a?b=c", "GET /a?b=c");
        check("<img src=x>", "&#60;img src=x&#62;");
        check("a|b", "a&#124;b");
        check("a\nb", "a&#10;b");
        check("**a** _b_ ~c~ [d](e)", r"\*\*a\*\* \_b\_ \~c\~ \[d\](e)");
        check("`x` \\ @team #1", "&#96;x&#96; &#92; &#64;team &#35;1");
        check("- a", r"\- a");
        check("1. a", r"1\. a");
        check("9.97 ms", "9.97 ms");
        check("=1+1", r"\=1+1");
        check("2026-12-01 $x$", "2026-12-01 &#36;x&#36;");
        check("p99 < 300ms", "p99 &#60; 300ms");
        check("http://127.0.0.1:8080/", "http://127.0.0.1:8080/");
    }

    #[test]
    fn a_table_without_rows_is_none() {
        assert_eq!(table(&["a"], 1, []), "");
        let rows = [vec!["x".to_owned(), "1".to_owned()]];
        assert_eq!(table(&["a", "b"], 1, rows), "| a | b |\n| :--- | ---: |\n| x | 1 |\n");
    }
}
