//! The agents that this coordinator knows: who is connected, who is idle, who works for which run, and how far their
//! clocks are off. Pure but for the channels that lead to the agents; time is an argument.

use std::collections::BTreeMap;

use tokio::sync::{mpsc, oneshot};
use volley_lifecycle::AgentFacts;
use volley_plan::link::{Hello, Incarnation, RoundTrip, RunId, ToAgent};

mod claim;
mod greeting;
mod member;
#[cfg(test)]
mod tests;

pub(crate) use claim::Strength;
pub(crate) use greeting::Refusal;
pub(crate) use member::AgentView;

use member::{Duty, Link, Member};

/// The version of this program, which agents must share.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Most agents at a time.
pub(crate) const MAX_AGENTS: usize = 1_000;
/// How long an agent that is gone stays in the list.
const REMEMBERED_NS: u64 = 600_000_000_000;

/// A connection that was let in.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Tells it from earlier ones of the same agent.
    pub(crate) number: u64,
    /// Resolves when the connection is to end.
    pub(crate) closed: oneshot::Receiver<()>,
}

/// All agents, by incarnation.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    members: BTreeMap<Incarnation, Member>,
    /// Agents that work for a run, and have not joined since this coordinator was started.
    expected: BTreeMap<Incarnation, RunId>,
    connections: u64,
}

impl Fleet {
    /// Lets an agent in. The same incarnation joining again replaces its older connection and keeps its duty.
    ///
    /// # Errors
    /// [`Refusal`] says why not.
    pub(crate) fn join(
        &mut self,
        hello: Hello,
        to: mpsc::Sender<ToAgent>,
        now_ns: u64,
    ) -> Result<Connection, Refusal> {
        greeting::check(&hello)?;
        self.forget_gone(now_ns);
        self.make_room(hello.incarnation)?;
        let facts = facts(hello);
        let incarnation = facts.incarnation;
        self.connections += 1;
        let (open, closed) = oneshot::channel();
        let link = Link { connection: self.connections, to, _open: open };
        let duty = self.expected.remove(&incarnation).map_or(Duty::Idle, Duty::Busy);
        let new = || Member::new(facts.clone(), duty, now_ns);
        let member = self.members.entry(incarnation).or_insert_with(new);
        (member.facts, member.link, member.heard_ns) = (facts, Some(link), now_ns);
        Ok(Connection { number: self.connections, closed })
    }

    fn forget_gone(&mut self, now_ns: u64) {
        self.members.retain(|_, member| {
            member.link.is_some() || now_ns.saturating_sub(member.heard_ns) < REMEMBERED_NS
        });
    }

    /// Those that are gone make room for those that come, the longest gone first.
    fn make_room(&mut self, incarnation: Incarnation) -> Result<(), Refusal> {
        if self.members.len() < MAX_AGENTS || self.members.contains_key(&incarnation) {
            return Ok(());
        }
        let gone = self.members.iter().filter(|(_, member)| member.link.is_none());
        let longest = gone.min_by_key(|(_, member)| member.heard_ns).map(|(&incarnation, _)| incarnation);
        self.members.remove(&longest.ok_or(Refusal::Full)?);
        Ok(())
    }

    /// Notes the end of a connection, unless a newer one has replaced it.
    pub(crate) fn leave(&mut self, agent: Incarnation, connection: u64) {
        if let Some(member) = self.members.get_mut(&agent)
            && member.link.as_ref().is_some_and(|link| link.connection == connection)
        {
            member.link = None;
        }
    }

    /// Notes a sign of life; true if it had been silent for so long that it was given no run.
    pub(crate) fn heard(&mut self, agent: Incarnation, now_ns: u64) -> bool {
        let Some(member) = self.members.get_mut(&agent) else { return false };
        let was_responsive = member.is_responsive(now_ns);
        member.heard_ns = now_ns;
        !was_responsive && member.is_responsive(now_ns)
    }

    /// Notes what a ping says of the agent's clock.
    pub(crate) fn pinged(
        &mut self,
        agent: Incarnation,
        sent_ns: u64,
        received_ns: u64,
        trip: Option<RoundTrip>,
    ) {
        if let Some(member) = self.members.get_mut(&agent) {
            member.offset.ping(sent_ns, received_ns);
            if let Some(trip) = trip {
                member.offset.round_trip(trip);
            }
        }
    }

    /// Sends a message, without waiting. An agent that lets its messages pile up is cut off: it comes back, and
    /// gets what it missed. False if the message went nowhere.
    pub(crate) fn send(&mut self, agent: Incarnation, message: ToAgent) -> bool {
        let Some(member) = self.members.get_mut(&agent) else { return false };
        let Some(link) = &member.link else { return false };
        let Err(error) = link.to.try_send(message) else { return true };
        if matches!(error, mpsc::error::TrySendError::Full(_)) {
            tracing::warn!(agent = %member.facts.name, incarnation = %agent, "agent reads too slowly: connection cut");
        }
        member.link = None;
        false
    }

    /// Cuts an agent's connection.
    pub(crate) fn cut(&mut self, agent: Incarnation) {
        if let Some(member) = self.members.get_mut(&agent) {
            member.link = None;
        }
    }

    /// Cuts every connection.
    pub(crate) fn cut_all(&mut self) {
        for member in self.members.values_mut() {
            member.link = None;
        }
    }

    /// A time of the coordinator's clock on an agent's; `None` while its clock is unknown.
    pub(crate) fn to_agent_ns(&self, agent: Incarnation, coordinator_ns: u64) -> Option<u64> {
        self.members.get(&agent)?.offset.to_agent_ns(coordinator_ns)
    }

    /// A time of an agent's clock on the coordinator's; `None` while its clock is unknown.
    pub(crate) fn to_coordinator_ns(&self, agent: Incarnation, agent_ns: u64) -> Option<u64> {
        self.members.get(&agent)?.offset.to_coordinator_ns(agent_ns)
    }

    /// One agent.
    pub(crate) fn view(&self, agent: Incarnation, now_ns: u64) -> Option<AgentView> {
        self.members.get(&agent).map(|member| member.view(now_ns))
    }

    /// All agents, by name.
    pub(crate) fn list(&mut self, now_ns: u64) -> Vec<AgentView> {
        self.forget_gone(now_ns);
        let mut list: Vec<_> = self.members.values().map(|member| member.view(now_ns)).collect();
        list.sort_by(|a, b| (&a.facts.name, a.facts.incarnation).cmp(&(&b.facts.name, b.facts.incarnation)));
        list
    }
}

fn facts(hello: Hello) -> AgentFacts {
    let Hello { incarnation, name, version, workers, labels, weight, capacity, .. } = hello;
    AgentFacts { incarnation, name, version, workers, labels, weight, capacity }
}
