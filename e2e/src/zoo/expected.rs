//! What a visit must come to, in numbers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How a request ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    /// With an answer.
    Answer { status: u16, body_bytes: u64 },
    /// With an answer that isn't what was asked for.
    Disappointment { kind: &'static str, status: u16, body_bytes: u64 },
    /// Without a whole answer.
    Error(&'static str),
}

/// What must come of a visit. What is `None` follows from the rest.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// How requests end, and how many of them so; `None` for all that are left.
    pub(super) ends: Vec<(End, Option<u64>)>,
    /// Whether any status is ok.
    pub(super) allowed: bool,
    pub(super) one_connection_each: bool,
    pub(super) connections: Option<RangeInclusive<u64>>,
    pub(super) requests: Option<RangeInclusive<u64>>,
    /// Full ones and resumed ones.
    pub(super) handshakes: Option<(u64, u64)>,
}

/// The sums over all requests of a visit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) ok: u64,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) body_bytes: u64,
}

impl Expected {
    pub(super) fn answers(status: u16, body_bytes: u64) -> Self {
        Self {
            ends: vec![(End::Answer { status, body_bytes }, None)],
            allowed: false,
            one_connection_each: false,
            connections: None,
            requests: None,
            handshakes: None,
        }
    }

    /// How many requests end how, of so many.
    pub(super) fn counted(&self, requests: u64) -> impl Iterator<Item = (End, u64)> {
        let named: u64 = self.ends.iter().filter_map(|(_, count)| *count).sum();
        let rest = requests.saturating_sub(named);
        self.ends.iter().map(move |(end, count)| (*end, count.unwrap_or(rest)))
    }

    /// The sums over so many requests.
    pub(super) fn sums(&self, requests: u64) -> Sums {
        let mut sums = Sums::default();
        for (end, count) in self.counted(requests) {
            match end {
                End::Answer { status, body_bytes } => {
                    sums.answered(status, body_bytes, count);
                    if self.allowed || status < 400 { sums.ok += count } else { sums.failed("status", count) }
                }
                End::Disappointment { kind, status, body_bytes } => {
                    sums.answered(status, body_bytes, count);
                    sums.failed(kind, count);
                }
                End::Error(kind) => sums.failed(kind, count),
            }
        }
        sums
    }

    /// How many connections the server must count for so many requests.
    pub(super) fn connections(&self, requests: u64) -> RangeInclusive<u64> {
        let each = if self.one_connection_each { requests } else { 1 };
        self.connections.clone().unwrap_or(each..=each)
    }

    /// How many requests the server must count of so many.
    pub(super) fn requests(&self, requests: u64) -> RangeInclusive<u64> {
        self.requests.clone().unwrap_or(requests..=requests)
    }
}

impl Sums {
    fn answered(&mut self, status: u16, body_bytes: u64, count: u64) {
        *self.statuses.entry(status).or_default() += count;
        self.body_bytes += body_bytes * count;
    }

    fn failed(&mut self, kind: &str, count: u64) {
        *self.errors.entry(kind.to_owned()).or_default() += count;
    }
}
