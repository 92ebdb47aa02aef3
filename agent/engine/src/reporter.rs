//! The thread that gets the workers ready, merges what they hand over, and tells the agent.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use rustix::thread::Pid;
use tokio::sync::mpsc::UnboundedSender;
use volley_stats::Window;

use crate::api::{Event, Setup};
use crate::checkup::Checkup;
use crate::control::Control;
use crate::dial::{DialPlan, Lookup, LookupError, Material, Site};
use crate::files::Files;
use crate::health::ThreadTime;
use crate::merger::Merger;
use crate::prepare::{self, Refusal};
use crate::prepared_step::PreparedStep;
use crate::recorder::WorkerWindow;
use crate::spin::Spin;
use crate::worker::{self, Lines, WorkerPlan};

/// What a reporter is told.
#[derive(Debug)]
pub(crate) enum ToReporter {
    /// The target's addresses are known.
    Resolved(Result<Vec<Site>, LookupError>),
    /// A worker stands by, on this thread, or can't.
    Standing(io::Result<Pid>),
    /// A worker's results of a second; it goes on at `next`, or not at all.
    Window { worker: usize, second: u32, next: Option<u32>, window: Box<WorkerWindow> },
    /// A worker's thread ends, which had these times.
    Done { worker: usize, thread: Pid, time: Option<ThreadTime> },
    /// The engine is dropped.
    Quit,
}

/// One engine's reporter.
pub(crate) struct Reporter {
    pub(crate) setup: Setup,
    pub(crate) control: Arc<Control>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) to_self: Sender<ToReporter>,
}

/// The workers that were started.
#[derive(Default)]
struct Crew {
    threads: Vec<JoinHandle<()>>,
    /// Where cleared windows go, by worker.
    cleared: Vec<Sender<Box<WorkerWindow>>>,
}

/// What each worker gets a copy of.
struct Means {
    requests: Vec<PreparedStep>,
    lookup: Arc<Lookup>,
    sites: Vec<Site>,
    tls: Option<Material>,
    spin: Spin,
}

impl Reporter {
    /// The whole life of the reporter's thread.
    pub(crate) fn run(self, inbox: &Receiver<ToReporter>) {
        let mut crew = Crew::default();
        match self.get_ready(inbox, &mut crew) {
            Ok(checkup) => {
                self.tell(Event::Ready);
                let window = self.merge(inbox, &crew, checkup);
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

    fn get_ready(&self, inbox: &Receiver<ToReporter>, crew: &mut Crew) -> Result<Checkup, Refusal> {
        let (plan, files) = (&self.setup.plan, Files::new(self.setup.files.as_deref()));
        let requests = prepare::requests(plan, &files)?;
        let tls = Material::read(plan, &files)?;
        let (connections, workers) = (self.control.slots_max(), self.control.workers());
        prepare::descriptors(connections, workers)?;
        let lookup = Arc::new(Lookup::new(plan)?);
        let sites = self.sites(&lookup, inbox)?;
        let local_ports = prepare::local_ports(connections, &sites, lookup.sources())?;
        // Where the kernel doesn't say, nothing is known against spinning.
        let processors = thread::available_parallelism().map_or(usize::MAX, usize::from);
        let spin = self.setup.spin.with(workers, processors);
        let means = Means { requests, lookup, sites, tls, spin };
        for index in 0..workers {
            self.start_worker(index, &means, crew)?;
        }
        let mut checkup = Checkup::new(self.setup.clock, local_ports);
        for _ in 0..workers {
            match inbox.recv() {
                Ok(ToReporter::Standing(standing)) => checkup.watch(standing.map_err(Refusal::EventLoop)?),
                _ => return Err(Refusal::Ended),
            }
        }
        Ok(checkup)
    }

    /// The target's addresses that may be connected to. A name is resolved on a thread of its own, which can't be
    /// interrupted and is left behind by an engine that ends meanwhile.
    fn sites(&self, lookup: &Arc<Lookup>, inbox: &Receiver<ToReporter>) -> Result<Vec<Site>, Refusal> {
        let found = if lookup.has_names() {
            let (lookup, to_self) = (Arc::clone(lookup), self.to_self.clone());
            thread::Builder::new()
                .name("volley-resolver".to_owned())
                .spawn(move || to_self.send(ToReporter::Resolved(lookup.sites())))
                .map_err(Refusal::Thread)?;
            match inbox.recv() {
                Ok(ToReporter::Resolved(found)) => found?,
                _ => return Err(Refusal::Ended),
            }
        } else {
            lookup.sites()?
        };
        let admitted = self.control.admit(found)?;
        for error in &admitted.denied {
            tracing::warn!(%error, "an address of the target is not connected to");
        }
        Ok(admitted.sites)
    }

    fn start_worker(&self, index: usize, means: &Means, crew: &mut Crew) -> Result<(), Refusal> {
        let (to_worker, cleared) = mpsc::channel();
        let plan = WorkerPlan {
            plan: Arc::clone(&self.setup.plan),
            requests: means.requests.clone(),
            index,
            workers: self.control.workers(),
            seed: self.setup.seed,
            clock: self.setup.clock,
            spin: means.spin,
            listener: self.setup.listener.clone(),
        };
        let lines = Lines {
            control: Arc::clone(&self.control),
            events: self.events.clone(),
            to_reporter: self.to_self.clone(),
            cleared,
        };
        let dial = DialPlan {
            lookup: Arc::clone(&means.lookup),
            sites: means.sites.clone(),
            resolve: self.setup.plan.http.connect.resolve,
            tls: means.tls.as_ref().map(Material::client).transpose()?,
        };
        let thread = thread::Builder::new()
            .name(format!("volley-worker-{index}"))
            .spawn(move || worker::run(plan, dial, lines))
            .map_err(Refusal::Thread)?;
        crew.threads.push(thread);
        crew.cleared.push(to_worker);
        Ok(())
    }

    /// Merges and tells until all workers are done; gives what is then left.
    fn merge(&self, inbox: &Receiver<ToReporter>, crew: &Crew, mut checkup: Checkup) -> Window {
        let mut at_work = self.control.workers();
        let mut merger = Merger::new(at_work);
        while at_work > 0 {
            match inbox.recv() {
                Ok(ToReporter::Window { worker, second, next, mut window }) => {
                    merger.add(worker, second, next, &window);
                    window.clear();
                    // A worker that is done needs it no more.
                    let _ = crew.cleared[worker].send(window);
                }
                Ok(ToReporter::Done { worker, thread, time }) => {
                    checkup.left(thread, time);
                    merger.done(worker);
                    at_work -= 1;
                }
                Ok(ToReporter::Resolved(_) | ToReporter::Standing(_) | ToReporter::Quit) => {}
                Err(mpsc::RecvError) => break,
            }
            merger.begins_at(self.control.first_second());
            if let Some(mut window) = merger.complete() {
                checkup.began(self.control.begin_ns());
                checkup.fill_in(&mut window, self.setup.clock.now_ns(), merger.take_polled_ns());
                self.tell(Event::Window { window, last: false });
            }
        }
        let polled_ns = merger.take_polled_ns();
        let mut window = merger.last();
        checkup.fill_in(&mut window, self.setup.clock.now_ns(), polled_ns);
        window
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
