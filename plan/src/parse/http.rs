//! How requests and connections are handled: `http`, or its keys at the top.

mod connect;
mod host;
mod tls;

use super::cursor::{Cursor, Wrong};
use super::fault::{Collector, Told};
use super::headers;
use super::measures::DAY;
use super::section::{Belongs, Keys, Later, Section, later, long_form};
use crate::model::{HttpOptions, HttpVersion, Load, MAX_IN_FLIGHT, Model, Scenario, Target};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The keys of both forms.
pub(super) const KEYS: &[&str] = &[
    "keep_alive",
    "timeout",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "connections",
    "number_header",
    "host",
    "tls",
    "connect",
];

/// The key of the short form alone: at the top of a plan `version` is the plan's own.
pub(super) const SHORT: &[&str] = &["http_version"];

/// What both forms will have.
pub(super) const LATER: &[Later] = &[later("redirects", "following redirects"), later("cookies", "cookies")];

/// What other tools call the keys of both forms.
pub(super) const ELSEWHERE: [(&str, &str); 3] =
    [("keepalive", "keep_alive"), ("ssl", "tls"), ("connect_to", "connect")];

const HTTP: Keys = Keys {
    known: &[KEYS, &["version"]],
    later: &[LATER],
    belongs: &[
        Belongs {
            key: "headers",
            under: "headers",
            hint: "write it under a step, or at the top of a plan of one request",
        },
        Belongs {
            key: "max_in_flight",
            under: "max_in_flight",
            hint: "write it with the load: under `load`, or at the top",
        },
    ],
    elsewhere: &[ELSEWHERE[0], ELSEWHERE[1], ELSEWHERE[2], ("max_connections", "connections")],
};

const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;

/// What was read, and where those stand that other sections have a say in.
pub(super) struct Http<'n> {
    pub(super) options: HttpOptions,
    pub(super) version: Option<Cursor<'n>>,
    pub(super) connections: Option<Cursor<'n>>,
}

/// How requests to `target`, if that could be read, are handled.
pub(super) fn read<'n>(
    top: &Section<'n>,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Http<'n>, Told> {
    match long_form(top, "http", &[KEYS, SHORT], faults) {
        Some(cursor) => options(&Section::open(cursor, &HTTP, faults)?, "version", target, faults),
        None => options(top, SHORT[0], target, faults),
    }
}

fn options<'n>(
    section: &Section<'n>,
    version: &'static str,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Http<'n>, Told> {
    let defaults = HttpOptions::default();
    let version_read = section.or_default(version, defaults.version, |cursor| cursor.http_version(faults));
    let keep_alive = section.or_default("keep_alive", defaults.keep_alive, |cursor| cursor.boolean(faults));
    let timeout = section.or_default("timeout", defaults.timeout, |cursor| cursor.duration(&TIMEOUT, faults));
    let longest = timeout.unwrap_or(*TIMEOUT.end());
    let connect_timeout =
        section.or_default("connect_timeout", defaults.connect_timeout.min(longest), |cursor| {
            within(longest, cursor, faults)
        });
    let first_byte = section.optional("first_byte_timeout", |cursor| within(longest, cursor, faults));
    let idle = section.optional("idle_timeout", |cursor| within(longest, cursor, faults));
    let connections = section.optional("connections", |cursor| cursor.narrow(1..=MAX_IN_FLIGHT, faults));
    let number_header = section.optional("number_header", |cursor| headers::read_name(cursor, faults));
    let host = section.optional("host", |cursor| host::read(cursor, faults));
    let tls = tls::read(section, target, faults);
    let connect = connect::read(section, target, faults);
    let options = HttpOptions {
        version: version_read?,
        keep_alive: keep_alive?,
        timeout: timeout?,
        connect_timeout: connect_timeout?,
        first_byte_timeout: first_byte?,
        idle_timeout: idle?,
        connections: connections?,
        number_header: number_header?,
        host: host?,
        tls: tls?,
        connect: connect?,
    };
    Ok(Http { options, version: section.get(version), connections: section.get("connections") })
}

/// A time-out of a part of a request, whose own is `longest`.
fn within(longest: Duration, cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Duration, Told> {
    let timeout = cursor.duration(&TIMEOUT, faults)?;
    if timeout <= longest {
        return Ok(timeout);
    }
    Err(faults.report(cursor.fault("is longer than `timeout`, so it would never be reached")))
}

/// Whether what the scenarios send can be sent in the version.
pub(super) fn check_version(
    http: &Http<'_>,
    scenarios: &[Scenario],
    faults: &mut Collector,
) -> Result<(), Told> {
    let mut requests = scenarios.iter().flat_map(Scenario::requests);
    match &http.version {
        Some(cursor) if http.options.version == HttpVersion::V1_0 => {
            if requests.all(|request| request.ask_first.is_none()) {
                return Ok(());
            }
            let fault = cursor.fault("found 1.0 beside `ask_first`, for which it has no word");
            Err(faults.report(fault.expected("1.1, or no `ask_first`")))
        }
        _ => Ok(()),
    }
}

/// Whether the load has a use for a bound on connections.
pub(super) fn check_connections(http: &Http<'_>, load: &Load, faults: &mut Collector) -> Result<(), Told> {
    let (Some(cursor), Some(connections)) = (&http.connections, http.options.connections) else {
        return Ok(());
    };
    let fault = match &load.model {
        Model::Closed(_) => cursor
            .fault("found a bound on connections beside users")
            .expected("none, since each user has a connection of its own"),
        Model::Open(open) if connections > open.max_in_flight => cursor
            .fault(format!("found {connections} connections for {} iterations in flight", open.max_in_flight))
            .expected("no more than `max_in_flight`"),
        Model::Open(_) => return Ok(()),
    };
    Err(faults.report(fault))
}

impl Cursor<'_> {
    fn http_version(&self, faults: &mut Collector) -> Result<HttpVersion, Told> {
        let read = |text: &str| {
            let found = HttpVersion::ALL.into_iter().find(|version| version.name() == text);
            let later = matches!(text, "2" | "3" | "2.0" | "3.0" | "auto");
            let hint =
                later.then(|| "this version does not have HTTP versions other than these yet".to_owned());
            found.ok_or_else(|| Wrong::default().hint(hint))
        };
        self.measure("`1.0` or `1.1`", read, faults)
    }
}
