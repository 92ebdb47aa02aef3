//! The coordinator: its fleet, its runs, and what can be asked of it. One value for a service and for a run within one
//! process alike.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use volley_lifecycle::CannotAdjust;
use volley_plan::link::{FromAgent, Incarnation, Lease, Order, RunId, ToAgent};
use volley_plan::{AgentsWanted, Denied, Level};

use crate::attach;
use crate::bind::is_loopback;
use crate::clock::Clock;
use crate::crash;
use crate::document::RunDocument;
use crate::driver::{Input, Pong};
use crate::fleet::{AgentView, Fleet, Strength};
use crate::live::Live;
use crate::metrics::Meter;
use crate::past::Shelf;
use crate::queue::Queue;
use crate::report::Recording;
use crate::serve::Ending;
use crate::settings::Settings;
use crate::store::{Store, StoreError};

mod allowed;
mod beside;
mod change;
mod excerpt;
mod late;
mod meter;
mod resume;
mod runs;
mod start;
mod turns;
mod writing;

pub(crate) use allowed::forbids;
pub(crate) use beside::Ping;
pub(crate) use change::ChangeError;
pub(crate) use excerpt::Cut;
pub use start::{NewRun, StartError};

/// How long drivers may take to carry out what is decided already, at the end.
const DRIVERS_END_WITHIN: Duration = Duration::from_secs(2);

/// A coordinator. Clones are the same one.
#[derive(Clone)]
pub struct Coordinator {
    pub(crate) shared: Arc<Shared>,
}

/// Why a run cannot be stopped.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StopError {
    /// There is none of this name.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// It is over.
    #[error("run {0} is over already")]
    Over(RunId),
}

/// Why a run's load cannot be adjusted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AdjustRefused {
    /// There is none of this name.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// It is over.
    #[error("run {0} is over already")]
    Over(RunId),
    /// It waits for its turn.
    #[error("the run is queued; it can be adjusted while it is running")]
    Queued,
    /// The target may not be loaded so hard.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It can't be adjusted so, or not now.
    #[error(transparent)]
    Not(#[from] CannotAdjust),
}

/// What all tasks of a coordinator share. Each lock is held for the time of one look or change, never over an
/// `await`, and none of these locks is taken while another is held, but for the fleet's while the queue advances.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: Settings,
    fleet: Mutex<Fleet>,
    runs: Mutex<Runs>,
    /// Whose turn it is to begin.
    queue: Mutex<Queue>,
    /// What was read back of runs that are not here any more.
    shelf: Mutex<Shelf>,
    /// Agents that have delivered all that they had of a run that nobody drives any more.
    delivered: Mutex<BTreeSet<Incarnation>>,
    /// The latest write to the store, if it failed.
    write_fault: Mutex<Option<writing::Fault>>,
    /// Held by whoever adds something late to such a run.
    late: tokio::sync::Mutex<()>,
    /// Held by whoever reads all of a run.
    reading: tokio::sync::Mutex<()>,
    /// Held by whoever changes what people say of a run.
    marking: tokio::sync::Mutex<()>,
    /// Held by whoever starts a run by a request that may come again.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// What monitoring is told.
    meter: Mutex<Meter>,
    /// Counts changes of the fleet.
    fleet_changes: watch::Sender<u64>,
    /// When idle agents were last offered to the runs that wait for some.
    offered_ns: AtomicU64,
    stopping: AtomicBool,
    /// Closed while there is no driver.
    drivers: watch::Sender<()>,
    agents_address: OnceLock<String>,
    /// Becomes true when everything is served.
    served: watch::Sender<bool>,
}

#[derive(Default)]
struct Runs {
    by_id: BTreeMap<RunId, Handle>,
    /// How many more are about to be there.
    starting: usize,
    /// Those that are over and still here, since something may be delivered late; the latest at the end.
    finished: VecDeque<RunId>,
    /// Those that wait for agents, the oldest first.
    waiting: BTreeSet<RunId>,
}

/// A run and the way to its driver, which ends when this is dropped.
#[derive(Clone)]
struct Handle {
    live: Arc<Live>,
    inbox: mpsc::Sender<Input>,
}

impl Coordinator {
    /// A coordinator without agents and runs. It does nothing by itself.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, settings: Settings) -> Self {
        crash::announce();
        let shared = Shared {
            clock: Clock::start(),
            store,
            settings,
            fleet: Mutex::default(),
            runs: Mutex::default(),
            queue: Mutex::default(),
            shelf: Mutex::default(),
            delivered: Mutex::default(),
            write_fault: Mutex::default(),
            late: tokio::sync::Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            marking: tokio::sync::Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            meter: Mutex::default(),
            fleet_changes: watch::Sender::new(0),
            offered_ns: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            drivers: watch::Sender::new(()),
            agents_address: OnceLock::new(),
            served: watch::Sender::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Speaks with one agent over one connection until it ends. `to` should hold some hundred messages: an agent
    /// that lets it run full is cut off.
    pub fn attach(
        &self,
        from: mpsc::Receiver<FromAgent>,
        to: mpsc::Sender<ToAgent>,
    ) -> impl Future<Output = ()> + Send + use<> {
        attach::attach(self.shared.clone(), from, to)
    }

    /// Resolves once [`crate::serve`] has taken up the runs that were left unfinished, and serves.
    pub async fn served(&self) {
        // The sender lives as long as `self`.
        let _ = self.shared.served.subscribe().wait_for(|served| *served).await;
    }

    /// Starts a run, and gives back its name at once: preparing and everything after happens by itself.
    ///
    /// # Errors
    /// [`StartError`] says why it can't be started.
    pub async fn start_run(&self, new: NewRun) -> Result<RunId, StartError> {
        start::start_run(self.shared.clone(), new).await
    }

    /// Asks for a run's end: no new iterations, requests in flight have the plan's drain time.
    ///
    /// # Errors
    /// [`StopError`] if there is no such run, or it is over.
    pub fn stop_run(&self, run: &RunId) -> Result<(), StopError> {
        let live = self.shared.live(run).ok_or_else(|| StopError::NotFound(run.clone()))?;
        if live.is_over() {
            return Err(StopError::Over(run.clone()));
        }
        tracing::info!(%run, "stop asked for");
        live.stop.notify_one();
        Ok(())
    }

    /// The same, for a run that may not be in memory any more; by force, requests in flight are cut off at once.
    pub(crate) async fn stop(&self, run: &RunId, force: bool) -> Result<(), StopError> {
        if let (true, Some(live)) = (force, self.shared.live(run)) {
            live.cut_off_at_stop();
        }
        match self.stop_run(run) {
            Err(StopError::NotFound(_)) if self.document(run).await.is_some() => {
                Err(StopError::Over(run.clone()))
            }
            stopped => stopped,
        }
    }

    /// Brings a run's load to another level, for the rest of its planned time. Gives the run time from which on it is
    /// there, in nanoseconds.
    ///
    /// # Errors
    /// [`AdjustRefused`] says why that can't be.
    pub async fn adjust_run(&self, run: &RunId, to: Level) -> Result<u64, AdjustRefused> {
        match self.shared.adjust(run, to).await {
            Err(AdjustRefused::NotFound(_)) if self.document(run).await.is_some() => {
                Err(AdjustRefused::Over(run.clone()))
            }
            adjusted => adjusted,
        }
    }

    /// A run's document, once it is over or `up_to` has passed; `None` if there is no such run.
    pub async fn wait(&self, run: &RunId, up_to: Duration) -> Option<RunDocument> {
        if let Some(live) = self.shared.live(run) {
            let mut over = live.over();
            // Out of time or over: the document tells which.
            let _ = tokio::time::timeout(up_to, over.wait_for(|over| *over)).await;
        }
        self.document(run).await
    }

    /// A run's document as it is now; `None` if there is no such run.
    pub async fn document(&self, run: &RunId) -> Option<RunDocument> {
        self.shared.document(run).await.unwrap_or_else(|error| {
            tracing::error!(%run, %error, "a run's document could not be read");
            None
        })
    }
}

impl Coordinator {
    /// All that is kept of a run that is over, for its reports; `None` if there is no such run, or it goes on.
    ///
    /// # Errors
    /// What the store says that can't read it.
    pub async fn recording(&self, run: &RunId) -> Result<Option<Recording>, StoreError> {
        match self.shared.document(run).await? {
            Some(document) if document.progress.over => self.shared.recording(document).await.map(Some),
            _ => Ok(None),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Agents.
impl Shared {
    /// Looks at the fleet, or changes it.
    pub(crate) fn fleet<T>(&self, act: impl FnOnce(&mut Fleet, u64) -> T) -> T {
        act(&mut lock(&self.fleet), self.clock.now_ns())
    }

    /// All agents, by name. Those that are gone take part in no run that is over, though they may still come back with
    /// something of it.
    pub(crate) fn agents(&self) -> Vec<AgentView> {
        let mut agents = self.fleet(Fleet::list);
        let goes_on = |run: &RunId| self.live(run).is_some_and(|live| !live.is_over());
        for agent in agents.iter_mut().filter(|agent| agent.is_gone()) {
            agent.run = agent.run.take().filter(goes_on);
        }
        agents
    }

    /// How many agents there are that a plan wants.
    pub(crate) fn strength(&self, wanted: &AgentsWanted) -> Strength {
        self.fleet(|fleet, now_ns| fleet.strength(wanted, now_ns))
    }

    pub(crate) fn send(&self, agent: Incarnation, message: ToAgent) {
        self.fleet(|fleet, _| fleet.send(agent, message));
    }

    /// Sends an order, its time told on the agent's clock. Where that is unknown yet the order stays unsent, hence
    /// unacknowledged, and goes out again after a ping.
    pub(crate) fn send_order(&self, agent: Incarnation, run: &RunId, number: u64, order: Order) {
        let order = match order {
            Order::Start { at_ns, from_ns, lease_until_ns } => {
                let at_ns = self.fleet(|fleet, _| fleet.to_agent_ns(agent, at_ns));
                let Some(at_ns) = at_ns else { return };
                Order::Start { at_ns, from_ns, lease_until_ns }
            }
            order => order,
        };
        self.send(agent, ToAgent::Order { run: run.clone(), number, order });
    }

    pub(crate) fn pong(&self, agent: Incarnation, pong: Pong, lease: Option<Lease>) {
        let Pong { sent_ns, received_ns } = pong;
        self.fleet(|fleet, answered_ns| {
            fleet.send(agent, ToAgent::Pong { sent_ns, received_ns, answered_ns, lease })
        });
    }

    /// Tells an agent what is wrong with what it sends, and ends its connection.
    pub(crate) fn turn_away(&self, agent: Incarnation, fault: &str) {
        tracing::warn!(%agent, fault, "agent turned away");
        let reason = format!("the agent sent what cannot be: {fault}");
        self.fleet(|fleet, _| {
            fleet.send(agent, ToAgent::Refused { reason });
            fleet.cut(agent);
        });
    }

    /// Takes an agent back from a run, for others.
    pub(crate) fn free(&self, agent: Incarnation, run: &RunId) {
        if self.fleet(|fleet, _| fleet.free(agent, run)) {
            self.offer();
        }
    }

    /// Tells of every agent that comes, goes, or is free again.
    pub(crate) fn fleet_changes(&self) -> watch::Receiver<u64> {
        self.fleet_changes.subscribe()
    }

    pub(crate) fn fleet_changed(&self) {
        self.fleet_changes.send_modify(|changes| *changes += 1);
    }

    /// Where agents are to dial, as the command that adds one says it.
    pub(crate) fn add_agent_command(&self) -> String {
        let known = self.agents_address.get().map(String::as_str);
        let is_here = known.is_none_or(|address| address.parse().is_ok_and(is_loopback));
        let address = known.unwrap_or("HOST:PORT");
        let token = if self.settings.token.is_some() { " --token-file FILE" } else { "" };
        // Without a rule, an agent whose coordinator is elsewhere loads nothing but its own host.
        let allow = if is_here { "" } else { " --allow RULE" };
        format!("volley agent --coordinator {address}{token}{allow}")
    }

    pub(crate) fn set_served(&self) {
        self.served.send_replace(true);
    }

    pub(crate) fn set_agents_address(&self, address: String) {
        // The first one stands: a coordinator is served once.
        let _ = self.agents_address.set(address);
    }
}

/// The end.
impl Shared {
    /// For a driver to hold as long as it is there.
    pub(crate) fn driver_begins(&self) -> watch::Receiver<()> {
        self.drivers.subscribe()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Takes no further run. Those that go on are stopped and waited for as long as the settings say, or left as they are
    /// where they can be gone on with.
    pub(crate) async fn wind_down(&self, ending: Ending) {
        self.stopping.store(true, Ordering::Relaxed);
        let unfinished = self.unfinished();
        if ending == Ending::LeaveRuns && self.store.is_durable() {
            let runs = unfinished.len();
            tracing::info!(runs, "runs that are not over are left for the next coordinator on this store");
            drop(unfinished);
        } else {
            tracing::info!(runs = unfinished.len(), "runs that are not over are stopped");
            self.stop_all(unfinished).await;
        }
        // Nothing more comes in; drivers end with their inboxes, and the store with the last who holds it.
        self.fleet(|fleet, _| fleet.cut_all());
        let runs = std::mem::take(&mut lock(&self.runs).by_id);
        drop(runs);
        if tokio::time::timeout(DRIVERS_END_WITHIN, self.drivers.closed()).await.is_err() {
            tracing::warn!("the store is slow: what it was to keep last may be delivered again");
        }
    }

    async fn stop_all(&self, unfinished: Vec<Arc<Live>>) {
        for live in &unfinished {
            live.stop.notify_one();
        }
        let all_over = async {
            for live in unfinished {
                // An error would mean that the run is forgotten, which is as good.
                let _ = live.over().wait_for(|over| *over).await;
            }
        };
        if tokio::time::timeout(self.settings.shutdown_wait, all_over).await.is_err() {
            tracing::warn!("runs had not finished when the coordinator ended");
        }
    }
}
