//! A plan from the flags of `volley URL`: the same tree, the same sections, but faults name the flag.

mod connection;

pub use connection::{QuickConnect, QuickTls};

use super::fault::{Collector, Fault, Faults, FieldPath, Place, Told};
use super::node::{Entry, Node, Value};
use super::{plan, template};
use crate::model::Plan;

/// What `volley URL` was asked for, as it was typed. Nothing in it is a template.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuickPlan {
    /// `URL`.
    pub url: String,
    /// `-c` of a load without a rate; 50 where neither is given.
    pub users: Option<u64>,
    /// `--rate`, with its unit: the open model.
    pub rate: Option<String>,
    /// `-c` of a load with a rate: its bound on connections; none where it isn't given.
    pub connections: Option<u64>,
    /// `-n`.
    pub requests: Option<u64>,
    /// `-z`, with its unit; 10 s where neither it nor `-n` is given.
    pub duration: Option<String>,
    /// `--warmup`, with its unit.
    pub warmup: Option<String>,
    /// `--arrivals`.
    pub arrivals: Option<String>,
    /// `--max-in-flight`.
    pub max_in_flight: Option<u64>,
    /// `--tolerate`, with its `%`.
    pub tolerate: Option<String>,
    /// `--http-version`; 1.1 where it isn't given.
    pub http_version: Option<String>,
    /// The statuses that are fine, such as `200..999`; those below 400 where it isn't given. No flag says it.
    pub status: Option<String>,
    /// `-m`.
    pub method: Option<String>,
    /// `-H`, each `Name: value`; a name may come more than once.
    pub headers: Vec<String>,
    /// `-d`.
    pub body: Option<String>,
    /// `-D`, the name of a file below the folder that the run's files lie in.
    pub body_file: Option<String>,
    /// `--body-size`, with its unit.
    pub body_size: Option<String>,
    /// `--ask-first`: how long, or `true`.
    pub ask_first: Option<String>,
    /// `--host`.
    pub host: Option<String>,
    /// Not `--disable-keepalive`; true where it isn't given.
    pub keep_alive: Option<bool>,
    /// `-t`, with its unit.
    pub timeout: Option<String>,
    /// `--connect-timeout`, with its unit.
    pub connect_timeout: Option<String>,
    /// `--first-byte-timeout`, with its unit.
    pub first_byte_timeout: Option<String>,
    /// `--idle-timeout`, with its unit.
    pub idle_timeout: Option<String>,
    /// How TLS is spoken.
    pub tls: QuickTls,
    /// Where connections go and come from.
    pub connect: QuickConnect,
    /// `--drain`, with its unit; where it isn't given, 0 s for a run that a duration ends, else as in plans.
    pub drain: Option<String>,
}

impl QuickPlan {
    /// The users of a command line that names neither users nor a rate.
    pub const DEFAULT_USERS: u64 = 50;
    /// The duration of a command line that names neither a duration nor a number of requests.
    pub const DEFAULT_DURATION: &'static str = "10s";

    /// Makes the plan.
    ///
    /// # Errors
    /// All faults at once, each with its flag for its place.
    pub fn into_plan(self) -> Result<Plan, Faults> {
        let mut faults = Collector::default();
        let root = self.document(&mut faults);
        let plan = plan(&root, &mut faults);
        faults.finish(plan)
    }

    fn document(self, faults: &mut Collector) -> Node {
        let duration =
            self.duration.or_else(|| self.requests.is_none().then(|| Self::DEFAULT_DURATION.to_owned()));
        let drain = self.drain.or_else(|| duration.is_some().then(|| "0s".to_owned()));
        let headers = headers(&self.headers, faults);
        let users = self.users.or_else(|| self.rate.is_none().then_some(Self::DEFAULT_USERS));
        let entries = [
            literal("target", "URL", Some(self.url)),
            text("rate", "--rate", self.rate),
            number("users", "-c", users),
            number("connections", "-c", self.connections),
            number("requests", "-n", self.requests),
            text("duration", "-z", duration),
            text("warmup", "--warmup", self.warmup),
            text("arrivals", "--arrivals", self.arrivals),
            number("max_in_flight", "--max-in-flight", self.max_in_flight),
            text("tolerate", "--tolerate", self.tolerate),
            text("http_version", "--http-version", self.http_version),
            text("method", "-m", self.method),
            Some(entry("headers", "-H", Value::Map(headers))),
            literal("body", "-d", self.body),
            literal("body_file", "-D", self.body_file),
            text("body_size", "--body-size", self.body_size),
            plain("ask_first", "--ask-first", self.ask_first),
            literal("host", "--host", self.host),
            plain("keep_alive", "--disable-keepalive", self.keep_alive.map(|on| on.to_string())),
            text("timeout", "-t", self.timeout),
            text("connect_timeout", "--connect-timeout", self.connect_timeout),
            text("first_byte_timeout", "--first-byte-timeout", self.first_byte_timeout),
            text("idle_timeout", "--idle-timeout", self.idle_timeout),
            text("drain", "--drain", drain),
            section("tls", self.tls.entries()),
            section("connect", self.connect.entries()),
            section("check", [plain("status", "check", self.status)]),
        ];
        node("URL", Value::Map(entries.into_iter().flatten().collect()))
    }
}

/// A text as it is, even where it looks like a template.
fn literal(key: &str, flag: &'static str, text: Option<String>) -> Option<Entry> {
    text.map(|text| entry(key, flag, Value::Text(template::escape(&text))))
}

fn text(key: &str, flag: &'static str, text: Option<String>) -> Option<Entry> {
    text.map(|text| entry(key, flag, Value::Text(text)))
}

fn plain(key: &str, flag: &'static str, text: Option<String>) -> Option<Entry> {
    text.map(|text| entry(key, flag, Value::Plain(text)))
}

/// A mapping of what was given, if anything was; the first flag of it is its place.
fn section(key: &str, entries: impl IntoIterator<Item = Option<Entry>>) -> Option<Entry> {
    let entries: Vec<_> = entries.into_iter().flatten().collect();
    let Place::Flag(flag) = entries.first()?.key_place else { return None };
    Some(entry(key, flag, Value::Map(entries)))
}

fn number(key: &str, flag: &'static str, number: Option<u64>) -> Option<Entry> {
    plain(key, flag, number.map(|number| number.to_string()))
}

/// Header arguments as a mapping; a name that comes more than once gets a list, under its first spelling.
fn headers(arguments: &[String], faults: &mut Collector) -> Vec<Entry> {
    let mut names: Vec<(&str, Vec<Node>)> = Vec::new();
    for argument in arguments {
        let Ok((name, value)) = header(argument, faults) else { continue };
        let value = node("-H", Value::Text(template::escape(value)));
        match names.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, values)) => values.push(value),
            None => names.push((name, vec![value])),
        }
    }
    names.into_iter().map(|(name, values)| entry(name, "-H", Value::List(values))).collect()
}

fn header<'a>(argument: &'a str, faults: &mut Collector) -> Result<(&'a str, &'a str), Told> {
    let (name, value) = argument.split_once(':').ok_or_else(|| {
        let path = FieldPath::root().key("headers");
        let fault = Fault::new(Place::Flag("-H"), &path, "found a header without a colon");
        faults.report(fault.expected("`Name: value`"))
    })?;
    Ok((name, value.trim_matches([' ', '\t'])))
}

fn entry(key: &str, flag: &'static str, value: Value) -> Entry {
    Entry { key: key.to_owned(), key_place: Place::Flag(flag), value: node(flag, value) }
}

fn node(flag: &'static str, value: Value) -> Node {
    Node { place: Place::Flag(flag), value }
}
