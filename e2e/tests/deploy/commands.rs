//! Commands as they stand in files: which flags they have, and whether the program has them too.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use volley_e2e::volley;

/// A command of the program: `agent --coordinator=h:1 --measure`.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Where it stands.
    pub(crate) origin: String,
    /// The subcommand, with that below it where there is one.
    pub(crate) role: Vec<String>,
    /// Flags with their values, in their order; a value without a flag has an empty one.
    pub(crate) flags: Vec<(String, Option<String>)>,
}

impl Line {
    /// Reads the words behind the program's name. Each flag must be one that the program has.
    pub(crate) fn read(origin: &str, words: &[String]) -> Self {
        let is_word = |word: &&String| word.bytes().all(|byte| byte.is_ascii_lowercase());
        let depth = words.iter().take(2).take_while(is_word).count();
        // A plan or a run may look like a subcommand below one that has none.
        let has_more = matches!(words.first().map(String::as_str), Some("plan" | "runs"));
        let (role, rest) = words.split_at(depth.min(if has_more { 2 } else { 1 }));
        let line = Self { origin: origin.to_owned(), role: role.to_vec(), flags: flags(rest) };
        line.check();
        line
    }

    /// The value of a flag that must be there.
    pub(crate) fn value(&self, flag: &str) -> &str {
        let found =
            self.flags.iter().find(|(known, _)| known == flag).and_then(|(_, value)| value.as_deref());
        found.unwrap_or_else(|| panic!("{}: no {flag} in {self:?}", self.origin))
    }

    /// The port of an address that a flag has.
    pub(crate) fn port(&self, flag: &str) -> u16 {
        port(self.value(flag))
    }

    /// The words again, with other values.
    pub(crate) fn words(&self, value: impl Fn(&str, &str) -> String) -> Vec<String> {
        let mut words = self.role.clone();
        for (flag, given) in &self.flags {
            if !flag.is_empty() {
                words.push(flag.clone());
            }
            words.extend(given.as_deref().map(|given| value(flag, given)));
        }
        words
    }

    fn check(&self) {
        let help = help(&self.role);
        for (flag, _) in self.flags.iter().filter(|(flag, _)| flag.starts_with('-')) {
            let is_there =
                help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == flag);
            assert!(is_there, "{}: `volley {}` has no {flag}", self.origin, self.role.join(" "));
        }
    }
}

/// Flags with their values: `--flag=value`, `--flag value`, `--flag`.
fn flags(words: &[String]) -> Vec<(String, Option<String>)> {
    let mut flags: Vec<(String, Option<String>)> = Vec::new();
    for word in words {
        match (word.split_once('='), flags.last_mut()) {
            (Some((flag, value)), _) if flag.starts_with('-') => {
                flags.push((flag.to_owned(), Some(value.to_owned())));
            }
            _ if word.starts_with('-') => flags.push((word.clone(), None)),
            (_, Some((flag, value @ None))) if !flag.is_empty() => *value = Some(word.clone()),
            _ => flags.push((String::new(), Some(word.clone()))),
        }
    }
    flags
}

/// The port behind an address.
pub(crate) fn port(address: &str) -> u16 {
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.unwrap_or_else(|| panic!("{address} has no port"))
}

/// What `--help` says of a subcommand.
fn help(role: &[String]) -> String {
    static KNOWN: Mutex<BTreeMap<Vec<String>, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = known.entry(role.to_vec()).or_insert_with(|| {
        let words: Vec<_> = role.iter().map(String::as_str).chain(["--help"]).collect();
        volley(&words).exited(0).stdout
    });
    text.clone()
}

#[test]
fn a_flag_that_is_not_there_is_found_out() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let line = Line::read("a test", &words("agent --coordinator=h:1 --measure --label a=b"));
    assert_eq!((line.port("--coordinator"), line.value("--label")), (1, "a=b"));
    assert_eq!(
        line.words(|_, value| value.to_owned()),
        words("agent --coordinator h:1 --measure --label a=b")
    );
    let wrong = std::panic::catch_unwind(|| Line::read("a test", &words("agent --coordinate h:1")));
    assert!(wrong.is_err());
    let below = Line::read("a test", &words("runs adjust a-1 --rate 5/s"));
    assert_eq!(below.role, ["runs", "adjust"]);
}
