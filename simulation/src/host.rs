//! A machine: its way to the coordinator, its disk, and the agent's process that is on it, which is the real session with
//! the model engine.

mod disk;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::unbounded_channel;
use volley_agent::session::{Job, Launch, Launched, Loops, Means, Runs, Session};
use volley_engine::{Clock as EngineClock, Command, Event, Spin};
use volley_plan::allow::AllowList;
use volley_plan::link::{FromAgent, Hello, Incarnation, PROTOCOL, ToAgent};
use volley_stats::SealedWindow;

use self::disk::Disk;
use crate::clock::Clock;
use crate::engine::{Engine, Habits, Handle, Sent};
use crate::link::{Connection, Way};
use crate::random::Random;
use crate::scenario;
use crate::totals::Totals;

/// An agent that has had no word of the coordinator for so long stops its run.
const ORPHAN_NS: u64 = 60_000_000_000;
/// An agent that ends at once has so long to deliver.
const AT_ONCE_NS: u64 = 2_000_000_000;
/// A coordinator that was silent for so long can't be waited for by an agent that ends.
const SILENT_NS: u64 = 2_000_000_000;
/// Jobs that the disk takes at a time.
const MAX_JOBS: usize = 8;

/// What an agent knows of its end, in the world's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    Not,
    Politely { until_ns: u64 },
    AtOnce { until_ns: u64 },
}

/// The engine of the run at hand, as the world sees it.
type Slot = Arc<Mutex<Option<Handle>>>;

impl Loops for Handle {
    fn command(&self, command: Command) {
        self.lock().command(command);
    }

    fn retire(self: Box<Self>) {
        self.lock().retire();
    }
}

/// One process.
pub(crate) struct Agent {
    pub(crate) incarnation: Incarnation,
    pub(crate) clock: Clock,
    session: Session,
    engine: Slot,
    pub(crate) connection: Option<Connection>,
    /// When the coordinator was heard last, in the world's time.
    contact_ns: Option<u64>,
    leaving: Leaving,
    /// It stands still; what comes meanwhile waits.
    pub(crate) hung_until_ns: Option<u64>,
    waiting: VecDeque<(Connection, ToAgent)>,
    /// Jobs that the disk is at.
    jobs: VecDeque<Job>,
    /// How far the results of earlier processes were read.
    read: BTreeMap<Incarnation, usize>,
}

/// What came of an agent's turn.
#[derive(Default)]
pub(crate) struct Turn {
    /// What the target got.
    pub(crate) sent: Vec<Sent>,
    /// What was said.
    pub(crate) said: Vec<FromAgent>,
    /// How many jobs the disk was given.
    pub(crate) jobs: usize,
    /// When the engine wants to be woken, on the agent's clock.
    pub(crate) wake_ns: Option<u64>,
    /// It has come to its end.
    pub(crate) ended: bool,
}

/// A machine.
pub(crate) struct Host {
    pub(crate) is: scenario::Host,
    pub(crate) way: Way,
    pub(crate) agent: Option<Agent>,
    /// Processes that there have been.
    pub(crate) processes: u32,
    /// When the engine is to be woken next, in the world's time.
    pub(crate) wakes_ns: Option<u64>,
    disk: Disk,
    /// What each process measured, as its engine told it.
    pub(crate) produced: BTreeMap<Incarnation, Totals>,
    /// The highest number on the disk of each process that has ended and left something there.
    pub(crate) saved: BTreeMap<Incarnation, u64>,
}

impl Host {
    pub(crate) fn new(is: scenario::Host) -> Self {
        let (way, disk) = (Way::new(&is), Disk::new(is.disk));
        Self {
            is,
            way,
            agent: None,
            processes: 0,
            wakes_ns: None,
            disk,
            produced: BTreeMap::new(),
            saved: BTreeMap::new(),
        }
    }

    pub(crate) fn has_disk(&self) -> bool {
        self.disk.is_there()
    }

    /// Starts a process.
    pub(crate) fn start(&mut self, number: usize, clock: Clock, random: &mut Random) {
        self.processes += 1;
        self.wakes_ns = None;
        // Numbers that can be read in a trace: the host, and which of its processes.
        let incarnation = Incarnation((number as u64 + 1) * 0x100 + u64::from(self.processes));
        let hello = Hello {
            protocol: PROTOCOL,
            version: "1.0.0".to_owned(),
            incarnation,
            name: format!("host{number}-{}", self.processes),
            workers: self.is.workers,
            labels: BTreeMap::new(),
            weight: self.is.weight,
            capacity: self.is.capacity,
        };
        let engine = Slot::default();
        let habits = Habits { prepare_ms: 400, refuses: self.is.refuses };
        let launch = launch(Arc::clone(&engine), habits, random.split());
        let means = Means {
            clock: EngineClock::start(),
            workers: self.is.workers as usize,
            spin: Spin::Off,
            allow: Arc::new(AllowList::anything()),
            files: None,
            listener: None,
        };
        let has_disk = self.disk.is_there();
        let jobs = if has_disk { VecDeque::from([Job::Look]) } else { VecDeque::new() };
        self.agent = Some(Agent {
            incarnation,
            clock,
            session: Session::new(hello, Runs::new(means, launch, has_disk)),
            engine,
            connection: None,
            contact_ns: None,
            leaving: Leaving::Not,
            hung_until_ns: None,
            waiting: VecDeque::new(),
            jobs,
            read: BTreeMap::new(),
        });
    }

    /// Does all that the process has to do now.
    pub(crate) fn turn(&mut self, now_ns: u64) -> Turn {
        let mut turn = Turn::default();
        let Some(agent) = self.agent.as_mut().filter(|agent| agent.hung_until_ns.is_none()) else {
            return turn;
        };
        let clock_ns = agent.clock.read(now_ns);
        loop {
            turn.wake_ns = agent.wake_engine(clock_ns, &mut turn.sent);
            let told = agent.hear_engine(self.produced.entry(agent.incarnation).or_default());
            let jobs = agent.give_jobs();
            let said = agent.speak(clock_ns, &mut turn.said);
            turn.jobs += jobs;
            if !told && !said && jobs == 0 {
                break;
            }
        }
        turn.ended = agent.has_left(now_ns);
        turn
    }

    /// The disk does the next of its jobs.
    pub(crate) fn work_disk(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        let Some(job) = agent.jobs.pop_front() else { return };
        let answer = self.disk.work(agent.incarnation, &mut agent.read, job);
        agent.session.runs.answer(Some(answer));
    }

    /// The process ends. If `cleanly`, the disk does what it was given.
    pub(crate) fn end(&mut self, cleanly: bool) {
        while cleanly && self.agent.as_ref().is_some_and(|agent| !agent.jobs.is_empty()) {
            self.work_disk();
        }
        if let Some(agent) = self.agent.take()
            && let Some(highest) = self.disk.highest(agent.incarnation)
        {
            self.saved.insert(agent.incarnation, highest);
        }
    }
}

impl Agent {
    /// The engine does what is due.
    fn wake_engine(&mut self, clock_ns: u64, sent: &mut Vec<Sent>) -> Option<u64> {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        engine.and_then(|engine| engine.lock().wake(clock_ns, sent))
    }

    /// Brings what the engine told to the session; says whether there was anything.
    fn hear_engine(&mut self, produced: &mut Totals) -> bool {
        let mut any = false;
        while let Some(event) = self.session.runs.ready_event() {
            any = true;
            if let Some(Event::Window { window, .. }) = &event {
                produced.add(&SealedWindow::of(window));
            }
            self.session.runs.hear(event);
        }
        any
    }

    fn give_jobs(&mut self) -> usize {
        let mut given = 0;
        while self.jobs.len() < MAX_JOBS
            && let Some(job) = self.session.runs.next_job()
        {
            self.jobs.push_back(job);
            given += 1;
        }
        given
    }

    fn speak(&mut self, clock_ns: u64, said: &mut Vec<FromAgent>) -> bool {
        let before = said.len();
        while self.connection.is_some() && self.session.has_to_say() {
            let Some(message) = self.session.say(clock_ns) else { break };
            said.push(message);
        }
        said.len() > before
    }

    /// A connection is there.
    pub(crate) fn connected(&mut self, now_ns: u64, connection: Connection) {
        self.connection = Some(connection);
        self.session.connected(self.clock.read(now_ns));
    }

    /// The coordinator said something.
    pub(crate) fn hear(&mut self, now_ns: u64, connection: Connection, message: ToAgent) {
        if self.hung_until_ns.is_some() {
            self.waiting.push_back((connection, message));
        } else if self.connection == Some(connection) {
            self.contact_ns = Some(now_ns);
            self.session.hear(self.clock.read(now_ns), message);
        }
    }

    /// A ping interval is over. False if the connection must be taken for dead.
    pub(crate) fn beat(&mut self, now_ns: u64) -> bool {
        let orphaned_ns = self.contact_ns.map(|contact_ns| contact_ns + ORPHAN_NS);
        if self.session.runs.needs_contact() && orphaned_ns.is_some_and(|at_ns| now_ns >= at_ns) {
            self.session.runs.abandon(self.clock.read(now_ns));
        }
        self.see_to_end(now_ns);
        self.connection.is_none() || self.session.beat()
    }

    /// It is told to end. `patience_ns` is how long its run may take to let it go.
    pub(crate) fn leave(&mut self, now_ns: u64, patience_ns: u64) {
        match self.leaving {
            Leaving::Not if self.is_in_contact(now_ns) => {
                self.leaving = Leaving::Politely { until_ns: now_ns + patience_ns + 10_000_000_000 };
                self.session.leave();
            }
            Leaving::Not | Leaving::Politely { .. } => self.leave_at_once(now_ns),
            Leaving::AtOnce { .. } => {}
        }
    }

    fn is_in_contact(&self, now_ns: u64) -> bool {
        self.contact_ns.is_some_and(|contact_ns| now_ns < contact_ns + SILENT_NS)
    }

    fn leave_at_once(&mut self, now_ns: u64) {
        self.leaving = Leaving::AtOnce { until_ns: now_ns + AT_ONCE_NS };
        self.session.runs.stop(self.clock.read(now_ns));
    }

    /// One that is asked to end politely does so at once when nobody answers, or it takes too long.
    fn see_to_end(&mut self, now_ns: u64) {
        if let Leaving::Politely { until_ns } = self.leaving
            && (now_ns >= until_ns || !self.is_in_contact(now_ns))
        {
            self.leave_at_once(now_ns);
        }
    }

    fn has_left(&self, now_ns: u64) -> bool {
        match self.leaving {
            Leaving::Not => false,
            Leaving::Politely { .. } => !self.session.runs.has_work(),
            Leaving::AtOnce { until_ns } => !self.session.runs.owes_windows() || now_ns >= until_ns,
        }
    }

    /// It goes on after it had stood still. What waited comes now, or once the engine had its turn.
    pub(crate) fn go_on(&mut self) -> VecDeque<(Connection, ToAgent)> {
        self.hung_until_ns = None;
        std::mem::take(&mut self.waiting)
    }

    /// Nothing more is to be delivered, as far as this process knows.
    pub(crate) fn is_idle(&self) -> bool {
        let runs = &self.session.runs;
        self.hung_until_ns.is_none() && !runs.has_work() && runs.leftovers() == 0 && self.jobs.is_empty()
    }

    /// For a trace.
    pub(crate) fn story(&self) -> String {
        let runs = &self.session.runs;
        format!("{:?}, owes {} windows, {} leftovers", runs.progress(), runs.owed_windows(), runs.leftovers())
    }
}

/// Makes model engines, and shows the latest to the world.
fn launch(slot: Slot, habits: Habits, random: Random) -> Launch {
    let random = Mutex::new(random);
    Box::new(move |setup| {
        let (events, told) = unbounded_channel();
        let random = random.lock().unwrap_or_else(PoisonError::into_inner).split();
        let engine = Handle::new(Engine::new(&setup, habits, random, events));
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine.clone());
        Launched { loops: Box::new(engine), events: told }
    })
}
