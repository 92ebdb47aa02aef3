//! An agent and its driver: waits for what happens, lets the session decide, and does it.

use std::future::pending;
use std::time::Duration;

use tokio::sync::mpsc::{self, Permit};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use volley_engine::{Clock, Event};
use volley_plan::link::{FromAgent, Hello, Incarnation, PING_NS, ToAgent};

use crate::disk::{Answer, Disk};
use crate::launch::{Launch, launch_engine};
use crate::leaving::{Leaving, Shutdown, Step};
use crate::options::AgentOptions;
use crate::runs::Runs;
use crate::session::Session;
use crate::status::Status;

/// An agent that has had no word of the coordinator for so long stops its run; the lease has paused it long before.
pub(crate) const ORPHAN: Duration = Duration::from_secs(60);

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

/// One agent: its identity, the run at hand with its engine, and the journal of what is not yet acknowledged. It outlives
/// its connections. When it is dropped, all sending ends.
pub struct Agent {
    session: Session,
    clock: Clock,
    disk: Option<Disk>,
    /// When the coordinator was heard last.
    contact: Option<Instant>,
    leaving: Leaving,
    status: watch::Sender<Status>,
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
        let (hello, means) = (options.hello(incarnation), options.means(clock));
        let disk = options.state.and_then(|directory| Disk::start(directory, incarnation));
        let runs = Runs::new(means, launch, disk.is_some());
        Self {
            session: Session::new(hello, runs),
            clock,
            disk,
            contact: None,
            leaving: Leaving::on(Shutdown::never()),
            status: watch::Sender::default(),
        }
    }

    /// An agent that ends when it is told to.
    pub(crate) fn until(mut self, shutdown: Shutdown) -> Self {
        self.leaving = Leaving::on(shutdown);
        self
    }

    /// An agent that tells there how it is.
    pub(crate) fn telling(mut self, status: watch::Sender<Status>) -> Self {
        self.status = status;
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
            self.catch_up(true);
            let (contact, orphaned, disk_hangs) = (self.contact, self.orphaned_at(), self.disk_hangs_at());
            let has_to_say = self.session.has_to_say();
            let moment = tokio::select! {
                biased;
                () = self.leaving.moment(contact) => Moment::Leave,
                _ = beats.tick() => Moment::Beat,
                message = from.recv() => Moment::Heard(message),
                room = to.reserve(), if has_to_say => Moment::Room(room.ok()),
                answer = answer(&mut self.disk) => Moment::Answered(answer),
                event = self.session.runs.next_event() => Moment::Told(event),
                () = at(orphaned) => Moment::Orphaned,
                () = at(disk_hangs) => Moment::DiskHangs,
            };
            if let Some(end) = self.meet(moment) {
                self.catch_up(false);
                return end;
            }
        }
    }

    /// Attends to the run at hand while there is no connection: journals what it measures, and stops it once there has
    /// been no contact for 60 s. Drop it when there is a connection; by itself it ends only when the agent is to end.
    pub async fn alone(&mut self) {
        loop {
            self.catch_up(false);
            let (contact, orphaned, disk_hangs) = (self.contact, self.orphaned_at(), self.disk_hangs_at());
            let moment = tokio::select! {
                () = self.leaving.moment(contact) => Moment::Leave,
                answer = answer(&mut self.disk) => Moment::Answered(answer),
                event = self.session.runs.next_event() => Moment::Told(event),
                () = at(orphaned) => Moment::Orphaned,
                () = at(disk_hangs) => Moment::DiskHangs,
            };
            if self.meet(moment).is_some() {
                return;
            }
        }
    }

    /// Does what a moment asks for. Gives back how the connection ends if it ends by it.
    fn meet(&mut self, moment: Moment<'_>) -> Option<LinkEnd> {
        match moment {
            Moment::Leave => {
                if self.leave() == Step::End {
                    return Some(LinkEnd::Left);
                }
            }
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
            Moment::Answered(answer) => {
                if answer.is_none() {
                    self.disk = None;
                }
                self.session.runs.answer(answer);
                if self.disk.as_mut().is_some_and(Disk::take_recovery) {
                    self.session.runs.disk_is_back();
                }
            }
            Moment::DiskHangs => {
                self.disk.iter_mut().for_each(Disk::hang);
                self.session.runs.disk_hangs();
            }
            Moment::Told(event) => self.session.runs.hear(event),
            Moment::Orphaned => self.session.runs.abandon(self.clock.now_ns()),
        }
        self.has_left().then_some(LinkEnd::Left)
    }

    /// Does the next step to the end.
    fn leave(&mut self) -> Step {
        let step = self.leaving.step(self.contact, self.session.runs.patience());
        match step {
            Step::Ask => {
                tracing::info!(
                    "this agent is about to end: it asks to be relieved, and delivers what it has"
                );
                self.session.leave();
            }
            Step::Stop => {
                self.session.leave();
                self.session.runs.stop(self.clock.now_ns());
            }
            Step::End => {}
        }
        step
    }

    fn has_left(&self) -> bool {
        let runs = &self.session.runs;
        let waits = if self.leaving.is_at_once() { runs.owes_windows() } else { runs.has_work() };
        self.leaving.has_begun() && !waits
    }

    /// Hands the disk what it has room for, and tells how the agent is.
    fn catch_up(&mut self, is_connected: bool) {
        if let Some(disk) = &mut self.disk {
            while disk.has_room()
                && let Some(job) = self.session.runs.next_job()
            {
                disk.take(job);
            }
        }
        let runs = &self.session.runs;
        let status = Status {
            is_joined: is_connected && self.session.is_welcome(),
            is_leaving: self.leaving.has_begun(),
            run: runs.progress().map(|progress| progress.run),
            owed_windows: runs.owed_windows(),
            leftovers: runs.leftovers(),
            sent: runs.sent(),
            latest: runs.latest(),
        };
        self.status.send_if_modified(|told| {
            let is_new = *told != status;
            *told = status;
            is_new
        });
    }

    /// When what waits for the disk has waited long enough.
    fn disk_hangs_at(&self) -> Option<Instant> {
        let disk = self.disk.as_ref().filter(|_| self.session.runs.waits_for_disk())?;
        disk.hangs_at()
    }

    fn orphaned_at(&self) -> Option<Instant> {
        self.contact.filter(|_| self.session.runs.needs_contact()).map(|contact| contact + ORPHAN)
    }
}

/// What a conversation waits for.
enum Moment<'a> {
    Leave,
    Beat,
    Heard(Option<ToAgent>),
    Room(Option<Permit<'a, FromAgent>>),
    Answered(Option<Answer>),
    Told(Option<Event>),
    Orphaned,
    DiskHangs,
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

async fn answer(disk: &mut Option<Disk>) -> Option<Answer> {
    match disk {
        Some(disk) => disk.answer().await,
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

#[cfg(test)]
mod tests;
