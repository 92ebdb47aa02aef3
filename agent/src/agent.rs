//! An agent and its driver: waits for what happens, lets the session decide, and does it.

use std::future::pending;
use std::num::NonZero;
use std::pin::Pin;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{self, Permit};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use volley_engine::{Clock, Engine, Event, Spin};
use volley_plan::link::{FromAgent, Hello, Incarnation, PING_NS, PROTOCOL, ToAgent};

use crate::run::{Launch, Launched};
use crate::runs::{Runs, Threads};
use crate::session::Session;

/// An agent that has had no word of the coordinator for so long stops its run; the lease has paused it long before.
pub(crate) const ORPHAN: Duration = Duration::from_secs(60);
/// An agent that is about to end has so long to deliver what it measured.
pub(crate) const LEAVING: Duration = Duration::from_secs(2);
/// Most bytes of an agent's name.
const MAX_NAME_BYTES: usize = 200;

/// How an agent is to be.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// The name for people: one line, at most 200 bytes. The host's name and four hex digits where there is none.
    pub name: Option<String>,
    /// Worker threads; one a core where nothing is said.
    pub workers: Option<usize>,
    /// Whether workers that have nothing to do spin before they sleep.
    pub spin: Spin,
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// It was closed by the other end, or has been silent for too long. The agent may connect again.
    Closed,
    /// The coordinator refuses this agent, for the reason that it gives. Trying again is of no use.
    Refused(String),
    /// The agent was to end, and has delivered what it measured, or has had its time for that.
    Left,
}

/// Resolves when an agent is to end.
type Leave = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What an agent knows of its end.
enum Leaving {
    /// It comes when this resolves.
    Not(Leave),
    /// What is owed is delivered until then.
    Until(Instant),
}

/// One agent: its identity, the run at hand with its engine, and the journal of what is not yet acknowledged. It outlives
/// its connections. When it is dropped, all sending ends.
pub struct Agent {
    session: Session,
    clock: Clock,
    /// When the coordinator was heard last.
    contact: Option<Instant>,
    leaving: Leaving,
}

impl Agent {
    /// A new agent with a clock and an incarnation of its own. There should be one in a process.
    #[must_use]
    pub fn new(options: AgentOptions) -> Self {
        Self::with_launch(options, Box::new(launch_engine))
    }

    pub(crate) fn with_launch(options: AgentOptions, launch: Launch) -> Self {
        let clock = Clock::start();
        let incarnation = Incarnation(rand::random());
        let cores = || thread::available_parallelism().map_or(1, NonZero::get);
        let workers = options.workers.unwrap_or_else(cores).max(1);
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            incarnation,
            name: name(options.name, incarnation),
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
        };
        let runs = Runs::new(clock, Threads { workers, spin: options.spin }, launch);
        let leaving = Leaving::Not(Box::pin(pending()));
        Self { session: Session::new(hello, runs), clock, contact: None, leaving }
    }

    /// An agent that ends when `leave` resolves: it stops its run at once, and has two seconds for delivering what it
    /// measured.
    pub(crate) fn until(mut self, leave: impl Future<Output = ()> + Send + 'static) -> Self {
        self.leaving = Leaving::Not(Box::pin(leave));
        self
    }

    /// What this agent says of itself.
    #[must_use]
    pub fn hello(&self) -> Hello {
        self.session.hello().clone()
    }

    /// Speaks over one connection until it ends. The run at hand goes on after that: see [`Self::alone`].
    ///
    /// Pings are never behind more than what `to` holds, so its bound should be a few messages.
    pub async fn converse(
        &mut self,
        to: mpsc::Sender<FromAgent>,
        mut from: mpsc::Receiver<ToAgent>,
    ) -> LinkEnd {
        self.session.connected(self.clock.now_ns());
        let mut beats = beats();
        loop {
            let orphaned = self.orphaned_at();
            let has_to_say = self.session.has_to_say();
            let moment = tokio::select! {
                biased;
                () = self.leaving.moment() => Moment::Leave,
                _ = beats.tick() => Moment::Beat,
                message = from.recv() => Moment::Heard(message),
                room = to.reserve(), if has_to_say => Moment::Room(room.ok()),
                event = self.session.runs.next_event() => Moment::Told(event),
                () = at(orphaned) => Moment::Orphaned,
            };
            if let Some(end) = self.meet(moment) {
                return end;
            }
        }
    }

    /// Attends to the run at hand while there is no connection: journals what it measures, and stops it once there has
    /// been no contact for 60 s. Drop it when there is a connection; by itself it ends only when the agent is to end.
    pub async fn alone(&mut self) {
        loop {
            let orphaned = self.orphaned_at();
            let moment = tokio::select! {
                () = self.leaving.moment() => Moment::Leave,
                event = self.session.runs.next_event() => Moment::Told(event),
                () = at(orphaned) => Moment::Orphaned,
            };
            if self.meet(moment).is_some() {
                return;
            }
        }
    }

    /// Does what a moment asks for. Gives back how the connection ends if it ends by it.
    fn meet(&mut self, moment: Moment<'_>) -> Option<LinkEnd> {
        match moment {
            Moment::Leave => self.leave(),
            Moment::Beat => {
                if !self.session.beat() {
                    return Some(LinkEnd::Closed);
                }
            }
            Moment::Heard(None) | Moment::Room(None) => return Some(LinkEnd::Closed),
            Moment::Heard(Some(message)) => {
                self.contact = Some(Instant::now());
                if let Some(reason) = self.session.hear(self.clock.now_ns(), message) {
                    return Some(LinkEnd::Refused(reason));
                }
            }
            Moment::Room(Some(room)) => {
                if let Some(message) = self.session.say(self.clock.now_ns()) {
                    room.send(message);
                }
            }
            Moment::Told(event) => self.session.runs.hear(event),
            Moment::Orphaned => self.session.runs.abandon(self.clock.now_ns()),
        }
        self.has_left().then_some(LinkEnd::Left)
    }

    /// The first time stops the run; the second time, which is the end of its patience, there is nothing left to do.
    fn leave(&mut self) {
        if let Leaving::Not(_) = self.leaving {
            self.session.runs.stop(self.clock.now_ns());
            self.leaving = Leaving::Until(Instant::now() + LEAVING);
        }
    }

    fn has_left(&self) -> bool {
        match self.leaving {
            Leaving::Not(_) => false,
            Leaving::Until(last) => !self.session.runs.owes_windows() || Instant::now() >= last,
        }
    }

    fn orphaned_at(&self) -> Option<Instant> {
        self.contact.filter(|_| self.session.runs.needs_contact()).map(|contact| contact + ORPHAN)
    }
}

impl Leaving {
    /// Waits for what comes next: the word to leave, then the end of the time for it.
    async fn moment(&mut self) {
        match self {
            Self::Not(leave) => leave.await,
            Self::Until(last) => sleep_until(*last).await,
        }
    }
}

/// What a conversation waits for.
enum Moment<'a> {
    Leave,
    Beat,
    Heard(Option<ToAgent>),
    Room(Option<Permit<'a, FromAgent>>),
    Told(Option<Event>),
    Orphaned,
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

fn beats() -> Interval {
    let period = Duration::from_nanos(PING_NS);
    let mut beats = interval_at(Instant::now() + period, period);
    // A process that was stopped for a while owes one ping, not a burst.
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}

pub(crate) fn launch_engine(setup: volley_engine::Setup) -> Launched {
    let (engine, events) = Engine::launch(setup);
    Launched { loops: Box::new(engine), events }
}

/// The given name made fit for lists and log lines, or one made of the host's.
fn name(given: Option<String>, incarnation: Incarnation) -> String {
    let given = given.map(|name| one_line(&name)).filter(|name| !name.is_empty());
    given.unwrap_or_else(|| {
        let host = one_line(&rustix::system::uname().nodename().to_string_lossy());
        let host = if host.is_empty() { "agent" } else { &host };
        format!("{host}-{:04x}", incarnation.0 & 0xffff)
    })
}

fn one_line(text: &str) -> String {
    let mut line: String = text.chars().filter(|c| !c.is_control()).collect();
    line.truncate(line.floor_char_boundary(MAX_NAME_BYTES));
    line.trim().to_owned()
}

#[cfg(test)]
mod tests;
