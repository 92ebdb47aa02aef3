//! Regular expressions of what plans write, in the dialect that JavaScript and Rust share (ECMA 262, without look-behind).

use volley_stats::ErrorKind;

/// A number, decimal or not.
const NUMBER: &str = r"[0-9]+(?:\.[0-9]+)?";
/// A number with up to six decimals, from 0 to 100.
const PERCENTAGE: &str = r"0*(?:100(?:\.0{1,6})?|[0-9]{1,2}(?:\.[0-9]{1,6})?)";
/// A number with up to six decimals, from 0 to 1.
const FRACTION: &str = r"0*(?:1(?:\.0{1,6})?|0(?:\.[0-9]{1,6})?)";
/// Any letter of a token (RFC 9110 section 5.6.2).
const TOKEN: &str = "[A-Za-z0-9!#$%&'*+.^_`|~-]";
/// Any character but the control characters.
const PRINTED: &str = r"[^\x00-\x1f\x7f-\x9f]";

/// Holds where no variable begins, for the beginning of a pattern: `${` stands only behind a `$`.
pub(super) const NO_VARIABLE: &str = r"(?!(?:[\s\S]*[^$])?\$\{)";

/// The whole text, not a part of it.
pub(super) fn whole(inside: &str) -> String {
    format!("^(?:{inside})$")
}

/// The whole text, without a variable.
pub(super) fn literal(inside: &str) -> String {
    format!("^{NO_VARIABLE}(?:{inside})$")
}

/// A duration such as `1m30s`: units from long to short, each once at most.
pub(super) fn duration() -> String {
    let parts: String = ["h", "m", "s", "ms", "us", "ns"].map(|unit| format!("(?:{NUMBER}{unit})?")).concat();
    format!("(?=[0-9]){parts}")
}

/// A duration above zero: one of its digits isn't 0.
pub(super) fn time() -> String {
    format!("(?=.*[1-9]){}", duration())
}

/// A duration of nothing, such as `0s`.
pub(super) fn no_time() -> String {
    whole(&format!("(?!.*[1-9]){}", duration()))
}

/// A rate above zero.
pub(super) fn some_rate() -> String {
    whole(&format!("(?=.*[1-9]){}", rate()))
}

/// A rate such as `200/s`.
pub(super) fn rate() -> String {
    format!("{NUMBER}/[smh]")
}

/// A pause: a duration, or two as bounds.
pub(super) fn think() -> String {
    let duration = duration();
    whole(&format!(r"{duration}(?:\.\.{duration})?"))
}

/// A size such as `10MiB`.
pub(super) fn size() -> String {
    whole(&format!("{NUMBER}(?:B|KiB|MiB|GiB)"))
}

/// A percentage with one decimal at most.
pub(super) fn tolerance() -> String {
    whole(r"0*(?:100(?:\.0)?|[0-9]{1,2}(?:\.[0-9])?)%")
}

/// A name that people read.
pub(super) fn name() -> String {
    whole(&format!("{PRINTED}{{1,200}}"))
}

/// A URL without a user and without a fragment; IPv6 in brackets. `behind` is what may stand behind host and port.
pub(super) fn url(behind: &str) -> String {
    let host = r"\[[^\]@/?#\s\\]+\]|[^:/?#@\[\]\s\\\x00-\x1f\x7f-\x9f]+";
    literal(&format!("{}://(?:{host})(?::[0-9]*)?(?:{behind})", any_case("http") + "[sS]?"))
}

/// What stands behind host and port of a URL: path and query.
pub(super) const PATH_AND_QUERY: &str = r"(?:[/?][^#\s\\\x00-\x1f\x7f-\x9f]*)?";

/// The path and query of a step.
pub(super) fn path() -> String {
    literal(r"/[^#\s\\\x00-\x1f\x7f-\x9f]*")
}

/// A method: known ones in upper case, but for CONNECT, or any other token.
pub(super) fn method() -> String {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"];
    let otherwise = known.map(any_case).join("|");
    let connect = any_case("CONNECT");
    whole(&format!("{}|(?!(?:{otherwise}|{connect})$){TOKEN}{{1,32}}", known.join("|")))
}

/// A header's name that is not one of `owned`.
pub(super) fn header_name(owned: &[&str]) -> String {
    let owned: Vec<_> = owned.iter().map(|name| any_case(name)).collect();
    whole(&format!("(?!(?:{})$){TOKEN}{{1,256}}", owned.join("|")))
}

/// A header's value: one line without white space at its ends.
pub(super) fn header_value() -> String {
    let (end, inner) = (r"[^\x00-\x20\x7f]", r"[^\x00-\x08\x0a-\x1f\x7f]");
    literal(&format!("(?:{end}(?:{inner}*{end})?)?"))
}

/// A text without a variable.
pub(super) fn text() -> String {
    format!("^{NO_VARIABLE}")
}

/// The name of a file in the folder of files, or in one below it.
pub(super) fn file() -> String {
    let part = r"(?!\.{1,2}(?:/|$))[^/\\\x00-\x1f\x7f-\x9f]+";
    literal(&format!("{part}(?:/{part})*"))
}

/// The whole path of a socket.
pub(super) fn socket() -> String {
    literal(r"(?:/(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f-\x9f]+)+")
}

/// What `Host` may say.
pub(super) fn host() -> String {
    let letter = r#"[A-Za-z0-9!"$%&'()*+,.;=_`{}~-]"#;
    literal(&format!(r"(?:\[[0-9A-Fa-f:.]+\]|{letter}+)(?::[0-9]*)?"))
}

/// A host and a port that connections go to.
pub(super) fn remote() -> String {
    literal(r"(?:\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~-]{1,15})?\]|[^\s\[\]:/?#@%\\]+):[0-9]{1,5}")
}

/// An address, IPv4 or IPv6.
pub(super) fn address() -> String {
    whole(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|(?=.*:)[0-9A-Fa-f:.]+")
}

/// A name that a certificate may be of, or an address.
pub(super) fn server_name() -> String {
    whole(r"\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?|[^\s\[\]:/?#@\\]+")
}

/// A label, or its value.
pub(super) fn label() -> String {
    whole("[A-Za-z0-9._/-]{1,63}")
}

/// A status, a class or a range.
pub(super) fn statuses() -> String {
    whole(r"[2-9]xx|[2-9][0-9]{2}(?:\.\.[2-9][0-9]{2})?")
}

/// What a threshold demands: a metric, what it is of, an operator, a limit.
pub(super) fn expectation() -> String {
    let percentile = r"p0*(?:100(?:\.0{1,3})?|[0-9]{1,2}(?:\.[0-9]{1,3})?)";
    let point = format!("(?:{percentile}|mean|max)");
    let share = format!(r"(?:{PERCENTAGE}\s*%|{FRACTION})");
    let (none, time, rate) = (&[][..], duration(), rate());
    let forms = [
        expects(&format!("(?:service_)?{point}"), &[STEP], &time),
        expects(&format!("lag_{point}"), none, &time),
        expects("error_rate", &[STEP, &status(), &kind()], &share),
        expects("check_rate", &[STEP], &share),
        expects("started_rate", &[STEP], &rate),
        expects("ok_rate", &[STEP, &status()], &rate),
        expects("errors", &[STEP, &status(), &kind()], "[0-9]+"),
        expects("(?:missed|unknown)", none, &format!(r"(?:[0-9]+|{PERCENTAGE}\s*%)")),
    ];
    whole(&forms.join("|"))
}

/// A step or a scenario by its name, in quotes or plain.
const STEP: &str = r#"(?:step|scenario)\s*=\s*(?:"(?:[^"\\]|\\[\s\S])*"|[^,"{}\s](?:[^,"{}]*[^,"{}\s])?)"#;

fn status() -> String {
    r#"status\s*=\s*(?:"[1-9][0-9]{2}"|[1-9][0-9]{2})"#.to_owned()
}

fn kind() -> String {
    let kinds: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    let kinds = kinds.join("|");
    format!(r#"kind\s*=\s*(?:"(?:{kinds})"|(?:{kinds}))"#)
}

/// `METRIC{KEY=VALUE,…} OPERATOR LIMIT`, where the keys are of these.
fn expects(metric: &str, keys: &[&str], limit: &str) -> String {
    let pair = format!("(?:{})", keys.join("|"));
    let of = if keys.is_empty() {
        String::new()
    } else {
        format!(r"(?:\{{\s*{pair}\s*(?:,\s*{pair}\s*)*\}}\s*)?")
    };
    format!(r"\s*{metric}\s*{of}[<>]=?\s*{limit}\s*")
}

/// A word in whatever case.
fn any_case(word: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_ascii_alphabetic() => format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase()),
        c => c.to_string(),
    };
    word.chars().map(letter).collect()
}
