//! What is said over one connection, and in which order: plain code, without clock and without I/O.
//!
//! Nothing waits in a queue: what is to be said is worked out when there is room to say it, pings first. So a slow link
//! delays reports, never pings.

use volley_plan::link::{FromAgent, Hello, RoundTrip, ToAgent};

use crate::runs::Runs;

/// Pings that are sent back to back on a new connection, so that the coordinator can judge the clocks at once.
const FIRST_PINGS: u32 = 3;
/// After so many ping intervals without a word the connection is taken for dead.
const MAX_SILENT_BEATS: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joining {
    /// `Join` is to be said.
    Due,
    /// It was said.
    Asked,
    /// The coordinator agreed.
    Welcome,
}

/// The state of one connection.
#[derive(Debug)]
struct Connection {
    joining: Joining,
    since_ns: u64,
    ping_due: bool,
    pings: u32,
    /// Measured and not yet told.
    round_trip: Option<RoundTrip>,
    silent_beats: u32,
}

impl Connection {
    fn new(now_ns: u64) -> Self {
        Self {
            joining: Joining::Due,
            since_ns: now_ns,
            ping_due: false,
            pings: 0,
            round_trip: None,
            silent_beats: 0,
        }
    }

    /// Makes a round trip of a pong. One that answers no ping of this connection tells nothing.
    fn pong(&mut self, sent_ns: u64, received_ns: u64, answered_ns: u64, returned_ns: u64) {
        if (self.since_ns..=returned_ns).contains(&sent_ns) {
            self.round_trip = Some(RoundTrip { sent_ns, received_ns, answered_ns, returned_ns });
        }
        self.ping_due |= self.pings < FIRST_PINGS;
    }
}

/// An agent's side of the link.
pub(crate) struct Session {
    hello: Hello,
    connection: Connection,
    pub(crate) runs: Runs,
}

impl Session {
    pub(crate) fn new(hello: Hello, runs: Runs) -> Self {
        Self { hello, connection: Connection::new(0), runs }
    }

    pub(crate) fn hello(&self) -> &Hello {
        &self.hello
    }

    /// A new connection begins. What may have been lost with the last one is said again.
    pub(crate) fn connected(&mut self, now_ns: u64) {
        self.connection = Connection::new(now_ns);
        self.runs.reconnected();
    }

    /// True once the coordinator has let this agent join over the present connection.
    fn is_welcome(&self) -> bool {
        self.connection.joining == Joining::Welcome
    }

    /// Takes what the coordinator says. Gives back the reason if it refuses this agent.
    pub(crate) fn hear(&mut self, now_ns: u64, message: ToAgent) -> Option<String> {
        self.connection.silent_beats = 0;
        match message {
            ToAgent::Refused { reason } => return Some(reason),
            ToAgent::Welcome => {
                self.connection.joining = Joining::Welcome;
                self.connection.ping_due = true;
            }
            message if !self.is_welcome() => {
                tracing::debug!(?message, "the coordinator spoke before it let the agent join; ignored");
            }
            ToAgent::Pong { sent_ns, received_ns, answered_ns, lease } => {
                self.connection.pong(sent_ns, received_ns, answered_ns, now_ns);
                if let Some(lease) = lease {
                    self.runs.lease(&lease);
                }
            }
            // A ping acknowledges it: leases past an order are given only to those who know it.
            ToAgent::Order { run, number, order } => {
                self.connection.ping_due |= self.runs.order(&run, number, order);
            }
            ToAgent::Acknowledge { run, sequence } => self.runs.acknowledge(&run, sequence),
        }
        None
    }

    /// Another ping interval has gone by. False if the connection must be taken for dead.
    pub(crate) fn beat(&mut self) -> bool {
        self.connection.silent_beats += 1;
        self.connection.ping_due |= self.is_welcome();
        self.connection.silent_beats < MAX_SILENT_BEATS
    }

    /// True if [`Self::say`] has something.
    pub(crate) fn has_to_say(&self) -> bool {
        match self.connection.joining {
            Joining::Due => true,
            Joining::Asked => false,
            Joining::Welcome => self.connection.ping_due || self.runs.has_report(),
        }
    }

    /// What is to be said next, stamped now.
    pub(crate) fn say(&mut self, now_ns: u64) -> Option<FromAgent> {
        let connection = &mut self.connection;
        match connection.joining {
            Joining::Due => {
                connection.joining = Joining::Asked;
                Some(FromAgent::Join(self.hello.clone()))
            }
            Joining::Asked => None,
            Joining::Welcome if connection.ping_due => {
                connection.ping_due = false;
                connection.pings = connection.pings.saturating_add(1);
                let round_trip = connection.round_trip.take();
                Some(FromAgent::Ping { sent_ns: now_ns, round_trip, progress: self.runs.progress() })
            }
            Joining::Welcome => self.runs.next_report(),
        }
    }
}

#[cfg(test)]
mod tests;
