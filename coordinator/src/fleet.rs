//! The agents that this coordinator knows: who is connected, who is idle, who works for which run, and how far their
//! clocks are off. Pure but for the channels that lead to the agents; time is an argument.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use volley_lifecycle::AgentFacts;
use volley_plan::link::{Hello, Incarnation, LEASE_NS, PROTOCOL, RoundTrip, RunId, ToAgent};
use volley_proto::limits::{MAX_NAME_BYTES, MAX_WORKERS};

use crate::offset::ClockOffset;

#[cfg(test)]
mod tests;

/// The version of this program, which agents must share.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Most agents at a time.
pub(crate) const MAX_AGENTS: usize = 1_000;
/// An agent that was not heard for this long gets no run; it may be hung, and a run would wait for it.
const RESPONSIVE_NS: u64 = LEASE_NS;
/// How long an agent that is gone stays in the list.
const REMEMBERED_NS: u64 = 600_000_000_000;

/// Why an agent may not join.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It speaks another vocabulary, or is another build of it.
    #[error(
        "agent {name} speaks protocol {protocol} (volley {version}), this coordinator protocol {PROTOCOL} (volley \
         {VERSION}); install the same version on both"
    )]
    Version { name: String, protocol: u32, version: String },
    /// A field of its greeting is out of bounds.
    #[error("the agent's {field} must be 1 to {most}")]
    Field { field: &'static str, most: usize },
    /// There are too many.
    #[error("this coordinator has {MAX_AGENTS} agents already, the most it takes")]
    Full,
}

/// What an agent is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// Free for a run.
    Idle,
    /// Takes part in this run, connected or not.
    Busy(RunId),
}

/// The way to an agent. Dropping it ends the connection.
#[derive(Debug)]
struct Link {
    connection: u64,
    to: mpsc::Sender<ToAgent>,
    /// Never sent on: the connection's task ends when it is dropped.
    _open: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Member {
    facts: AgentFacts,
    link: Option<Link>,
    duty: Duty,
    offset: ClockOffset,
    heard_ns: u64,
}

impl Member {
    fn is_responsive(&self, now_ns: u64) -> bool {
        self.link.is_some() && now_ns.saturating_sub(self.heard_ns) <= RESPONSIVE_NS
    }

    fn is_available(&self, now_ns: u64) -> bool {
        self.duty == Duty::Idle && self.is_responsive(now_ns)
    }
}

/// A connection that was let in.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Tells it from earlier ones of the same agent.
    pub(crate) number: u64,
    /// Resolves when the connection is to end.
    pub(crate) closed: oneshot::Receiver<()>,
}

/// One agent as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AgentView {
    /// Who it is.
    pub(crate) facts: AgentFacts,
    /// `idle`, `busy`, `silent` (connected, but not heard of lately) or `gone`.
    pub(crate) state: &'static str,
    /// The run that it takes part in.
    pub(crate) run: Option<RunId>,
    /// The coordinator's clock minus the agent's. Both count from moments of their own, so only its changes say something.
    pub(crate) offset_ns: Option<i128>,
    /// Best round trip of the latest.
    pub(crate) way_ns: Option<u64>,
    /// How long ago it was heard.
    pub(crate) heard_ago_ns: u64,
}

impl AgentView {
    /// The best of its latest round trips, in milliseconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "for people; a round trip need not be exact to the nanosecond"
    )]
    pub(crate) fn round_trip_ms(&self) -> Option<f64> {
        self.way_ns.map(|ns| ns as f64 / 1e6)
    }

    /// How long ago it was heard, in seconds.
    pub(crate) fn heard_ago_s(&self) -> f64 {
        Duration::from_nanos(self.heard_ago_ns).as_secs_f64()
    }
}

/// How many agents could take part in a run, and how many could if they weren't busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strength {
    /// Idle and responsive.
    pub(crate) idle: usize,
    /// Working for a run, and connected.
    pub(crate) busy: usize,
}

/// All agents, by incarnation.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    members: BTreeMap<Incarnation, Member>,
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
        check(&hello)?;
        self.forget_gone(now_ns);
        self.make_room(hello.incarnation)?;
        let Hello { incarnation, name, version, workers, .. } = hello;
        let facts = AgentFacts { incarnation, name, version, workers };
        self.connections += 1;
        let (open, closed) = oneshot::channel();
        let link = Link { connection: self.connections, to, _open: open };
        let member = self.members.entry(incarnation).or_insert_with(|| Member {
            facts: facts.clone(),
            link: None,
            duty: Duty::Idle,
            offset: ClockOffset::default(),
            heard_ns: now_ns,
        });
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

    /// Gives all idle agents to a run if there are at least `min`, and none otherwise, so that two runs that wait for
    /// agents never each hold some that the other needs.
    pub(crate) fn claim(&mut self, run: &RunId, min: u32, now_ns: u64) -> Vec<AgentFacts> {
        if self.strength(now_ns).idle < min.max(1) as usize {
            return Vec::new();
        }
        let idle = self.members.values_mut().filter(|member| member.is_available(now_ns));
        idle.map(|member| {
            member.duty = Duty::Busy(run.clone());
            member.facts.clone()
        })
        .collect()
    }

    /// Takes an agent back from a run; true if it was that run's.
    pub(crate) fn free(&mut self, agent: Incarnation, run: &RunId) -> bool {
        let Some(member) = self.members.get_mut(&agent) else { return false };
        let is_its = member.duty == Duty::Busy(run.clone());
        if is_its {
            member.duty = Duty::Idle;
        }
        is_its
    }

    /// Takes all agents back from a run that is forgotten.
    pub(crate) fn free_all(&mut self, run: &RunId) {
        for member in self.members.values_mut().filter(|member| member.duty == Duty::Busy(run.clone())) {
            member.duty = Duty::Idle;
        }
    }

    /// The run that an agent works for.
    pub(crate) fn run_of(&self, agent: Incarnation) -> Option<RunId> {
        match &self.members.get(&agent)?.duty {
            Duty::Busy(run) => Some(run.clone()),
            Duty::Idle => None,
        }
    }

    /// A time of the coordinator's clock on an agent's; `None` while its clock is unknown.
    pub(crate) fn to_agent_ns(&self, agent: Incarnation, coordinator_ns: u64) -> Option<u64> {
        self.members.get(&agent)?.offset.to_agent_ns(coordinator_ns)
    }

    /// How many could take part in a run now.
    pub(crate) fn strength(&self, now_ns: u64) -> Strength {
        let mut strength = Strength::default();
        for member in self.members.values() {
            strength.idle += usize::from(member.is_available(now_ns));
            strength.busy += usize::from(member.duty != Duty::Idle && member.link.is_some());
        }
        strength
    }

    /// One agent.
    pub(crate) fn view(&self, agent: Incarnation, now_ns: u64) -> Option<AgentView> {
        self.members.get(&agent).map(|member| view(member, now_ns))
    }

    /// All agents, by name.
    pub(crate) fn list(&mut self, now_ns: u64) -> Vec<AgentView> {
        self.forget_gone(now_ns);
        let mut list: Vec<_> = self.members.values().map(|member| view(member, now_ns)).collect();
        list.sort_by(|a, b| (&a.facts.name, a.facts.incarnation).cmp(&(&b.facts.name, b.facts.incarnation)));
        list
    }
}

fn check(hello: &Hello) -> Result<(), Refusal> {
    let fits = |text: &str| !text.is_empty() && text.len() <= MAX_NAME_BYTES;
    if !fits(&hello.name) {
        return Err(Refusal::Field { field: "name's length in bytes", most: MAX_NAME_BYTES });
    }
    if !fits(&hello.version) {
        return Err(Refusal::Field { field: "version's length in bytes", most: MAX_NAME_BYTES });
    }
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        let Hello { protocol, version, name, .. } = hello.clone();
        return Err(Refusal::Version { name, protocol, version });
    }
    if !(1..=MAX_WORKERS).contains(&hello.workers) {
        return Err(Refusal::Field { field: "number of workers", most: MAX_WORKERS as usize });
    }
    Ok(())
}

fn view(member: &Member, now_ns: u64) -> AgentView {
    let (run, at_work) = match &member.duty {
        Duty::Busy(run) => (Some(run.clone()), "busy"),
        Duty::Idle => (None, "idle"),
    };
    let state = match &member.link {
        None => "gone",
        Some(_) if !member.is_responsive(now_ns) => "silent",
        Some(_) => at_work,
    };
    AgentView {
        facts: member.facts.clone(),
        state,
        run,
        offset_ns: member.offset.offset_ns(),
        way_ns: member.offset.way_ns(),
        heard_ago_ns: now_ns.saturating_sub(member.heard_ns),
    }
}
