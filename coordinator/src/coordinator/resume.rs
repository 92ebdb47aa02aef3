//! Goes on with the runs that the process before this one left unfinished in the same store. Its agents may still be at
//! work; what they were told and what they have reported is in the store, and when run time 0 was, they tell.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;
use volley_lifecycle::{AgentRecord, AgentShare, AgentState, Level, Note, Run, RunRecord};
use volley_plan::link::{Incarnation, RunId, WindowFacts};
use volley_plan::{Denied, Load, Plan};

use super::start::INBOX;
use super::{Handle, Shared, allowed, lock};
use crate::document::RunDocument;
use crate::driver::{Driver, Input};
use crate::live::{Head, Live, Recalled};
use crate::past;
use crate::store::{Left, SharedSeries, StoreError, Unfinished};

/// What is to be done with a run that was left unfinished.
enum Found {
    /// It goes on.
    Begun(Box<Begun>),
    /// It had not begun, so it waits for its turn again.
    NotBegun(Head),
    /// It is closed.
    Closed,
}

/// A run that goes on, all of which has been read.
struct Begun {
    head: Head,
    record: RunRecord,
    agents: Vec<(AgentRecord, WindowFacts)>,
    series: SharedSeries,
    recalled: Recalled,
    /// The seconds before this one are complete.
    published_s: u32,
    /// Run time by the wall clock when this process found it.
    run_ns: u64,
}

impl Begun {
    fn run(&self, shared: &Shared) -> Run {
        let Head { id, plan, .. } = &self.head;
        let settings = shared.settings.lifecycle;
        let (record, agents) = (self.record.clone(), self.agents.clone());
        let now_ns = shared.clock.now_ns();
        Run::resumed(now_ns, id.clone(), plan.clone(), settings, record, agents, self.run_ns)
    }
}

impl Shared {
    /// Goes on with the runs that are not over. Those that cannot go on are closed. To be done before any agent joins.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the store doesn't work. What is damaged costs its own run only.
    pub(crate) async fn resume(self: &Arc<Self>) -> Result<(), StoreError> {
        let (mut begun, mut waiting) = (Vec::new(), Vec::new());
        for unfinished in self.store.unfinished().await? {
            let run = unfinished.document.id.clone();
            match self.find(unfinished).await {
                Ok(Found::Begun(of)) => begun.push(of),
                Ok(Found::NotBegun(head)) => waiting.push(head),
                Ok(Found::Closed) => {}
                Err(error @ StoreError::Failed(_)) => return Err(error),
                Err(error) => tracing::error!(%run, %error, "an unfinished run is left as it is"),
            }
        }
        // All are read before the first goes on, since its agents are waited for from then on. Those that wait come last,
        // so that they don't take the place of one that was there first.
        for of in begun {
            self.go_on(*of);
        }
        for (head, permitted) in self.still_permitted(waiting).await {
            match permitted {
                Ok(()) => {
                    // Opens it, so that what is shown of it is what will grow, and no copy that was read.
                    self.store.complete(&head.id, 0).await?;
                    self.line_up(head).await?;
                }
                Err(denied) => self.turn_down(head, allowed::forbids(&denied)).await?,
            }
        }
        Ok(())
    }

    /// Holds runs that have not begun against the allow-list, which may be another one by now. All names are looked up at
    /// the same time.
    async fn still_permitted(self: &Arc<Self>, waiting: Vec<Head>) -> Vec<(Head, Result<(), Denied>)> {
        let ask = |head: Head| {
            let shared = self.clone();
            let asked = async move { shared.is_permitted(&head.plan, &head.plan.load).await };
            tokio::spawn(asked)
        };
        let asked: Vec<_> = waiting.into_iter().map(|head| (head.clone(), ask(head))).collect();
        let mut answered = Vec::new();
        for (head, permitted) in asked {
            let broken = |error| Err(Denied::unresolved(head.plan.target.remote(), error));
            let permitted = permitted.await.unwrap_or_else(broken);
            answered.push((head, permitted));
        }
        answered
    }

    async fn is_permitted(&self, plan: &Plan, load: &Load) -> Result<(), Denied> {
        allowed::permits(&self.settings.allow.for_load(load), plan).await
    }

    /// Stops a run that goes on and is not permitted any more. Agents are at work for it, and name servers are not what
    /// decides about those: where they don't answer, it goes on.
    async fn stop_if_forbidden(self: Arc<Self>, run: RunId, plan: Arc<Plan>, load: Load) {
        match self.is_permitted(&plan, &load).await {
            Ok(()) => {}
            Err(error @ Denied::Unresolved { .. }) => {
                tracing::warn!(%run, %error, "whether a run is still permitted can't be told; it goes on");
            }
            Err(denied) => {
                tracing::warn!(%run, %denied, "a run that goes on is forbidden by now, and stopped");
                // One that is gone has stopped.
                let _ = self.hand_over(&run, Input::Forbidden { reason: allowed::forbids(&denied) }).await;
            }
        }
    }

    async fn find(&self, Unfinished { document, left }: Unfinished) -> Result<Found, StoreError> {
        let run = &document.id;
        let plan = match volley_plan::parse(&document.plan) {
            Ok(plan) => Arc::new(plan),
            Err(_) => return self.close(run, "its plan cannot be read").await,
        };
        match left {
            Left::NotBegun => Ok(Found::NotBegun(self.head_of(&document, plan))),
            Left::Begun { run, agents } => self.read(document, plan, run, agents).await,
            Left::Unreadable(why) => self.close(run, &why).await,
        }
    }

    async fn close(&self, run: &RunId, why: &str) -> Result<Found, StoreError> {
        self.store.close(run).await?;
        tracing::warn!(%run, why, "a run that the last coordinator left unfinished cannot go on, and is closed");
        Ok(Found::Closed)
    }

    fn head_of(&self, document: &RunDocument, plan: Arc<Plan>) -> Head {
        Head::recalled(document, plan, (Timestamp::now(), self.clock.now_ns()))
    }

    /// Reads what is shown of a run that goes on.
    async fn read(
        &self,
        document: RunDocument,
        plan: Arc<Plan>,
        record: RunRecord,
        agents: Vec<(AgentRecord, WindowFacts)>,
    ) -> Result<Found, StoreError> {
        let head = self.head_of(&document, plan);
        let (series, recalled) = (SharedSeries::default(), Recalled::default());
        let run_ns = run_ns_by_wall_clock(&document);
        let mut begun = Begun { head, record, agents, series, recalled, published_s: 0, run_ns };
        let run = begun.run(self);
        // All that came is put into its final form, so that it can be read back.
        self.store.complete(&document.id, 0).await?;
        begun.series = self.store.series(&document.id).await?;
        // Agents are not trusted with seconds that are still to come; results of such were never taken.
        begun.published_s = run.watermark_s().min(begun.series.lock().end_s());
        let load = run.load().clone();
        begun.recalled = past::recalled(&*self.store, &document, load, begun.published_s).await?;
        Ok(Found::Begun(Box::new(begun)))
    }

    fn go_on(self: &Arc<Self>, begun: Begun) {
        let run = begun.run(self);
        let Begun { head, series, recalled, published_s, .. } = begun;
        let (id, has_started) = (head.id.clone(), run.start_ns().is_some());
        let at_work: Vec<_> = run.agents().filter(|agent| is_expected(agent)).map(incarnation).collect();
        tracing::warn!(run = %id, agents = at_work.len(), "a run that the last coordinator left unfinished goes on");
        let ask = self.clone().stop_if_forbidden(id.clone(), head.plan.clone(), run.load().clone());
        let live = Arc::new(Live::resumed(head, run, series, recalled));
        if !has_started {
            // Of one that has, the decider tells once it knows how far it is.
            let text = "the coordinator was started again".to_owned();
            live.note(&Note { at_run_ns: None, level: Level::Warn, text });
        }
        let (inbox, outlet) = mpsc::channel(INBOX);
        lock(&self.runs).by_id.insert(id, Handle { live: live.clone(), inbox });
        self.goes_on(&live, at_work);
        tokio::spawn(Driver::resumed(self.clone(), live, published_s).drive(Vec::new(), outlet));
        tokio::spawn(ask);
    }
}

fn incarnation(agent: &AgentShare) -> Incarnation {
    agent.facts.incarnation
}

/// True for an agent that still has something to do or to deliver.
fn is_expected(agent: &AgentShare) -> bool {
    agent.state.is_live() || matches!(agent.state, AgentState::Lost { delivered: false, .. })
}

/// Run time at this moment by the wall clock, for want of an agent that tells it; 0 before the start.
fn run_ns_by_wall_clock(document: &RunDocument) -> u64 {
    let started_at = document.started_at.as_ref().and_then(|text| text.parse::<Timestamp>().ok());
    let since = started_at.map(|started_at| Timestamp::now().duration_since(started_at).as_nanos());
    since.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
