//! The coordinator: its processes, one after the other, on one store. What its driver does with the decider's actions is
//! done here step by step, so that it can die between any two.

mod drive;
mod fleet;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use volley_lifecycle::{AgentShare, AgentState, Event, Run, Settings};
use volley_plan::link::{FromAgent, Incarnation, Lease, Order, Report, RunId, ToAgent, WindowFacts};
use volley_plan::{Level, Plan};

use self::drive::Delivery;
use self::fleet::Fleet;
use crate::books::{Books, Wrong};
use crate::clock::Clock;
use crate::link::Connection;
use crate::store::Store;
use crate::trace::Trace;

/// Deadlines that are met at one moment; more would be a loop.
const MAX_DEADLINES: usize = 100;

/// Why a process does not go on.
#[derive(Debug)]
pub(crate) enum Halt {
    /// It was killed.
    Killed,
    /// Something is as it must not be.
    Wrong(Wrong),
}

impl From<Wrong> for Halt {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// What a process works with.
pub(crate) struct Desk<'a> {
    /// The world's time.
    pub(crate) now_ns: u64,
    pub(crate) store: &'a mut Store,
    pub(crate) books: &'a mut Books,
    pub(crate) trace: &'a Trace,
    /// What it says, and on which connection.
    pub(crate) out: &'a mut Vec<(Connection, ToAgent)>,
}

/// The run that all of it is about.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
}

/// One process.
pub(crate) struct Process {
    job: Job,
    clock: Clock,
    fleet: Fleet,
    run: Option<Run>,
    has_store_failed: bool,
    /// It dies after so many further steps.
    dies_in: Option<u32>,
}

impl Process {
    /// A process that begins on what an earlier one has left. `run_ns` is how long the run has been going on, by the wall
    /// clock.
    pub(crate) fn new(job: Job, clock: Clock, run_ns: u64, desk: &mut Desk<'_>) -> Self {
        let mut process =
            Self { run: None, job, clock, fleet: Fleet::default(), has_store_failed: false, dies_in: None };
        if let Some(record) = desk.store.run.clone().filter(|_| !desk.store.is_closed) {
            let kept = desk.store.agents.values();
            let agents =
                kept.filter_map(|kept| Some((read_back(kept.record.as_ref()?), kept.facts))).collect();
            let Job { id, plan, seed: _ } = process.job.clone();
            let now_ns = clock.read(desk.now_ns);
            let run = Run::resumed(now_ns, id, plan, Settings::default(), read_back(&record), agents, run_ns);
            desk.trace.say(desk.now_ns, || format!("the coordinator goes on: {}", run.state().name()));
            process.run = Some(run);
        }
        process
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn has_store_failed(&self) -> bool {
        self.has_store_failed
    }

    /// It dies after so many further steps.
    pub(crate) fn doom(&mut self, steps: u32) {
        self.dies_in = Some(self.dies_in.map_or(steps, |earlier| earlier.min(steps)));
    }

    /// When the decider wants to be woken, in the world's time.
    pub(crate) fn wake_ns(&self) -> Option<u64> {
        self.run.as_ref().and_then(Run::deadline_ns).map(|deadline_ns| self.clock.moment(deadline_ns))
    }

    /// Somebody asks for the run.
    pub(crate) fn begin(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let now_ns = self.clock.read(desk.now_ns);
        let Job { id, plan, seed } = self.job.clone();
        let (least, most) = (plan.agents.min as usize, most(&plan));
        let agents = self.fleet.claim(&plan.agents, least, most, &BTreeSet::new(), now_ns);
        let (run, actions) = Run::new(now_ns, id, plan, seed, Settings::default(), agents);
        // It is kept when it is made.
        let saved = desk.store.save(run.record(), Vec::new(), Vec::new());
        self.run = Some(run);
        if saved.is_err() {
            return self.store_has_failed(desk);
        }
        self.act(desk, actions, None).map(drop)
    }

    /// One step of the driver's. A process that is doomed may end with it.
    fn step(&mut self) -> Result<(), Halt> {
        match &mut self.dies_in {
            Some(0) => Err(Halt::Killed),
            Some(steps) => {
                *steps -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Meets the deadlines that have come.
    pub(crate) fn meet_deadlines(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let now_ns = self.clock.read(desk.now_ns);
        for _ in 0..MAX_DEADLINES {
            let deadline_ns = self.run.as_ref().and_then(Run::deadline_ns);
            if deadline_ns.is_none_or(|deadline_ns| deadline_ns > now_ns) {
                return Ok(());
            }
            self.decide(desk, Event::Time, None)?;
        }
        Err(Wrong("a deadline that does not pass".to_owned()).into())
    }

    pub(crate) fn stop_asked(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        self.decide(desk, Event::StopAsked, None).map(drop)
    }

    pub(crate) fn adjust_asked(&mut self, desk: &mut Desk<'_>, to: Level) -> Result<bool, Halt> {
        if self.run.as_ref().is_none_or(|run| run.can_adjust(to).is_err()) {
            return Ok(false);
        }
        self.decide(desk, Event::AdjustAsked { to }, None)?;
        Ok(true)
    }

    /// Somebody wants an agent to be relieved.
    pub(crate) fn drain(&mut self, desk: &mut Desk<'_>, agent: Incarnation) -> Result<(), Halt> {
        let Some(member) = self.fleet.member(agent) else { return Ok(()) };
        member.is_leaving = true;
        self.decide(desk, Event::Leaving { agent }, None).map(drop)
    }

    /// A connection has ended.
    pub(crate) fn closed(&mut self, connection: Connection) {
        self.fleet.left(connection);
    }

    /// An agent said something.
    pub(crate) fn hear(
        &mut self,
        desk: &mut Desk<'_>,
        connection: Connection,
        message: FromAgent,
    ) -> Result<(), Halt> {
        let now_ns = self.clock.read(desk.now_ns);
        if let FromAgent::Join(hello) = message {
            let is_busy = self.works(hello.incarnation);
            self.fleet.join(hello, connection, is_busy, now_ns);
            desk.out.push((connection, ToAgent::Welcome));
            return self.offer(desk);
        }
        // A connection that was replaced is not read any more.
        let Some(agent) = self.fleet.agent_on(connection) else { return Ok(()) };
        self.fleet.heard(agent, now_ns);
        match message {
            FromAgent::Ping { sent_ns, round_trip, progress, leaving } => {
                self.fleet.pinged(agent, sent_ns, now_ns, round_trip);
                let knows = progress.map(|progress| (progress.run, progress.acknowledged, progress.start_ns));
                self.pinged(desk, agent, sent_ns, knows)?;
                if leaving {
                    self.drain(desk, agent)?;
                }
                self.offer(desk)
            }
            FromAgent::Report { run, of, report } => self.reported(desk, agent, &run, of, report),
            FromAgent::Join(_) => Ok(()),
        }
    }

    /// Whether an agent takes part in the run that was resumed.
    fn works(&self, agent: Incarnation) -> bool {
        let is_it = |share: &&AgentShare| share.facts.incarnation == agent;
        let share = self.run.as_ref().and_then(|run| run.agents().find(is_it));
        let is_through = |state: &AgentState| {
            let delivered = matches!(state, AgentState::Lost { delivered: true, .. });
            delivered
                || matches!(state, AgentState::Refused { .. } | AgentState::Done | AgentState::Left { .. })
        };
        share.is_some_and(|share| !is_through(&share.state))
    }

    fn pinged(
        &mut self,
        desk: &mut Desk<'_>,
        agent: Incarnation,
        sent_ns: u64,
        knows: Option<(RunId, u64, Option<u64>)>,
    ) -> Result<(), Halt> {
        let received_ns = self.clock.read(desk.now_ns);
        let Some(member) = self.fleet.member(agent) else { return Ok(()) };
        let unaware = member.is_busy.then(|| (self.job.id.clone(), 0, None));
        let mut lease = None;
        if let Some((id, acknowledged, start_ns)) = knows.or(unaware) {
            if self.run.is_some() && id == self.job.id {
                let start_ns = start_ns.and_then(|start_ns| member.to_coordinator_ns(start_ns));
                desk.books.acknowledged(agent, acknowledged);
                let event = Event::Pinged { agent, acknowledged, start_ns };
                let until_ns = self.decide(desk, event, None)?;
                lease = until_ns.map(|until_ns| Lease { run: id, until_ns });
            } else {
                // Nobody here knows this run, so nobody will ever take its results or let the agent go.
                let (number, order) = (acknowledged.saturating_add(1), Order::Release);
                self.say(desk, agent, ToAgent::Order { run: id, number, order });
            }
        }
        let answered_ns = self.clock.read(desk.now_ns);
        self.say(desk, agent, ToAgent::Pong { sent_ns, received_ns, answered_ns, lease });
        Ok(())
    }

    fn reported(
        &mut self,
        desk: &mut Desk<'_>,
        teller: Incarnation,
        id: &RunId,
        of: Option<Incarnation>,
        report: Report,
    ) -> Result<(), Halt> {
        let agent = of.unwrap_or(teller);
        let Some(run) = self.run.as_ref().filter(|_| *id == self.job.id) else {
            if matches!(report, Report::Window { .. }) {
                let (run, sequence) = (id.clone(), u64::MAX);
                self.say(desk, teller, ToAgent::Acknowledge { run, of, sequence });
            }
            return Ok(());
        };
        let (event, delivery) = match report {
            Report::Ready => (Event::Ready { agent }, None),
            Report::Refused { reason } => (Event::Refused { agent, reason }, None),
            Report::GrantWanted { taken, iterations } => {
                (Event::GrantWanted { agent, taken, iterations }, None)
            }
            Report::Window { sequence, window, last } => {
                let facts = WindowFacts::of(sequence, &window, last, run.load());
                (Event::Window { agent, facts }, Some(Delivery { teller, of, window }))
            }
        };
        self.decide(desk, event, delivery.as_ref()).map(drop)
    }

    fn say(&mut self, desk: &mut Desk<'_>, agent: Incarnation, message: ToAgent) {
        if let Some(connection) = self.fleet.member(agent).and_then(|member| member.connection) {
            desk.out.push((connection, message));
        }
    }

    /// Offers free agents to the run while it wants some. Whoever it has had or let go it does not take again.
    fn offer(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let plan = Arc::clone(&self.job.plan);
        loop {
            let now_ns = self.clock.read(desk.now_ns);
            let Some(run) = self.run.as_ref().filter(|run| run.wants_agents()) else { return Ok(()) };
            let is_gathering = run.start_ns().is_none();
            let (least, most) = if is_gathering { (plan.agents.min as usize, most(&plan)) } else { (1, 1) };
            let known = run.agents().map(|share| share.facts.incarnation).collect();
            let claimed = self.fleet.claim(&plan.agents, least, most, &known, now_ns);
            if claimed.is_empty() {
                return Ok(());
            }
            for facts in claimed {
                self.decide(desk, Event::Joined(facts), None)?;
            }
        }
    }
}

/// A record as it is after it was written and read.
fn read_back<T: Serialize + DeserializeOwned>(record: &T) -> T {
    let written = serde_json::to_string(record).expect("a record can be written");
    serde_json::from_str(&written).expect("what was written can be read")
}

/// Most agents that take part.
fn most(plan: &Plan) -> usize {
    plan.agents.max.map_or(usize::MAX, |most| most as usize)
}
