//! What is said over one connection, and in which order: plain code, without clock and without I/O. So it serves a
//! simulation as it serves [`Agent`](crate::Agent): whoever drives it brings the clock, the connection, the engine (see
//! [`Launch`]) and the disk (see [`Job`]), and asks in turn:
//!
//! - [`Session::connected`] for each connection, then [`Session::say`] while [`Session::has_to_say`], and [`Session::hear`];
//! - [`Session::beat`] every [`PING_NS`](volley_plan::link::PING_NS);
//! - [`Runs::hear`] with what the engine tells, [`Runs::abandon`] when there was no contact for too long;
//! - [`Runs::next_job`] while the disk has room, and [`Runs::answer`] with what it answers.
//!
//! Nothing waits in a queue: what is to be said is worked out when there is room to say it, pings first. So a slow link
//! delays reports, never pings.

use volley_plan::link::{FromAgent, Hello, RoundTrip, ToAgent};

pub use crate::disk::{Answer, Job, Numbered, Source};
pub use crate::launch::{Launch, Launched, Loops};
pub use crate::runs::{Means, Runs};

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
pub struct Session {
    hello: Hello,
    connection: Connection,
    /// It was told to end, and says so with each ping.
    leaving: bool,
    /// What it works on.
    pub runs: Runs,
}

impl Session {
    /// A session that has no connection yet.
    #[must_use]
    pub fn new(hello: Hello, runs: Runs) -> Self {
        Self { hello, connection: Connection::new(0), leaving: false, runs }
    }

    /// What this agent says of itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// A new connection begins. What may have been lost with the last one is said again.
    pub fn connected(&mut self, now_ns: u64) {
        self.connection = Connection::new(now_ns);
        self.runs.reconnected();
    }

    /// True once the coordinator has let this agent join over the present connection.
    #[must_use]
    pub fn is_welcome(&self) -> bool {
        self.connection.joining == Joining::Welcome
    }

    /// Asks to be relieved, since the agent is about to end: takes no further run, and goes on with the one at hand until
    /// the coordinator ends it.
    pub fn leave(&mut self) {
        self.leaving = true;
        self.connection.ping_due |= self.is_welcome();
        self.runs.leave();
    }

    /// Takes what the coordinator says. Gives back the reason if it refuses this agent.
    pub fn hear(&mut self, now_ns: u64, message: ToAgent) -> Option<String> {
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
            ToAgent::Acknowledge { run, of, sequence } => self.runs.acknowledge(run, of, sequence),
        }
        None
    }

    /// Another ping interval has gone by. False if the connection must be taken for dead.
    pub fn beat(&mut self) -> bool {
        self.connection.silent_beats += 1;
        self.runs.beat();
        self.connection.ping_due |= self.is_welcome();
        self.connection.silent_beats < MAX_SILENT_BEATS
    }

    /// True if [`Self::say`] has something.
    #[must_use]
    pub fn has_to_say(&self) -> bool {
        match self.connection.joining {
            Joining::Due => true,
            Joining::Asked => false,
            Joining::Welcome => self.connection.ping_due || self.runs.has_report(),
        }
    }

    /// What is to be said next, stamped now.
    pub fn say(&mut self, now_ns: u64) -> Option<FromAgent> {
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
                let (progress, leaving) = (self.runs.progress(), self.leaving);
                Some(FromAgent::Ping { sent_ns: now_ns, round_trip, progress, leaving })
            }
            Joining::Welcome => self.runs.next_report(),
        }
    }
}

#[cfg(test)]
mod tests;
