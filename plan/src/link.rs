//! The vocabulary between decider and doer: what a coordinator tells an agent and what an agent reports.
//!
//! The same messages go over gRPC (see the proto crate) and over channels within one process. Each one may be lost with
//! its connection and sent again, so each one is harmless when it comes twice: orders carry a number, windows a
//! sequence, a wish for a grant says what it already has.
//!
//! Times: `run time` is nanoseconds since the run's start. A `clock` is a process's own monotonic clock, in nanoseconds
//! since an epoch that means nothing to others.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use volley_stats::SealedWindow;

use crate::model::{Adjust, Level};

mod facts;
mod share;

pub use facts::WindowFacts;
pub use share::{Bounds, Hand, Share};

/// The version of this vocabulary. Coordinator and agent must have the same.
pub const PROTOCOL: u32 = 4;

/// How long a lease lasts unless the plan says longer, in nanoseconds.
pub const LEASE_NS: u64 = 3_000_000_000;

/// Over how long the users of a lost agent are begun anew on the others, in nanoseconds.
pub const TAKE_OVER_NS: u64 = 5_000_000_000;

/// How often an agent pings, in nanoseconds.
pub const PING_NS: u64 = 500_000_000;

/// A run's name: short, unique on its coordinator, fit for a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[schema(value_type = String, pattern = "^[A-Za-z0-9-]{1,64}$")]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl TryFrom<String> for RunId {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(&name).ok_or("a run's name is 1 to 64 letters, digits and hyphens")
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> Self {
        run.0
    }
}

impl RunId {
    /// Takes a name of 1 to 64 ASCII letters, digits and hyphens; `None` for anything else.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits =
            (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        fits.then(|| Self(name.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A random number drawn when an agent's process starts: the identity of that process.
///
/// In JSON it is 16 hex digits, since readers of JSON take a number of that size for one near it. What an early version
/// stored as a number is read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[schema(value_type = String, pattern = "^[0-9a-f]{16}$")]
#[serde(from = "WrittenIncarnation", into = "String")]
pub struct Incarnation(pub u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenIncarnation {
    Number(u64),
    Hex(#[serde(deserialize_with = "from_hex")] u64),
}

fn from_hex<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
}

impl From<WrittenIncarnation> for Incarnation {
    fn from(written: WrittenIncarnation) -> Self {
        match written {
            WrittenIncarnation::Number(number) | WrittenIncarnation::Hex(number) => Self(number),
        }
    }
}

impl From<Incarnation> for String {
    fn from(incarnation: Incarnation) -> Self {
        incarnation.to_string()
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What an agent says of itself when it joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The vocabulary that it speaks, see [`PROTOCOL`].
    pub protocol: u32,
    /// The program's version.
    pub version: String,
    /// The process.
    pub incarnation: Incarnation,
    /// The name for people; the host's name unless one was given.
    pub name: String,
    /// Worker threads, one a core unless told otherwise.
    pub workers: u32,
    /// What the agent is called by plans that want only some: `zone` = `eu`.
    pub labels: BTreeMap<String, String>,
    /// How much of a load it should get beside others, where it was told; its workers where not.
    pub weight: Option<u32>,
    /// Requests a second that it was measured to be capable of, where it was.
    pub capacity: Option<u32>,
}

/// One measured round trip, all four times in nanoseconds: agent's clock, coordinator's, coordinator's, agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The ping left the agent (agent's clock).
    pub sent_ns: u64,
    /// It reached the coordinator (coordinator's clock).
    pub received_ns: u64,
    /// The answer left the coordinator (coordinator's clock).
    pub answered_ns: u64,
    /// It reached the agent (agent's clock).
    pub returned_ns: u64,
}

impl RoundTrip {
    /// Time spent on the way, without the coordinator's own.
    #[must_use]
    pub fn way_ns(&self) -> u64 {
        let there_and_back = self.returned_ns.saturating_sub(self.sent_ns);
        there_and_back.saturating_sub(self.answered_ns.saturating_sub(self.received_ns))
    }

    /// The coordinator's clock minus the agent's, as this round trip shows it (NTP's formula, RFC 5905 section 8). Off
    /// by at most half of [`Self::way_ns`].
    #[must_use]
    pub fn offset_ns(&self) -> i64 {
        let there = i128::from(self.received_ns) - i128::from(self.sent_ns);
        let back = i128::from(self.answered_ns) - i128::from(self.returned_ns);
        let middle = (there + back) / 2;
        i64::try_from(middle).unwrap_or(if middle < 0 { i64::MIN } else { i64::MAX })
    }
}

/// How far an agent is with its run, said with each ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The run.
    pub run: RunId,
    /// The highest order such that it and all before it have been taken.
    pub acknowledged: u64,
    /// Run time 0 on the agent's clock, once it knows; a coordinator that was started again has it from here.
    pub start_ns: Option<u64>,
}

/// From agent to coordinator.
#[derive(Clone, Debug, PartialEq)]
pub enum FromAgent {
    /// The first message of each connection.
    Join(Hello),
    /// Sent every [`PING_NS`] and at once when an order was taken, from a thread that load cannot starve.
    Ping {
        /// When it left, agent's clock.
        sent_ns: u64,
        /// The latest whole round trip.
        round_trip: Option<RoundTrip>,
        /// The run at hand.
        progress: Option<Progress>,
        /// It was told to end, and wants to be relieved of its share: what it has begun it finishes and delivers.
        leaving: bool,
    },
    /// Something about a run.
    Report {
        /// The run.
        run: RunId,
        /// The process that measured it, where that was an earlier one whose results this agent found on its disk.
        of: Option<Incarnation>,
        /// What is reported.
        report: Report,
    },
}

/// What an agent reports of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Names are resolved, descriptors are enough, workers stand by.
    Ready,
    /// The agent cannot or will not do its share. In a run that goes on: what the share or the load was changed to, so its
    /// part ends there.
    Refused {
        /// Why, in a sentence.
        reason: String,
    },
    /// The grant is half used up.
    GrantWanted {
        /// The end of the last grant taken, or 0: a wish that was already answered is told by it.
        taken: u64,
        /// Iterations wished for: about one second of work.
        iterations: u64,
    },
    /// Results. The coordinator keeps it, then acknowledges it.
    Window {
        /// Numbered from 1 without gaps by (run, incarnation).
        sequence: u64,
        /// The results. They have come from elsewhere, so nothing is added to others before it is
        /// [checked](SealedWindow::check).
        window: SealedWindow,
        /// Nothing more will come: no request is in flight and none will be sent.
        last: bool,
    },
}

/// From coordinator to agent.
#[derive(Clone, Debug, PartialEq)]
pub enum ToAgent {
    /// The agent has joined.
    Welcome,
    /// The agent may not join; it should not try again as it is.
    Refused {
        /// Why, in a sentence.
        reason: String,
    },
    /// The answer to a ping.
    Pong {
        /// The ping's own time of leaving, to tell which ping this answers.
        sent_ns: u64,
        /// The ping reached the coordinator, coordinator's clock.
        received_ns: u64,
        /// This answer left, coordinator's clock.
        answered_ns: u64,
        /// The lease for the run at hand.
        lease: Option<Lease>,
    },
    /// A numbered order.
    Order {
        /// The run.
        run: RunId,
        /// Numbered from 1 without gaps by (run, incarnation). An order is taken once, in this order.
        number: u64,
        /// The order.
        order: Order,
    },
    /// Windows up to this sequence are kept; the agent may forget them.
    Acknowledge {
        /// The run.
        run: RunId,
        /// The process that measured them, as the report said it.
        of: Option<Incarnation>,
        /// The highest sequence that is kept, with all before it.
        sequence: u64,
    },
}

/// Leave to send: only what is due before `until_ns`, and nothing once that time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// The bound, in run time.
    pub until_ns: u64,
}

/// What a coordinator orders. Saved before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Get ready, say `Ready` or `Refused`, send nothing yet.
    Prepare {
        /// The plan's canonical JSON, to be parsed again.
        plan: String,
        /// Its hash, to be compared.
        hash: String,
        /// This agent's part.
        share: Share,
        /// The seed of everything random in the run.
        seed: u64,
        /// How the load was adjusted so far, in this order: only for an agent that joins a run which goes on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        adjusted: Vec<Adjust>,
    },
    /// Begin: run time 0.
    Start {
        /// When, on the clock of who reads it: the lifecycle says it in the coordinator's, the link turns it into the
        /// agent's. It lies in the past for an agent that joins a run which goes on.
        at_ns: u64,
        /// The share is the agent's for what is due from this run time on: 0 but for an agent that joins later.
        #[serde(default)]
        from_ns: u64,
        /// The first lease, in run time.
        lease_until_ns: u64,
    },
    /// The share is another one for what is due at or after `at_ns`; what is due before belongs to the one before. A lease
    /// reaches beyond `at_ns` only for those who have taken this order, so an order that is lost makes misses, never
    /// doubles.
    Change {
        /// From when on, in run time.
        at_ns: u64,
        /// The whole share from then on.
        share: Share,
        /// The load changes as well: to this, for all agents at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Level>,
        /// Users of the closed model that are new to this agent begin evenly over so many nanoseconds from `at_ns` on.
        over_ns: u64,
    },
    /// Leave to start the iterations numbered `from` to `to` (exclusive).
    Grant {
        /// The first iteration.
        from: u64,
        /// The one after the last.
        to: u64,
        /// No further grant will come.
        last: bool,
    },
    /// Start no iteration that is due at or after `at_ns`, finish requests until `drain_ns` later, cancel the rest.
    Stop {
        /// When, in run time.
        at_ns: u64,
        /// How long requests in flight are waited for, in nanoseconds.
        drain_ns: u64,
    },
    /// The run is over and all is delivered: forget it.
    Release,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_shows_offset_and_way() {
        // The agent's clock is 1,000 behind; 30 each way, 5 at the coordinator.
        let trip = RoundTrip { sent_ns: 100, received_ns: 1130, answered_ns: 1135, returned_ns: 165 };
        assert_eq!((trip.offset_ns(), trip.way_ns()), (1000, 60));
    }

    #[test]
    fn a_round_trip_of_hostile_numbers_does_not_overflow() {
        let trip = RoundTrip { sent_ns: u64::MAX, received_ns: 0, answered_ns: 0, returned_ns: u64::MAX };
        assert_eq!(trip.offset_ns(), i64::MIN);
    }

    #[test]
    fn an_incarnation_is_written_in_hex_and_read_in_either_form() {
        let incarnation = Incarnation(0x00ab_cdef_0123_4567);
        let written = serde_json::to_string(&incarnation).expect("can be written");
        assert_eq!(written, r#""00abcdef01234567""#);
        for text in [written, incarnation.0.to_string()] {
            assert_eq!(serde_json::from_str::<Incarnation>(&text).expect(&text), incarnation);
        }
        serde_json::from_str::<Incarnation>(r#""xyz""#).expect_err("no number");
    }

    #[test]
    fn run_names_fit_a_url() {
        assert!(RunId::new("20261130-a1b2").is_some());
        for bad in ["", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert_eq!(RunId::new(bad), None, "{bad}");
            assert!(serde_json::from_value::<RunId>(bad.into()).is_err(), "{bad}");
        }
    }
}
