//! How requests and connections are handled: `http`, or its keys at the top.

mod connect;
mod host;
mod tls;

use super::cursor::Cursor;
use super::fault::{Collector, Told};
use super::headers;
use super::measures::DAY;
use super::section::{Belongs, Keys, Later, Section, later, long_form};
use crate::model::{HttpOptions, Load, MAX_IN_FLIGHT, Model, Target};
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

/// What both forms will have.
pub(super) const LATER: &[Later] = &[later("redirects", "following redirects"), later("cookies", "cookies")];

/// What other tools call the keys of both forms.
pub(super) const ELSEWHERE: [(&str, &str); 3] =
    [("keepalive", "keep_alive"), ("ssl", "tls"), ("connect_to", "connect")];

const HTTP: Keys = Keys {
    known: &[KEYS],
    later: &[LATER, &[later("version", "HTTP versions other than 1.1")]],
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

/// What was read, and where `connections` stands: what it may be, the load decides.
pub(super) struct Http<'n> {
    pub(super) options: HttpOptions,
    pub(super) connections: Option<Cursor<'n>>,
}

/// How requests to `target`, if that could be read, are handled.
pub(super) fn read<'n>(
    top: &Section<'n>,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Http<'n>, Told> {
    match long_form(top, "http", &[KEYS], faults) {
        Some(cursor) => options(&Section::open(cursor, &HTTP, faults)?, target, faults),
        None => options(top, target, faults),
    }
}

fn options<'n>(
    section: &Section<'n>,
    target: Option<&Target>,
    faults: &mut Collector,
) -> Result<Http<'n>, Told> {
    let defaults = HttpOptions::default();
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
    Ok(Http { options, connections: section.get("connections") })
}

/// A time-out of a part of a request, whose own is `longest`.
fn within(longest: Duration, cursor: &Cursor<'_>, faults: &mut Collector) -> Result<Duration, Told> {
    let timeout = cursor.duration(&TIMEOUT, faults)?;
    if timeout <= longest {
        return Ok(timeout);
    }
    Err(faults.report(cursor.fault("is longer than `timeout`, so it would never be reached")))
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
