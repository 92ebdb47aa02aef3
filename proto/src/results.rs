//! Windows, and the scalars of their seconds.

use std::collections::BTreeMap;

use prost::Message;
use volley_stats::{
    AddressCounts, Addresses, Iterations, MAX_ADDRESSES, RowKey, SealedRow, SealedWindow, Second,
};

use crate::fields::{delimit, undelimit, within, within_u32};
use crate::limits::{
    MAX_ADDRESS_BYTES, MAX_COUNT, MAX_GAUGE, MAX_OPENED_BYTES, MAX_ROWS, MAX_RUN_NS, MAX_SECOND_S,
    MAX_SECONDS,
};
use crate::row::opened_bytes;
use crate::{WireError, v1};

impl From<SealedWindow> for v1::Window {
    fn from(window: SealedWindow) -> Self {
        Self {
            rows: delimit(window.rows.into_iter().map(v1::Row::from)),
            seconds: delimit(window.seconds.into_iter().map(v1::Second::from)),
            health: delimit(window.health.into_iter().map(v1::Health::from)),
            watermark_s: window.watermark_s,
            latest_ns: window.latest_ns,
            addresses: window.addresses.iter().map(v1::AddressCounts::from).collect(),
        }
    }
}

impl TryFrom<v1::Window> for SealedWindow {
    type Error = WireError;

    fn try_from(wire: v1::Window) -> Result<Self, WireError> {
        Ok(Self {
            rows: rows(&wire.rows)?,
            seconds: by_second::<v1::Second, _>(&wire.seconds, "Window.seconds")?,
            health: by_second::<v1::Health, _>(&wire.health, "Window.health")?,
            watermark_s: within_u32(wire.watermark_s, 0, MAX_SECOND_S, "Window.watermark_s")?,
            latest_ns: within(wire.latest_ns, 0, MAX_RUN_NS, "Window.latest_ns")?,
            addresses: addresses(&wire.addresses)?,
        })
    }
}

impl From<(&str, &AddressCounts)> for v1::AddressCounts {
    fn from((address, counts): (&str, &AddressCounts)) -> Self {
        let AddressCounts { connections, failures, requests } = *counts;
        Self { address: address.to_owned(), connections, failures, requests }
    }
}

/// In the order of their texts, so that none comes twice.
fn addresses(wire: &[v1::AddressCounts]) -> Result<Addresses, WireError> {
    let count = |value, field| within(value, 0, MAX_COUNT, field);
    within(wire.len() as u64, 0, MAX_ADDRESSES as u64 + 1, "Window.addresses")?;
    let mut addresses = Addresses::default();
    let mut before = "";
    for counts in wire {
        within(counts.address.len() as u64, 1, MAX_ADDRESS_BYTES, "AddressCounts.address")?;
        if counts.address.as_str() <= before {
            return Err(WireError::Repeated { field: "AddressCounts.address" });
        }
        before = &counts.address;
        let told = AddressCounts {
            connections: count(counts.connections, "AddressCounts.connections")?,
            failures: count(counts.failures, "AddressCounts.failures")?,
            requests: count(counts.requests, "AddressCounts.requests")?,
        };
        addresses.add(&counts.address, &told);
    }
    Ok(addresses)
}

fn rows(bytes: &[u8]) -> Result<BTreeMap<RowKey, SealedRow>, WireError> {
    let mut rows = BTreeMap::new();
    let mut opened = 0;
    for wire in undelimit::<v1::Row>(bytes, MAX_ROWS, "Window.rows") {
        let wire = wire?;
        opened += opened_bytes(&wire);
        if opened > MAX_OPENED_BYTES {
            let field = "Window.rows, opened,";
            return Err(WireError::TooLong { field, bytes: opened, most: MAX_OPENED_BYTES });
        }
        let (key, row) = wire.try_into()?;
        if rows.insert(key, row).is_some() {
            return Err(WireError::Repeated { field: "Window.rows" });
        }
    }
    Ok(rows)
}

/// What is told of each second: some of them, each once.
fn by_second<M, T>(bytes: &[u8], field: &'static str) -> Result<BTreeMap<u32, T>, WireError>
where
    M: Message + Default,
    (u32, T): TryFrom<M, Error = WireError>,
{
    let mut seconds = BTreeMap::new();
    for wire in undelimit::<M>(bytes, MAX_SECONDS, field) {
        let (second, told) = wire?.try_into()?;
        if seconds.insert(second, told).is_some() {
            return Err(WireError::Repeated { field });
        }
    }
    Ok(seconds)
}

impl From<(u32, Second)> for v1::Second {
    fn from((second, scalars): (u32, Second)) -> Self {
        let Second { iterations, warmup, users, in_flight, connections } = scalars;
        Self {
            second,
            started: iterations.started,
            finished: iterations.finished,
            missed: iterations.missed,
            users,
            in_flight,
            connections,
            warmup_started: warmup.started,
            warmup_finished: warmup.finished,
            warmup_missed: warmup.missed,
        }
    }
}

impl TryFrom<v1::Second> for (u32, Second) {
    type Error = WireError;

    fn try_from(wire: v1::Second) -> Result<Self, WireError> {
        let count = |value, field| within(value, 0, MAX_COUNT, field);
        let gauge = |value, field| within_u32(value, 0, MAX_GAUGE, field);
        let second = within_u32(wire.second, 0, MAX_SECOND_S - 1, "Second.second")?;
        let scalars = Second {
            iterations: Iterations {
                started: count(wire.started, "Second.started")?,
                finished: count(wire.finished, "Second.finished")?,
                missed: count(wire.missed, "Second.missed")?,
            },
            warmup: Iterations {
                started: count(wire.warmup_started, "Second.warmup_started")?,
                finished: count(wire.warmup_finished, "Second.warmup_finished")?,
                missed: count(wire.warmup_missed, "Second.warmup_missed")?,
            },
            users: gauge(wire.users, "Second.users")?,
            in_flight: gauge(wire.in_flight, "Second.in_flight")?,
            connections: gauge(wire.connections, "Second.connections")?,
        };
        Ok((second, scalars))
    }
}
