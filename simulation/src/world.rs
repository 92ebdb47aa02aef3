//! The simulated world: hosts, ways and a coordinator, in which one thing happens after the other.

mod happenings;

use std::collections::BTreeMap;
use std::sync::Arc;

use volley_lifecycle::Run;
use volley_plan::link::{FromAgent, PING_NS, RunId, ToAgent};
use volley_plan::{Amount, Level, Model, Plan};

use crate::books::{Books, Kind, Wrong};
use crate::checks;
use crate::clock::Clock;
use crate::coordinator::{Desk, Halt, Job, Process};
use crate::host::Host;
use crate::link::{Connection, Direction};
use crate::queue::Queue;
use crate::random::Random;
use crate::scenario::{Happens, Scenario};
use crate::store::Store;
use crate::tally::Tally;
use crate::trace::Trace;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
/// When the run is asked for, in the world's time.
pub(crate) const ASKED_NS: u64 = 2 * S;
/// A run that has not ended so long after all that happens to it is one that never ends.
const PATIENCE_NS: u64 = 900 * S;
/// Messages that may take longer tell too little of a clock.
const SLOW_MS: u64 = 300;
/// So is one in which so much happens.
const MAX_EVENTS: u64 = 2_000_000;
/// After its end, the world goes on until everybody has delivered, so long at most.
const AFTERWARDS_NS: u64 = 90 * S;

/// What happens by itself.
#[derive(Debug)]
enum Happening {
    /// An agent of a host is started.
    Boot { host: usize },
    /// A ping interval of a process is over.
    Beat { host: usize, process: u32 },
    /// A process tries to connect.
    Dial { host: usize, process: u32 },
    /// The engine of a process is to be woken.
    Engine { host: usize, process: u32 },
    /// The disk has done a job of a process.
    Disk { host: usize, process: u32 },
    /// A message arrives at the coordinator.
    Up { connection: Connection, message: Box<FromAgent> },
    /// A message arrives at an agent.
    Down { connection: Connection, message: Box<ToAgent> },
    /// The coordinator hears that a connection has ended.
    HangUp { connection: Connection },
    /// An agent hears that its connection has ended.
    Closed { connection: Connection },
    /// A process that stands still goes on.
    GoOn { host: usize, process: u32 },
    /// The decider's deadline may have come.
    Deadline { process: u32 },
    /// The run is asked for.
    Asked,
    /// A coordinator is started.
    Started,
    /// A coordinator that was to die is dead, and another one is started.
    Reborn { coordinator: u32 },
    /// Something of the scenario.
    Event { index: usize },
}

/// Both ends of a connection.
#[derive(Clone, Copy, Debug)]
struct Ends {
    host: usize,
    process: u32,
    coordinator: u32,
}

/// The world of one run.
pub(crate) struct World<'a> {
    scenario: &'a Scenario,
    pub(crate) job: Job,
    random: Random,
    trace: Trace,
    pub(crate) now_ns: u64,
    queue: Queue<Happening>,
    pub(crate) hosts: Vec<Host>,
    connections: BTreeMap<Connection, Ends>,
    connected: u64,
    pub(crate) store: Store,
    pub(crate) books: Books,
    coordinator: Option<Process>,
    /// Coordinator processes that there have been.
    coordinators: u32,
    /// The deadline that was announced last.
    deadline_ns: Option<u64>,
    /// Things that were announced and change the world from outside.
    expected: usize,
    /// Run time 0, in the world's time.
    pub(crate) start_ns: Option<u64>,
    /// When the run was over.
    over_ns: Option<u64>,
    /// The run as it was at its end, or when it was seen last.
    pub(crate) last_run: Option<Run>,
    /// The coordinator was started again after the end.
    pub(crate) forgot: bool,
    pub(crate) tally: Tally,
}

impl<'a> World<'a> {
    pub(crate) fn new(scenario: &'a Scenario, trace: Trace) -> Self {
        let plan = volley_plan::parse(&scenario.plan);
        let plan = Arc::new(plan.unwrap_or_else(|faults| panic!("{faults}\n{}", scenario.plan)));
        let mut random = Random::new(scenario.seed);
        let id = RunId::new("simulated").expect("letters");
        let is_slow = |host: &crate::scenario::Host| host.way_ms.1 > SLOW_MS;
        let slows = scenario.events.iter().any(|event| matches!(event.what, Happens::Slow { .. }));
        let books = Books::new(kind(&plan), !slows && !scenario.hosts.iter().any(is_slow));
        let mut world = Self {
            job: Job { id, plan, seed: random.next() },
            random,
            trace,
            now_ns: 0,
            queue: Queue::new(),
            hosts: scenario.hosts.iter().cloned().map(Host::new).collect(),
            connections: BTreeMap::new(),
            connected: 0,
            store: Store::default(),
            books,
            coordinator: None,
            coordinators: 0,
            deadline_ns: None,
            expected: 0,
            start_ns: None,
            over_ns: None,
            last_run: None,
            forgot: false,
            tally: Tally::default(),
            scenario,
        };
        world.set_up();
        world
    }

    /// Announces all that the scenario has.
    fn set_up(&mut self) {
        self.queue.push(0, Happening::Started);
        self.expect(ASKED_NS, Happening::Asked);
        for (index, host) in self.scenario.hosts.iter().enumerate() {
            // Those that are there from the beginning have joined by the time that the run is asked for.
            let at_ns = if host.joins_ms == 0 {
                self.random.within(0..500) * MS
            } else {
                ASKED_NS + host.joins_ms * MS
            };
            self.expect(at_ns, Happening::Boot { host: index });
        }
        for (index, event) in self.scenario.events.iter().enumerate() {
            self.expect(ASKED_NS + event.at_ms * MS, Happening::Event { index });
        }
    }

    /// Announces something that changes the world from outside: before it has come, nothing is over.
    fn expect(&mut self, at_ns: u64, happening: Happening) {
        self.expected += 1;
        self.queue.push(at_ns, happening);
    }

    /// Lets everything happen, and checks what must hold.
    pub(crate) fn play(mut self) -> Result<Tally, Wrong> {
        let last_ms = self.scenario.events.last().map_or(0, |event| event.at_ms);
        let patience_ns = ASKED_NS + last_ms * MS + PATIENCE_NS;
        while let Some((at_ns, happening)) = self.queue.pop() {
            self.now_ns = at_ns;
            self.tally.events += 1;
            self.happen(happening)?;
            self.look()?;
            if self.is_all_over() {
                break;
            }
            let is_endless = at_ns > patience_ns || self.tally.events > MAX_EVENTS;
            if is_endless && self.over_ns.is_none() {
                let state = self.run().map(|run| run.state().name());
                let agents: Vec<_> = self.hosts.iter().filter_map(|host| host.agent.as_ref()).collect();
                let agents: Vec<_> = agents.iter().map(|agent| agent.story()).collect();
                return Err(Wrong(format!("the run does not end: {state:?}; {agents:?}")));
            }
        }
        let mut tally = checks::at_end(&self)?;
        tally.add(&self.tally);
        Ok(tally)
    }

    pub(crate) fn run(&self) -> Option<&Run> {
        self.coordinator.as_ref().and_then(Process::run)
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        self.scenario
    }

    pub(crate) fn has_store_failed(&self) -> bool {
        self.coordinator.as_ref().is_some_and(Process::has_store_failed)
    }

    /// Whether the run is over, nothing more happens to it, and nobody has anything left to deliver.
    fn is_all_over(&self) -> bool {
        let Some(over_ns) = self.over_ns else { return false };
        let is_idle = |host: &Host| host.agent.as_ref().is_none_or(crate::host::Agent::is_idle);
        let is_quiet = self.expected == 0 && self.coordinator.is_some() && self.hosts.iter().all(is_idle);
        is_quiet || self.now_ns > over_ns + AFTERWARDS_NS
    }

    /// Notes what became of the run once it is over.
    fn note_end(&mut self) {
        let over = self.run().filter(|run| run.outcome().is_some());
        if let (Some(run), None) = (over, self.over_ns) {
            self.last_run = Some(run.clone());
            self.over_ns = Some(self.now_ns);
        }
    }

    /// Notes what became of the run, and announces its next deadline.
    fn look(&mut self) -> Result<(), Wrong> {
        self.note_end();
        let Some(process) = &self.coordinator else { return Ok(()) };
        let Some(run) = process.run() else { return Ok(()) };
        let wake_ns = process.wake_ns();
        if self.start_ns.is_none()
            && let Some(start_ns) = run.start_ns()
        {
            self.start_ns = Some(process.clock().moment(start_ns));
        }
        if let Some(at_ns) = wake_ns.filter(|_| wake_ns != self.deadline_ns) {
            let at_ns = at_ns.max(self.now_ns);
            self.queue.push(at_ns, Happening::Deadline { process: self.coordinators });
        }
        self.deadline_ns = wake_ns;
        Ok(())
    }

    /// Has the coordinator do something, and sends what it says. It may die of that.
    fn at_desk<T>(
        &mut self,
        act: impl FnOnce(&mut Process, &mut Desk<'_>) -> Result<T, Halt>,
    ) -> Result<Option<T>, Wrong> {
        let Some(process) = &mut self.coordinator else { return Ok(None) };
        let mut out = Vec::new();
        let mut desk = Desk {
            now_ns: self.now_ns,
            store: &mut self.store,
            books: &mut self.books,
            trace: &self.trace,
            out: &mut out,
        };
        let result = act(process, &mut desk);
        for (connection, message) in out {
            self.send_down(connection, message);
        }
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Halt::Wrong(wrong)) => Err(wrong),
            Err(Halt::Killed) => {
                // What is closed in the store no later process knows of.
                if self.store.is_closed {
                    self.note_end();
                }
                self.coordinator_dies();
                Ok(None)
            }
        }
    }

    fn send_down(&mut self, connection: Connection, message: ToAgent) {
        let Some(ends) = self.connections.get(&connection) else { return };
        let way = &mut self.hosts[ends.host].way;
        let at_ns = way.arrival_ns(self.now_ns, Direction::Down, &mut self.random);
        self.queue.push(at_ns, Happening::Down { connection, message: Box::new(message) });
    }

    fn coordinator_dies(&mut self) {
        self.trace.say(self.now_ns, || "the coordinator dies".to_owned());
        self.tally.coordinator_deaths += 1;
        self.coordinator = None;
        self.deadline_ns = None;
        let of_it: Vec<_> = self.connections.iter().map(|(connection, ends)| (*connection, *ends)).collect();
        for (connection, ends) in of_it {
            // What it had said may have been on its way already.
            if ends.coordinator == self.coordinators && self.random.percent(50) {
                self.hosts[ends.host].way.kill(connection);
            }
            let way = &mut self.hosts[ends.host].way;
            let at_ns = way.arrival_ns(self.now_ns, Direction::Down, &mut self.random);
            self.queue.push(at_ns, Happening::Closed { connection });
        }
    }

    /// A process does what it has to do, and what it says is sent.
    fn turn(&mut self, host: usize) -> Result<(), Wrong> {
        let now_ns = self.now_ns;
        let turn = self.hosts[host].turn(now_ns);
        let Some(agent) = &self.hosts[host].agent else { return Ok(()) };
        let (incarnation, clock, connection) = (agent.incarnation, agent.clock, agent.connection);
        let process = self.hosts[host].processes;
        for sent in turn.sent {
            self.trace.say(now_ns, || {
                format!("{incarnation} sends {} of {}, due at {}", sent.n, sent.place, sent.due_ns)
            });
            self.books.sent(incarnation, sent)?;
        }
        for message in turn.said {
            let Some(connection) = connection else { continue };
            let at_ns = self.hosts[host].way.arrival_ns(now_ns, Direction::Up, &mut self.random);
            self.queue.push(at_ns, Happening::Up { connection, message: Box::new(message) });
        }
        for _ in 0..turn.jobs {
            let at_ns = now_ns + self.random.within(0..20) * MS;
            self.queue.push(at_ns, Happening::Disk { host, process });
        }
        if let Some(wake_ns) = turn.wake_ns {
            let at_ns = clock.moment(wake_ns).max(now_ns + 1);
            // One that was announced for earlier will ask again.
            let announced_ns = self.hosts[host].wakes_ns.filter(|&announced_ns| announced_ns > now_ns);
            if announced_ns.is_none_or(|announced_ns| at_ns < announced_ns) && at_ns < u64::MAX {
                self.hosts[host].wakes_ns = Some(at_ns);
                self.queue.push(at_ns, Happening::Engine { host, process });
            }
        }
        if turn.ended {
            self.trace.say(now_ns, || format!("{incarnation} ends"));
            self.agent_ends(host, true);
        }
        Ok(())
    }

    /// The process on a host ends. Its connection is closed by its kernel.
    fn agent_ends(&mut self, host: usize, cleanly: bool) {
        let connection = self.hosts[host].agent.as_ref().and_then(|agent| agent.connection);
        if let Some(connection) = connection {
            self.hang_up(connection);
        }
        self.hosts[host].end(cleanly);
    }

    /// The agent's side of a connection has ended; the coordinator hears of it after all that was said.
    fn hang_up(&mut self, connection: Connection) {
        let Some(ends) = self.connections.get(&connection) else { return };
        let way = &mut self.hosts[ends.host].way;
        let at_ns = way.arrival_ns(self.now_ns, Direction::Up, &mut self.random);
        self.queue.push(at_ns, Happening::HangUp { connection });
    }

    /// An agent's connection is over for it; it tries again soon.
    fn disconnected(&mut self, host: usize) {
        let Some(agent) = &mut self.hosts[host].agent else { return };
        agent.connection = None;
        let process = self.hosts[host].processes;
        let at_ns = self.now_ns + self.random.within(100..400) * MS;
        self.queue.push(at_ns, Happening::Dial { host, process });
    }

    fn clock(&mut self, drift_ppb: i64) -> Clock {
        // Up to a day apart, and never near 0.
        let base_ns = self.random.within(86_400 * S..2 * 86_400 * S);
        Clock::new(self.now_ns, base_ns, drift_ppb)
    }

    fn beat_later(&mut self, host: usize) {
        let process = self.hosts[host].processes;
        self.queue.push(self.now_ns + PING_NS, Happening::Beat { host, process });
    }

    /// The level that an adjustment of the scenario means for its plan.
    fn level(&self, to: u32) -> Level {
        match &self.job.plan.load.model {
            Model::Open(_) => Level::Rate(checks::rate(to)),
            Model::Closed(_) => Level::Users(to),
        }
    }

    fn count(&mut self, what: &Happens) {
        *self.tally.happened.entry(what.name()).or_default() += 1;
    }
}

fn kind(plan: &Plan) -> Kind {
    match &plan.load.model {
        Model::Open(_) => Kind::Open,
        Model::Closed(closed) => match closed.iterations {
            Some(Amount::InAll(_)) => Kind::Granted,
            Some(Amount::PerUser(_)) => Kind::Each,
            None => Kind::Timed,
        },
    }
}
