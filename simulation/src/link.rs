//! The ways between hosts and the coordinator. A connection keeps the order of what it carries; it is slow, it breaks and
//! what was on its way is lost or still comes, and what is sent while the way is cut comes late.

use std::collections::BTreeSet;

use crate::random::Random;
use crate::scenario::Host;

const MS: u64 = 1_000_000;

/// The number of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Connection(pub(crate) u64);

/// The way between one host and the coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    least_ms: u64,
    most_ms: u64,
    cut_until_ns: u64,
    slow_until_ns: u64,
    slow_by_ms: u64,
    /// When the latest message of the present connection arrives, up and down.
    up_ns: u64,
    down_ns: u64,
    /// Connections of which nothing arrives any more.
    dead: BTreeSet<Connection>,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Way {
    pub(crate) fn new(host: &Host) -> Self {
        Self {
            least_ms: host.way_ms.0,
            most_ms: host.way_ms.1,
            cut_until_ns: 0,
            slow_until_ns: 0,
            slow_by_ms: 0,
            up_ns: 0,
            down_ns: 0,
            dead: BTreeSet::new(),
        }
    }

    pub(crate) fn cut(&mut self, until_ns: u64) {
        self.cut_until_ns = self.cut_until_ns.max(until_ns);
    }

    pub(crate) fn slow(&mut self, until_ns: u64, by_ms: u64) {
        (self.slow_until_ns, self.slow_by_ms) = (until_ns, by_ms);
    }

    pub(crate) fn is_cut(&self, now_ns: u64) -> bool {
        now_ns < self.cut_until_ns
    }

    /// A new connection has nothing on its way.
    pub(crate) fn opened(&mut self) {
        (self.up_ns, self.down_ns) = (0, 0);
    }

    /// Nothing of this connection arrives any more.
    pub(crate) fn kill(&mut self, connection: Connection) {
        self.dead.insert(connection);
    }

    pub(crate) fn is_dead(&self, connection: Connection) -> bool {
        self.dead.contains(&connection)
    }

    /// When a message that is sent now arrives, if its connection lasts.
    pub(crate) fn arrival_ns(&mut self, now_ns: u64, direction: Direction, random: &mut Random) -> u64 {
        let slow_ms = if now_ns < self.slow_until_ns { self.slow_by_ms } else { 0 };
        // Mostly near the least, sometimes near the most.
        let span_ns = (self.most_ms - self.least_ms) * MS + 1;
        let extra_ns =
            random.within(0..span_ns).min(random.within(0..span_ns)).min(random.within(0..span_ns));
        let sent_ns = now_ns.max(self.cut_until_ns);
        let arrival_ns = sent_ns + (self.least_ms + slow_ms) * MS + extra_ns;
        let latest_ns = match direction {
            Direction::Up => &mut self.up_ns,
            Direction::Down => &mut self.down_ns,
        };
        *latest_ns = (*latest_ns).max(arrival_ns);
        *latest_ns
    }
}
