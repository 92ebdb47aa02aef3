//! Starting a run: are there agents, a name for it, a place in the store, and its driver.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::mpsc;
use volley_lifecycle::Run;
use volley_plan::Plan;
use volley_plan::link::RunId;

use super::{Handle, Shared, lock, wanted};
use crate::document::Progress;
use crate::driver::Driver;
use crate::live::{Head, Live};
use crate::store::StoreError;

/// Most runs that go on or wait at the same time.
const MAX_UNFINISHED: usize = 100;
/// Things that may wait for a run's driver; beyond that, connections wait.
const INBOX: usize = 256;

/// A run that is to be.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// What to do.
    pub plan: Plan,
    /// A note for people.
    pub note: Option<String>,
    /// How long to look for the plan's least number of agents before giving up, apart from the time that the plan
    /// itself allows. A run within one process waits here for its own agent.
    pub wait_for_agents: Duration,
}

/// Why a run cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There are fewer agents than the plan wants.
    #[error("{}", too_few(*.wanted, *.there, .command))]
    NoAgents {
        /// The plan's least number.
        wanted: usize,
        /// Those that are there.
        there: usize,
        /// The command that adds one.
        command: String,
    },
    /// There are enough, but other runs have them.
    #[error("{}", too_busy(*.wanted, *.busy))]
    AgentsBusy {
        /// The plan's least number.
        wanted: usize,
        /// Those that are busy.
        busy: usize,
    },
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

fn too_few(wanted: usize, there: usize, command: &str) -> String {
    let found = match there {
        0 => "no agent is connected".to_owned(),
        1 => format!("the plan wants {wanted} agents and only 1 is connected"),
        _ => format!("the plan wants {wanted} agents and only {there} are connected"),
    };
    format!("{found}; add one with `{command}`, or let the plan wait with `agents: {{ wait: 60s }}`")
}

fn too_busy(wanted: usize, busy: usize) -> String {
    let wants = volley_plan::words::counted(wanted as u64, "agent");
    let taken = if busy == 1 { "1 is" } else { &format!("{busy} are") };
    format!("the plan wants {wants} and {taken} busy with another run; wait until it is over, or stop it")
}

pub(super) async fn start_run(shared: Arc<Shared>, new: NewRun) -> Result<RunId, StartError> {
    if shared.is_stopping() {
        return Err(StartError::ShuttingDown);
    }
    if shared.unfinished().len() >= MAX_UNFINISHED {
        return Err(StartError::TooManyRuns);
    }
    shared.look_for_agents(&new).await?;
    // A task of its own, so that a caller who goes away in the middle leaves nothing half done.
    let started = tokio::spawn(async move { shared.begin(new).await });
    started
        .await
        .unwrap_or_else(|error| Err(StoreError::Failed(format!("starting broke off: {error}")).into()))
}

impl Shared {
    /// Waits until there are agents enough, or `wait_for_agents` is over. A plan that waits itself is let through.
    async fn look_for_agents(&self, new: &NewRun) -> Result<(), StartError> {
        let mut changes = self.fleet_changes();
        let wanted = wanted(&new.plan);
        let enough = async {
            // Each change is looked at once; the sender lives as long as `self`.
            while self.strength().idle < wanted && changes.changed().await.is_ok() {}
        };
        let found = tokio::time::timeout(new.wait_for_agents, enough).await.is_ok();
        if found || !new.plan.agents.wait.is_zero() {
            return Ok(());
        }
        let strength = self.strength();
        let there = strength.idle + strength.busy;
        if there >= wanted {
            return Err(StartError::AgentsBusy { wanted, busy: strength.busy });
        }
        Err(StartError::NoAgents { wanted, there, command: self.add_agent_command() })
    }

    async fn begin(self: Arc<Self>, new: NewRun) -> Result<RunId, StartError> {
        let head = self.head(new);
        let id = head.id.clone();
        let gathering = Progress {
            state: "gathering".to_owned(),
            sentence: "Waiting for agents.".to_owned(),
            ..Progress::default()
        };
        let dropped = self.store.create(&head.document(gathering)).await?;
        self.forget(&dropped);
        let series = self.store.series(&id).await?;
        let min = head.plan.agents.min;
        let agents = self.fleet(|fleet, now_ns| fleet.claim(&id, min, now_ns));
        tracing::info!(run = %id, plan = %head.plan.name, agents = agents.len(), "run created");
        let seed = rand::random();
        let (now_ns, lifecycle) = (self.clock.now_ns(), self.settings.lifecycle);
        let (run, actions) = Run::new(now_ns, id.clone(), head.plan.clone(), seed, lifecycle, agents);
        let live = Arc::new(Live::new(head, run, series));
        let (inbox, outlet) = mpsc::channel(INBOX);
        {
            let mut runs = lock(&self.runs);
            runs.by_id.insert(id.clone(), Handle { live: live.clone(), inbox });
            runs.waiting.insert(id.clone());
        }
        tokio::spawn(Driver::new(self.clone(), live).drive(actions, outlet));
        // Agents that came in the meantime would otherwise be offered only when the next one does.
        self.offer();
        Ok(id)
    }

    fn head(&self, new: NewRun) -> Head {
        let created_at = Timestamp::now();
        let mut id = run_id(created_at);
        // Runs of the same second differ in the last part of their names.
        while self.live(&id).is_some() {
            id = run_id(created_at);
        }
        let plan = Arc::new(new.plan);
        Head { id, plan, note: new.note, created_at, created_ns: self.clock.now_ns() }
    }
}

/// A run's name: when it was asked for, and 32 random bits. Names sort by time.
fn run_id(created_at: Timestamp) -> RunId {
    let name = format!("{}-{:08x}", created_at.strftime("%Y%m%d-%H%M%S"), rand::random::<u32>());
    RunId::new(&name).expect("digits, letters a to f and hyphens, 24 of them")
}
