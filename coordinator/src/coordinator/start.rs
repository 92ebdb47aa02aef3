//! Starting a run: are there agents, a name for it, and a place in the store and in the queue.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::mpsc;
use volley_lifecycle::Run;
use volley_plan::link::RunId;
use volley_plan::{AgentsWanted, Denied, Plan, ShareBy};

use super::{Handle, Shared, allowed, lock};
use crate::attach::MAX_UNREAD;
use crate::document::{LibraryPlan, Marks, Progress, QueuePlace};
use crate::driver::Input;
use crate::fleet::MAX_AGENTS;
use crate::live::{Head, Live};
use crate::store::{RequestKey, StoreError};

/// Most runs that go on or wait at the same time.
const MAX_UNFINISHED: usize = 100;
/// Things that may wait for a run's driver: all that its agents may have on the way, so that none of them waits for
/// another. Beyond that, connections wait.
pub(super) const INBOX: usize = MAX_UNREAD * MAX_AGENTS;
/// Where a run stands before it is known where.
const FIRST: QueuePlace = QueuePlace { place: 1, because: String::new() };

/// A run that is to be.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// What to do.
    pub plan: Plan,
    /// Which plan of the library that is.
    pub library: Option<LibraryPlan>,
    /// What people say of it.
    pub marks: Marks,
    /// The request that asks for it, where that is to start no other one however often it is sent.
    pub request: Option<RequestKey>,
    /// How long to look for the plan's least number of agents before the run takes its place, apart from the time that the
    /// plan itself allows. A run within one process waits here for its own agent.
    pub wait_for_agents: Duration,
}

impl NewRun {
    /// A run of a plan, of which nothing more is said.
    #[must_use]
    pub fn of(plan: Plan) -> Self {
        let (library, marks, request) = (None, Marks::default(), None);
        Self { plan, library, marks, request, wait_for_agents: Duration::ZERO }
    }
}

/// Why a run cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There are fewer agents than the plan wants, idle and busy ones together.
    #[error("{}", too_few(*.wanted, *.there, .kind, .command))]
    NoAgents {
        /// The plan's least number.
        wanted: usize,
        /// Those that are there.
        there: usize,
        /// What the plan wants them to have, in words; empty where any will do.
        kind: String,
        /// The command that adds one.
        command: String,
    },
    /// The target is none that this coordinator may load.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// Too many runs go on or wait already.
    #[error("{MAX_UNFINISHED} runs go on or wait for agents already")]
    TooManyRuns,
    /// The coordinator is about to end.
    #[error("the coordinator is shutting down")]
    ShuttingDown,
    /// The run could not be kept.
    #[error("the run could not be stored")]
    Store(#[from] StoreError),
}

fn too_few(wanted: usize, there: usize, kind: &str, command: &str) -> String {
    let found = match there {
        0 => format!("no agent{kind} is connected"),
        1 => format!("the plan wants {wanted} agents{kind} and only 1 is connected"),
        _ => format!("the plan wants {wanted} agents{kind} and only {there} are connected"),
    };
    format!("{found}; add one with `{command}`, or let the plan wait with `agents: {{ wait: 60s }}`")
}

/// What a plan wants agents to have: ` with zone=eu and a measured capacity`.
fn kind(wanted: &AgentsWanted) -> String {
    let labels = wanted.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let measured = (wanted.share_by == ShareBy::Capacity).then(|| "a measured capacity".to_owned());
    let kinds: Vec<_> = labels.chain(measured).collect();
    if kinds.is_empty() { String::new() } else { format!(" with {}", kinds.join(" and ")) }
}

/// The flags of an agent that has what a plan wants: ` --label zone=eu --measure`.
fn fitting(wanted: &AgentsWanted) -> String {
    let labels = wanted.labels.iter().map(|(key, value)| format!(" --label {key}={value}"));
    let measure = (wanted.share_by == ShareBy::Capacity).then(|| " --measure".to_owned());
    labels.chain(measure).collect()
}

/// A place among the runs that go on or wait, for one that is not there yet.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: Arc<Shared>) -> Result<Self, StartError> {
        {
            let mut runs = lock(&shared.runs);
            let unfinished = runs.by_id.values().filter(|handle| !handle.live.is_over()).count();
            if unfinished + runs.starting >= MAX_UNFINISHED {
                return Err(StartError::TooManyRuns);
            }
            runs.starting += 1;
        }
        Ok(Self(shared))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.0.runs).starting -= 1;
    }
}

pub(super) async fn start_run(shared: Arc<Shared>, new: NewRun) -> Result<RunId, StartError> {
    if shared.is_stopping() {
        return Err(StartError::ShuttingDown);
    }
    let NewRun { plan, .. } = &new;
    allowed::permits(&shared.settings.allow.for_load(&plan.load), plan).await?;
    let place = Place::take(shared.clone())?;
    shared.look_for_agents(&new).await?;
    // A task of its own, so that a caller who goes away in the middle leaves nothing half done.
    let started = tokio::spawn(async move {
        let started = shared.begin(new).await;
        // From here on the run itself is counted.
        drop(place);
        started
    });
    started
        .await
        .unwrap_or_else(|error| Err(StoreError::Failed(format!("starting broke off: {error}")).into()))
}

impl Shared {
    /// Waits until there are agents enough, or `wait_for_agents` is over. Those that are busy will be free some time. A plan
    /// that waits itself is let through.
    async fn look_for_agents(&self, new: &NewRun) -> Result<(), StartError> {
        let mut changes = self.fleet_changes();
        let agents = &new.plan.agents;
        let wanted = agents.min.max(1) as usize;
        let enough = async {
            // Each change is looked at once; the sender lives as long as `self`.
            while self.strength(agents).idle < wanted && changes.changed().await.is_ok() {}
        };
        let found = tokio::time::timeout(new.wait_for_agents, enough).await.is_ok();
        let there = self.strength(agents).in_all();
        if found || there >= wanted || !agents.wait.is_zero() {
            return Ok(());
        }
        let command = format!("{}{}", self.add_agent_command(), fitting(agents));
        Err(StartError::NoAgents { wanted, there, kind: kind(agents), command })
    }

    async fn begin(self: Arc<Self>, new: NewRun) -> Result<RunId, StartError> {
        let request = new.request.clone();
        let head = self.head(new);
        let id = head.id.clone();
        if let Some(request) = request {
            // Before the run, so that none is there of which the request knows nothing.
            let remembered = self.store.remember(request, &id).await;
            self.wrote(remembered)?;
        }
        tracing::info!(run = %id, plan = %head.plan.name, "run created");
        let created = self.store.create(&head.document(Progress::default().queued(FIRST))).await;
        let dropped = self.wrote(created)?;
        self.forget(&dropped);
        self.line_up(head).await?;
        Ok(id)
    }

    /// Puts a run that is kept into the queue, as the last.
    pub(super) async fn line_up(self: &Arc<Self>, head: Head) -> Result<(), StoreError> {
        let (live, _, outlet) = self.enter(head).await?;
        self.begin_in_turn(live, outlet);
        Ok(())
    }

    /// Ends a run that is kept, in the way of those that could not run.
    pub(super) async fn turn_down(self: &Arc<Self>, head: Head, reason: String) -> Result<(), StoreError> {
        let (live, inbox, outlet) = self.enter(head).await?;
        tracing::warn!(run = %live.head.id, reason, "a run that waits is forbidden by now, and won't begin");
        // It is the first thing that comes in, so there is room.
        let _ = inbox.try_send(Input::Forbidden { reason });
        self.begin_with(live, outlet, Vec::new());
        Ok(())
    }

    /// Makes a run known that is kept and has not begun.
    async fn enter(
        self: &Arc<Self>,
        head: Head,
    ) -> Result<(Arc<Live>, mpsc::Sender<Input>, mpsc::Receiver<Input>), StoreError> {
        let series = self.store.series(&head.id).await?;
        let (now_ns, settings) = (self.clock.now_ns(), self.settings.lifecycle);
        // Decides nothing: it is what the run is asked about until its turn comes.
        let (run, _) = Run::new(now_ns, head.id.clone(), head.plan.clone(), 0, settings, Vec::new());
        let id = head.id.clone();
        let live = Arc::new(Live::queued(head, run, series, FIRST));
        let (inbox, outlet) = mpsc::channel(INBOX);
        lock(&self.runs).by_id.insert(id, Handle { live: live.clone(), inbox: inbox.clone() });
        Ok((live, inbox, outlet))
    }

    fn head(&self, new: NewRun) -> Head {
        let created_at = Timestamp::now();
        let mut id = run_id(created_at);
        // Runs of the same second differ in the last part of their names.
        while self.live(&id).is_some() {
            id = run_id(created_at);
        }
        let plan = Arc::new(new.plan);
        Head::new(id, plan, new.library, new.marks, (created_at, self.clock.now_ns()))
    }
}

/// A run's name: when it was asked for, and 32 random bits. Names sort by time.
fn run_id(created_at: Timestamp) -> RunId {
    let name = format!("{}-{:08x}", created_at.strftime("%Y%m%d-%H%M%S"), rand::random::<u32>());
    RunId::new(&name).expect("digits, letters a to f and hyphens, 24 of them")
}
