//! The agents that a coordinator's process knows: who is connected, who works, and how far their clocks are off.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use volley_lifecycle::AgentFacts;
use volley_plan::link::{Hello, Incarnation, LEASE_NS, RoundTrip};
use volley_plan::{AgentsWanted, ShareBy};

use crate::link::Connection;

/// Round trips that are remembered.
const REMEMBERED: usize = 8;

/// How far an agent's clock is off: what the quickest of the latest round trips says.
#[derive(Clone, Debug, Default)]
struct Offset {
    pings: VecDeque<(u64, u64)>,
    trips: VecDeque<RoundTrip>,
    one_way_ns: Option<i128>,
}

impl Offset {
    fn ping(&mut self, sent_ns: u64, received_ns: u64) {
        let reading = i128::from(received_ns) - i128::from(sent_ns);
        self.one_way_ns = Some(self.one_way_ns.map_or(reading, |best| best.min(reading)));
        self.pings.push_back((sent_ns, received_ns));
        if self.pings.len() > 64 {
            self.pings.pop_front();
        }
    }

    /// Only round trips of pings that came to this process count.
    fn round_trip(&mut self, trip: RoundTrip) {
        if !self.pings.contains(&(trip.sent_ns, trip.received_ns)) || self.trips.back() == Some(&trip) {
            return;
        }
        self.trips.push_back(trip);
        if self.trips.len() > REMEMBERED {
            self.trips.pop_front();
        }
    }

    fn ns(&self) -> Option<i128> {
        let best = self.trips.iter().min_by_key(|trip| trip.way_ns());
        best.map(|trip| i128::from(trip.offset_ns())).or(self.one_way_ns)
    }
}

/// One agent.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) facts: AgentFacts,
    pub(crate) connection: Option<Connection>,
    pub(crate) is_busy: bool,
    /// It is to get no work any more.
    pub(crate) is_leaving: bool,
    offset: Offset,
    heard_ns: u64,
}

impl Member {
    fn is_free(&self, now_ns: u64) -> bool {
        let is_responsive = self.connection.is_some() && now_ns.saturating_sub(self.heard_ns) <= LEASE_NS;
        is_responsive && !self.is_busy && !self.is_leaving
    }

    /// A time of the coordinator's clock on the agent's.
    pub(crate) fn to_agent_ns(&self, coordinator_ns: u64) -> Option<u64> {
        let agent_ns = i128::from(coordinator_ns) - self.offset.ns()?;
        Some(u64::try_from(agent_ns.max(0)).unwrap_or(u64::MAX))
    }

    /// A time of the agent's clock on the coordinator's.
    pub(crate) fn to_coordinator_ns(&self, agent_ns: u64) -> Option<u64> {
        let coordinator_ns = i128::from(agent_ns) + self.offset.ns()?;
        Some(u64::try_from(coordinator_ns.max(0)).unwrap_or(u64::MAX))
    }
}

/// All agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fleet {
    members: BTreeMap<Incarnation, Member>,
}

impl Fleet {
    /// Lets an agent in. A connection that it had before is replaced.
    pub(crate) fn join(&mut self, hello: Hello, connection: Connection, is_busy: bool, now_ns: u64) {
        let Hello { incarnation, name, version, workers, labels, weight, capacity, .. } = hello;
        let facts = AgentFacts { incarnation, name, version, workers, labels, weight, capacity };
        let member = self.members.entry(incarnation).or_insert_with(|| Member {
            facts,
            connection: None,
            is_busy,
            is_leaving: false,
            offset: Offset::default(),
            heard_ns: now_ns,
        });
        (member.connection, member.heard_ns) = (Some(connection), now_ns);
    }

    /// A connection has ended.
    pub(crate) fn left(&mut self, connection: Connection) {
        let mut all = self.members.values_mut();
        if let Some(member) = all.find(|member| member.connection == Some(connection)) {
            member.connection = None;
        }
    }

    /// Whose connection it is.
    pub(crate) fn agent_on(&self, connection: Connection) -> Option<Incarnation> {
        let mut all = self.members.iter();
        all.find(|(_, member)| member.connection == Some(connection)).map(|(&agent, _)| agent)
    }

    pub(crate) fn member(&mut self, agent: Incarnation) -> Option<&mut Member> {
        self.members.get_mut(&agent)
    }

    pub(crate) fn heard(&mut self, agent: Incarnation, now_ns: u64) {
        if let Some(member) = self.members.get_mut(&agent) {
            member.heard_ns = now_ns;
        }
    }

    pub(crate) fn pinged(
        &mut self,
        agent: Incarnation,
        sent_ns: u64,
        received_ns: u64,
        trip: Option<RoundTrip>,
    ) {
        let Some(member) = self.members.get_mut(&agent) else { return };
        member.offset.ping(sent_ns, received_ns);
        if let Some(trip) = trip {
            member.offset.round_trip(trip);
        }
    }

    /// Claims free agents for a run: all that fit but for those that are `known`, `most` at most, if they are `least` or more.
    pub(crate) fn claim(
        &mut self,
        wanted: &AgentsWanted,
        least: usize,
        most: usize,
        known: &BTreeSet<Incarnation>,
        now_ns: u64,
    ) -> Vec<AgentFacts> {
        let fits = |member: &Member| {
            let is_measured = wanted.share_by != ShareBy::Capacity || member.facts.capacity.is_some();
            member.is_free(now_ns) && is_measured && !known.contains(&member.facts.incarnation)
        };
        if self.members.values().filter(|member| fits(member)).count() < least.max(1) {
            return Vec::new();
        }
        let claimed = self.members.values_mut().filter(|member| fits(member)).take(most);
        claimed
            .map(|member| {
                member.is_busy = true;
                member.facts.clone()
            })
            .collect()
    }
}
