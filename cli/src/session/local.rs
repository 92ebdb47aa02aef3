//! A run in this process: a coordinator that keeps its runs in memory and one agent, joined by two channels.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use volley_agent::{Agent, AgentOptions};
use volley_coordinator::report::{Form, rendered};
use volley_coordinator::{Coordinator, MemoryStore, NewRun, RunDocument, Settings, StopError};
use volley_plan::link::RunId;
use volley_plan::{AgentsWanted, AllowList, Plan};

use super::Session;
use crate::exit::{Exit, Failure, OrExit as _};
use crate::run::EngineOptions;

/// Messages that may wait for the agent: the coordinator cuts off an agent that lets them run full.
const TO_AGENT: usize = 512;
/// Messages that may wait for the coordinator. A ping waits behind no more than these.
const FROM_AGENT: usize = 2;
/// How long the agent may take to join, which is a matter of microseconds.
const JOIN: Duration = Duration::from_secs(5);

/// A run in this process.
pub(crate) struct Local {
    plan: Option<Plan>,
    engine: EngineOptions,
    allow: Arc<AllowList>,
    running: Option<(Coordinator, RunId)>,
}

impl Local {
    /// A run of this plan, of what may be loaded; not started yet. There is one agent here, however many the plan wants.
    pub(crate) fn new(mut plan: Plan, engine: EngineOptions, allow: Arc<AllowList>) -> Self {
        plan.agents = AgentsWanted::default();
        Self { plan: Some(plan), engine, allow, running: None }
    }

    fn running(&self) -> Result<&(Coordinator, RunId), Failure> {
        Ok(self.running.as_ref().context("the run was not started")?)
    }
}

/// A coordinator with one agent, both driven by the current runtime until it ends.
fn coordinator_with_agent(engine: EngineOptions, allow: Arc<AllowList>) -> Coordinator {
    let settings = Settings { allow: Arc::clone(&allow), ..Settings::local() };
    let coordinator = Coordinator::new(Arc::new(MemoryStore::default()), settings);
    let (to_agent, from_coordinator) = mpsc::channel(TO_AGENT);
    let (to_coordinator, from_agent) = mpsc::channel(FROM_AGENT);
    tokio::spawn(coordinator.attach(from_agent, to_agent));
    let mut agent = Agent::new(AgentOptions {
        workers: engine.workers.map(NonZeroUsize::get),
        spin: engine.spin,
        allow,
        files: engine.files,
        listener: engine.listener,
        ..AgentOptions::default()
    });
    tokio::spawn(async move { agent.converse(to_coordinator, from_coordinator).await });
    coordinator
}

impl Session for Local {
    async fn start(&mut self) -> Result<(), Failure> {
        let plan = self.plan.take().context("the run was started already")?;
        let coordinator = coordinator_with_agent(self.engine.clone(), Arc::clone(&self.allow));
        let started = coordinator.start_run(NewRun { wait_for_agents: JOIN, ..NewRun::of(plan) }).await;
        let id = started.context("the run can't be started").or_exit(Exit::CouldNot)?;
        self.running = Some((coordinator, id));
        Ok(())
    }

    async fn wait(&mut self, up_to: Duration) -> Result<RunDocument, Failure> {
        let (coordinator, id) = self.running()?;
        Ok(coordinator.wait(id, up_to).await.context("the run's results are lost")?)
    }

    async fn stop(&mut self) -> Result<(), Failure> {
        let (coordinator, id) = self.running()?;
        match coordinator.stop_run(id) {
            Ok(()) | Err(StopError::Over(_)) => Ok(()),
            Err(error) => Err(error).or_exit(Exit::CouldNot),
        }
    }

    async fn reports(&mut self, forms: &[Form]) -> Result<Vec<(Form, String)>, Failure> {
        let (coordinator, id) = self.running()?;
        let recording = coordinator.recording(id).await.context("the run's results can't be read")?;
        let recording = Arc::new(recording.context("the run's results are lost")?);
        let mut reports = Vec::new();
        for form in forms {
            let text = rendered(*form, Arc::clone(&recording)).await;
            reports.push((*form, text.with_context(|| format!("the report {} can't be made", form.file()))?));
        }
        Ok(reports)
    }

    fn is_local(&self) -> bool {
        true
    }
}
