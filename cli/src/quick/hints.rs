//! Flags that mean something else in another tool: what is said where a value only makes sense there. Nothing is changed by
//! it.

use volley_plan::units::parse_duration;

use super::{Options, with_unit};

/// What to say, one sentence each.
pub(super) fn hints(options: &Options) -> Vec<String> {
    [body(options), threads(options), insecure(options), rate(options), content_type(options)]
        .into_iter()
        .flatten()
        .collect()
}

/// wrk takes a duration as `-d 30s`, and curl a file as `-d @name`.
fn body(options: &Options) -> Option<String> {
    let body = options.body.body.as_deref()?;
    if let Some(file) = body.strip_prefix('@').filter(|file| !file.is_empty()) {
        return Some(format!("-d is sent as it stands; for what is in the file use -D {file}"));
    }
    is_duration(body).then(|| format!("-d is the body; for a duration use -z {body}"))
}

fn is_duration(text: &str) -> bool {
    parse_duration(text).is_ok()
}

/// wrk takes its threads as `-t 4`, and never without a duration as `-d 30s`.
fn threads(options: &Options) -> Option<String> {
    let threads = options.timeout.as_deref()?;
    let is_number = threads.bytes().all(|byte| byte.is_ascii_digit());
    let as_in_wrk = is_number && options.body.body.as_deref().is_some_and(is_duration);
    as_in_wrk.then(|| format!("-t is the time-out, {threads} s here; for threads use --workers {threads}"))
}

/// ab keeps connections alive with `-k`.
fn insecure(options: &Options) -> Option<String> {
    let is_plain = options.url.as_deref().is_some_and(|url| url.to_lowercase().starts_with("http://"));
    (options.tls.insecure && is_plain).then(|| {
        "-k skips certificate checks, and http:// has none; connections are kept without it".to_owned()
    })
}

/// hey takes the rate of each worker. A rate below the number of connections leaves some of them without a request in each
/// second, so that one is most likely meant.
fn rate(options: &Options) -> Option<String> {
    let rate: u64 = options.rate.as_deref()?.parse().ok()?;
    let connections = options.connections?.get();
    (rate < connections).then(|| {
        let each = with_unit(rate.to_string(), "/s");
        let all = with_unit(rate.saturating_mul(connections).to_string(), "/s");
        format!("-q is the rate in all, {each}; in hey it is that of each connection, which is -q {all} here")
    })
}

/// siege takes a time as `-t` and others as `-T`; a content type has a slash.
fn content_type(options: &Options) -> Option<String> {
    let text =
        options.content_type.as_deref().filter(|text| is_duration(&with_unit((*text).to_owned(), "s")))?;
    Some(format!("-T is the body's content type; for a time-out use -t {text}, for a duration -z {text}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    /// The words bring these hints, each told by a part of it.
    fn check(words: &str, parts: &[&str]) {
        let line = Line::try_parse_from(std::iter::once("volley").chain(words.split(' '))).expect(words);
        let said = hints(&line.options);
        assert!(said.len() == parts.len(), "{words}: {said:?}");
        for (said, part) in said.iter().zip(parts) {
            assert!(said.contains(part), "{words}: {said}");
        }
    }

    #[test]
    fn values_that_make_sense_in_another_tool_bring_a_hint() {
        check("http://h/ -d 30s", &["use -z 30s"]);
        check("http://h/ -t 4 -c 100 -d 30s", &["use -z 30s", "use --workers 4"]);
        check("http://h/ -d @body.json", &["use -D body.json"]);
        check("http://h/ -k", &["connections are kept"]);
        check("http://h/ -q 10 -c 50", &["which is -q 500/s here"]);
        check("http://h/ -T 30", &["use -t 30"]);
        check("http://h/ -T 1m", &["-z 1m"]);
    }

    #[test]
    fn values_that_make_sense_here_bring_none() {
        for words in [
            "http://h/",
            "http://h/ -d 30",
            "http://h/ -d hello -t 4",
            "http://h/ -d @",
            "http://h/ -t 4",
            "https://h/ -k",
            "http://h/ -q 100 -c 50",
            "http://h/ -q 100/m -c 200",
            "http://h/ -T text/plain -d x",
        ] {
            check(words, &[]);
        }
    }
}
