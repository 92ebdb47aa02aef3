//! The thread that gets the workers ready, merges what they hand over, and tells the agent.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::{io, net::SocketAddr};

use tokio::sync::mpsc::UnboundedSender;

use crate::api::{Event, Setup};
use crate::control::Control;
use crate::merger::Merger;
use crate::prepare::{self, Refusal};
use crate::recorder::WorkerWindow;
use crate::worker::{self, WorkerSetup};
use crate::{nanoseconds, planned_load};

/// What a reporter is told.
#[derive(Debug)]
pub(crate) enum ToReporter {
    /// The target's addresses are known.
    Resolved(Result<Vec<SocketAddr>, Refusal>),
    /// A worker stands by, or can't.
    Standing(io::Result<()>),
    /// A worker's results of a second; it goes on at `next`, or not at all.
    Window { worker: usize, second: u32, next: Option<u32>, window: WorkerWindow },
    /// A worker's thread ends.
    Done { worker: usize },
    /// The engine is dropped.
    Quit,
}

/// One engine's reporter.
pub(crate) struct Reporter {
    pub(crate) setup: Setup,
    pub(crate) workers: usize,
    pub(crate) control: Arc<Control>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) inbox: Receiver<ToReporter>,
    pub(crate) to_self: Sender<ToReporter>,
}

/// The workers that were started.
#[derive(Default)]
struct Crew {
    threads: Vec<JoinHandle<()>>,
    /// Where cleared windows go, by worker.
    cleared: Vec<Sender<WorkerWindow>>,
}

impl Reporter {
    /// The whole life of the reporter's thread.
    pub(crate) fn run(self) {
        let mut crew = Crew::default();
        match self.get_ready(&mut crew) {
            Ok(()) => {
                self.tell(Event::Ready);
                let window = self.merge(&crew);
                crew.join();
                self.tell(Event::Window { window, last: true });
            }
            Err(refusal) => {
                self.control.quit();
                crew.join();
                self.tell(Event::Refused { reason: refusal.sentence() });
            }
        }
    }

    /// An engine whose events nobody reads does its work all the same.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    fn get_ready(&self, crew: &mut Crew) -> Result<(), Refusal> {
        let requests = prepare::requests(&self.setup.plan)?;
        prepare::descriptors(self.setup.share.users, self.workers)?;
        let addresses = self.addresses()?;
        for (index, users) in self.shares().enumerate() {
            let (to_worker, cleared) = mpsc::channel();
            let setup = self.worker_setup(index, users, &requests, &addresses, cleared);
            let thread = thread::Builder::new()
                .name(format!("volley-worker-{index}"))
                .spawn(move || worker::run(setup))
                .map_err(Refusal::Thread)?;
            crew.threads.push(thread);
            crew.cleared.push(to_worker);
        }
        for _ in 0..self.workers {
            match self.inbox.recv() {
                Ok(ToReporter::Standing(standing)) => standing.map_err(Refusal::EventLoop)?,
                _ => return Err(Refusal::Ended),
            }
        }
        Ok(())
    }

    /// A name is resolved on a thread of its own, which can't be interrupted and is left behind by an engine that
    /// ends meanwhile.
    fn addresses(&self) -> Result<Vec<SocketAddr>, Refusal> {
        let plan = &self.setup.plan;
        if plan.target.ip().is_some() {
            return prepare::addresses(&plan.target);
        }
        let (plan, to_self) = (Arc::clone(plan), self.to_self.clone());
        thread::Builder::new()
            .name("volley-resolver".to_owned())
            .spawn(move || to_self.send(ToReporter::Resolved(prepare::addresses(&plan.target))))
            .map_err(Refusal::Thread)?;
        match self.inbox.recv() {
            Ok(ToReporter::Resolved(addresses)) => addresses,
            _ => Err(Refusal::Ended),
        }
    }

    /// Each worker's users: as even as can be, and all of them exactly.
    fn shares(&self) -> impl Iterator<Item = Range<u32>> {
        let share = self.setup.share;
        let workers = self.workers as u64;
        let bound = move |index: u64| share.first_user + (u64::from(share.users) * index / workers) as u32;
        (0..workers).map(move |index| bound(index)..bound(index + 1))
    }

    fn worker_setup(
        &self,
        index: usize,
        users: Range<u32>,
        requests: &[crate::http1::Prepared],
        addresses: &[SocketAddr],
        cleared: Receiver<WorkerWindow>,
    ) -> WorkerSetup {
        let plan = &self.setup.plan;
        WorkerSetup {
            index,
            users,
            steps: requests.to_vec(),
            addresses: addresses.to_vec(),
            timeout_ns: nanoseconds(plan.http.timeout),
            connect_timeout_ns: nanoseconds(plan.http.connect_timeout),
            backs_off: planned_load(plan).requests.is_none(),
            clock: self.setup.clock,
            control: Arc::clone(&self.control),
            events: self.events.clone(),
            to_reporter: self.to_self.clone(),
            cleared,
        }
    }

    /// Merges and tells until all workers are done; gives what is then left.
    fn merge(&self, crew: &Crew) -> volley_stats::Window {
        let mut merger = Merger::new(self.workers);
        let mut at_work = self.workers;
        while at_work > 0 {
            match self.inbox.recv() {
                Ok(ToReporter::Window { worker, second, next, mut window }) => {
                    merger.add(worker, second, next, &window);
                    window.clear();
                    // A worker that is done needs it no more.
                    let _ = crew.cleared[worker].send(window);
                }
                Ok(ToReporter::Done { worker }) => {
                    merger.done(worker);
                    at_work -= 1;
                }
                Ok(ToReporter::Resolved(_) | ToReporter::Standing(_) | ToReporter::Quit) => {}
                Err(mpsc::RecvError) => break,
            }
            if let Some(window) = merger.complete() {
                self.tell(Event::Window { window, last: false });
            }
        }
        merger.last()
    }
}

impl Crew {
    fn join(self) {
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker panicked; the requests it had in flight are lost");
            }
        }
    }
}
