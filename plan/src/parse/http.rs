//! How requests and connections are handled: `http`, or its keys at the top.

use super::cursor::Cursor;
use super::fault::{Collector, Told};
use super::headers;
use super::measures::DAY;
use super::section::{Belongs, Keys, Later, Section, later, long_form};
use crate::model::{HttpOptions, Load, MAX_IN_FLIGHT, Model};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The keys of both forms.
pub(super) const KEYS: &[&str] =
    &["keep_alive", "timeout", "connect_timeout", "connections", "number_header"];

/// What both forms will have.
pub(super) const LATER: &[Later] = &[
    Later {
        instead: Some("write `timeout`"),
        ..later("first_byte_timeout", "a time-out for the first byte")
    },
    later("redirects", "following redirects"),
    later("cookies", "cookies"),
];

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
    elsewhere: &[("keepalive", "keep_alive"), ("max_connections", "connections")],
};

const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=DAY;

/// What was read, and where `connections` stands: what it may be, the load decides.
pub(super) struct Http<'n> {
    pub(super) options: HttpOptions,
    pub(super) connections: Option<Cursor<'n>>,
}

pub(super) fn read<'n>(top: &Section<'n>, faults: &mut Collector) -> Result<Http<'n>, Told> {
    match long_form(top, "http", &[KEYS], faults) {
        Some(cursor) => options(&Section::open(cursor, &HTTP, faults)?, faults),
        None => options(top, faults),
    }
}

fn options<'n>(section: &Section<'n>, faults: &mut Collector) -> Result<Http<'n>, Told> {
    let defaults = HttpOptions::default();
    let keep_alive = section.or_default("keep_alive", defaults.keep_alive, |cursor| cursor.boolean(faults));
    let timeout = section.or_default("timeout", defaults.timeout, |cursor| cursor.duration(&TIMEOUT, faults));
    let longest = timeout.unwrap_or(*TIMEOUT.end());
    let connect_timeout =
        section.or_default("connect_timeout", defaults.connect_timeout.min(longest), |cursor| {
            let connect_timeout = cursor.duration(&TIMEOUT, faults)?;
            if connect_timeout > longest {
                let fault = cursor.fault("is longer than `timeout`, so it would never be reached");
                return Err(faults.report(fault));
            }
            Ok(connect_timeout)
        });
    let connections = section.optional("connections", |cursor| cursor.narrow(1..=MAX_IN_FLIGHT, faults));
    let number_header = section.optional("number_header", |cursor| headers::read_name(cursor, faults));
    let options = HttpOptions {
        keep_alive: keep_alive?,
        timeout: timeout?,
        connect_timeout: connect_timeout?,
        connections: connections?,
        number_header: number_header?,
    };
    Ok(Http { options, connections: section.get("connections") })
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
